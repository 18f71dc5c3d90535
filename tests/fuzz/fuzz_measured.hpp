#pragma once
// What the fuzz targets of other programs' files and the replay of their corpus do with one input.

#include <string>
#include <utility>

#include "fuzz_one.hpp"
#include "measured/facts.hpp"
#include "measured/topology_cluster.hpp"
#include "measured/topology_writer.hpp"

namespace weft::fuzz {

// A topology that was read can be written, and what was written is read as the same server.
inline void load_topology(std::string text) {
  static spec::Diagnostics catalog_diagnostics;
  static const model::Catalog catalog = model::Catalog::embedded(catalog_diagnostics);
  const auto load = [](std::string what, spec::Diagnostics& diagnostics) {
    for (int i = 0; i < 6; ++i) diagnostics.sources().add("catalog", "");  // places in it must exist
    const std::uint32_t source = diagnostics.sources().add("fuzz.xml", std::move(what));
    auto loaded = measured::load_topology_cluster(source, 1, {}, catalog, diagnostics);
    check_errors(diagnostics, loaded.has_value());
    return loaded;
  };
  spec::Diagnostics diagnostics;
  const auto loaded = load(std::move(text), diagnostics);
  if (!loaded) return;
  walk(loaded->cluster);
  const auto xml = measured::write_topology(loaded->cluster.groups[0], diagnostics);
  require(xml.has_value(), "a server that was read can be written");
  spec::Diagnostics again;
  const auto copy = load(*xml, again);
  require(copy.has_value(), "what was written can be read");
  const model::Diagram& a = loaded->cluster.groups[0].diagram;
  const model::Diagram& b = copy->cluster.groups[0].diagram;
  require(a.gpu_switch.size() == b.gpu_switch.size() && a.nic_switch.size() == b.nic_switch.size(),
          "with as many GPUs and NICs");
}

// The same text as the matrix, the table and the log: each is read or refused, and what is read adds up.
inline void read_outputs(const std::string& text) {
  const auto read = [&](const char* name, auto reader) {
    spec::Diagnostics diagnostics;
    auto out = reader(diagnostics.sources().add(name, text), diagnostics);
    check_errors(diagnostics, out.has_value());
    return out;
  };
  const auto matrix = read("matrix", measured::read_smi_matrix);
  const auto benchmark = read("benchmark", measured::read_benchmark);
  const auto log = read("log", measured::read_nccl_log);
  if (benchmark)
    for (const measured::BenchmarkTable& table : benchmark->tables) {
      require(!table.rows.empty(), "a table has rows");
      require(table.inferred_ranks() >= 0 && table.wrong() >= 0, "sums do not overflow");
      for (const measured::BenchmarkRow& row : table.rows)
        require(row.best().time.count() >= 0, "time does not run backwards");
    }
  measured::Evidence evidence;
  if (matrix) evidence.matrix = &*matrix;
  if (benchmark) evidence.benchmark = &*benchmark;
  if (log) evidence.log = &*log;
  const measured::Facts facts = measured::gather(evidence);
  require(!facts.nodes || facts.nodes->value > 0, "a job has nodes");
}

}  // namespace weft::fuzz
