#include "sim/packet/fast_cnp.hpp"

#include <utility>

#include "base/hash.hpp"
#include "sim/packet/switching.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t kKnown = 4096;  // queue pairs of a switch; those that share one are warned together

}  // namespace

void FastCnp::warn(const Event& packet) {
  auto& table = world_.told[packet.to];
  if (table.empty()) table.resize(kKnown);
  std::int64_t& last = table[mix64(routes_.entropy_of(packet)) % kKnown];
  if (last != 0 && packet.time - last < interval_) return;
  last = packet.time;
  Event cnp = packet;
  cnp.type = transport::PacketType::roce_cnp;
  cnp.flags = 0;
  cnp.bytes = static_cast<std::uint16_t>(world_.config.stack.roce.cnp_bytes);
  std::swap(cnp.header.source, cnp.header.destination);
  ++tally_.injected;
  switching_.pass(cnp);
}

}  // namespace weft::sim
