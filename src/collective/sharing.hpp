#pragma once
// How much of its links each step of a collective gets. A collective keeps all its links busy at once, so a link is
// shared evenly by all that cross it for as long as it lasts: rates can be told beforehand.
//
//   rank a ==NVLink==> rank b                       out of a, into b
//   rank a ==NVLink==> port's rank --PCIe--> NIC    out of a, into the port's rank, out of the port        (PXN)
//   rank a --PCIe--> root complex --> host memory --> root complex --PCIe--> NIC                        (without PXN)
//   NIC --PCIe--> port's rank                       into the port
//   rank a --PCIe--> root complex --> root complex --PCIe--> rank b    without a scale-up network; always through host
//                                                                      memory where GPUs cannot reach each other
//
// Where data rest in host memory they go up from one root complex's switch and down to another's, or to the same one:
// then what is sent and what is received share the link up as well as the link down, and each gets half of it. That is
// what is measured: 12.2 GB/s became 6 without GPUDirect RDMA (github.com/NVIDIA/nccl-tests/issues/29, V100 with one
// 100G NIC). They are written to the memory of the GPU's socket and read from it, and eight NICs of 400G would have
// more of that than two sockets can take. Where links have room, it still takes what resting takes (kBouncedPerMille).
//
// Between the NICs come the links of the network (network_links.hpp), each with the part of a step that goes over it.

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/wide.hpp"
#include "collective/constants.hpp"
#include "collective/network_links.hpp"
#include "collective/team.hpp"

namespace weft::collective {

// What a PCIe link of so many lanes carries as payload: 4 KiB requests answered in 256-byte packets with 24 bytes of
// header each, rounded down.
inline constexpr std::int64_t kPciePerMille = 850;

// What a GPU gets of its NIC where its data rest in host memory on their way, whatever links there are: every chunk is
// written by the one, noticed, and fetched by the other. Between two GH200, where neither NVLink-C2C nor memory is
// short, NCCL got 82.2 GB/s instead of 94.5 for an all-gather, 27.2 instead of 30.9 for an all-to-all and 79.7 instead
// of 96.1 for an all-reduce (github.com/NVIDIA/nccl/issues/1579): of these ratios the middle one. What several GPUs get
// of one NIC that way nobody has published; together they may fill it.
inline constexpr std::int64_t kBouncedPerMille = 870;

struct Path {
  std::array<std::uint32_t, 14> parts{};
  std::uint32_t count = 0;
  bool host_memory = false;
  bool cut = false;                               // nothing joins the two ends
  std::span<const NetworkLinks::Part> network{};  // that it crosses

  void add(std::uint32_t part) { parts[count++] = part; }
};

// How many steps cross each link, by links of the cluster, in parts of NetworkLinks::kWhole.
using Loads = std::map<std::uint64_t, std::uint64_t>;

// A connection: all that goes between the same two NICs, so many steps.
struct Crossing {
  std::span<const NetworkLinks::Part> network;
  std::uint64_t steps = 0;
};

// What other collectives at the same time take of links: the rates they would have alone, how many they are, and how
// many of their steps cross one. What they leave is there, and never less than an equal part: of the jobs, and of the
// steps, for a link is shared by what crosses it.
struct Taken {
  Bandwidth rate;
  std::uint32_t jobs = 0;
  std::uint64_t load = 0;  // in parts of NetworkLinks::kWhole

  // `own`: what crosses it of one's own.
  Bandwidth left_of(Bandwidth capacity, std::uint64_t own = 0) const {
    const Wide by_steps = Wide{capacity.count()} * own / std::max<Wide>(1, Wide{own} + load);
    return std::max({capacity / (1 + std::int64_t{jobs}), Bandwidth(static_cast<std::int64_t>(by_steps)),
                     capacity - std::min(rate, capacity)});
  }
};
using TakenByOthers = std::map<std::uint64_t, Taken>;

class Sharing {
 public:
  struct Options {
    bool pxn = true;
    const TakenByOthers* beside = nullptr;
    NetworkLinks* network = nullptr;  // null: it has enough for all
    bool with_crossings = false;
  };
  Sharing(const Team& team, const Generation& generation, const Stack& stack, Options options);

