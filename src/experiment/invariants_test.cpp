// What holds for every run, over runs that are drawn: no flow is sooner than alone, no link carries more than it can,
// and what was delivered is what was sent.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/random.hpp"
#include "experiment/experiment.hpp"

namespace weft::experiment {
namespace {

constexpr double kPsPerSecond = 1e12;

struct Drawn {
  std::string cluster;
  std::string traffic;
  std::string fault = {};
  std::string limit = {};
  Fidelity fidelity = Fidelity::packet;
  std::uint64_t seed = 1;

  std::string text() const {
    return fmt::format("{}traffic: {}\nfault: {}, limit: {}, {}, seed {}", cluster, traffic, fault, limit,
                       name(fidelity), seed);
  }
};

class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : random_(seed, 0, 0) {}

  std::string_view one(std::initializer_list<std::string_view> of) {
    return of.begin()[random_.below(static_cast<std::uint32_t>(of.size()))];
  }
  bool once_in(std::uint32_t n) { return random_.below(n) == 0; }

 private:
  Random random_;
};

std::string fabric(Drawing& draw) {
  const std::string_view core = draw.one({"", "", ", spine_link: {rate: 100Gbps}", ", spine_link: {rate: 50Gbps}"});
  const std::string_view kind = draw.one(
      {"rail-optimized", "tor-clos", "rail-only", "single-chassis", "dragonfly", "super-spines", "parallel links"});
  if (kind == "rail-optimized")
    return fmt::format("{{kind: rail-optimized, scalable_unit: 4, spines: {}{}}}", draw.one({"1", "2", "4"}), core);
  if (kind == "tor-clos")
    return fmt::format("{{kind: tor-clos, servers_per_leaf: 2, spines: {}{}}}", draw.one({"1", "2", "4"}), core);
  if (kind == "super-spines")
    return fmt::format("{{kind: rail-optimized, scalable_unit: 2, spines: 2, pod: 2, super_spines: {}{}}}",
                       draw.one({"2", "4"}), draw.one({"", ", super_spine_link: {rate: 100Gbps}"}));
  if (kind == "parallel links")
    return fmt::format("{{kind: tor-clos, servers_per_leaf: 2, spines: 2, parallel_links: {}{}}}", draw.one({"2", "4"}),
                       core);
  if (kind == "dragonfly")
    return fmt::format(
        "{{kind: dragonfly, switch: tomahawk-4, servers_per_router: 1, routers_per_group: 2, global_links: {}, "
        "routing: {}, link: {{rate: 400Gbps, cable: {}}}}}",
        draw.one({"2", "3"}), draw.one({"minimal", "valiant", "ugal"}), draw.one({"2m", "15m", "100m"}));
  return kind == "rail-only" ? "{kind: rail-only}"
                             : "{kind: single-chassis, switch: {kind: quantum-2, ports: 4096, rate: 800Gbps}}";
}

Drawn drawn(std::uint64_t seed) {
  Drawing draw(seed);
  Drawn run;
  run.seed = seed;
  run.cluster = fmt::format(
      "version: 1\nservers: {{kind: {}, count: 8, nics: {}}}\nfabric: {}\ntransport: {{kind: {}, balance: {}}}\n"
      "switching: {{flow_control: {}}}\n",
      draw.one({"hgx-h100", "hgx-h200", "hgx-a100"}), draw.one({"1", "2", "4", "8"}), fabric(draw),
      draw.one({"srd", "srd", "rocev2", "uet", "tcp", "tcp-over-srd", "raw"}),
      draw.one({"entropy", "ecmp", "spray", "adaptive", "flowlet", "pinned"}),
      draw.one({"none", "none", "pfc", "credits", "scheduled"}));
  run.traffic = fmt::format("x,pattern={},size={},nodes={}",
                            draw.one({"permutation", "incast", "outcast", "all-to-all", "ring", "one"}),
                            draw.one({"1B", "5kB", "100kB", "500kB", "2MB"}), draw.one({"2", "10", "16", "40"}));
  if (draw.once_in(6)) run.traffic += ",verb=read";
  if (draw.once_in(4))
    run.fault = fmt::format("{},at=5us,for={}", draw.one({"leaf0", "s0/nic0"}), draw.one({"1us", "9us"}));
  if (draw.once_in(4)) run.limit = fmt::format("time={}", draw.one({"3us", "20us", "90us"}));
  run.fidelity = draw.once_in(3) ? Fidelity::flow : Fidelity::packet;
  return run;
}

// Nothing where weft refuses the experiment, which it does before it runs.
std::optional<Outcome> outcome_of(const Drawn& drawn) {
  spec::Diagnostics diagnostics;
  static const auto catalog = std::make_shared<const model::Catalog>(model::Catalog::embedded(diagnostics));
  const std::uint32_t source = diagnostics.sources().add("test.weft.yaml", drawn.cluster);
  const auto design = Design::read(source, "test", {}, catalog, diagnostics);
  if (design == nullptr) return std::nullopt;
  spec::Diagnostics& errors = design->diagnostics();
  const model::TrafficRun traffic = model::read_traffic(drawn.traffic, design->catalog(), errors);
  auto made = make_traffic({traffic}, ground_of(*design, drawn.seed), errors);
  if (!made) return std::nullopt;
  Experiment experiment{.workload = std::make_shared<const Workload>(std::move(*made)),
                        .fidelity = drawn.fidelity,
                        .seed = drawn.seed,
                        .wanted = {.links = true}};
  if (!drawn.fault.empty()) experiment.faults.push_back(model::read_fault(drawn.fault, design->catalog(), errors));
  if (!drawn.limit.empty()) experiment.limits = parse_limits(drawn.limit, errors);
  check(*design, experiment);
  if (errors.has_errors()) return std::nullopt;
  return run(*design, experiment, {});
}

std::int64_t took(const schedule::FlowRecord& flow) {
  const std::int64_t end = (flow.unanswered ? flow.received : flow.sent).count();
  return end == schedule::kNotYet.count() ? schedule::kNotYet.count() : end - flow.start.count();
}

double used(const schedule::LinkRecord& link, std::int64_t end) {
  return static_cast<double>(link.bytes) * 8 * kPsPerSecond / static_cast<double>(link.rate) /
         static_cast<double>(std::max(end, link.until.count()));
}

void expect_to_hold(const Drawn& drawn, const schedule::RunResult& result) {
  for (const schedule::FlowRecord& flow : result.flows)
    EXPECT_TRUE(took(flow) == schedule::kNotYet.count() || took(flow) >= flow.unloaded.count())
        << flow.source << " to " << flow.destination << " takes " << took(flow) << ", alone " << flow.unloaded.count()
        << "\n"
        << drawn.text();
  for (const schedule::LinkRecord& link : result.links)
    EXPECT_LE(used(link, result.end.count()), 1.0001) << link.from << " to " << link.to << "\n"
                                                      << drawn.text();  // rates round
}

// Of a run that came to its end: every flow is whole or given up, and each byte that crossed the network came once.
void expect_all_to_have_come(const Drawn& drawn, const schedule::RunResult& result) {
  constexpr std::uint32_t kGpus = 8;  // of a server
  std::uint64_t crossed = 0;
  for (const schedule::FlowRecord& flow : result.flows) {
    const bool whole = took(flow) != schedule::kNotYet.count() && flow.received != schedule::kNotYet;
    EXPECT_TRUE(whole || !drawn.fault.empty()) << flow.source << " to " << flow.destination << "\n" << drawn.text();
    if (!whole) return;
    EXPECT_LE(std::max(flow.sent, flow.received).count(), result.end.count()) << drawn.text();
    if (flow.source / kGpus != flow.destination / kGpus) crossed += flow.bytes;
  }
  EXPECT_EQ(result.unfinished, 0u) << drawn.text();
  if (!result.failures) return;
  EXPECT_EQ(result.failures->delivered.between(Duration(0), Duration(INT64_MAX / 2)), crossed) << drawn.text();
}

TEST(Invariants, HoldInDrawnRuns) {
  int ran = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Drawn each = drawn(seed);
    const auto outcome = outcome_of(each);
    if (!outcome) continue;
    ++ran;
    expect_to_hold(each, outcome->result);
    const bool answered = each.cluster.find("kind: raw") == std::string::npos;
    if (outcome->stopped_by.empty() && answered) expect_all_to_have_come(each, outcome->result);
    if (HasFailure()) return;
  }
  EXPECT_GT(ran, 100) << "or little was looked at";
}

