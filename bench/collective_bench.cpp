// How fast collectives are simulated: at message level, and by flows and packets, with how far these are from it. One
// row per number; a row whose limit is missed makes the program fail. The digest beside a time says what was computed
// in it.
//
//   collective_bench [--json] [--quick]     --quick: small sizes and no limits on time, for tests

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "collective/carried.hpp"
#include "collective/timing.hpp"
#include "collective/tuner.hpp"
#include "collective/work.hpp"
#include "model/load.hpp"
#include "sim/flow/flow_sim.hpp"
#include "sim/run/lane_sim.hpp"
#include "sim/packet/packet_run.hpp"
#include "spec/diagnostics.hpp"

namespace {

using namespace weft;

struct Row {
  std::string name;
  double value;
  std::string unit;
  double limit;  // 0: none
  std::uint64_t digest;
  std::string peers = {};  // what others take for the same, measured once on the same kind of machine
  bool ok() const { return limit == 0 || value <= limit; }
};

// Time of this process alone, whatever else the machine does.
class Stopwatch {
 public:
  double seconds() const { return now() - start_; }

 private:
  static double now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  double start_ = now();
};

const char* const kLarge =
    "{kind: rail-optimized, switch: tomahawk-6, scalable_unit: 128, pod: 16, spines: 128, super_spines: 16384}";
const char* const kSmall = "{kind: rail-optimized, scalable_unit: 8, spines: 4, link: {rate: 400Gbps, cable: 5m}}";

model::Cluster servers(std::uint32_t count, const char* fabric = kLarge) {
  spec::Diagnostics diagnostics;
  const model::Catalog catalog = model::Catalog::embedded(diagnostics);
  const std::string yaml =
      fmt::format("version: 1\nservers: {{kind: hgx-h100, count: {}}}\nfabric: {}\n", count, fabric);
  return *model::load_cluster(diagnostics.sources().add("bench.weft.yaml", yaml), "bench", {}, catalog, diagnostics);
}

struct Runs {
  std::uint64_t digest = 0;
  collective::Ends operator()(schedule::Schedule& work, const collective::Plan&) {
    sim::LaneConfig config;
    sim::LaneResult result = sim::run_lanes(work, config);
    digest = mix64(digest ^ result.run.digest);
    return {std::move(result.ends), result.messages, {}};
  }
};

// Every message of a ring of `ranks` with one channel and one chunk: 2 (n - 1) n of them.
Row ring(std::uint32_t ranks, double limit) {
  const model::Cluster cluster = servers(2048);
  const fabric::Fabric fabric(cluster);
  const collective::Team team(fabric, collective::pick_gpus(cluster, ranks, 0));
  double best = 1e9;
  Runs runs;
  for (int run = 0; run < 3; ++run) {
    runs = {};
    const Stopwatch watch;
    const collective::Timing timing =
        collective::time_of(team,
                            {.operation = collective::Operation::all_reduce,
                             .bytes = 1'000'000,
                             .choice = {collective::Algorithm::ring, collective::Protocol::ll128, 1},
                             .stack = collective::stack_named("ib")},
                            std::ref(runs));
    if (timing.messages != 2ull * (ranks - 1) * ranks) return {"ring: wrong number of messages", 1, "", 0.5, 0};
    best = std::min(best, watch.seconds());
  }
  return {fmt::format("1 MB all-reduce, ring of {}, 1 chunk", ranks),
          best,
          "cpu s",
          limit,
          runs.digest,
          ranks == 1024 ? "ASTRA-sim (analytical) 16 to 22 s, LogGOPSim 13.6 s" : ""};
}

double peak_gibibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1024.0 * 1024.0);
}

collective::Timing automatic(const collective::Team& team, std::uint64_t bytes, Runs& runs) {
  const collective::Stack& stack = *collective::stack_named("ib");
  const collective::Estimate best =
      collective::estimates(team, collective::Operation::all_reduce, bytes, stack).front();
  return collective::time_of(team,
                             {.operation = collective::Operation::all_reduce,
                              .bytes = bytes,
                              .choice = {best.algorithm, best.protocol, 0},
                              .stack = &stack},
                             std::ref(runs));
}

// What NCCL would choose for many ranks, with the team's ports and channels worked out anew.
void large(std::uint32_t ranks, bool limited, std::vector<Row>& rows) {
  const model::Cluster cluster = servers(std::max(ranks / 8, 2048u));
  const fabric::Fabric fabric(cluster);
  Runs runs;
  const Stopwatch watch;
  const collective::Team team(fabric, collective::pick_gpus(cluster, ranks, 0));
  const collective::Timing timing = automatic(team, 1'000'000, runs);
  const std::string name =
      fmt::format("1 MB all-reduce, {} ranks, auto ({})", ranks, collective::name(timing.plan.choice.algorithm));
  rows.push_back({name, watch.seconds(), "cpu s", limited ? 60.0 : 0, runs.digest});
  rows.push_back({"  memory of the process", peak_gibibytes(), "GiB", limited ? 4.0 : 0, 0});
}

