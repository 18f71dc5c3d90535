#pragma once
// What every command that reads a cluster file does first.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "app/input_options.hpp"
#include "experiment/experiment.hpp"

namespace weft::app {

// A design read from files.
class Session {
 public:
  // Loads; on errors they are printed (as text on stderr or JSON on stdout) and ok() is false.
  Session(const InputOptions& options, Console& console);
  // The same without a word; what is wrong is in `diagnostics`.
  Session(const InputOptions& options, spec::Diagnostics& diagnostics);

  bool ok() const { return design_ != nullptr; }
  experiment::Design& design() { return *design_; }
  const experiment::Design& design() const { return *design_; }
  const model::Cluster& cluster() const { return design_->cluster(); }
  const fabric::Fabric& fabric() const { return design_->fabric(); }
  spec::Diagnostics& diagnostics() { return design_->diagnostics(); }
  const std::filesystem::path& file() const { return file_; }

 private:
  void load(const InputOptions& options, spec::Diagnostics& errors);

  std::unique_ptr<experiment::Design> design_;
  std::filesystem::path file_;
};

// The catalog with the user's directory laid over it.
model::Catalog load_catalog(const InputOptions& options, spec::Diagnostics& diagnostics);

// Prints errors, if there are any; true when there were.
bool report(const spec::Diagnostics& diagnostics, const InputOptions& options, Console& console);

// As text on stderr, or as records. `label`: whose run, where there are several.
void print_warnings(Session& session, std::vector<spec::Diagnostic> warnings, const InputOptions& options,
                    Console& console, const std::string& label = "");
// What a run by these fidelities will meet.
void print_warnings(Session& session, const experiment::Experiment& experiment,
                    const std::vector<experiment::Fidelity>& fidelities, const InputOptions& options, Console& console,
                    const std::string& label = "");

}  // namespace weft::app
