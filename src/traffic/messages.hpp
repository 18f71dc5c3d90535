#pragma once
// Messages between `weft run client` and `weft run server`: a layer above a node that knows no matching. A client sends
// a stream that the server checks and counts, or requests that it answers; at the end it asks what the server saw.

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "net/node.hpp"
#include "traffic/measured.hpp"
#include "traffic/pool.hpp"
#include "transport/rdm/carrier.hpp"

namespace weft::traffic {

enum class Kind : std::uint8_t { data, request, response, ask, report };

inline constexpr std::uint64_t kLongestMessage = std::uint64_t{64} << 20;

struct Message {
  Kind kind = Kind::data;
  std::uint32_t peer = 0;
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;  // of the pool's message of that number; a report has its own
  std::string text;
};

// What both ends have in common: messages that go out, and memory for those that come in.
class Exchange : public transport::rdm::Layer, public net::Pointers {
 public:
  explicit Exchange(Pool& pool) : pool_(pool) {}
  virtual ~Exchange() = default;

  void send(Message message) { outgoing_.push_back(std::move(message)); }

  bool next_outgoing(transport::rdm::Outgoing& out) override;
  void sent(Instant now, std::uint32_t context) override;
  transport::rdm::Sink arrived(Instant now, std::uint32_t peer, std::span<const std::byte> envelope,
                               std::uint64_t bytes) override;
  void landed(Instant now, std::uint32_t peer, std::uint32_t context) override;
  void peer_failed(Instant now, std::uint32_t peer) override;
  Instant next_wake() const override { return transport::kNever; }
  void tick(Instant) override {}
  std::span<std::byte> own(std::uint64_t memory) override;
  std::byte* at(transport::rdm::Place place) override;

 protected:
  virtual void on_sent(Instant now, const Message& message) = 0;
  virtual void on_message(Instant now, const Message& message, std::span<const std::byte> payload) = 0;
  virtual void on_failed(Instant now, std::uint32_t peer) = 0;

  Pool& pool_;

 private:
  struct Arriving {
    Message message;
    std::vector<std::byte> bytes;
    bool used = false;
  };
  std::deque<Message> outgoing_;
  std::unordered_map<std::uint32_t, Message> flying_;
  std::uint32_t next_context_ = 0;
  std::vector<std::unique_ptr<Arriving>> arriving_;
  std::vector<std::uint32_t> free_;
  std::uint64_t held_ = 0;  // bytes of `arriving_`
};

// Checks, counts and answers, for any number of clients.
class Server : public Exchange {
 public:
  using Exchange::Exchange;
  std::uint64_t clients() const { return by_peer_.size(); }

 private:
  void on_sent(Instant, const Message&) override {}
  void on_message(Instant now, const Message& message, std::span<const std::byte> payload) override;
  void on_failed(Instant now, std::uint32_t peer) override;

  struct Client {
    Measured measured;
    std::vector<bool> seen;  // by number of the message
  };
  std::unordered_map<std::uint32_t, Client> by_peer_;
};

}  // namespace weft::traffic
