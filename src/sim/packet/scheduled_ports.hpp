#pragma once
// Leaves of a scheduled fabric; scheduled.hpp says how it works.

#include <cstdint>

#include "sim/packet/buffers.hpp"
#include "sim/packet/exact_ports.hpp"
#include "sim/packet/port_queues.hpp"

namespace weft::sim {

class ScheduledPorts {
 public:
  ScheduledPorts(World& world, Windows& windows, Tally& tally, ExactPorts& ports)
      : world_(world),
        windows_(windows),
        tally_(tally),
        queues_(ports.queues()),
        buffers_(ports.buffers()),
        ports_(ports) {}

  // A packet has come to a leaf.
  void arrive(const Event& event);
  // What another leaf says, or itself.
  void at_control(const Event& event);
  // A port has sent a packet, or lost it to the watchdog.
  void sent_on(const Event& packet, std::uint32_t cls);
  // Lets those send that ask a port, as far as it may.
  void grant(std::uint32_t endpoint, std::uint32_t cls);

 private:
  void await_credit(const Event& event);
  void notify(std::uint32_t entity, std::uint32_t target, Control what, std::uint32_t endpoint, std::uint32_t cls,
              std::uint32_t queue, std::int64_t bytes);
  void granted(std::uint32_t entity, std::uint32_t queue, std::int64_t bytes);
  void stand_in_line(ScheduledLeaf& leaf, std::uint32_t queue);
  Event take_out(VirtualQueue& queue, std::uint32_t entity);
  void send_cells(std::uint32_t entity);
  void leave(const Event& event);
  void asked(std::uint32_t endpoint, std::uint32_t cls, std::uint32_t leaf, std::uint32_t queue, std::int64_t bytes);
  void remind(std::uint32_t entity, Control what, std::uint32_t endpoint, std::uint32_t cls, std::int64_t time);

  World& world_;
  Windows& windows_;
  Tally& tally_;
  PortQueues& queues_;
  Buffers& buffers_;
  ExactPorts& ports_;
};

}  // namespace weft::sim