Row sweep(std::uint32_t ranks, double limit) {
  const model::Cluster cluster = servers(2048);
  const fabric::Fabric fabric(cluster);
  const collective::Team team(fabric, collective::pick_gpus(cluster, ranks, 0));
  Runs runs;
  const Stopwatch watch;
  for (std::uint64_t bytes = 8; bytes <= std::uint64_t{16} << 30; bytes *= 2) automatic(team, bytes, runs);
  return {fmt::format("all-reduce of 8 B to 16 GiB over {} ranks, auto", ranks), watch.seconds(), "cpu s", limit,
          runs.digest};
}

schedule::RunResult by_flows(const fabric::Fabric& fabric, const sim::HostRates& rates, schedule::Schedule& work) {
  sim::FlowConfig config;
  config.cut_through = true;
  config.hosts = true;
  config.rates = rates;
  sim::FlowRoutes routes(fabric, config);
  return sim::run_flows(work, routes);
}

schedule::RunResult by_packets(const fabric::Fabric& fabric, const sim::HostRates& rates, schedule::Schedule& work) {
  sim::SimConfig config;
  config.cut_through = true;
  sim::PacketSim engine(fabric, config);
  return sim::PacketRun(work, engine, true, rates).run();
}

// The same large ring by all executors on a fabric where nothing collides: seconds, and the difference in time.
void executors(std::uint32_t ranks, std::uint64_t bytes, bool limited, std::vector<Row>& rows) {
  const model::Cluster cluster = servers(ranks / 8, kSmall);
  const fabric::Fabric fabric(cluster);
  const collective::Team team(fabric, collective::pick_gpus(cluster, ranks, 0));
  const collective::PlanOptions options{.operation = collective::Operation::all_reduce,
                                        .bytes = bytes,
                                        .choice = {collective::Algorithm::ring, collective::Protocol::simple, 0},
                                        .stack = collective::stack_named("ib")};
  Runs runs;
  const auto message = static_cast<double>(collective::time_of(team, options, std::ref(runs)).time.count());
  const sim::HostRates rates{collective::generation_of("h100").scale_up_per_mille, collective::kPciePerMille};
  for (const bool packets : {false, true}) {
    const Stopwatch watch;
    const collective::CarriedResult result =
        collective::carry(fabric, {{&team, options}}, {}, [&](schedule::Schedule& work) {
          return packets ? by_packets(fabric, rates, work) : by_flows(fabric, rates, work);
        });
    const auto time = static_cast<double>(result.jobs.at(0).time.count());
    rows.push_back(
        {fmt::format("{} MiB all-reduce, ring of {}, by {}", bytes >> 20, ranks, packets ? "packets" : "flows"),
         watch.seconds(), "cpu s", limited ? 60.0 : 0, result.run.digest});
    rows.push_back({"  difference from message level", std::abs(time / message - 1) * 100, "%", limited ? 5.0 : 0, 0});
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  bool quick = false;
  for (int i = 1; i < argc; ++i) {
    json |= std::strcmp(argv[i], "--json") == 0;
    quick |= std::strcmp(argv[i], "--quick") == 0;
  }
  std::vector<Row> rows;
  rows.push_back(ring(quick ? 64 : 1024, quick ? 0 : 0.5));
  rows.push_back(sweep(quick ? 16 : 64, quick ? 0 : 30));
  executors(quick ? 16 : 64, quick ? 16 << 20 : 1 << 30, !quick, rows);
  large(quick ? 512 : 65'536, !quick, rows);
  bool ok = true;
  for (const Row& row : rows) {
    ok &= row.ok();
    if (json) {
      fmt::print("{}\n", nlohmann::json{{"name", row.name},
                                        {"value", row.value},
                                        {"unit", row.unit},
                                        {"limit", row.limit},
                                        {"digest", fmt::format("{:016x}", row.digest)},
                                        {"peers", row.peers},
                                        {"ok", row.ok()}}
                             .dump());
    } else {
      fmt::print("{:<56} {:>9.3f} {:<6} {:>9} {} {:016x}\n", row.name, row.value, row.unit,
                 row.limit > 0 ? fmt::format("<= {}", row.limit) : "", row.ok() ? "ok    " : "MISSED", row.digest);
      if (!row.peers.empty()) fmt::print("  {}\n", row.peers);
    }
  }
  return ok ? 0 : 1;
}
