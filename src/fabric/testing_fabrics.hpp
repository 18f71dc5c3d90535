#pragma once
// What the fabric's tests share: clusters from YAML, one of every kind of fabric, and the graph of
// a plane as the links tell it, to search without the routing under test.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"
#include "model/cluster.hpp"

namespace weft::fabric::testing {

// The cluster a text describes. Fails the test and throws when there are errors.
model::Cluster cluster_of(const std::string& yaml);
// Whether a text describes a cluster that can be built.
bool loads(const std::string& yaml);
// An htsim topology file; nullopt when the folder that holds them is not there.
std::optional<model::Cluster> topo_cluster(const std::string& file);

// A cluster with its fabric; the fabric points into the cluster, so they stay together.
struct Built {
  explicit Built(model::Cluster made) : cluster(std::make_unique<model::Cluster>(std::move(made))), fabric(*cluster) {}
  std::unique_ptr<model::Cluster> cluster;
  Fabric fabric;
};

struct Sample {
  std::string name;
  std::string yaml;
  std::uint32_t planes;
  std::uint32_t switches;   // of one plane
  std::uint32_t endpoints;  // of all planes
};
const std::vector<Sample>& samples();
inline void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.name; }

// One plane's switches, read from Fabric::for_each_link.
struct Edge {
  std::uint32_t to;
  std::uint32_t port;
  LinkTier tier;
};
struct Graph {
  std::vector<std::vector<Edge>> out;
};
Graph graph_of(const Fabric& fabric, std::uint32_t plane);

// Which parts a search leaves out, kept apart from `Broken` on purpose.
struct Dead {
  std::function<bool(std::uint32_t)> node = [](std::uint32_t) { return false; };
  std::function<bool(std::uint32_t, std::uint32_t)> port = [](std::uint32_t, std::uint32_t) { return false; };
};

inline constexpr std::uint32_t kFar = 0xFFFFFFFFu;

// Hops and number of shortest walks from `from` to every switch; of walks with at most
// `global_limit` global links, which is what a Dragonfly calls a route.
struct Distances {
  std::vector<std::uint32_t> hops;
  std::vector<std::uint64_t> walks;
};
Distances search(const Graph& graph, std::uint32_t from, const Dead& dead = {}, std::uint32_t global_limit = kFar);

// The walk of one packet by next_hop. Stops at `limit` hops, so that a loop is a failure and no
// hang.
struct Walk {
  bool arrived = false;
  std::vector<std::uint32_t> switches;
  std::vector<std::uint32_t> ports;     // the last is the NIC's
  std::vector<std::uint32_t> channels;  // global links before each hop
  std::uint32_t via = kNone;
};
Walk walk(const Fabric& fabric, std::uint32_t from, std::uint32_t to, std::uint32_t entropy, const Failures& failures);

}  // namespace weft::fabric::testing
