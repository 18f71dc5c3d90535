#pragma once
// The world of one seed for messages (transport/rdm): nodes with real bytes, each pair with a connection of its own
// over SRD, the same network and faults as for the transports, and a reference that knows which message goes where.
//
// A connection is named by a number of each end. A node that gives one up, or starts anew, takes a greater number for
// its end; whoever hears of a greater one knows that the old connection is lost. Nothing counts that is not named by
// both. Who knows a peer greets it from time to time: one that has nothing to send would not hear that it has gone.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "base/random.hpp"
#include "dst/dst.hpp"
#include "dst/scenario.hpp"
#include "transport/rdm/exercise.hpp"
#include "transport/srd/srd.hpp"

namespace weft::dst {

class MessageWorld {
 public:
  MessageWorld(std::uint64_t seed, bool canary);
  Outcome run();
  std::string text() const;

 private:
  enum class Kind : std::uint8_t { packet, hello, wake, greet, act, restart };

  struct Event {
    Instant time;
    std::uint64_t number;
    Kind kind;
    std::uint32_t node;  // that it happens to
    std::uint32_t peer;
    std::uint32_t from = 0;  // numbers of the connection: the sender's and the receiver's
    std::uint32_t to = 0;
    transport::PacketType type{};
    std::uint8_t flags = 0;
    transport::Header header{};
    transport::rdm::Envelope envelope{};
    std::vector<std::byte> payload{};
  };

  struct Connection {
    std::unique_ptr<transport::Srd> srd;
    std::uint32_t ours = 0;
    std::uint32_t theirs = 0;  // 0: not known
    std::uint32_t tags = 0;
    std::vector<transport::rdm::Outgoing> waiting;               // until the connection is there
    std::map<std::uint32_t, transport::rdm::Outgoing> outgoing;  // by tag
    std::map<std::uint32_t, transport::rdm::Sink> arriving;      // by the number of the first packet
    Instant armed = transport::kNever;
    bool greets = false;  // an event for the next greeting is under way
  };

  struct Trouble {
    bool parts;  // or holds back
    std::uint32_t a;
    std::uint32_t b;
    Instant from;
    Instant to;
  };

  static transport::rdm::RdmConfig drawn_config(Random& random);
  void draw_events();
  void push(Event event);
  void run_until(Instant limit);
  void step(Event& event);
  void act(std::uint32_t node);
  void pump(std::uint32_t node);
  void pump(std::uint32_t node, std::uint32_t peer);
  void arm(std::uint32_t node, std::uint32_t peer, Instant wake);
  void carry(std::uint32_t node, const transport::rdm::Outgoing& out);
  void carry_home(std::uint32_t node, const transport::rdm::Outgoing& out);
  void post(std::uint32_t node, const transport::rdm::Outgoing& out);
  void greet(std::uint32_t node, std::uint32_t peer);
  bool meet(const Event& event);
  void take(const Event& event);
  void fail(std::uint32_t node, std::uint32_t peer);
  void begin(std::uint32_t node, std::uint32_t peer);
  void restart(std::uint32_t node);
  void transmit(std::uint32_t node, std::uint32_t peer, const transport::Transmit& out);
  void send(Event event);
  bool chance(std::uint32_t of_1024) { return !healed_ && random_.below(1024) < of_1024; }
  Connection& connection(std::uint32_t node, std::uint32_t peer) { return connections_[node * scenario_.nodes + peer]; }

  Scenario scenario_;
  bool canary_;
  Random random_;
  transport::rdm::RdmConfig config_;
  std::uint64_t longest_;
  transport::rdm::Exercise exercise_;
  std::vector<Connection> connections_;
  std::vector<Trouble> troubles_;
  std::vector<Event> events_;  // a heap
  std::uint32_t numbers_ = 0;  // of connections
  std::uint64_t made_ = 0;
  std::uint64_t handled_ = 0;
  Instant now_ = 0;
  bool healed_ = false;
  bool faultless_ = false;
  Digest digest_;
};

}  // namespace weft::dst