// The mean of several seeds: where queues overflow at the start, one of them is a matter of luck.
double slowdown_of_one(const std::string& cluster, const std::string& traffic, Fidelity fidelity = Fidelity::packet) {
  constexpr std::uint64_t kSeeds = 5;
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto outcome = outcome_of({.cluster = cluster, .traffic = traffic, .fidelity = fidelity, .seed = seed});
    if (!outcome || outcome->result.flows.size() != 1) return 0;
    const schedule::FlowRecord& flow = outcome->result.flows[0];
    sum += static_cast<double>(took(flow)) / static_cast<double>(flow.unloaded.count());
  }
  return sum / kSeeds;
}

// Its acknowledgement does not wait for the bytes to be copied.
TEST(Invariants, AFlowAloneTakesItsTimeWhereTheReceiverIsBehindHostMemory) {
  const std::string cluster =
      "version: 1\nservers: {kind: hgx-h100, count: 2, nics: 2}\nfabric: {kind: rail-only}\ntransport: {kind: srd}\n";
  EXPECT_NEAR(slowdown_of_one(cluster, "x,pattern=one,size=500kB,nodes=10", Fidelity::flow), 1, 0.001);
}

TEST(Invariants, AFlowAloneTakesItsTimeOverASlowCore) {
  for (const std::string fabric :
       {"rail-optimized, scalable_unit: 4, spines: 1, spine_link: {rate: 50Gbps}",
        "rail-optimized, scalable_unit: 4, spines: 2, spine_link: {rate: 100Gbps}",
        "tor-clos, servers_per_leaf: 2, spines: 2, oversubscription: 8, spine_link: {rate: 100Gbps}"})
    for (const std::string transport : {"srd, balance: entropy", "srd, balance: ecmp", "uet, balance: spray"})
      for (const std::string nics : {"2", "4"}) {
        const std::string cluster = "version: 1\nservers: {kind: hgx-h100, count: 8, nics: " + nics +
                                    "}\nfabric: {kind: " + fabric + "}\ntransport: {kind: " + transport + "}\n";
        EXPECT_NEAR(slowdown_of_one(cluster, "x,pattern=one,size=5MB,nodes=64"), 1, 0.1) << cluster;
      }
}

