// Whether the model chooses what NCCL itself does. truth/choices has what NCCL's own search and tuning code, built for
// itself and given these servers, chose at drawn points.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "base/testing_source_dir.hpp"
#include "collective/testing_team.hpp"
#include "collective/tuner.hpp"

namespace weft::collective {
namespace {

using testing::Machines;

struct Point {
  std::string release, kind;
  std::uint32_t domains = 0, gpus = 0, nics = 0, gbps = 0;
  std::string operation;
  std::uint64_t bytes = 0;
  std::string algorithm, protocol;
  std::string line;
};

std::vector<Point> points_of(const std::string& file) {
  std::ifstream in(file);
  std::vector<Point> all;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#' || line.starts_with("release")) continue;
    Point point;
    point.line = line;
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream(line) >> point.release >> point.kind >> point.domains >> point.gpus >> point.nics >>
        point.gbps >> point.operation >> point.bytes >> point.algorithm >> point.protocol;
    all.push_back(point);
  }
  return all;
}

std::string servers_of(const Point& point) {
  if (point.kind.find("nvl") != std::string::npos)
    return "{kind: " + point.kind + ", count: " + std::to_string(point.domains * point.gpus / 4) +
           ", scale_up: {servers: " + std::to_string(point.gpus / 4) + "}}";
  return "{kind: " + point.kind + ", count: " + std::to_string(point.domains) +
         ", gpus: " + std::to_string(point.gpus) + ", nics: " + std::to_string(point.nics) +
         ", nic: {rate: " + std::to_string(point.gbps) + "Gbps}}";
}

TEST(Tuner, ChoosesAsNcclItselfDoes) {
  std::map<std::string, std::unique_ptr<Machines>> known;
  std::size_t equal = 0;
  const std::vector<Point> points = points_of(std::string(base::kSourceDir) + "/truth/choices/nccl.csv");
  ASSERT_GE(points.size(), 500u);
  for (const Point& point : points) {
    auto& machines = known[servers_of(point)];
    if (machines == nullptr) machines = std::make_unique<Machines>(servers_of(point));
    const Team team(machines->fabric, pick_gpus(*machines->cluster, point.domains * point.gpus, 0));
    const Stack* stack = stack_named("ib-nccl" + point.release);
    ASSERT_NE(stack, nullptr) << point.release;
    const Estimate best = estimates(team, *operation_named(point.operation), point.bytes, *stack).front();
    const bool same = name(best.algorithm) == point.algorithm && name(best.protocol) == point.protocol;
    equal += same;
    if (!same) std::cout << point.line << ": here " << name(best.algorithm) << " " << name(best.protocol) << "\n";
  }
  std::cout << equal << " of " << points.size() << " as NCCL\n";
  EXPECT_GE(equal * 1000, points.size() * 995) << "98 % are asked for; what is reached is kept";
}

// Buffers of LL for point-to-point messages are set up within a node only.
TEST(Tuner, PeersBetweenNodesDoWithoutLl) {
  const Machines machines("{kind: hgx-b200, count: 2}");
  const Team one(machines.fabric, pick_gpus(*machines.cluster, 8, 0));
  const Team two(machines.fabric, pick_gpus(*machines.cluster, 16, 0));
  const Stack& ib = *stack_named("ib");
  EXPECT_EQ(protocol_for(one, Operation::send_recv, Algorithm::direct, 4096, ib), Protocol::ll);
  EXPECT_EQ(protocol_for(one, Operation::send_recv, Algorithm::direct, 1 << 20, ib), Protocol::simple);
  EXPECT_EQ(protocol_for(two, Operation::send_recv, Algorithm::direct, 4096, ib), Protocol::simple);
  EXPECT_EQ(protocol_for(two, Operation::all_to_all, Algorithm::direct, 4096, ib), Protocol::simple);
}

// What a network's profile forbids is not chosen from, wherever in the profile it stands.
TEST(Tuner, KeepsToTheProfileOfTheNetwork) {
  const Machines machines("{kind: hgx-h100, count: 2}");
  const Team team(machines.fabric, pick_gpus(*machines.cluster, 16, 0));
  const auto chosen_from = [&](const std::string& stack) {
    std::set<Protocol> protocols;
    bool nvls = false;
    for (const Estimate& each : estimates(team, Operation::all_reduce, 1 << 26, *stack_named(stack))) {
      protocols.insert(each.protocol);
      nvls |= each.algorithm == Algorithm::nvls || each.algorithm == Algorithm::nvls_tree;
    }
    return std::pair(protocols, nvls);
  };
  using Set = std::set<Protocol>;
  EXPECT_EQ(chosen_from("tcpxo"), std::pair(Set{Protocol::simple}, false));
  EXPECT_EQ(chosen_from("tcpxo-ll128"), (std::pair(Set{Protocol::ll128, Protocol::simple}, false)));
  EXPECT_EQ(chosen_from("gib"), (std::pair(Set{Protocol::ll, Protocol::ll128, Protocol::simple}, true)));
}

}  // namespace
}  // namespace weft::collective
