#pragma once
// One partition of a packet simulation: its entities' events, and the transport of its hosts. Shards
// share what is immutable and hand each other packets at the end of a window; each touches only the
// state of its own entities.
//
// All events of one window are handled entity by entity, each in the order (time, cause, number). The
// window is as wide as the look-ahead, so effects on other entities fall behind it and the result is
// the same in whatever order the entities come, or on whatever thread. That order is what the caches
// like: a switch's ports stay close while its packets pass. Effects without delay (triggers of a
// connection matrix) break the rule; such a run is one shard that goes strictly in time order.

#include <cstdint>
#include <span>
#include <vector>

#include "base/digest.hpp"
#include "base/random.hpp"
#include "base/zeroed.hpp"
#include "sim/conditions.hpp"
#include "sim/layout.hpp"
#include "sim/wheel.hpp"
#include "transport/capture.hpp"
#include "transport/stack.hpp"

namespace weft::sim {

enum class Balance : std::uint8_t {
  entropy,  // the host chooses a number per burst; switches hash it
  ecmp,     // switches hash who talks to whom
  spray,    // switches choose at random, packet by packet
};

struct SimConfig {
  std::uint64_t seed = 1;
  transport::StackConfig stack;
  std::uint32_t header = 64;       // bytes: what a trimmed packet keeps, and what a switch that cuts through waits for
  std::uint32_t full_packet = 4150;  // bytes on the wire
  Balance balance = Balance::entropy;
  bool fifo = false;      // acknowledgements wait behind data, and nothing is trimmed
  bool trimming = true;
  bool cut_through = false;
  std::int64_t queue_bytes = 0;  // of one port; 0: one bandwidth-delay product
  std::uint32_t mark_from = 200'000;  // parts per million of the queue; equal to mark_to: a step
  std::uint32_t mark_to = 800'000;
  bool in_time_order = false;    // effects between hosts without delay
  std::uint32_t threads = 1;
  std::int64_t sample = 0;       // ps; 0: no time series

  std::uint32_t payload() const { return full_packet - header; }
};

// What runs on the hosts. Calls about different hosts come from different threads at once.
class Client {
 public:
  virtual ~Client() = default;
  virtual void completed(std::int64_t now, const transport::Completion& completion) = 0;
  virtual void called(std::int64_t now, std::uint32_t host, std::uint64_t context) = 0;
};

// State of all entities, each part touched by one shard only.
struct World {
  struct Entity {
    Digest digest;
    std::uint32_t caused = 0;  // number of its next effect
    Random random;
  };
  const Layout& layout;
  const SimConfig& config;
  Zeroed<Port> ports;
  Zeroed<std::int64_t> armed;  // by endpoint: the wake-up that counts; 0: none
  Zeroed<std::uint8_t> served;  // by endpoint: the transport that sent last
  std::vector<Entity> entities;
  std::vector<Special> specials;
  std::vector<std::uint16_t> shard_of;
  std::uint32_t entropy_salt = 0;
};

struct Tally {
  std::uint64_t events = 0;
  std::uint64_t hops = 0;
  std::uint64_t injected = 0;  // packets that hosts sent
  std::uint64_t arrived = 0;   // at hosts
  std::uint64_t dropped = 0;   // a queue was full
  std::uint64_t lost = 0;      // to a fault
  std::uint64_t corrupted = 0;
};

class Shard {
 public:
  Shard(World& world, std::uint32_t number, std::uint32_t shards);
  void set_client(Client& client) { client_ = &client; }

  void post(std::int64_t when, std::uint32_t endpoint, const transport::Operation& operation);
  void call(std::int64_t when, std::uint32_t host, std::uint64_t context);
  void start_raw(std::uint32_t endpoint, const transport::RawStream& stream);  // before the run

  // The first window with anything in it, of its own or on the way to another shard.
  std::int64_t next_window() const { return std::min(wheel_.next(), outbox_first_); }
  // Takes what another shard has for this one. Between windows.
  void take_from(Shard& other);
  void run(std::int64_t window);

  // The latest event it has handled; the same for all shards together however many there are.
  std::int64_t reached() const { return reached_; }
  const Tally& tally() const { return tally_; }
  const transport::Stack& stack() const { return stack_; }
  std::uint64_t packets_in_flight() const;
  const std::vector<transport::Captured>& captured() const { return captured_; }

 private:
  // One event of a window, to be sorted: time within it, then cause.
  struct Pending {
    std::uint64_t when;  // time since the window's start, then the entity that caused it
    std::uint32_t event;
    std::uint32_t number;
  };

  // What a port changes about a packet.
  struct Passing {
    std::uint32_t bytes;
    std::uint8_t flags;
  };

  void handle(const Event& event);
  void at_switch(const Event& event);
  void at_host(const Event& event);
  void forward(const Event& packet, std::uint32_t port, std::uint32_t entity, std::int64_t ready);
  void forward_specially(const Event& packet, std::uint32_t port, std::uint32_t entity, std::int64_t ready);
  bool admit(Passing& packet, Port& port, const Link& link, std::uint32_t entity, std::int64_t ahead);
  bool poll(std::uint32_t endpoint, std::int64_t now, transport::Transmit& out);
  void pump(std::uint32_t endpoint, std::int64_t now);
  void send(std::uint32_t endpoint, const transport::Transmit& packet, std::int64_t now);
  void arm(std::uint32_t endpoint, std::int64_t when, std::int64_t now);
  void complete(std::int64_t now);
  Event& place(std::int64_t time, std::uint32_t to);
  void address(Event& event, std::int64_t time, std::uint32_t to, std::uint32_t from);
  void emit(const Event& event, std::int64_t time, std::uint32_t host);  // of a host, to itself
  void leave(const Event& arrived, const Passing& packet, const Layout::Far& far, const Link& link, std::uint32_t entity, std::int64_t begin,
             std::int64_t wire);
  bool avoids(std::uint32_t port, std::int64_t now) const;
  void run_group(std::span<Pending> group);
  std::uint32_t entropy_of(const transport::Header& header, std::uint32_t entity);

  World& world_;
  const Layout& layout_;
  const SimConfig& config_;
  Client* client_ = nullptr;
  std::uint32_t number_;
  transport::Stack stack_;
  Wheel wheel_;
  std::int64_t window_start_ = 0;
  std::int64_t window_end_ = 0;
  std::int64_t now_ = 0;  // of the entity at work; the next one may start earlier
  std::int64_t reached_ = 0;
  std::vector<Pending> pending_;
  std::vector<std::uint32_t> counts_;   // by entity
  std::vector<Event> late_;             // min-heap of events within the running window
  std::vector<std::vector<Event>> outbox_;  // by shard
  std::int64_t outbox_first_ = Wheel::kNothing;
  std::vector<transport::Captured> captured_;
  Tally tally_;
};

}  // namespace weft::sim
