#include "sim/packet/port_queues.hpp"

namespace weft::sim {

std::uint32_t PortQueues::choose_class(std::uint32_t port) {
  ExactPort& state = world_.exact.ports[port];
  std::uint32_t ready = 0;
  std::uint32_t weighted = 0;
  for (std::uint32_t left = state.waiting; left != 0; left &= left - 1) {
    const auto cls = static_cast<std::uint32_t>(std::countr_zero(left));
    const Gate& path = world_.exact.gate(port, cls);
    if (!open(path, cls, pool_[path.head].bytes)) continue;
    if (world_.config.exact.weight[cls] == 0) return cls;
    ready |= 1u << cls;
    ++weighted;
  }
  if (ready == 0) return PacketPool::kNone;
  if (weighted == 1) {
    // What nobody else wants costs no turn: it would be held against it when somebody does.
    const auto only = static_cast<std::uint32_t>(std::countr_zero(ready));
    const Gate& path = world_.exact.gate(port, only);
    std::int32_t& deficit = world_.exact.details_of(port, only).deficit;
    deficit = std::max<std::int32_t>(deficit, pool_[path.head].bytes);
    return only;
  }
  while (true) {
    const std::uint32_t cls = state.turn;
    if (ready >> cls & 1) {
      std::int32_t& deficit = world_.exact.details_of(port, cls).deficit;
      if (deficit >= pool_[world_.exact.gate(port, cls).head].bytes) return cls;
      deficit += static_cast<std::int32_t>(world_.config.exact.weight[cls] * world_.config.full_packet);
    }
    state.turn = static_cast<std::uint16_t>((cls + 1) % world_.config.exact.classes);
  }
}

void PortQueues::note_length(std::uint32_t port, Samples& samples) {
  const Link& link = world_.layout.link(world_.exact.wires[port].link);
  std::int64_t longest = 0;
  for (std::uint32_t cls = 0; cls < world_.config.exact.classes; ++cls)
    longest = std::max(longest, world_.exact.gate(port, cls).bytes);
  samples.queue(windows_.now(), link.bytes_in(link.wire(longest)));
}

}  // namespace weft::sim
