#pragma once
// One partition of a packet simulation: its entities' events go to what switches do about them, or hosts. Shards share
// what is immutable and hand each other packets at the end of a window; each touches only the state of its own
// entities.
//
//     Windows ──► Switching ──► RouteChoice
//        ▲           │  └─────► ComputedPorts, or ExactPorts with PortQueues and Buffers, or ScheduledPorts
//        │           │             ▲
//        └───────────┴─────── HostDriver ──► transports, client

#include <cstdint>
#include <span>
#include <vector>

#include "sim/packet/host_driver.hpp"
#include "sim/packet/switching.hpp"

namespace weft::sim {

class Shard {
 public:
  Shard(World& world, std::uint32_t number, std::uint32_t shards);

  HostDriver& hosts() { return hosts_; }
  const HostDriver& hosts() const { return hosts_; }

  // The first window with anything in it, of its own or on the way to another shard.
  std::int64_t next_window() const { return windows_.next(); }
  // Takes what another shard has for this one. Between windows.
  void take_from(Shard& other) { windows_.take_from(other.windows_); }
  void run(std::int64_t window);

  // The latest event it has handled; the same for all shards together however many there are.
  std::int64_t reached() const { return windows_.reached(); }
  const Tally& tally() const { return tally_; }
  const CaptureLog& captures() const { return captures_; }
  const PacketPool& pool() const { return switching_.exact().queues().pool(); }
  std::uint64_t packets_in_flight() const;

 private:
  friend class Windows;  // calls the next three
  void prepare(std::span<const Windows::Pending> events) const;
  void handle(const Event& event);
  bool go_on();

  World& world_;
  Tally tally_;
  Windows windows_;
  CaptureLog captures_;
  Switching switching_;
  HostDriver hosts_;
};

}  // namespace weft::sim
