#pragma once
// What NCCL and the machines it runs on are like, as numbers: by GPU generation, by network (NIC and NCCL's plugin for
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
#include "model/choices.hpp"

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
  std::int64_t start_ns;   // launch and first flags of a kernel
  std::int64_t ll_hop_ns;  // one step over the scale-up links, by protocol
  std::int64_t ll128_hop_ns;
  std::int64_t simple_hop_ns;
  std::int64_t slice_ns;       // Simple: fence and flag of a slice, which keep the sender
  std::int64_t copy_mbps;      // out of NCCL's buffers, of all channels
  std::int64_t pair_mbps;      // from one GPU to another, of a channel
  std::int64_t nvls_share;     // per mille of the scale-up rate; GPUs give and take (n + 1) / n of their bytes
  std::int64_t nvls_chunk_ns;  // NVLS synchronises all GPUs of a domain for each chunk
  std::int64_t nvls_hop_ns;
  std::int64_t nvls_hop_from;  // bytes that it was fitted from; below, NCCL's own figure stands in. 0: of all sizes
  std::int64_t posting;        // per mille: what a chunk costs its processors, of what it costs x86's; 0: the same
  bool nvls_measured;          // NVLS elsewhere than in truth/
};

struct Network {
  std::string_view name;
  std::string_view text;
  std::string_view like;       // a network whose numbers are meant where this one has 0
  std::int64_t nvls_chunk;     // bytes that chunks of NVLS begin with,
  std::int64_t far_chunk;      // and of NVLSTree from four nodes on
  std::int64_t hop_ns;         // beyond NCCL's latency of a hop and the fabric's: proxy, plugin, completion
  std::int64_t simple_ns;      // and beyond that with Simple, where messages keep their order
  std::int64_t message_ns;     // what a chunk costs the one thread that posts and completes for a port
  std::int64_t nic_per_mille;  // of the NIC's rate that arrives
  std::string_view profile{};  // variables that the vendor sets with it
};

// An operation is not issued faster: no time is shorter than the sum of what applies.
struct Launch {
  std::string_view name;  // empty: a process per GPU
  std::string_view text;
  std::int64_t delay_ns;    // beyond what the kernel itself takes
  std::int64_t least_ns;    // for an operation,
  std::int64_t gpu_ns;      // for each GPU of a process, one after another,
  std::int64_t channel_ns;  // and for each channel of each of them where they are launched as a group (up to NCCL 2.8)
};

// What changed in NCCL, from release to release, as far as it is modelled. A stack is of the newest unless it says.
struct Release {
  std::string name;  // nccl2.26; empty: the newest
  std::string text;  // whose rules it gets
  std::int64_t minor = 0;

  // NCCL_LAUNCH_MODE=GROUP was the default: one cooperative launch for all GPUs of a process.
  bool grouped() const { return minor < 9; }
  // Point to point may go with LL: what one channel has of a peer's bytes decides, or what the peer's channels could.
  bool pairs_by_ll() const { return minor >= 14; }
  bool pairs_by_all_channels() const { return minor >= 22 && minor < 29; }
  // Chunks of NVLSTree begin with a step of the buffer, not with NCCL_NVLS_CHUNKSIZE,
  bool whole_steps() const { return minor < 22; }
  // and on many nodes with less.
  bool far_chunks() const { return minor >= 19; }
  // Rings may leave by the NIC next to the one they came in by (crossNic 2).
  bool alternates() const { return minor >= 20; }
  // NCCL's tuning of NVLSTree and of Blackwell was worked out anew.
  bool tuned_anew() const { return minor >= 28; }
  bool corrects_nvls_tree() const { return minor >= 29; }  // on Blackwell, as it does trees
  bool wide_nvls_tree() const { return minor >= 30; }      // on Blackwell, between three nodes and more
};

// What is the same everywhere.
struct Common {
  std::string_view name;
  // Per mille of what NVLS moves that NVLSTree does: its threads are divided between NVLink and the network.
  std::int64_t nvls_tree;
};

struct Constants {
  std::vector<Generation> generations;
  std::vector<Network> networks;
  std::vector<Launch> launches;
  std::vector<Common> common;  // one
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

// A network, a launch mode and a release of NCCL: what a scenario names.
struct Stack {
  std::string name;  // ib, efa-pytorch, ib-nccl2.26
  std::string text;
  Network network;
  Launch launch;
  Release release;
  Common common;
};
std::span<const Stack> stacks();  // of the newest release
std::span<const Release> releases();
const Stack* stack_named(std::string_view name);                // of any
Stack make_stack(const Constants& all, std::string_view name);  // there is one of that name
// The one that a cluster's transport and NIC suggest.
const Stack& default_stack(model::TransportKind transport, std::string_view nic_kind);
// LL and LL128 need writes in order, which the first EFA does not keep (aws-ofi-nccl sets NCCL_PROTO=simple there).
bool keeps_order(std::string_view nic_kind);

const Generation& generation_of(std::string_view gpu_kind, const Constants& all = constants());

// NCCL's tables: latency before anything moves, and of one step over a hop.
Duration base_latency(Algorithm algorithm, Protocol protocol);
Duration hop_latency(Hop hop, Algorithm algorithm, Protocol protocol);

}  // namespace weft::collective
