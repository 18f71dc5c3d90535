#pragma once
// Messages leave a NIC that does not get through.
//
// A transport that has heard nothing for SimConfig::failover fails what it was given. Each part of a message that
// fails so is posted again by other ports: of the same NIC where it has any (another plane), else of another NIC
// of the server. NCCL does so since 2.29.7 (NCCL_IB_RESILIENCY_PORT_FAILOVER), when the retries of a queue pair are
// used up. A part that failed may have arrived and only its acknowledgements died; so parts have numbers that stay with
// them, and a receiver counts each once.
//
// Two ports that did not get through are avoided for ten times as long as it took to notice, then twice that, and so
// on: to find out that a plane is back costs a tenth of the time at most.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/flat_map.hpp"
#include "sim/host/stripes.hpp"
#include "sim/layout.hpp"

namespace weft::sim {

// A part of a message on its way. No initialisers: see Message.
struct Part {
  std::uint32_t bytes;
  std::uint32_t queue;  // as of a transport::Operation
  std::int64_t since;   // when it first failed; kNotFailed: it did not
  NicPair pair;         // by which it goes now
  NicPair home;         // for which it was meant: whose backlog it counts for until it is there or given up
  std::uint32_t message;
  std::uint32_t delivered;  // the only word that the receiver writes
  static constexpr std::int64_t kNotFailed = -1;
};
static_assert(sizeof(Part) <= 40);

// What the hosts of one partition know of their ports.
class Failover {
 public:
  Failover(const Layout& layout, std::int64_t silence) : layout_(layout), avoided_for_(kAvoided * silence) {}

  bool avoids(std::int64_t now, const NicPair& pair) const {
    const std::uint32_t index = index_.find(key(pair));
    return index != FlatMap::kNone && now < trouble_[index].until;
  }
  void failed(std::int64_t now, const NicPair& pair);
  void succeeded(const NicPair& pair) {
    if (const std::uint32_t index = index_.find(key(pair)); index != FlatMap::kNone) trouble_[index] = {};
  }

  // Ports of the same two servers that are joined, are not avoided, and please `usable`. `turn` spreads what leaves
  // one NIC over all others.
  template <class Usable>
  std::optional<NicPair> another(std::int64_t now, const NicPair& pair, std::uint32_t turn, Usable usable) const;

 private:
  static constexpr std::int64_t kAvoided = 10;    // times as long as it takes to notice
  static constexpr std::uint32_t kMostTimes = 7;  // that this doubles

  struct Trouble {
    std::int64_t until = 0;
    std::uint32_t times = 0;  // in a row
  };
  // The NICs of a server as one of its endpoints sees them: itself first.
  struct ServerNics {
    std::uint32_t first = 0;  // NIC
    std::uint32_t count = 1;
    std::uint32_t own = 0;
    std::uint32_t ports = 1;
    std::uint32_t port = 0;
  };
  static std::uint64_t key(const NicPair& pair) { return std::uint64_t{pair.source} << 32 | pair.destination; }
  ServerNics nics_around(std::uint32_t endpoint) const;
  std::uint32_t endpoint(const ServerNics& nics, std::uint32_t nic, std::uint32_t port) const {
    return layout_.fabric().endpoint(nics.first + (nics.own + nic) % nics.count, (nics.port + port) % nics.ports);
  }

  const Layout& layout_;
  std::int64_t avoided_for_;
  FlatMap index_;
  std::vector<Trouble> trouble_;
};

template <class Usable>
std::optional<NicPair> Failover::another(std::int64_t now, const NicPair& pair, std::uint32_t turn,
                                         Usable usable) const {
  const ServerNics from = nics_around(pair.source);
  const ServerNics to = nics_around(pair.destination);
  const auto with = [&](std::uint32_t source_nic, std::uint32_t destination_nic) -> std::optional<NicPair> {
    for (std::uint32_t i = 0; i < from.ports; ++i)
      for (std::uint32_t j = 0; j < to.ports; ++j) {
        const NicPair other{endpoint(from, source_nic, i), endpoint(to, destination_nic, j)};
        if (layout_.reachable(other.source, other.destination) && !avoids(now, other) && usable(other)) return other;
      }
    return std::nullopt;
  };
  if (const auto same = with(0, 0)) return same;
  // NICs at the same distance from both keep to one rail; then any.
  const std::uint32_t others = std::max(from.count, to.count) - 1;
  for (std::uint32_t i = 0; i < others; ++i)
    if (const auto rail = with(1 + (turn + i) % others, 1 + (turn + i) % others)) return rail;
  for (std::uint32_t i = 0; i < from.count * to.count; ++i)
    if (const auto any = with((turn + i) % from.count, (turn + i) / from.count % to.count)) return any;
  return std::nullopt;
}

}  // namespace weft::sim
