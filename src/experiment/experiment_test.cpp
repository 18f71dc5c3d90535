#include "experiment/experiment.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "experiment/headroom.hpp"
#include "experiment/testing_design.hpp"
#include "experiment/warnings.hpp"

namespace weft::experiment {
namespace {

constexpr const char* kCluster = R"(
version: 1
servers: {kind: hgx-h100, count: 4}
fabric: {kind: single-chassis, switch: {kind: quantum-2, ports: 4096, rate: 800Gbps}}
transport: {kind: srd}
)";

std::unique_ptr<Design> design_of(const std::string& text = kCluster) { return testing::design_from(text); }

Experiment flows(Design& design, const std::string& text) {
  const model::TrafficRun run = model::read_traffic(text, design.catalog(), design.diagnostics());
  auto traffic = make_traffic({run}, ground_of(design, 1), design.diagnostics());
  EXPECT_TRUE(traffic) << spec::render_text(design.diagnostics(), false);
  Experiment made;
  made.workload = std::make_shared<const Workload>(std::move(*traffic));
  return made;
}

Experiment collective(std::uint32_t gpus, std::vector<Bytes> sizes) {
  Experiment made;
  made.fidelity = Fidelity::message;
  made.workload =
      std::make_shared<const Workload>(Collectives{.jobs = {{.gpus = gpus, .sizes = std::move(sizes), .stack = "ib"}}});
  return made;
}

TEST(Experiment, FlowsRunAtEveryFidelity) {
  const auto design = design_of();
  Experiment experiment = flows(*design, "x,pattern=ring,size=1MB,nodes=16");
  check(*design, experiment, {kFidelities.begin(), kFidelities.end()});
  ASSERT_FALSE(design->diagnostics().has_errors()) << spec::render_text(design->diagnostics(), false);
  for (const Fidelity each : kFidelities) {
    experiment.fidelity = each;
    const Outcome outcome = run(*design, experiment, {});
    EXPECT_EQ(outcome.stopped_by, "");
    EXPECT_EQ(outcome.result.flows.size(), 16u) << name(each);
    EXPECT_EQ(outcome.result.fidelity, each);
  }
}

TEST(Experiment, RowsOfACollectiveComeAsTheyAreDone) {
  const auto design = design_of();
  const Experiment experiment = collective(32, {Bytes(1 << 20), Bytes(1 << 24)});
  check(*design, experiment);
  ASSERT_FALSE(design->diagnostics().has_errors()) << spec::render_text(design->diagnostics(), false);
  std::vector<std::uint64_t> heard;
  const Outcome outcome =
      run(*design, experiment,
          {.row = [&](std::size_t, const schedule::CollectiveRow& row) { heard.push_back(row.bytes); }});
  ASSERT_EQ(outcome.rows.size(), 1u);
  ASSERT_EQ(outcome.rows[0].size(), 2u);
  EXPECT_EQ(heard, (std::vector<std::uint64_t>{1 << 20, 1 << 24}));
  EXPECT_LT(outcome.rows[0][0].time.count(), outcome.rows[0][1].time.count());
}

// All-reduces of these GPUs at the same time; how long each takes, in microseconds.
std::vector<double> at_once(Design& design, const std::vector<std::pair<std::string, std::int64_t>>& jobs) {
  Collectives work;
  for (const auto& [on, bytes] : jobs)
    work.jobs.push_back({.sizes = {Bytes(bytes)}, .stack = "ib", .on = on, .alongside = !work.jobs.empty()});
  Experiment made;
  made.fidelity = Fidelity::message;
  made.workload = std::make_shared<const Workload>(std::move(work));
  check(design, made);
  EXPECT_FALSE(design.diagnostics().has_errors()) << spec::render_text(design.diagnostics(), false);
  const Outcome outcome = run(design, made, {});
  std::vector<double> times;
  for (const auto& rows : outcome.rows) times.push_back(static_cast<double>(rows.at(0).time.count()) / 1e6);
  return times;
}

// Jobs know of each other by the links that they have in common, and of nothing else.
TEST(Experiment, JobsAtOnceShareWhatTheyHaveInCommon) {
  const auto design = design_of(
      "version: 1\nservers: {kind: acp-h100-2nic, count: 4}\nfabric: {kind: rail-optimized, scalable_unit: 4, "
      "spines: 4}\n");
  constexpr std::int64_t kLarge = 256 << 20;
  const auto alone = [&](const std::string& on, std::int64_t bytes) { return at_once(*design, {{on, bytes}}).at(0); };
  const std::string servers01 = "0..15/4", servers23 = "16..31/4";
  const auto apart = at_once(*design, {{servers01, kLarge}, {servers23, kLarge / 2}});
  EXPECT_DOUBLE_EQ(apart.at(0), alone(servers01, kLarge)) << "other servers, other links";
  EXPECT_DOUBLE_EQ(apart.at(1), alone(servers23, kLarge / 2));
  // Of three that use the same NICs each has a third.
  const std::string each[] = {"0..31/4", "1..31/4", "2..31/4"};
  const auto three = at_once(*design, {{each[0], kLarge}, {each[0], kLarge}, {each[0], kLarge}});
  for (const double time : three) EXPECT_NEAR(time / alone(each[0], kLarge), 3, 0.3);
  // Who is done first leaves the rest to the others: none takes longer than all of them one after the other.
  const auto two = at_once(*design, {{each[0], kLarge}, {each[0], kLarge / 8}});
  const double large = alone(each[0], kLarge), small = alone(each[0], kLarge / 8);
  EXPECT_GT(two.at(0), 1.05 * large);
  EXPECT_LE(two.at(0), 1.02 * (large + small));
  EXPECT_NEAR(two.at(1) / small, 2, 0.3);
}

TEST(Experiment, AnObserverStopsIt) {
  const auto design = design_of();
  const std::atomic<bool> stop = true;
  EXPECT_EQ(run(*design, flows(*design, "x,pattern=ring,size=100MB"), {.stop = &stop}).stopped_by, kStoppedByObserver);
  EXPECT_EQ(run(*design, collective(32, {Bytes(1 << 30)}), {.stop = &stop}).stopped_by, kStoppedByObserver);
}

TEST(Experiment, LimitsStopIt) {
  const auto design = design_of();
  Experiment experiment = flows(*design, "x,pattern=ring,size=100MB");
  experiment.limits = parse_limits("time=1us", design->diagnostics());
  EXPECT_EQ(run(*design, experiment, {}).stopped_by, "time=1us");
}

TEST(Experiment, WhatCannotRunIsSaidBefore) {
  const auto design = design_of();
  Experiment experiment = collective(32, {Bytes(1 << 20)});
  experiment.faults.push_back(
      model::read_fault("leaf0,kind=flapping,every=20us,for=5us", design->catalog(), design->diagnostics()));
  ASSERT_FALSE(design->diagnostics().has_errors());
  check(*design, experiment);
  EXPECT_TRUE(design->diagnostics().has_errors()) << "messages know nothing that changes";

  const auto other = design_of();
  check(*other, collective(64, {Bytes(1 << 20)}));
  EXPECT_TRUE(other->diagnostics().has_errors()) << "more GPUs than there are";
}

// The same experiment on a design with other words, without reading anything again.
TEST(Design, OtherWordsMakeAnotherDesign) {
  const auto design = design_of();
  const auto fewer = design->with({"servers.nics=2"});
  ASSERT_NE(fewer, nullptr);
  EXPECT_EQ(fewer->cluster().groups[0].nics(), 2u);
  EXPECT_EQ(design->with({"servers.nics=many"}), nullptr);
  EXPECT_FALSE(design->diagnostics().has_errors()) << "what is wrong there is not wrong here";
  const Experiment experiment = collective(32, {Bytes(1 << 30)});
  EXPECT_GT(run(*fewer, experiment, {}).rows[0][0].time.count(),
            2 * run(*design, experiment, {}).rows[0][0].time.count());
}

TEST(Workload, WhatIsEqualHasOneFingerprint) {
  const auto design = design_of();
  const auto of = [](const Experiment& experiment) { return fingerprint(*experiment.workload); };
  EXPECT_EQ(of(flows(*design, "x,pattern=ring,size=1MB")), of(flows(*design, "x,pattern=ring,size=1MB")));
  EXPECT_NE(of(flows(*design, "x,pattern=ring,size=1MB")), of(flows(*design, "x,pattern=ring,size=2MB")));
  EXPECT_EQ(of(collective(32, {Bytes(8)})), of(collective(32, {Bytes(8)})));
  EXPECT_NE(of(collective(32, {Bytes(8)})), of(collective(16, {Bytes(8)})));
  EXPECT_NE(of(collective(32, {Bytes(8)})), of(collective(32, {Bytes(16)})));
  EXPECT_EQ(describe(*collective(32, {Bytes(8)}).workload), "all_reduce of 32 GPUs");
}

TEST(Warnings, RoceOnALossyFabricIsWarnedOfWherePacketsRun) {
  const auto design = design_of(std::string(kCluster).replace(std::string(kCluster).find("srd"), 3, "rocev2"));
  const Experiment experiment = flows(*design, "x,pattern=ring,size=1MB");
  EXPECT_EQ(warnings_of(*design, experiment, {Fidelity::message}).size(), 0u);
  const auto warnings = warnings_of(*design, experiment, {Fidelity::packet});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].error, spec::Error::lossy_roce);
}

