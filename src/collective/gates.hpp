#pragma once
// Which NICs a message between two domains takes: what the channels of a plan say, for executors that know NICs.

#include <cstdint>

#include "collective/team.hpp"

namespace weft::collective {

// Ranks that stand next to the NICs by which a message leaves its domain and enters the other, and whether it is handed
// to the first of them over the scale-up network (PXN). Nobody does that for the receiver.
struct Gates {
  std::uint32_t leaves = 0;
  std::uint32_t enters = 0;
  bool handed = false;
};

// Channels count the ports of every domain by their own number. Where anybody talks to anybody a message comes in by
// the receiver's own port, and leaves by the same one of its domain, or without PXN by the sender's own.
inline constexpr std::uint32_t kByReceiver = 0xFFFFFFFFu;

// By which of its domain's ports a rank sends what is to leave by this one. Without PXN nobody hands data to a GPU of
// another server of a rack, and no root complex leads there: its own port stands in.
std::uint32_t port_within_reach(const Team& team, std::uint32_t rank, std::uint32_t port, bool pxn);

Gates gates(const Team& team, std::uint32_t from, std::uint32_t to, std::uint32_t port_of, bool pxn,
            bool alternate = false);

// Alternate rings go in pairs: on nodes of even number each comes in by its own port and leaves by its partner's, on
// others the other way round, so that cables join ports of the same number and nobody is handed anything.
inline std::uint32_t leaves_by(std::uint32_t channel, std::uint32_t node, bool alternate) {
  return alternate && node % 2 == 0 ? channel ^ 1 : channel;
}
inline std::uint32_t enters_by(std::uint32_t channel, std::uint32_t node, bool alternate) {
  return alternate && node % 2 == 1 ? channel ^ 1 : channel;
}

}  // namespace weft::collective
