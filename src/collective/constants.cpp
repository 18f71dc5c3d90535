#include "collective/constants.hpp"

#include <algorithm>

namespace weft::collective {
namespace {

// GPUs of no known generation are taken to be like Hopper without NVLS.
constexpr std::array<Generation, 6> kGenerations = {{
    {.name = "Volta",
     .gpus = "v100",
     .scale_up_per_mille = 800,
     .ring_channels = 24,
     .nvls_channels = 0,
     .nvls_per_mille = 0,
     .ll_most = {39'000, 39'000, 20'400},
     .ring_ll128_most = {20'000, 20'000, 20'000},
     .tree_ll128_most = {20'000, 20'000, 20'000},
     .tree_most = {26'500, 18'500, 10'000},
     .nvls_tree_most = {26'500, 18'500, 10'000},
     .start_ns = 10'000,
     .ll_hop_ns = 850,
     .ll128_hop_ns = 2'750,
     .simple_hop_ns = 6'400,
     .slice_ns = 3'900,
     .copy_mbps = 340'000,
     .pair_mbps = 10'600,
     .nvls_share = 0,
     .nvls_chunk_ns = 0,
     .nvls_hop_ns = 0,
     .nvls_hop_from = 0,
     .posting = 0,
     .nvls_measured = false},
    {.name = "Ampere",
     .gpus = "a100",
     .scale_up_per_mille = 800,
     .ring_channels = 24,
     .nvls_channels = 0,
     .nvls_per_mille = 0,
     .ll_most = {87'700, 22'500, 19'000},
     .ring_ll128_most = {20'000, 20'000, 20'000},
     .tree_ll128_most = {20'000, 20'000, 20'000},
     .tree_most = {24'000, 23'600, 17'800},
     .nvls_tree_most = {24'000, 23'600, 17'800},
     .start_ns = 10'000,
     .ll_hop_ns = 850,
     .ll128_hop_ns = 2'750,
     .simple_hop_ns = 6'400,
     .slice_ns = 3'900,
     .copy_mbps = 340'000,
     .pair_mbps = 10'600,
     .nvls_share = 0,
     .nvls_chunk_ns = 0,
     .nvls_hop_ns = 0,
     .nvls_hop_from = 0,
     .posting = 0,
     .nvls_measured = false},
    {.name = "Hopper",
     .gpus = "h100 h200 h800",
     .scale_up_per_mille = 824,
     .ring_channels = 24,
     .nvls_channels = 16,
     .nvls_per_mille = 850,
     .ll_most = {141'000, 45'000, 35'000},
     .ring_ll128_most = {36'700, 36'700, 36'700},
     .tree_ll128_most = {36'700, 36'700, 29'000},
     .tree_most = {38'700, 41'400, 36'000},
     .nvls_tree_most = {0, 57'700, 45'500},
     .start_ns = 4'900,
     .ll_hop_ns = 830,
     .ll128_hop_ns = 1'650,
     .simple_hop_ns = 4'400,
     .slice_ns = 1'700,
     .copy_mbps = 610'000,
     .pair_mbps = 18'000,
     .nvls_share = 864,
     .nvls_chunk_ns = 3'000,
     .nvls_hop_ns = 1'840,
     .nvls_hop_from = 0,
     .posting = 0,
     .nvls_measured = false},
    {.name = "Blackwell",
     .gpus = "b200 b300",
     .scale_up_per_mille = 802,
     .ring_channels = 32,
     .nvls_channels = 32,
     .nvls_per_mille = 740,
     .ll_most = {282'000, 90'000, 70'000},
     .ring_ll128_most = {40'000, 40'000, 40'000},
     .tree_ll128_most = {55'600, 31'670, 20'000},
     .tree_most = {70'000, 42'800, 24'000},
     .nvls_tree_most = {0, 96'000, 80'000},
     .start_ns = 8'000,
     .ll_hop_ns = 1'400,
     .ll128_hop_ns = 2'500,
     .simple_hop_ns = 8'600,
     .slice_ns = 1'700,
     .copy_mbps = 1'150'000,
     .pair_mbps = 21'700,
     .nvls_share = 800,
     .nvls_chunk_ns = 7'000,
     .nvls_hop_ns = 700,
     .nvls_hop_from = 0,
     .posting = 0,
     .nvls_measured = true},
    {.name = "Blackwell in racks",
     .gpus = "gb200 gb300",
     .scale_up_per_mille = 802,
     .ring_channels = 32,
     .nvls_channels = 24,
     .nvls_per_mille = 740,
     .ll_most = {282'000, 90'000, 70'000},
     .ring_ll128_most = {40'000, 40'000, 40'000},
     .tree_ll128_most = {55'600, 31'670, 20'000},
     .tree_most = {70'000, 42'800, 24'000},
     .nvls_tree_most = {0, 96'000, 80'000},
     .start_ns = 8'900,
     .ll_hop_ns = 1'230,
     .ll128_hop_ns = 2'500,
     .simple_hop_ns = 8'400,
     .slice_ns = 1'300,
     .copy_mbps = 1'200'000,
     .pair_mbps = 21'700,
     .nvls_share = 659,
     .nvls_chunk_ns = 500,
     .nvls_hop_ns = 102'000,
     .nvls_hop_from = std::int64_t{512} << 20,
     .posting = 3'000,
     .nvls_measured = false},
    {.name = "other",
     .gpus = "",
     .scale_up_per_mille = 824,
     .ring_channels = 24,
     .nvls_channels = 0,
     .nvls_per_mille = 0,
     .ll_most = {141'000, 45'000, 35'000},
     .ring_ll128_most = {36'700, 36'700, 36'700},
     .tree_ll128_most = {36'700, 36'700, 29'000},
     .tree_most = {38'700, 41'400, 36'000},
     .nvls_tree_most = {0, 57'700, 45'500},
     .start_ns = 4'900,
     .ll_hop_ns = 830,
     .ll128_hop_ns = 1'650,
     .simple_hop_ns = 4'400,
     .slice_ns = 1'700,
     .copy_mbps = 610'000,
     .pair_mbps = 18'000,
     .nvls_share = 0,
     .nvls_chunk_ns = 0,
     .nvls_hop_ns = 0,
     .nvls_hop_from = 0,
     .posting = 0,
     .nvls_measured = false},
}};

// InfiniBand and RoCE are the same NICs under the same plugin (NCCL's own), so what a message and a hop cost it is one
// number. Google has plugins of its own: up to gIB 1.0.5, and with TCPXO, a hop takes longer (tables of 1.0.5 and
// before); with gIB 1.0.6 it takes what it does on other RoCE (three tables of two sources). Sockets are as TCPX but
// for a hop. What a chunk of Simple takes longer on EFA is told by tables of p5 and p6-b200, from where NCCL goes from
// LL128 to Simple on; with it a way through the network takes 35 us, which is what aws-ofi-nccl tells NCCL's model of
// them.
constexpr std::array<Network, 10> kNetworks = {{
    {"ib", "InfiniBand", "", 128 << 10, 64 << 10, 0, 0, 870, 980},
    {"roce", "RoCE", "ib", 128 << 10, 64 << 10, 0, 0, 0, 900},
    {"gib", "RoCE with Google's gIB", "roce", 128 << 10, 64 << 10, 0, 0, 0, 0},
    {"gib1.0.5", "RoCE with Google's gIB up to 1.0.5", "roce", 128 << 10, 64 << 10, 14'700, 0, 0, 0},
    {"efa", "EFA with aws-ofi-nccl", "", 512 << 10, 512 << 10, 2'700, 18'000, 320, 930},
    {"efa1.7", "EFA with aws-ofi-nccl 1.7", "efa", 128 << 10, 64 << 10, 0, 0, 5'600, 0},
    {"tcpx", "GPUDirect-TCPX", "", 128 << 10, 64 << 10, 420'000, 0, 900, 550},
    {"tcpxo", "GPUDirect-TCPXO", "gib1.0.5", 128 << 10, 64 << 10, 0, 0, 0, 0, "NCCL_NVLS_ENABLE=0 NCCL_PROTO=Simple"},
    {"tcpxo-ll128", "GPUDirect-TCPXO with its profile for LL128", "gib1.0.5", 128 << 10, 64 << 10, 0, 0, 0, 0,
     "NCCL_NVLS_ENABLE=0 NCCL_PROTO=Simple,LL128"},
    {"tcp", "TCP sockets", "tcpx", 128 << 10, 64 << 10, 12'000, 0, 0, 0},
}};

constexpr std::array<Launch, 3> kLaunches = {{
    {"", "a process per GPU", 0, 0, 0, 0},
    {"one-process", "one process for all GPUs of a server", 0, 0, 4'200, 204},
    {"pytorch", "called from PyTorch", 13'500, 39'800, 0, 0},
}};

constexpr Common kCommon = {"all", 925};

// The first minor releases of NCCL 2 whose rules differ, read in the source of its releases.
constexpr std::array<std::int64_t, 9> kRules = {0, 9, 14, 19, 20, 22, 28, 29, 30};
constexpr std::int64_t kLatestRelease = 99;

std::string rules_of(std::int64_t minor) {
  const auto after = std::upper_bound(kRules.begin(), kRules.end(), minor);
  const std::int64_t first = *std::prev(after);
  const bool newest = after == kRules.end();
  const std::int64_t last = newest ? 0 : *after - 1;
  std::string range = newest         ? " or newer"
                      : first == 0   ? " or older"
                      : last > first ? " to 2." + std::to_string(last)
                                     : "";
  return "2." + std::to_string(first == 0 && !newest ? last : first) + range;
}

std::vector<Release> make_releases() {
  std::vector<Release> made = {{"", "NCCL " + rules_of(kRules.back()), kRules.back()}};
  for (std::int64_t minor = 0; minor <= kLatestRelease; ++minor) {
    const std::string version = "2." + std::to_string(minor);
    made.push_back({"nccl" + version, "NCCL " + version + " by the rules of " + rules_of(minor), minor});
  }
  return made;
}

constexpr std::string_view kTuning = "NCCL src/graph/tuning.cc and topo.h";
constexpr std::string_view kAiconfigurator =
    "NVIDIA aiconfigurator, nccl_perf of 2, 4 and 8 GPUs: A100 2.27.3, H100 and H200 2.23 to 2.29, B200 and GB200 2.29;"
    " Volta as Ampere, others as Hopper";
constexpr std::string_view kTables = "truth/";

template <class Owner>
struct Column {
  std::string_view name;
  std::string_view unit;
  Origin origin;
  std::string_view source;
  std::int64_t Owner::*value;
};

constexpr std::array<Column<Generation>, 15> kGenerationColumns = {{
    {"scale_up_per_mille", "per mille", Origin::published, kTuning, &Generation::scale_up_per_mille},
    {"ring_channels", "", Origin::published, kTuning, &Generation::ring_channels},
    {"nvls_channels", "", Origin::published, kTuning, &Generation::nvls_channels},
    {"nvls_per_mille", "per mille", Origin::published, kTuning, &Generation::nvls_per_mille},
    {"start", "ns", Origin::measured, kAiconfigurator, &Generation::start_ns},
    {"ll_hop", "ns", Origin::measured, kAiconfigurator, &Generation::ll_hop_ns},
    {"ll128_hop", "ns", Origin::measured, kAiconfigurator, &Generation::ll128_hop_ns},
    {"simple_hop", "ns", Origin::measured, kAiconfigurator, &Generation::simple_hop_ns},
    {"slice", "ns", Origin::measured, kAiconfigurator, &Generation::slice_ns},
    {"copy", "MB/s", Origin::measured, kAiconfigurator, &Generation::copy_mbps},
    {"pair", "MB/s", Origin::measured, kAiconfigurator, &Generation::pair_mbps},
    {"nvls_share", "per mille", Origin::fitted, kTables, &Generation::nvls_share},
    {"nvls_chunk", "ns", Origin::fitted, kTables, &Generation::nvls_chunk_ns},
    {"nvls_hop", "ns", Origin::fitted, kTables, &Generation::nvls_hop_ns},
    {"posting", "times 1000", Origin::fitted, kTables, &Generation::posting},
}};
constexpr std::array<ByNodes Generation::*, 5> kByNodes = {&Generation::ll_most, &Generation::ring_ll128_most,
                                                           &Generation::tree_ll128_most, &Generation::tree_most,
                                                           &Generation::nvls_tree_most};
constexpr std::array<std::string_view, 5> kByNodesNames = {"ll_most", "ring_ll128_most", "tree_ll128_most", "tree_most",
                                                           "nvls_tree_most"};

constexpr std::array<Column<Network>, 6> kNetworkColumns = {{
    {"nvls_chunk", "B", Origin::published, "NCCL_NVLS_CHUNKSIZE: NCCL's default, and what aws-ofi-nccl sets",
     &Network::nvls_chunk},
    {"far_chunk", "B", Origin::published, "NCCL_NVLSTREE_MAX_CHUNKSIZE: NCCL's default, and what aws-ofi-nccl sets",
     &Network::far_chunk},
    {"hop", "ns", Origin::fitted, kTables, &Network::hop_ns},
    {"simple", "ns", Origin::fitted, kTables, &Network::simple_ns},
    {"message", "ns", Origin::fitted, kTables, &Network::message_ns},
    {"nic", "per mille", Origin::fitted, kTables, &Network::nic_per_mille},
}};

constexpr std::array<Column<Launch>, 4> kLaunchColumns = {{
    {"delay", "ns", Origin::fitted, kTables, &Launch::delay_ns},
    {"least", "ns", Origin::fitted, kTables, &Launch::least_ns},
    {"gpu", "ns", Origin::fitted, kTables, &Launch::gpu_ns},
    {"channel", "ns", Origin::fitted, kTables, &Launch::channel_ns},
}};

constexpr std::array<Column<Common>, 1> kCommonColumns = {{
    {"nvls_tree", "per mille", Origin::fitted, kTables, &Common::nvls_tree},
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
    {Algorithm::hierarchical,
     {6'600, 14'000, 8'400},
     {600, 1'900, 3'400},
     {1'000, 2'500, 5'700},
     {2'700, 4'000, 14'000}},
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

const Network* find_network(const std::vector<Network>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Network& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string joined(const Network& network, const Launch& launch, const Release& release) {
  std::string made(network.name);
  for (const std::string_view word : {launch.name, std::string_view(release.name)})
    if (!word.empty()) made.append("-").append(word);
  return made;
}

// With what it has of others: of the one it is like, and of that one's.
Network completed(Network network, const std::vector<Network>& all) {
  for (const Network* like = find_network(all, network.like); like != nullptr; like = find_network(all, like->like))
    for (std::int64_t Network::*each :
         {&Network::hop_ns, &Network::simple_ns, &Network::message_ns, &Network::nic_per_mille})
      if (network.*each == 0) network.*each = (*like).*each;
  return network;
}

std::vector<Stack> stacks_of(const Constants& all, std::span<const Release> releases) {
  std::vector<Stack> made;
  for (const Network& network : all.networks)
    for (const Launch& launch : all.launches)
      for (const Release& release : releases) {
        std::string text = std::string(network.text) + ", " + std::string(launch.text);
        if (!release.name.empty()) text.append(", ").append(release.text);
        made.push_back({joined(network, launch, release), std::move(text), completed(network, all.networks), launch,
                        release, all.common[0]});
      }
  return made;
}

const Stack* find_stack(std::span<const Stack> all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Stack& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// ib-nccl2.21.5 is ib-nccl2.21: rules change with the second number.
std::string_view without_patch(std::string_view name) {
  const std::size_t release = name.rfind("-nccl2.");
  if (release == std::string_view::npos) return name;
  return name.substr(0, name.find('.', release + std::string_view("-nccl2.").size()));
}

template <class Owner>
Number number_of(const Owner& owner, const Column<Owner>& column) {
  return {owner.name, column.name, column.unit, column.origin, column.source, owner.*column.value};
}
// Of Blackwell in servers, NVLS was measured elsewhere.
template <>
Number number_of(const Generation& owner, const Column<Generation>& column) {
  const bool elsewhere = column.origin == Origin::fitted && owner.nvls_measured;
  return {owner.name,
          column.name,
          column.unit,
          elsewhere ? Origin::measured : column.origin,
          elsewhere ? kAiconfigurator : column.source,
          owner.*column.value};
}

// Calls use(number, place) for all of one kind.
template <class Owner, class Columns, class Use>
void visit(std::vector<Owner>& owners, const Columns& columns, const Use& use) {
  for (Owner& owner : owners)
    for (const Column<Owner>& column : columns)
      if (owner.*column.value != 0) use(number_of(owner, column), &(owner.*column.value));
}

template <class Use>
void visit_all(Constants& all, const Use& use) {
  visit(all.generations, kGenerationColumns, use);
  for (Generation& each : all.generations)
    for (std::size_t table = 0; table < kByNodes.size(); ++table)
      for (std::int64_t& value : each.*kByNodes[table])
        if (value != 0) use({each.name, kByNodesNames[table], "MB/s", Origin::published, kTuning, value}, &value);
  visit(all.networks, kNetworkColumns, use);
  visit(all.launches, kLaunchColumns, use);
  visit(all.common, kCommonColumns, use);
}

}  // namespace

const Constants& constants() {
  static const Constants all{{kGenerations.begin(), kGenerations.end()},
                             {kNetworks.begin(), kNetworks.end()},
                             {kLaunches.begin(), kLaunches.end()},
                             {kCommon}};
  return all;
}

std::string_view name(Origin origin) {
  return origin == Origin::published ? "published" : origin == Origin::measured ? "measured" : "fitted";
}

std::vector<Number> numbers(const Constants& all) {
  Constants copy = all;
  std::vector<Number> found;
  visit_all(copy, [&](const Number& number, std::int64_t*) { found.push_back(number); });
  for (const Latencies& each : kLatencies)
    for (const auto* row : {&each.base, &each.scale_up, &each.pcie, &each.network})
      for (const std::int64_t value : *row)
        if (value != 0) found.push_back({name(each.algorithm), "latency", "ns", Origin::published, kTuning, value});
  return found;
}

std::vector<Knob> knobs(Constants& all, Origin origin) {
  std::vector<Knob> found;
  visit_all(all, [&](const Number& number, std::int64_t* value) {
    if (number.origin == origin) found.push_back({number, value});
  });
  return found;
}

std::size_t count(Origin origin) {
  const std::vector<Number> all = numbers(constants());
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const Number& each) { return each.origin == origin; }));
}

std::span<const Release> releases() {
  static const std::vector<Release> all = make_releases();
  return all;
}

Stack make_stack(const Constants& all, std::string_view name) {
  const Stack& known = *stack_named(name);
  return *find_stack(stacks_of(all, std::span(&known.release, 1)), known.name);
}

std::span<const Stack> stacks() {
  static const std::vector<Stack> newest = stacks_of(constants(), releases().first(1));
  return newest;
}

const Stack* stack_named(std::string_view name) {
  static const std::vector<Stack> all = stacks_of(constants(), releases());
  return find_stack(all, without_patch(name));
}

const Stack& default_stack(model::TransportKind transport, std::string_view nic_kind) {
  if (nic_kind.starts_with("efa")) return *stack_named("efa");
  if (transport == model::TransportKind::infiniband) return *stack_named("ib");
  return *stack_named(transport == model::TransportKind::tcp ? "tcp" : "roce");
}

bool keeps_order(std::string_view nic_kind) { return nic_kind != "efa-v1"; }

const Generation& generation_of(std::string_view gpu_kind, const Constants& all) {
  const auto found = std::find_if(all.generations.begin(), all.generations.end(),
                                  [&](const Generation& each) { return begins_with_any(gpu_kind, each.gpus); });
  return found == all.generations.end() ? all.generations.back() : *found;
}

Duration base_latency(Algorithm algorithm, Protocol protocol) {
  return nanoseconds(latencies_of(algorithm).base[static_cast<std::size_t>(protocol)]);
}

Duration hop_latency(Hop hop, Algorithm algorithm, Protocol protocol) {
  const Latencies& all = latencies_of(algorithm);
  const auto& by_protocol = hop == Hop::scale_up ? all.scale_up : hop == Hop::pcie ? all.pcie : all.network;
  return nanoseconds(by_protocol[static_cast<std::size_t>(protocol)]);
}

}  // namespace weft::collective
