#include "collective/constants.hpp"

#include <algorithm>

namespace weft::collective {
namespace {

constexpr Duration ns(std::int64_t n) { return nanoseconds(n); }

// Rates: NCCL src/graph/tuning.cc and topo.h; per-link NVLink rates there are 20.0 of 25 GB/s (SM70, SM80), 20.6 of 25
// (SM90), 40.1 of 50 (SM100). Channels: A100 and H100 report 24 on one server, B200 32; NVLS takes 16 on SM90, 32 on
// SM100, 24 on SM100 in racks. GPUs of no known generation are taken to be like Hopper without NVLS.
// What NVLS really gets is worked out from published tables (truth/): 8 x H100 302 GB/s before the cost of chunks
// (18 x 20.6 x 8/9 x 0.915), 8 x B200 479 with it, NVL72 racks 430 to 455.
constexpr std::array<Generation, 6> kGenerations = {{
    {"Volta", "v100", 800, 24, 0, 0, 0, {39'000, 39'000, 20'400}, {20'000, 20'000, 20'000}, {20'000, 20'000, 20'000},
     {26'500, 18'500, 10'000}, {26'500, 18'500, 10'000}},
    {"Ampere", "a100", 800, 24, 0, 0, 0, {87'700, 22'500, 19'000}, {20'000, 20'000, 20'000}, {20'000, 20'000, 20'000},
     {24'000, 23'600, 17'800}, {24'000, 23'600, 17'800}},
    {"Hopper", "h100 h200", 824, 24, 16, 850, 915, {141'000, 45'000, 35'000}, {36'700, 36'700, 36'700},
     {36'700, 36'700, 29'000}, {38'700, 41'400, 36'000}, {0, 57'700, 45'500}},
    {"Blackwell", "b200 b300", 802, 32, 32, 740, 800, {282'000, 90'000, 70'000}, {40'000, 40'000, 40'000},
     {55'600, 31'670, 20'000}, {70'000, 42'800, 24'000}, {0, 96'000, 80'000}},
    {"Blackwell in racks", "gb200 gb300", 802, 32, 24, 740, 620, {282'000, 90'000, 70'000}, {40'000, 40'000, 40'000},
     {55'600, 31'670, 20'000}, {70'000, 42'800, 24'000}, {0, 96'000, 80'000}},
    {"other", "", 824, 24, 0, 0, 0, {141'000, 45'000, 35'000}, {36'700, 36'700, 36'700}, {36'700, 36'700, 29'000},
     {38'700, 41'400, 36'000}, {0, 57'700, 45'500}},
}};

// Floors of published tables (truth/): one process per GPU 13 us on one H100 server, one process for 8 GPUs 35, PyTorch
// 38 to 46; two nodes 30 to 36 us over InfiniBand, 69 over EFA on P5, 161 on P4de.
constexpr std::array<Stack, 10> kStacks = {{
    {"ib", "InfiniBand, a process per GPU", ns(0), ns(0), ns(4'000), 960, false},
    {"ib-one-process", "InfiniBand, one process for all GPUs of a server", ns(20'000), ns(0), ns(4'000), 960, false},
    {"ib-issue-bound", "InfiniBand, a host that issues an operation every 40 us", ns(0), ns(40'000), ns(4'000), 960, false},
    {"roce", "RoCE, a process per GPU", ns(0), ns(0), ns(14'000), 950, false},
    {"efa", "EFA v2 and later with aws-ofi-nccl, a process per GPU", ns(0), ns(0), ns(3'300), 960, false},
    {"efa-2023", "the same with NCCL 2.18 and aws-ofi-nccl 1.7", ns(0), ns(0), ns(3'300), 600, true},
    {"efa-pytorch", "EFA v2 and later, called from PyTorch", ns(13'000), ns(39'000), ns(3'300), 960, false},
    {"efa-v1", "EFA v1 (P4d) with aws-ofi-nccl, a process per GPU", ns(0), ns(0), ns(16'000), 880, true},
    {"tcpx", "GPUDirect-TCPX", ns(0), ns(0), ns(330'000), 600, false},
    {"tcp", "TCP sockets", ns(0), ns(0), ns(330'000), 500, false},
}};

struct Latencies {
  Algorithm algorithm;
  std::array<std::int64_t, 3> base;  // ns; LL, LL128, Simple
  std::array<std::int64_t, 3> scale_up;
  std::array<std::int64_t, 3> pcie;
  std::array<std::int64_t, 3> network;
};

// NCCL src/graph/tuning.cc. Direct and hierarchical steps are as a ring's.
constexpr std::array<Latencies, 8> kLatencies = {{
    {Algorithm::ring, {6'600, 14'000, 8'400}, {600, 1'900, 3'400}, {1'000, 2'500, 5'700}, {2'700, 4'000, 14'000}},
    {Algorithm::tree, {6'800, 14'000, 8'400}, {600, 1'250, 4'000}, {1'000, 1'900, 4'000}, {5'000, 8'500, 14'000}},
    {Algorithm::nvls, {0, 0, 0}, {0, 0, 25'000}, {0, 0, 0}, {0, 0, 18'000}},
    {Algorithm::nvls_tree, {0, 0, 0}, {0, 0, 25'000}, {0, 0, 0}, {0, 0, 20'900}},
    {Algorithm::pat, {8'000, 8'000, 8'000}, {0, 0, 4'000}, {0, 0, 4'000}, {0, 0, 14'000}},
    {Algorithm::collnet, {0, 0, 0}, {0, 0, 3'700}, {0, 0, 3'700}, {0, 0, 31'000}},
    {Algorithm::direct, {6'600, 14'000, 8'400}, {600, 1'900, 3'400}, {1'000, 2'500, 5'700}, {2'700, 4'000, 14'000}},
    {Algorithm::hierarchical, {6'600, 14'000, 8'400}, {600, 1'900, 3'400}, {1'000, 2'500, 5'700}, {2'700, 4'000, 14'000}},
}};

const Latencies& latencies_of(Algorithm algorithm) {
  return *std::find_if(kLatencies.begin(), kLatencies.end(),
                       [&](const Latencies& each) { return each.algorithm == algorithm; });
}

bool begins_with_any(std::string_view name, std::string_view words) {
  while (!words.empty()) {
    const std::size_t space = words.find(' ');
    if (name.starts_with(words.substr(0, space))) return true;
    words = space == std::string_view::npos ? "" : words.substr(space + 1);
  }
  return false;
}

}  // namespace

const Generation& generation_of(std::string_view gpu_kind) {
  const auto found = std::find_if(kGenerations.begin(), kGenerations.end(),
                                  [&](const Generation& each) { return begins_with_any(gpu_kind, each.gpus); });
  return found == kGenerations.end() ? kGenerations.back() : *found;
}

std::span<const Stack> stacks() { return kStacks; }

const Stack* stack_named(std::string_view name) {
  const auto found = std::find_if(kStacks.begin(), kStacks.end(), [&](const Stack& each) { return each.name == name; });
  return found == kStacks.end() ? nullptr : &*found;
}

const Stack& default_stack(std::string_view transport, std::string_view nic_kind) {
  if (nic_kind == "efa-v1") return *stack_named("efa-v1");
  if (nic_kind.starts_with("efa")) return *stack_named("efa");
  return *stack_named(transport == "tcp" ? "tcp" : "roce");
}

Duration base_latency(Algorithm algorithm, Protocol protocol) {
  return ns(latencies_of(algorithm).base[static_cast<std::size_t>(protocol)]);
}

Duration hop_latency(Hop hop, Algorithm algorithm, Protocol protocol) {
  const Latencies& all = latencies_of(algorithm);
  const auto& by_protocol = hop == Hop::scale_up ? all.scale_up : hop == Hop::pcie ? all.pcie : all.network;
  return ns(by_protocol[static_cast<std::size_t>(protocol)]);
}

}  // namespace weft::collective