TEST(Warnings, TcpThatIsGivenUpBeforeItSendsAgainIsWarnedOf) {
  const auto warnings = [](const std::string& transport, const std::string& stream) {
    std::string text = kCluster;
    text.replace(text.find("{kind: srd}"), 11, transport);
    const auto design = design_of(text);
    std::vector<spec::Error> errors;
    for (const auto& each : warnings_of(*design, flows(*design, stream), {Fidelity::packet}))
      errors.push_back(each.error);
    return errors;
  };
  const std::vector<spec::Error> risky = {spec::Error::short_failover};
  EXPECT_EQ(warnings("{kind: tcp, failover: 200ms}", "x,pattern=ring,size=1MB"), risky);
  EXPECT_EQ(warnings("{kind: tcp, give_up: 100ms}", "x,pattern=ring,size=1MB"), risky);
  EXPECT_EQ(warnings("{kind: srd, failover: 2ms}", "x,pattern=ring,size=1MB,transport=tcp"), risky);
  EXPECT_TRUE(warnings("{kind: tcp, failover: 201ms}", "x,pattern=ring,size=1MB").empty());
  EXPECT_TRUE(warnings("{kind: tcp, failover: 3ms, tcp: {rto_min: 1ms}}", "x,pattern=ring,size=1MB").empty());
  EXPECT_TRUE(warnings("{kind: srd, failover: 2ms}", "x,pattern=ring,size=1MB").empty());
}

