#pragma once
// What the simulator's tests share: small fabrics, and a client that writes down what completes.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "model/load.hpp"
#include "sim/packet/packet_sim.hpp"

namespace weft::sim::testing {

// A cluster with its fabric; the fabric points into the cluster, so they stay together.
struct Built {
  explicit Built(model::Cluster made) : cluster(std::make_unique<model::Cluster>(std::move(made))), fabric(*cluster) {}
  std::unique_ptr<model::Cluster> cluster;
  fabric::Fabric fabric;
};

// From the text of a cluster file, or of an htsim topology where the name says so.
inline Built build(const std::string& name, const std::string& text) {
  static spec::Diagnostics of_catalog;
  static const auto catalog = model::Catalog::embedded(of_catalog);  // takes as long as many a run
  spec::Diagnostics diagnostics = of_catalog;
  const std::uint32_t source = diagnostics.sources().add(name, text);
  auto cluster = model::load_cluster(source, "test", {}, catalog, diagnostics);
  if (!cluster) throw std::runtime_error("the test's cluster does not load: " + name);
  return Built(std::move(*cluster));
}

//   4 groups of 4 super-spines  64 hosts at 100G, four to a leaf, four leaves and four spines to a pod
//   4 pods x 4 spines           cables of 1 us
//   4 pods x 4 leaves
inline std::string fat_tree_text(int super_gbps = 100) {
  const auto tier = [](int number, int gbps, int up) {
    return "Tier " + std::to_string(number) + "\nDownlink_speed_Gbps " + std::to_string(gbps) + "\nRadix_Down 4\n" +
           (up > 0 ? "Radix_Up " + std::to_string(up) + "\n" : "") + "Downlink_Latency_ns 1000\nSwitch_Latency_ns 0\n";
  };
  return "Nodes 64\nTiers 3\nPodsize 16\n" + tier(0, 100, 4) + tier(1, 100, 4) + tier(2, super_gbps, 0);
}

inline const fabric::Fabric& fat_tree() {
  static const Built built = build("tree.topo", fat_tree_text());
  return built.fabric;
}

//   8 spines, or as many as uplinks   64 hosts at 100G, eight to a leaf
//   8 leaves                          cables of 0.5 us
inline std::string leaves_and_spines_text(int uplinks) {
  return "Nodes 64\nTiers 2\nPodsize 64\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up " +
         std::to_string(uplinks) +
         "\nDownlink_Latency_ns 500\nSwitch_Latency_ns 300\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 8\n"
         "Downlink_Latency_ns 500\nSwitch_Latency_ns 300\n";
}

inline const fabric::Fabric& leaves_and_spines() {
  static const Built built = build("leaf.topo", leaves_and_spines_text(8));
  return built.fabric;
}

// A Dragonfly of 400G with two servers to a router, and two global links of each router.
struct DragonflySize {
  std::uint32_t servers;
  std::uint32_t routers;  // of a group
};
inline Built dragonfly(const std::string& routing, const DragonflySize& size) {
  return build("fly.weft.yaml",
               "version: 1\nservers: {kind: hgx-h100, nics: 1, count: " + std::to_string(size.servers) +
                   "}\nfabric: {kind: dragonfly, switch: tomahawk-4, servers_per_router: 2, global_links: 2, "
                   "routers_per_group: " +
                   std::to_string(size.routers) + ", routing: " + routing + ", link: {rate: 400Gbps, cable: 15m}}\n");
}

// Calls come from several threads when the run has several.
struct Recorder : Client {
  std::map<std::uint32_t, std::int64_t> sent;  // when, by tag
  std::map<std::uint32_t, std::int64_t> received;
  std::map<std::uint32_t, int> times_received;
  std::mutex mutex;
  void completed(std::int64_t now, const transport::Completion& done) override {
    const std::lock_guard lock(mutex);
    if (done.kind == transport::Completion::Kind::sent) {
      sent[done.tag] = now;
    } else if (done.kind == transport::Completion::Kind::received) {
      received[done.tag] = now;
      ++times_received[done.tag];
    }
  }
  void called(std::int64_t, std::uint32_t, std::uint64_t) override {}
};

struct Outcome {
  std::map<std::uint32_t, std::int64_t> sent;
  std::map<std::uint32_t, std::int64_t> received;
  std::map<std::uint32_t, int> times_received;
  schedule::RunResult result;
  std::int64_t last() const {
    std::int64_t end = 0;
    for (const auto& [tag, time] : sent) end = std::max(end, time);
    return end;
  }
};

inline Outcome run_on(PacketSim& sim, const std::vector<Flow>& flows) {
  Recorder recorder;
  for (std::uint32_t i = 0; i < flows.size(); ++i)
    sim.post(flows[i].start, flows[i].source, {.peer = flows[i].destination, .bytes = flows[i].bytes, .tag = i});
  Outcome out;
  out.result = sim.run(recorder);
  sim.collect_links(out.result, 1000);
  out.sent = recorder.sent;
  out.received = recorder.received;
  out.times_received = recorder.times_received;
  return out;
}

inline Outcome run(const std::vector<Flow>& flows, const SimConfig& config = {},
                   const std::function<void(PacketSim&)>& prepare = {}) {
  PacketSim sim(fat_tree(), config);
  if (prepare) prepare(sim);
  return run_on(sim, flows);
}

// The same with messages that one transport carries.
inline SimConfig over(transport::Protocol protocol, SimConfig config = {}) {
  config.protocol = protocol;
  config.stack.used = 0;
  config.stack.use(protocol);
  config.header = config.stack.header_of(protocol);
  config.full_packet = config.stack.packet_of(protocol);
  return config;
}

// Everybody to the one `by` places further.
inline std::vector<Flow> shifted(std::uint32_t by, std::uint64_t bytes, std::uint32_t hosts = 64) {
  std::vector<Flow> flows;
  for (std::uint32_t i = 0; i < hosts; ++i) flows.push_back({i, (i + by) % hosts, bytes, 0});
  return flows;
}

// Everything arrived once.
inline bool delivered_once(const Outcome& outcome, std::size_t flows) {
  if (outcome.sent.size() != flows || outcome.received.size() != flows) return false;
  for (const auto& [tag, times] : outcome.times_received)
    if (times != 1) return false;
  return true;
}

}  // namespace weft::sim::testing
