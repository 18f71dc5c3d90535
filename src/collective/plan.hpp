#pragma once
// A collective, planned: operation, ranks and bytes; algorithm, protocol and channels; and the programs that carry it
// out, with what each of their steps costs on this cluster.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "collective/constants.hpp"
#include "collective/names.hpp"
#include "collective/program.hpp"
#include "collective/sharing.hpp"
#include "collective/team.hpp"

namespace weft::collective {

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  std::uint32_t channels = 0;  // 0: as many as NCCL would take for that size
};

// What is not as it should be.
struct Conditions {
  struct Slow {
    std::uint32_t which = 0;           // rank
    std::int64_t speed_per_mille = 0;  // that is left
    auto operator<=>(const Slow&) const = default;
  };
  std::vector<Slow> ranks;       // all they do takes longer
  std::vector<Duration> starts;  // by rank: when it comes; empty: all at once

  bool of_ranks() const { return !ranks.empty() || !starts.empty(); }
  auto operator<=>(const Conditions&) const = default;
};

// How many channels NCCL was told to set up at least and at most, whatever its search finds (NCCL_MIN_CTAS,
// NCCL_MAX_CTAS and their like). As in NCCL the least goes before the most.
struct ChannelLimits {
  std::uint32_t least = 0;
  std::uint32_t most = 64;  // MAXCHANNELS

  std::uint32_t of(std::uint32_t found) const { return std::max(std::min(found, most), least); }
};

struct PlanOptions {
  Operation operation = Operation::all_reduce;
  std::uint64_t bytes = 0;  // as nccl-tests counts them
  Choice choice;
  const Stack* stack = nullptr;
  const Generation* generation = nullptr;  // nullptr: that of the GPUs
  bool pxn = true;
  std::uint32_t root = 0;   // broadcast, reduce
  std::uint64_t chunk = 0;  // 0: NCCL's rules
  ChannelLimits limits = {};
  // Longer programs are cut to so many rounds, and the last, shorter one; 0: none is.
  std::uint64_t most_rounds = 0;
  bool every_channel = false;              // as a program of its own, also where one could stand for several
  bool with_crossings = false;             // Plan::crossings are wanted
  bool every_rank = false;                 // is planned, also where a few could stand for all (alike.hpp)
  const Conditions* conditions = nullptr;  // null: everything is as it should be
  const TakenByOthers* beside = nullptr;   // collectives at the same time
  NetworkLinks* network = nullptr;         // that is shared; null: nothing of it is, or the executor knows
};

struct Plan {
  Operation operation = Operation::all_reduce;
  Choice choice;
  std::uint32_t gpus = 0;
  std::uint32_t ranks = 0;                               // GPUs and the switches that reduce
  std::uint64_t chunk = 0;                               // of a step, at most
  std::uint32_t slices = 1;                              // of a chunk, in rings
  std::uint64_t whole_rounds = 0;                        // of a program, with a whole chunk each, before any were cut
  Duration launch;                                       // before the first step
  Duration least;                                        // of the whole
  Duration inside;                                       // latency of a step within a domain,
  Duration outside;                                      // and of one that crosses the network
  bool host_memory = false;                              // some steps bounce: no GPUDirect RDMA
  bool cut = false;                                      // some steps never arrive: nothing joins their ends
  std::vector<std::shared_ptr<const Program>> programs;  // all, but for channels of NVLS that are copies of these
  // One of each kind: programs that differ in nothing but who carries them out take the same time.
  std::vector<std::shared_ptr<const Program>> different;
  std::vector<std::uint32_t> node;     // of every rank; switches of the network belong to none
  std::vector<std::uint32_t> port_of;  // by program: what it counts the ports of domains by (gates.hpp)
  bool pxn = true;
  bool alternate = false;  // rings leave nodes by their partner's port
  Duration inside_lag;     // of the latencies the part that is not the links': protocol and proxy
  Duration outside_lag;
  std::vector<Duration> starts;               // by rank; empty: all at once
  std::vector<std::int64_t> speed_per_mille;  // by rank; empty: all are as fast as they should be
  Loads loads;                                // that it puts on links,
  std::uint64_t bytes_per_load = 0;           // that each step that was loaded moves in all
  std::vector<Crossing> crossings;            // of the network, where they were asked for
  bool bound_by_network = false;              // some steps get less of it than of all else
  Duration network_time;                      // for how long the network's busiest link is at work,
  std::uint64_t network_steps = 0;            // and how many of the steps that were loaded cross it
  std::uint32_t full_in_a_row = 0;            // most links of one way that are to carry twice what they can
  std::uint32_t stood_for = 0;                // GPUs that were computed, and stand for all; 0: each was

  Duration latency(std::uint32_t from, std::uint32_t to) const { return node[from] == node[to] ? inside : outside; }
  // What a slow rank takes longer for what should take so long, ps.
  std::int64_t lost(std::uint32_t rank, std::int64_t whole) const {
    const bool slow = rank < speed_per_mille.size() && speed_per_mille[rank] < 1000;
    return slow ? whole * 1000 / speed_per_mille[rank] - whole : 0;
  }
};

// Why an algorithm cannot do an operation on these ranks; empty when it can.
std::string why_not(const Team& team, Operation operation, Algorithm algorithm, Protocol protocol);

// why_not() was empty.
Plan make_plan(const Team& team, const PlanOptions& options);

// What a plan takes of links when it lasts so long.
void add_to(TakenByOthers& taken, const Plan& plan, Duration time);

// How many channels NCCL would set up between these ranks.
std::uint32_t channels_for(const Team& team, Algorithm algorithm);

}  // namespace weft::collective
