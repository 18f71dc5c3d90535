#pragma once
// What the network makes of the traffic of a collective: neighbours of a ring over its servers, packet by packet.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "experiment/design.hpp"
#include "experiment/fidelity.hpp"
#include "schedule/result.hpp"
#include "why/machine.hpp"

namespace weft::why {

// What the fabric leaves of the NICs' rate, and where the rest goes, in thousandths of their time.
struct NetworkProbe {
  std::int64_t left_per_mille = 1'000;
  std::int64_t left_of_shares = 1'000;  // of what fair shares of the links would leave: what they do not know
  std::int64_t slow_per_mille = 0;      // a NIC that a fault slows down
  std::int64_t paused_per_mille = 0;
  std::int64_t resent_per_mille = 0;
  std::size_t cut_off = 0;                       // neighbours that nothing joins any more
  std::string longest_queue;                     // the port of a switch; empty where nothing is lost, or with flows
  std::optional<experiment::Fidelity> fidelity;  // none: one server, or the fabric cannot be simulated
  schedule::Counters counters;

  bool done() const { return fidelity.has_value(); }
  std::string_view level() const { return fidelity ? name(*fidelity) : "not needed"; }
};

// How much longer it takes than with NICs that no fault slows down is their doing, whatever became of it: queues
// before them, pauses, packets sent again.
void charge_slow_nics(const NetworkProbe& without_them, NetworkProbe& probe);

// How much longer it takes than with a network that has no faults is their doing: what was lost is sent again.
void charge_loss(const NetworkProbe& without_faults, NetworkProbe& probe);

// `fast`: as flows.
NetworkProbe probe_network(experiment::Design& design, const Job& job, bool fast);

}  // namespace weft::why
