#pragma once
// What the fuzz targets of clusters and the replay of their corpus do with one input.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "fabric/fabric.hpp"
#include "fabric/summary.hpp"
#include "model/load.hpp"

namespace weft::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

// Either a cluster or at least one error, and every error has a place inside the text it is about.
inline void check_errors(const spec::Diagnostics& diagnostics, bool loaded) {
  require(loaded != diagnostics.has_errors(), "a cluster or an error, never both or neither");
  for (const spec::Diagnostic& d : diagnostics.sorted()) {
    require(d.place.source > 0, "an error names its file");
    require(!d.message.empty(), "an error has a message");
    if (d.place.line == 0) continue;
    const std::string_view line = diagnostics.sources().line(d.place);
    require(d.place.column >= 1 && d.place.column <= line.size() + 1, "an error stands inside the file");
  }
  const std::string text = spec::render_text(diagnostics, false);
  for (const char c : text)
    require(c == '\n' || static_cast<unsigned char>(c) >= 0x20, "no control characters in an error");
  spec::render_json(diagnostics);
}

// Walks a few nodes of the graph: enough to meet wrong arithmetic, bounded for any size.
inline void walk(const model::Cluster& cluster) {
  const fabric::Fabric fabric(cluster);
  const std::uint32_t step = fabric.nodes() / 64 + 1;
  for (std::uint64_t id = 0; id < fabric.nodes(); id += step) {
    const auto node = static_cast<fabric::NodeId>(static_cast<std::uint32_t>(id));
    require(fabric.find(fabric.name(node)) == node, "a node is found by its name");
    if (fabric.describe(node).kind == fabric::NodeKind::gpu) fabric.for_each_link(node, [](const fabric::Link&) {});
  }
  if (cluster.gpus > 1) fabric.path(0, cluster.gpus - 1, 7, fabric.no_failures());
  constexpr std::uint32_t kMostToSummarise = 65'536;
  if (cluster.gpus > kMostToSummarise) return;
  const fabric::Summary summary = fabric::summarise(fabric);
  require(summary.nic_bandwidth.count() >= 0 && summary.bisection.count() >= 0 &&
              summary.bisection <= summary.nic_bandwidth,
          "sums of rates do not overflow");
  const fabric::Costs& costs = summary.costs;
  require(costs.power() >= costs.optics_power && costs.price.value_or(Price{}).count() >= 0 &&
              costs.purchase().value_or(Money{}).count() >= 0,
          "sums of power and money do not overflow");
}

inline void load_text(const char* name, std::string text) {
  spec::Diagnostics diagnostics;
  // The catalog is the same for every input and takes longer than one.
  static spec::Diagnostics catalog_diagnostics;
  static const model::Catalog catalog = model::Catalog::embedded(catalog_diagnostics);
  for (int i = 0; i < 6; ++i) diagnostics.sources().add("catalog", "");  // places in it must exist
  const std::uint32_t source = diagnostics.sources().add(name, std::move(text));
  const auto cluster = model::load_cluster(source, "fuzz", {}, catalog, diagnostics);
  check_errors(diagnostics, cluster.has_value());
  if (cluster) walk(*cluster);
}

}  // namespace weft::fuzz
