#pragma once
// What NCCL and the machines it runs on are like, as numbers: by GPU generation, by network (card and NCCL's plugin for
// it) and by launch mode. A constant belongs to one of the three and to nothing smaller. Where each comes from is data,
// too, so that they can be counted, and those that were fitted can be fitted anew without one of the tables: `weft
// validate` does both.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "collective/names.hpp"

namespace weft::collective {

enum class Hop : std::uint8_t { scale_up, pcie, network };

// By number of nodes, as NCCL has it: one, two, three and more.
using ByNodes = std::array<std::int64_t, 3>;  // MB/s

struct Generation {
  std::string_view name;
  std::string_view gpus;  // words that names of its GPUs begin with
  // What NCCL's tuning model has for it.
  std::int64_t scale_up_per_mille;  // of the link's rate that a kernel gets
  std::int64_t ring_channels;       // on one node
  std::int64_t nvls_channels;       // 0: its switches do not reduce
  std::int64_t nvls_per_mille;      // of the above that NVLS gets
  ByNodes ll_most;                  // of all channels
  ByNodes ring_ll128_most;          // of a channel
  ByNodes tree_ll128_most;
  ByNodes tree_most;
  ByNodes nvls_tree_most;
  // What it is like.
  std::int64_t start_ns;        // launch and first flags of a kernel
  std::int64_t ll_hop_ns;       // one step over the scale-up links, by protocol
  std::int64_t ll128_hop_ns;
  std::int64_t simple_hop_ns;
  std::int64_t slice_ns;        // Simple: fence and flag of a slice, which keep the sender
  std::int64_t copy_mbps;       // out of NCCL's buffers, of all channels
  std::int64_t nvls_share;      // per mille of the scale-up rate; GPUs give and take (n + 1) / n of their bytes
  std::int64_t nvls_chunk_ns;   // NVLS synchronises all GPUs of a domain for each chunk
  std::int64_t nvls_hop_ns;
  bool nvls_measured;           // those three elsewhere than in truth/
};

struct Network {
  std::string_view name;
  std::string_view text;
  std::int64_t nvls_chunk;     // bytes that chunks of NVLS begin with,
  std::int64_t far_chunk;      // and of NVLSTree from four nodes on
  std::int64_t hop_ns;         // beyond NCCL's latency of a hop and the fabric's: proxy, plugin, completion
  std::int64_t message_ns;     // what a chunk costs the one thread that posts and completes for a port
  std::int64_t nic_per_mille;  // of the NIC's rate that arrives
};

struct Launch {
  std::string_view name;  // empty: a process per GPU
  std::string_view text;
  std::int64_t delay_ns;  // beyond what the kernel itself takes
  std::int64_t least_ns;  // an operation is not issued faster: no time is shorter
};

struct Constants {
  std::vector<Generation> generations;
  std::vector<Network> networks;
  std::vector<Launch> launches;
};

const Constants& constants();

enum class Origin : std::uint8_t {
  published,  // by NCCL, its plugins or a vendor
  measured,   // worked out from measurements that are not among the tables of truth/
  fitted,     // to tables of truth/
};
std::string_view name(Origin origin);

// One number of the constants, wherever it stands.
struct Number {
  std::string_view owner;  // Hopper, efa, one-process
  std::string_view name;
  std::string_view unit;
  Origin origin = Origin::published;
  std::string_view source;
  std::int64_t value = 0;
};
// Every number that says something, of all tables; zeros say that there is nothing.
std::vector<Number> numbers(const Constants& all);
// Those that may be fitted, in a fixed order, to be read and changed.
struct Knob {
  Number number;
  std::int64_t* value;
};
std::vector<Knob> knobs(Constants& all, Origin origin);
std::size_t count(Origin origin);

// A network and a launch mode: what a scenario names.
struct Stack {
  std::string name;  // ib, efa-pytorch
  std::string text;
  Network network;
  Launch launch;
};
std::span<const Stack> stacks();
const Stack* stack_named(std::string_view name);
Stack make_stack(const Constants& all, std::string_view name);  // there is one of that name
// The one that a cluster's transport and card suggest.
const Stack& default_stack(std::string_view transport, std::string_view nic_kind);
// LL and LL128 need writes in order, which the first EFA does not keep (aws-ofi-nccl sets NCCL_PROTO=simple there).
bool keeps_order(std::string_view nic_kind);

const Generation& generation_of(std::string_view gpu_kind, const Constants& all = constants());

// NCCL's tables: latency before anything moves, and of one step over a hop.
Duration base_latency(Algorithm algorithm, Protocol protocol);
Duration hop_latency(Hop hop, Algorithm algorithm, Protocol protocol);

}  // namespace weft::collective
