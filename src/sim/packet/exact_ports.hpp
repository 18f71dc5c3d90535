#pragma once
// Wires of exact ports: they send what waits in the queues, one packet at a time, when pauses and credit let them.

#include <cstdint>
#include <span>

#include "sim/packet/buffers.hpp"
#include "sim/packet/capture_log.hpp"
#include "sim/packet/port_queues.hpp"

namespace weft::sim {

class ScheduledPorts;

class ExactPorts {
 public:
  // `scheduled` hears of what leaves by the ports of a scheduled fabric, and knows them.
  ExactPorts(World& world, Windows& windows, Tally& tally, CaptureLog& captures, FastCnp& cnps,
             ScheduledPorts& scheduled);
  ExactPorts(const ExactPorts&) = delete;  // its parts know each other
  ExactPorts& operator=(const ExactPorts&) = delete;

  PortQueues& queues() { return queues_; }
  const PortQueues& queues() const { return queues_; }
  Buffers& buffers() { return buffers_; }

  // A packet has come to a switch and goes out by a port.
  void arrive(const Event& event, std::uint32_t out);
  // Sends the next packet of a port if the wire is free, else sees to it that it is looked at again.
  void serve(std::uint32_t port, std::uint32_t entity);
  // What a neighbour says. True: a host may have more to send by that port.
  bool at_control(const Event& event);
  // A port of a switch is to be looked at.
  void at_wake(const Event& event);

  // Ports of the switch at work whose wire is free again within the window. They are half of all events, so they are
  // none but in name: counted, part of the digest, handled in their place.
  bool has_wakes() const { return !wakes_.empty(); }
  void wake_first();
  // All that come before an event.
  void catch_up(const Event& event);
  // Fetches what the ports send that are woken by these events.
  [[gnu::noinline]] void foresee(std::span<const Windows::Pending> group) const;

 private:
  const Link& link_of(std::uint32_t port) const { return world_.layout.link(world_.exact.wires[port].link); }
  void let_out(const Event& packet, std::uint32_t bytes, std::uint32_t cls, std::uint32_t entity);
  void regain_credit(const Queuing& packet, std::uint32_t port, std::uint32_t entity, std::int64_t lost);
  void throw_away(std::uint32_t port, std::uint32_t cls, std::uint32_t entity);
  std::int64_t fed_from(const Event& packet, std::int64_t bytes, std::uint32_t port) const;
  bool send_next(std::uint32_t port, std::uint32_t entity);
  void look_again(std::uint32_t port, std::uint32_t entity);
  void occupy(const Event& event, const Queuing& packet, std::uint32_t port, std::int64_t begin, std::int64_t wire);
  void arrive_later(const Event& event, const Queuing& packet, std::uint32_t port, std::uint32_t entity,
                    std::int64_t end);
  void transmit(const Event& event, const Queuing& packet, std::uint32_t port, std::uint32_t entity,
                std::int64_t begin);
  void transmit_specially(const Event& event, const Queuing& packet, std::uint32_t port, std::uint32_t entity,
                          std::int64_t begin);

  World& world_;
  Windows& windows_;
  Tally& tally_;
  CaptureLog& captures_;
  PortQueues queues_;
  Buffers buffers_;
  ScheduledPorts& scheduled_;
  PortWakes wakes_;
  std::uint32_t waking_ = 0;  // the switch
  bool light_wakes_;
};

// A part of whoever calls it: every packet is served once or twice.
[[gnu::always_inline]] inline void ExactPorts::serve(std::uint32_t index, std::uint32_t entity) {
  const ExactPort& state = world_.exact.ports[index];
  if (state.waiting == 0) return;
  const std::int64_t& busy = world_.ports[index].busy;
  if (busy <= windows_.now() && !send_next(index, entity)) return;
  if (world_.layout.is_host(entity)) return;  // its endpoint is woken
  if (state.armed <= windows_.now() || state.armed > busy) look_again(index, entity);
}

}  // namespace weft::sim