TEST(Warnings, WhatTrainiumRunsIsSaidToBeUnknown) {
  const auto design = design_of("version: 1\nservers: {kind: trn2.48xlarge, count: 2}\nfabric: {kind: tor-clos}\n");
  const auto warnings = warnings_of(*design, collective(32, {Bytes(1 << 20)}), {Fidelity::message});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].error, spec::Error::not_nccl);
  EXPECT_NE(warnings[0].message.find("trainium2"), std::string::npos);
  EXPECT_EQ(warnings_of(*design, flows(*design, "x,pattern=ring,size=1MB"), {Fidelity::message}).size(), 0u)
      << "flows are as they are";
  EXPECT_EQ(warnings_of(*design_of(), collective(32, {Bytes(1 << 20)}), {Fidelity::message}).size(), 0u);
}

TEST(Warnings, MoreGpusThanAnUltraClusterHasAreSeen) {
  const auto warned = [](int p5, int p5e) {
    const auto design = design_of(fmt::format(
        "version: 1\nservers:\n  - {{kind: p5.48xlarge, count: {}}}\n  - {{kind: p5e.48xlarge, count: {}}}\n"
        "fabric: {{kind: tor-clos, servers_per_leaf: 2, pod: 16}}\n",
        p5, p5e));
    add_warnings(*design, fabric::summarise(design->fabric()));
    std::string messages;
    for (const spec::Diagnostic& each : design->diagnostics().sorted())
      if (each.error == spec::Error::beyond_ultracluster) messages += each.message;
    return messages;
  };
  EXPECT_EQ(warned(2500, 572), "24,576 GPUs are more than the 20,000 of an UltraCluster 2.0") << "said once";
  EXPECT_EQ(warned(2492, 8), "") << "20,000 fit";
}