// Copies that nobody waits for any more are still on the wire when the last flow is done.
TEST(Invariants, ALinkIsNotUsedMoreThanWholly) {
  const Drawn drawn{
      .cluster =
          "version: 1\nservers: {kind: hgx-h100, count: 8}\nfabric: {kind: rail-optimized, scalable_unit: 4, "
          "spines: 4, link: {rate: 400Gbps, cable: 5m}}\ntransport: {kind: rocev2, balance: spray, rocev2: "
          "{recovery: selective}}\nswitching: {flow_control: pfc}\n",
      .traffic = "x,pattern=incast,size=2MB,nodes=16"};
  const auto outcome = outcome_of(drawn);
  ASSERT_TRUE(outcome);
  expect_to_hold(drawn, outcome->result);
  EXPECT_GT(used(outcome->result.links[0], outcome->result.end.count()), 0.9);
}

// Where a NIC dies, the run goes on for the seconds that its transport waits; what came before is the same.
TEST(Invariants, BeforeAFaultAsMuchIsDeliveredWhicheverItIs) {
  constexpr std::int64_t kFault = 20'000'000;
  std::uint64_t before = 0;
  for (const std::string part : {"spine0", "s0/nic0"}) {
    const auto outcome =
        outcome_of({.cluster = "version: 1\nservers: {kind: hgx-h100, count: 8}\nfabric: {kind: rail-optimized, "
                               "scalable_unit: 4}\ntransport: {kind: srd}\n",
                    .traffic = "x,pattern=permutation,size=2MB,nodes=64",
                    .fault = part + ",at=20us"});
    ASSERT_TRUE(outcome && outcome->result.failures) << part;
    EXPECT_EQ(outcome->result.end > Duration(1'000'000'000'000), part == "s0/nic0") << outcome->result.end.count();
    const std::uint64_t delivered = outcome->result.failures->delivered.between(Duration(0), Duration(kFault));
    EXPECT_GT(delivered, 1'000'000u);
    EXPECT_TRUE(before == 0 || before == delivered) << before << ", but with " << part << " " << delivered;
    before = delivered;
  }
}

// The switches at its ends alone could not help who comes down to a dead spine from above: it is the only way into its
// part of a pod.
TEST(Invariants, AllOfATreeKnowsWhatIsDeadFromTheStart) {
  const auto outcome =
      outcome_of({.cluster = "version: 1\nservers: {kind: hgx-h100, count: 16, nics: 4}\nfabric: {kind: fat-tree, "
                             "k: 8}\ntransport: {kind: rocev2, balance: ecmp}\nswitching: "
                             "{flow_control: pfc}\n",
                  .traffic = "x,pattern=permutation,size=100kB,nodes=128",
                  .fault = "spine0"});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->result.counters.data_resent, 0u);
  EXPECT_EQ(outcome->result.counters.timeouts, 0u);
  EXPECT_EQ(outcome->result.unfinished, 0u);
}

}  // namespace
}  // namespace weft::experiment
