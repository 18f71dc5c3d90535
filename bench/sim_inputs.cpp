#include "sim_inputs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <numeric>
#include <vector>

#include "base/random.hpp"

namespace weft::bench {
namespace {

// A random cycle: everybody sends to somebody else (Sattolo).
std::vector<std::uint32_t> random_cycle(std::uint32_t n) {
  std::vector<std::uint32_t> to(n);
  std::iota(to.begin(), to.end(), 0u);
  Random random(1, 0, 0);
  for (std::uint32_t i = n; i-- > 1;) std::swap(to[i], to[random.below(i)]);
  return to;
}

std::string flow(std::uint32_t from, std::uint32_t to, std::size_t id, std::uint64_t bytes) {
  return fmt::format("{}->{} id {} start 0 size {}\n", from, to, id, bytes);
}

}  // namespace

SimInputs::SimInputs() {
  const char* shared = std::getenv("WEFT_SHARED");
  const std::filesystem::path at =
      std::filesystem::path(shared ? shared : WEFT_SOURCE_DIR "/../shared") / "peers/htsim";
  if (std::filesystem::exists(at)) shared_ = at;
  made_ = std::filesystem::temp_directory_path() / fmt::format("weft-bench-{}", getpid());
  std::filesystem::create_directories(made_);
}

SimInputs::~SimInputs() {
  std::error_code ignored;
  std::filesystem::remove_all(made_, ignored);
}

std::string SimInputs::write(const std::string& name, const std::string& text) {
  const std::filesystem::path path = made_ / name;
  std::ofstream(path) << text;
  return path.string();
}

std::string SimInputs::fat_tree(std::uint32_t hosts, std::uint32_t radix, std::uint32_t gbps, std::uint32_t cable_ns) {
  const std::uint32_t pod = radix * radix;
  const auto tier = [&](int number, std::uint32_t down, std::uint32_t up) {
    return fmt::format(
        "Tier {}\nDownlink_speed_Gbps {}\nRadix_Down {}\n{}Downlink_Latency_ns {}\nSwitch_Latency_ns 0\n", number, gbps,
        down, up > 0 ? fmt::format("Radix_Up {}\n", up) : "", cable_ns);
  };
  return write(fmt::format("fat_tree_{}_{}ns.topo", hosts, cable_ns),
               fmt::format("Nodes {}\nTiers 3\nPodsize {}\n", hosts, pod) + tier(0, radix, radix) +
                   tier(1, radix, radix) + tier(2, hosts / pod, 0));
}

std::string SimInputs::topology(std::uint32_t hosts) {
  if (peers_own()) return (shared_ / fmt::format("fat_tree_{}_1os.topo", hosts)).string();
  if (hosts == 128) return fat_tree(128, 4, 100, 1000);
  return hosts == 1024 ? fat_tree(1024, 8, 200, 1000) : fat_tree(8192, 16, 100, 1000);
}

std::string SimInputs::permutation(std::uint32_t hosts) {
  if (peers_own()) {
    if (hosts == 1024) return (shared_ / "perm_1024n_1024c_0u_2000000b.cm").string();
    return (shared_ / fmt::format("perm_{0}n_{0}c_2MB.cm", hosts)).string();
  }
  const std::vector<std::uint32_t> to = random_cycle(hosts);
  std::string text = fmt::format("Nodes {0}\nConnections {0}\n", hosts);
  for (std::uint32_t i = 0; i < hosts; ++i) text += flow(i, to[i], i + 1, 2'000'000);
  return write(fmt::format("perm_{}.cm", hosts), text);
}

std::string SimInputs::ring_all_reduce() {
  if (peers_own()) return (shared_ / "ar128.cm").string();
  // Chunk c starts at rank c and goes round almost twice; each hop when the one before it is acknowledged.
  constexpr std::uint32_t kRanks = 128;
  constexpr std::uint32_t kHops = 2 * kRanks - 1;
  const std::vector<std::uint32_t> to = random_cycle(kRanks);
  std::string text =
      fmt::format("Nodes {}\nConnections {}\nTriggers {}\n", kRanks, kRanks * kHops, kRanks * (kHops - 1));
  std::string triggers;
  std::uint32_t id = 0;
  std::uint32_t trigger = 0;
  for (std::uint32_t chunk = 0; chunk < kRanks; ++chunk) {
    std::uint32_t at = chunk;
    for (std::uint32_t hop = 0; hop < kHops; ++hop) {
      text += fmt::format("{}->{} id {} {} size 131072", at, to[at], ++id,
                          hop == 0 ? "start 0" : fmt::format("trigger {}", trigger));
      text += hop + 1 < kHops ? fmt::format(" send_done_trigger {}\n", ++trigger) : "\n";
      if (hop + 1 < kHops) triggers += fmt::format("trigger id {} oneshot\n", trigger);
      at = to[at];
    }
  }
  return write("ar128.cm", text + triggers);
}

std::string SimInputs::oversubscribed() {
  return write("oversubscribed.topo",
               "Nodes 256\nTiers 2\nPodsize 256\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 16\nRadix_Up "
               "4\nDownlink_Latency_ns 1000\n"
               "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 16\nDownlink_Latency_ns 1000\n");
}

std::string SimInputs::across_leaves(std::uint64_t bytes) {
  constexpr std::uint32_t kHosts = 256;
  constexpr std::uint32_t kLeaf = 16;
  std::vector<std::uint32_t> to(kHosts);
  for (std::uint32_t i = 0; i < kHosts; ++i) to[i] = (i + kLeaf) % kHosts;
  Random random(1, 0, 0);
  for (std::uint32_t swaps = 0; swaps < 20 * kHosts; ++swaps) {
    const std::uint32_t a = random.below(kHosts);
    const std::uint32_t b = random.below(kHosts);
    if (a / kLeaf != to[b] / kLeaf && b / kLeaf != to[a] / kLeaf) std::swap(to[a], to[b]);
  }
  std::string text = "Nodes 256\n";
  for (std::uint32_t i = 0; i < kHosts; ++i) text += flow(i, to[i], i + 1, bytes);
  return write("across.cm", text);
}

std::string SimInputs::million() {
  return write("million.weft.yaml",
               "version: 1\nservers: {kind: hgx-h100, count: 131072}\n"
               "fabric: {kind: rail-optimized, switch: tomahawk-6, scalable_unit: 128, pod: 16, spines: 128,\n  "
               "super_spines: 16384}\n");
}

std::string SimInputs::thousand_flows() {
  constexpr std::uint32_t kGpus = 1'048'576;
  Random random(1, 0, 0);
  std::string text = fmt::format("Nodes {}\n", kGpus);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const std::uint32_t from = random.below(kGpus);
    text += flow(from, (from + 1 + random.below(kGpus - 1)) % kGpus, i + 1, 2'000'000);
  }
  return write("thousand.cm", text);
}

}  // namespace weft::bench