TEST(Warnings, EfaGenerationsThatNothingJoinsAreSeenWhereNothingRuns) {
  const auto warned = [](const char* second, const char* transport) {
    const auto design =
        design_of(fmt::format("version: 1\nservers:\n  - {{kind: p4d.24xlarge, count: 2}}\n  - {{kind: {}, count: 2}}\n"
                              "fabric: {{kind: tor-clos}}\ntransport: {{kind: {}}}\n",
                              second, transport));
    add_warnings(*design, fabric::summarise(design->fabric()));
    const auto all = design->diagnostics().sorted();
    return std::any_of(all.begin(), all.end(), [](const auto& each) { return each.error == spec::Error::efa_apart; });
  };
  EXPECT_TRUE(warned("p5.48xlarge", "srd"));
  EXPECT_FALSE(warned("p5.48xlarge", "tcp")) << "which does not care";
  EXPECT_FALSE(warned("p4de.24xlarge", "srd")) << "of the same generation";
}

// What a row says of itself, beside what was simulated.
TEST(Experiment, ARowSaysWhatWasAskedFor) {
  using collective::Operation;
  const auto design = design_of();
  const auto row_of = [&](Operation operation) {
    Experiment made = collective(32, {Bytes(1 << 20)});
    Collectives all = std::get<Collectives>(*made.workload);
    all.jobs[0].operation = operation;
    made.workload = std::make_shared<const Workload>(std::move(all));
    return run(*design, made, {}).rows.at(0).at(0);
  };
  const auto head = [](const schedule::CollectiveRow& row) {
    return fmt::format("{} {} of {} on {}, root {}, x {}/{}{}{}, {} by {}", row.operation, row.bytes, row.ranks,
                       row.nodes, row.root, row.bus_over, row.bus_under, row.parts ? ", parts" : "",
                       row.reduces ? ", reduces" : "", row.stack, name(row.fidelity));
  };
  EXPECT_EQ(head(row_of(Operation::all_reduce)),
            "all_reduce 1048576 of 32 on 4, root -1, x 62/32, reduces, ib by message");
  EXPECT_EQ(head(row_of(Operation::all_gather)),
            "all_gather 1048576 of 32 on 4, root -1, x 31/32, parts, ib by message");
  EXPECT_EQ(head(row_of(Operation::broadcast)), "broadcast 1048576 of 32 on 4, root 0, x 1/1, ib by message");
  EXPECT_EQ(head(row_of(Operation::reduce)), "reduce 1048576 of 32 on 4, root 0, x 1/1, reduces, ib by message");
}

// Half of the ports of a tier may be room to grow.
TEST(Warnings, OfPortsMoreThanHalfAreUnused) {
  const auto unused = [](std::int64_t ports) {
    std::string text = kCluster;
    text.replace(text.find("4096"), 4, std::to_string(ports));
    const auto design = design_of(text);
    const fabric::Summary summary = fabric::summarise(design->fabric());
    add_warnings(*design, summary);
    std::string said;
    for (const spec::Diagnostic& each : design->diagnostics().sorted())
      if (each.error == spec::Error::unused_ports) said += each.message;
    return std::pair(summary.tiers.at(0).ports_in_use, said);
  };
  const std::int64_t used = unused(4096).first;
  EXPECT_EQ(unused(2 * used).second, "");
  EXPECT_EQ(unused(2 * used + 1).second, fmt::format("unused: {} of {} {} ports", used + 1, 2 * used + 1, "leaf"));
}

