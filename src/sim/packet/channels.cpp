// Virtual channels at exact ports.
//
// Ports that pause their neighbours, or wait for credits, can wait for each other in a circle where routes go local,
// global, local, as in a Dragonfly. There a packet takes the next channel behind every global link that it has crossed
// (Kim, Dally, Scott, Abts, ISCA 2008): what waits for room in a channel is waited for by lower ones only, so that two
// channels are enough for minimal routes and three for those over a third group.
//
// A channel is a class of its own: queue, pause, credit and headroom. A lossless class with three channels is three of
// the eight that a port has, as PFC has eight priorities. Its channels share its weight, and take turns.

#include <algorithm>
#include <bit>

#include "sim/packet/port_queues.hpp"

namespace weft::sim {

// The channel in which a packet leaves. Hosts take what comes, however slowly: nothing waits behind them, and the first
// channel is enough.
void PortQueues::choose_channel(const Event& event, Queuing& packet, std::uint32_t out) const {
  const ExactWorld& exact = world_.exact;
  packet.from &= static_cast<std::uint32_t>((std::uint64_t{1} << exact.out_shift) - 1);
  if (!world_.config.exact.is_lossless(packet.cls) || world_.layout.is_host(world_.layout.far(out).entity)) return;
  const bool global = world_.layout.is_global(world_.layout.port_of(event.to, exact.port_in(event)));
  const std::uint32_t channel = std::min(exact.channel_in(event) + global, world_.config.exact.channels - 1);
  packet.from |= channel << exact.out_shift;
  packet.cls = static_cast<std::uint8_t>(packet.cls + channel);
}

// next_class, for classes of several channels: first which class, then which of its channels.
std::uint32_t PortQueues::next_channel(std::uint32_t port) {
  const ExactConfig& exact = world_.config.exact;
  ExactPort& state = world_.exact.ports[port];
  std::uint32_t ready = 0;
  for (std::uint32_t left = state.waiting; left != 0; left &= left - 1) {
    const auto cls = static_cast<std::uint32_t>(std::countr_zero(left));
    const Gate& path = world_.exact.gate(port, cls);
    if (open(path, cls, pool_[path.head].bytes)) ready |= 1u << cls;
  }
  const auto turn_of = [&](std::uint32_t first) -> ChannelTurn& {
    return world_.exact.turns[port * exact.classes + first];
  };
  const auto channels = [&](std::uint32_t first) { return ((1u << exact.channels_of(first)) - 1) << first; };
  const auto next = [&](std::uint32_t first) {
    const std::uint32_t mine = ready & channels(first);
    const std::uint32_t behind = mine & ~((2u << turn_of(first).last) - 1);
    return static_cast<std::uint32_t>(std::countr_zero(behind != 0 ? behind : mine));
  };
  std::uint32_t weighted = 0;  // bit per first channel
  for (std::uint32_t first = 0; first < exact.classes; first += exact.channels_of(first)) {
    if ((ready & channels(first)) == 0) continue;
    if (exact.weight[first] == 0) return turn_of(first).last = next(first);
    weighted |= 1u << first;
  }
  if (weighted == 0) return PacketPool::kNone;
  if (std::has_single_bit(weighted)) {
    const auto first = static_cast<std::uint32_t>(std::countr_zero(weighted));
    return turn_of(first).last = next(first);
  }
  while (true) {
    const std::uint32_t first = state.turn;
    ChannelTurn& turn = turn_of(first);
    if (weighted >> first & 1) {
      const std::uint32_t cls = next(first);
      const std::int32_t bytes = pool_[world_.exact.gate(port, cls).head].bytes;
      if (turn.deficit >= bytes) {
        turn.deficit -= bytes;
        return turn.last = cls;
      }
      turn.deficit += static_cast<std::int32_t>(exact.weight[first] * world_.config.full_packet);
    } else if ((state.waiting & channels(first)) == 0) {
      turn.deficit = 0;
    }
    state.turn = static_cast<std::uint16_t>((first + exact.channels_of(first)) % exact.classes);
  }
}

}  // namespace weft::sim
