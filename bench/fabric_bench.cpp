// A rail-optimized fabric of 1,048,576 GPUs, from its file to answers:
//
//   16,384 super-spines   spine number s of every pod meets the 128 super-spines of group s
//   64 pods x 128 spines
//   64 pods x 16 units x 8 rails, leaves of 128 ports down and 128 up
//   131,072 servers of 8 GPUs and 8 NICs of 400G
//
// How long it takes to load, how fast it routes, and whether sampled routes are as long as search
// says. One row per number; a row whose limit is missed makes the program fail.

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.hpp"
#include "fabric/fabric.hpp"
#include "fabric/summary.hpp"
#include "model/load.hpp"
#include "spec/diagnostics.hpp"

namespace {

using namespace weft;
using fabric::Fabric;

constexpr const char* kCluster =
    "version: 1\n"
    "servers: {kind: hgx-h100, count: 131072}\n"
    "fabric: {kind: rail-optimized, switch: tomahawk-6, scalable_unit: 128, pod: 16, spines: "
    "128, super_spines: 16384}\n";

struct Row {
  std::string name;
  double value;
  std::string unit;
  std::string relation;  // "<=", ">=", "==", or "" for a number without a limit
  double limit;
  bool ok() const {
    if (relation == "<=") return value <= limit;
    if (relation == ">=") return value >= limit;
    return relation.empty() || value == limit;
  }
};

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double peak_gibibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1024.0 * 1024.0);
}

// Random numbers by position, so that every run asks the same questions.
std::uint32_t draw(std::uint64_t stream, std::uint64_t index, std::uint32_t below) {
  return pick(mix64(stream << 40 | index), below);
}

// Hops between two switches by search from both sides over peer(); nothing of routing is used.
class Search {
 public:
  Search(const Fabric& fabric, const fabric::Broken& broken) : fabric_(fabric), broken_(broken) {}

  std::uint32_t hops(std::uint32_t from, std::uint32_t to) {
    if (from == to) return 0;
    seen_[0].clear();
    seen_[1].clear();
    std::vector<std::uint32_t> front[2] = {{from}, {to}};
    seen_[0][from] = seen_[1][to] = 0;
    for (std::uint32_t depth = 1; depth < 16; ++depth) {
      const int side = front[0].size() <= front[1].size() ? 0 : 1;
      std::uint32_t best = fabric::kNone;
      std::vector<std::uint32_t> next;
      for (const std::uint32_t at : front[side]) {
        const std::uint32_t far = seen_[side][at] + 1;
        for (std::uint32_t port = 0; port < fabric_.ports(at); ++port) {
          const fabric::Peer peer = fabric_.peer(at, port);
          if (peer.kind != fabric::Peer::Kind::other_switch || broken_.switch_down(peer.switch_index)) continue;
          if (!seen_[side].emplace(peer.switch_index, far).second) continue;
          next.push_back(peer.switch_index);
          if (const auto met = seen_[1 - side].find(peer.switch_index); met != seen_[1 - side].end())
            best = std::min(best, far + met->second);
        }
      }
      if (best != fabric::kNone) return best;
      front[side] = std::move(next);
    }
    return fabric::kNone;
  }

 private:
  const Fabric& fabric_;
  const fabric::Broken& broken_;
  std::unordered_map<std::uint32_t, std::uint32_t> seen_[2];
};

std::uint32_t routed_hops(const Fabric& fabric, std::uint32_t from, fabric::Target target, std::uint32_t entropy,
                          const fabric::Broken& broken) {
  std::uint32_t at = from;
  for (std::uint32_t hops = 0; hops < 16; ++hops) {
    if (broken.switch_down(at)) return fabric::kNone;
    const fabric::Hop hop = fabric.next_hop(at, target, entropy, {}, broken);
    if (!hop) return fabric::kNone;
    if (at == target.leaf) return hop.port == target.port ? hops : fabric::kNone;
    at = fabric.peer(at, hop.port).switch_index;
  }
  return fabric::kNone;
}

struct Agreement {
  std::uint32_t equal = 0;   // pairs that routing walks exactly as far as search says
  std::uint32_t around = 0;  // pairs whose route would have crossed the dead spine
};

constexpr std::uint32_t kUnit = 128 * 8;  // endpoints
constexpr std::uint32_t kPod = 16 * kUnit;

// `dead` is a spine of the first pod or kNone. With one, sources are taken from its pod and the
// entropy so that the whole fabric would have used it: else hardly a route would notice.
Agreement compare(const Fabric& fabric, std::uint32_t dead, std::uint32_t pairs) {
  fabric::Broken broken;
  if (dead != fabric::kNone) broken.fail_switch(dead);
  Search search(fabric, broken);
  Agreement agreement;
  for (std::uint32_t i = 0; i < pairs; ++i) {
    const std::uint32_t from = draw(1, i, dead == fabric::kNone ? fabric.endpoints() : kPod);
    // A third of the pairs from one unit, a third from one pod: short routes count too.
    const std::uint32_t near = i % 3 == 0 ? fabric.endpoints() : i % 3 == 1 ? kUnit : kPod;
    const auto a = fabric.attachment(from);
    const auto b = fabric.attachment(from / near * near + draw(2, i, near));
    std::uint32_t entropy = draw(3, i, 1u << 31);
    for (std::uint32_t last = entropy + 4096; dead != fabric::kNone && entropy < last; ++entropy) {
      const fabric::Hop hop = fabric.next_hop(a.target.leaf, b.target, entropy);
      if (a.target.leaf == b.target.leaf) break;
      if (fabric.peer(a.target.leaf, hop.port).switch_index != dead) continue;
      ++agreement.around;
      break;
    }
    const std::uint32_t hops = routed_hops(fabric, a.target.leaf, b.target, entropy, broken);
    agreement.equal += hops != fabric::kNone && hops == search.hops(a.target.leaf, b.target.leaf);
  }
  return agreement;
}