// Ports on cables of one kind are one line, whatever other cables the switch has.
TEST(Headroom, IsCountedCableByCable) {
  const auto design = design_of(
      "version: 1\nservers: {kind: hgx-h100, count: 8}\n"
      "fabric: {kind: rail-optimized, scalable_unit: 4, spines: 2, switch: tomahawk-4, link: {cable: 5m}, "
      "spine_link: {cable: 30m}}\ntransport: {kind: rocev2}\nswitching: {flow_control: pfc}\n");
  const std::vector<SwitchHeadroom> all = headroom_of(*design);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "leaf0");
  ASSERT_EQ(all[0].ports.size(), 2u);
  EXPECT_EQ(all[0].ports[0].ports, 4) << "a NIC of each server";
  EXPECT_EQ(all[0].ports[0].cable, metres(5));
  EXPECT_EQ(all[0].ports[1].ports, 4) << "as many links above";
  EXPECT_EQ(all[0].ports[1].cable, metres(30));
  EXPECT_GT(all[0].ports[1].per_class, all[0].ports[0].per_class) << "what is on its way is more";
  EXPECT_EQ(all[0].total(), (all[0].ports[0].per_class + all[0].ports[1].per_class) * (4 * all[0].ports[0].classes));
  EXPECT_EQ(all[1].name, "spine0");
  ASSERT_EQ(all[1].ports.size(), 1u);
  EXPECT_EQ(all[1].ports[0].ports, 32) << "two of each of 16 leaves";
  EXPECT_EQ(all[1].ports[0].cable, metres(30));
}

// A flow between two servers whose transport is a program.
std::string programs(const std::string& host, const std::string& switching = "full: drop, classes: one") {
  return fmt::format(
      "version: 1\nservers: {{kind: hgx-h100, count: 4, nics: 1{}}}\nfabric: {{kind: single-chassis}}\n"
      "switching: {{{}}}\ntransport: {{kind: srd}}\n",
      host, switching);
}
constexpr const char* kHost = ", host: {call: 2us, packet: 300ns}";
constexpr const char* kOneFlow = "x,pattern=one,size=4MB,nodes=32";

Duration time_of_one_flow(const std::string& cluster, std::vector<model::FaultSpec> faults = {}) {
  const auto design = design_of(cluster);
  Experiment experiment = flows(*design, kOneFlow);
  experiment.faults = std::move(faults);
  check(*design, experiment, {Fidelity::packet});
  EXPECT_FALSE(design->diagnostics().has_errors()) << spec::render_text(design->diagnostics(), false);
  return run(*design, experiment, {}).result.end;
}

TEST(Programs, CostTheirHostsAndStandStill) {
  const Duration paid = time_of_one_flow(programs(kHost));
  const Duration nic = time_of_one_flow(programs(""));
  EXPECT_GT(paid, nic + nic);
  model::FaultSpec pause;
  pause.part = "s3/nic0";
  pause.kind = model::FaultKind::host_pause;
  pause.at = microseconds(100);
  // The window is halved at each silence, and grows again afterwards: however long the pause was, for less than two
  // flows.
  for (const Duration lasts : {microseconds(5000), microseconds(50'000)}) {
    pause.lasts = lasts;
    const Duration held_up = time_of_one_flow(programs(kHost), {pause});
    EXPECT_GT(held_up, pause.at + lasts);
    EXPECT_LT(held_up, pause.at + lasts + paid + paid);
  }
}

TEST(Programs, AreOfPacketsAndComputedPorts) {
  const auto design = design_of(programs(kHost));
  const Experiment experiment = flows(*design, kOneFlow);
  EXPECT_TRUE(warnings_of(*design, experiment, {Fidelity::packet}).empty());
  const auto warned = warnings_of(*design, experiment, {Fidelity::packet, Fidelity::flow});
  ASSERT_EQ(warned.size(), 1u);
  EXPECT_EQ(warned[0].error, spec::Error::packets_only);

  const auto exact = design_of(programs(kHost, "ports: exact"));
  check(*exact, flows(*exact, kOneFlow), {Fidelity::packet});
  EXPECT_NE(spec::render_text(exact->diagnostics(), false).find("computed ports"), std::string::npos);

  for (const Fidelity fidelity : {Fidelity::flow, Fidelity::message}) {
    Experiment paused = flows(*design, kOneFlow);
    paused.fidelity = fidelity;
    model::FaultSpec& jump = paused.faults.emplace_back();
    jump.part = "s3/nic0";
    jump.kind = model::FaultKind::clock_jump;
    jump.lasts = microseconds(1);
    const auto fresh = design_of(programs(kHost));
    check(*fresh, paused, {fidelity});
    EXPECT_TRUE(fresh->diagnostics().has_errors());
  }
}

}  // namespace
}  // namespace weft::experiment