  Path inside(std::uint32_t from, std::uint32_t to) const;
  // Between the switches of a domain and a rank.
  Path to_switch(std::uint32_t rank) const;
  Path from_switch(std::uint32_t rank) const;
  // From a rank through a port of its domain to a rank behind a port of another domain.
  Path across(std::uint32_t from, std::uint32_t from_port, std::uint32_t to, std::uint32_t to_port) const;
  // From a rank to the switches of the network, and back to it, as when they reduce.
  Path to_network(std::uint32_t from, std::uint32_t port) const;
  Path from_network(std::uint32_t to, std::uint32_t port) const;

  // The network between the NICs next to two ranks; a way without it.
  std::span<const NetworkLinks::Part> network(std::uint32_t leaves, std::uint32_t enters) const;

  // `weight` steps of equal size cross it for each chunk of the collective.
  void load(const Path& path, std::uint32_t weight = 1);
  // From now on a step may go by several ways in turn, by each as often: so many.
  void take_turns(std::uint32_t ways) { turns_ = ways; }
  void load_in_turn(const Path& path);
  // `over` of `under` steps do.
  void load(std::span<const NetworkLinks::Part> network, std::uint64_t over, std::uint64_t under);
  Bandwidth share(const Path& path) const { return std::min(share_of_host(path), share_of_network(path)); }
  Bandwidth share_of_host(const Path& path) const;
  Bandwidth share_of_network(const Path& path) const;
  // Of a link of the network, beside others, when so much of one's own crosses it.
  Bandwidth rate(std::uint32_t link, std::uint64_t own) const;
  // What every step gets of a link of the network that is loaded.
  Bandwidth left(std::uint32_t link) const;
  // For how long the busiest link of the network is at work, when every step that was loaded moves so many bytes, and
  // how many of them cross it.
  std::pair<Duration, std::uint64_t> busiest_link(std::uint64_t bytes) const;
  // Of those, what goes out of and comes into the busier of the ports that a way goes through: one thread posts and
  // completes all of them. 0: it stays inside.
  std::uint32_t posted(const Path& path) const;
  // What was loaded here.
  Loads loads() const;
  // And by whom the network was, where that is asked for.
  const std::vector<Crossing>& crossings() const { return crossings_; }

 private:
  static constexpr std::uint32_t kNoPort = 0xFFFFFFFFu;
  struct Part {
    Bandwidth capacity;
    std::uint64_t link = 0;  // of the cluster
    std::uint32_t users = 0;
    std::uint32_t port = kNoPort;  // the part out of the port that it belongs to
  };
  void add_part(Bandwidth capacity, std::uint64_t link);
  Bandwidth beside(std::uint64_t link, Bandwidth capacity, std::uint64_t own) const;
  void add_rest(Path& path, std::uint32_t rank) const;  // in the host memory next to a rank
  std::uint32_t out_of(std::uint32_t rank) const { return 4 * rank; }
  std::uint32_t into(std::uint32_t rank) const { return 4 * rank + 1; }
  // What a rank moves through host memory to NICs and from them.
  std::uint32_t bounce_out(std::uint32_t rank) const { return 4 * rank + 2; }
  std::uint32_t bounce_in(std::uint32_t rank) const { return 4 * rank + 3; }
  std::uint32_t port_out(std::uint32_t node, std::uint32_t port) const { return first_port_[node] + 2 * port; }
  std::uint32_t port_in(std::uint32_t node, std::uint32_t port) const { return port_out(node, port) + 1; }
  // Between a PCIe switch and its root complex.
  std::uint32_t root_up(std::uint32_t node, std::uint32_t root) const { return first_root_[node] + 2 * root; }
  std::uint32_t root_down(std::uint32_t node, std::uint32_t root) const { return root_up(node, root) + 1; }

  const Team& team_;
  Options options_;
  std::uint32_t turns_ = 1;  // Part::users that are one step
  std::vector<Part> parts_;
  std::vector<std::uint64_t> loads_;  // of links of the network, as far as there are any
  std::vector<Crossing> crossings_;
  std::map<const NetworkLinks::Part*, std::size_t> known_;  // of these, by ways: a network has one for two NICs
  std::vector<std::uint32_t> first_port_;                   // by node
  std::vector<std::uint32_t> first_root_;  // by node: two for each root complex, then each socket's memory
};

}  // namespace weft::collective