struct Queries {
  double per_second;
  std::uint64_t digest;
};

// Queries of every tier towards random endpoints; built beforehand so that only routing is timed.
Queries time_next_hop(const Fabric& fabric, std::uint32_t count) {
  struct Query {
    std::uint32_t at;
    fabric::Target target;
    std::uint32_t entropy;
  };
  std::vector<Query> queries(count);
  for (std::uint32_t i = 0; i < count; ++i)
    queries[i] = {draw(4, i, fabric.switches_per_plane()), fabric.attachment(draw(5, i, fabric.endpoints())).target,
                  draw(6, i, ~0u)};
  Queries best{0, 0};
  for (int round = 0; round < 5; ++round) {
    std::uint64_t digest = 0;
    const Stopwatch watch;
    for (const Query& query : queries) digest += fabric.next_hop(query.at, query.target, query.entropy).port;
    best.per_second = std::max(best.per_second, count / watch.seconds());
    best.digest = mix64(digest);
  }
  return best;
}

std::vector<Row> measure(std::uint64_t& digest) {
  std::vector<Row> rows;
  const Stopwatch watch;
  spec::Diagnostics diagnostics;
  const auto catalog = model::Catalog::embedded(diagnostics);
  const std::uint32_t source = diagnostics.sources().add("million.weft.yaml", kCluster);
  const auto cluster = model::load_cluster(source, "million", {}, catalog, diagnostics);
  if (!cluster) {
    fmt::print(stderr, "{}", spec::render_text(diagnostics, false));
    std::exit(1);
  }
  const Fabric fabric(*cluster);
  const fabric::Clos& clos = *fabric.clos();
  const fabric::Summary summary = fabric::summarise(fabric);
  const double seconds = watch.seconds();
  digest = mix64(static_cast<std::uint64_t>(summary.bisection.count()) + fabric.nodes());

  const auto count = [&](std::string name, std::uint64_t value, std::uint64_t expected) {
    rows.push_back({std::move(name), static_cast<double>(value), "", "==", static_cast<double>(expected)});
  };
  rows.push_back({"load, check, build, summarise", seconds, "s", "<=", 2});
  rows.push_back({"peak memory", peak_gibibytes(), "GiB", "<=", 2});
  count("GPUs", fabric.count(fabric::NodeKind::gpu), 1'048'576);
  count("leaves", clos.count(fabric::Clos::Tier::leaf), 8'192);
  count("spines", clos.count(fabric::Clos::Tier::spine), 8'192);
  count("super-spines", clos.count(fabric::Clos::Tier::super_spine), 16'384);
  rows.push_back({"bisection", static_cast<double>(summary.bisection.count()) / 1e15, "Pbps", "", 0});
  count("paths between the first and the last GPU", fabric.path_count(0, fabric.endpoints() - 1), 128 * 128);

  const Queries queries = time_next_hop(fabric, 1'000'000);
  digest = mix64(digest + queries.digest);
  rows.push_back({"next-hop queries per second", queries.per_second / 1e6, "M/s", ">=", 10});

  constexpr std::uint32_t kPairs = 1000;
  count("pairs as far as search says", compare(fabric, fabric::kNone, kPairs).equal, kPairs);
  const Agreement without = compare(fabric, clos.count(fabric::Clos::Tier::leaf) + 5, kPairs);
  count("the same without a spine", without.equal, kPairs);
  rows.push_back({"of these, routes that it had carried", static_cast<double>(without.around), "", ">=", 900});
  rows.push_back({"peak memory at the end", peak_gibibytes(), "GiB", "<=", 2});
  return rows;
}

void print_table(const std::vector<Row>& rows, std::uint64_t digest) {
  fmt::print("{:<42} {:>14}       {:>14}  ok\n", "name", "value", "limit");
  for (const Row& row : rows) {
    const bool whole = row.unit.empty();
    if (row.relation.empty()) {
      fmt::print("{:<42} {:>14.3f} {}\n", row.name, row.value, row.unit);
      continue;
    }
    fmt::print("{:<42} {:>14.{}f} {:<4} {:>2} {:>11.{}f}  {}\n", row.name, row.value, whole ? 0 : 3, row.unit,
               row.relation, row.limit, whole ? 0 : 1, row.ok() ? "yes" : "NO");
  }
  fmt::print("digest {:016x}\n", digest);
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc == 2 && std::strcmp(argv[1], "--json") == 0;
  if (argc > 1 && !json) {
    fmt::print(stderr, "usage: fabric_bench [--json]\n");
    return 2;
  }
  std::uint64_t digest = 0;
  const std::vector<Row> rows = measure(digest);
  if (json) {
    for (const Row& row : rows)
      fmt::print("{}\n", nlohmann::json{{"bench", "fabric"},
                                        {"name", row.name},
                                        {"value", row.value},
                                        {"unit", row.unit},
                                        {"relation", row.relation},
                                        {"limit", row.limit},
                                        {"ok", row.ok()},
                                        {"digest", fmt::format("{:016x}", digest)}}
                             .dump());
  } else {
    print_table(rows, digest);
  }
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.ok(); }) ? 0 : 1;
}
