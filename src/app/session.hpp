#pragma once
// What every command that reads a cluster file does first.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "fabric/fabric.hpp"
#include "model/load.hpp"

namespace weft::app {

struct InputOptions {
  std::string file;        // empty: the one *.weft.yaml of the current directory
  std::string topology;    // NCCL's XML or nvidia-smi's matrix instead of a cluster file
  std::int64_t nodes = 1;  // servers that a topology stands for
  std::vector<std::string> set;
  std::string catalog;  // directory beside the embedded one
  bool json = false;
};

// A loaded cluster with its fabric, and what there is to say about it.
class Session {
 public:
  // Loads; on errors they are printed (as text on stderr or JSON on stdout) and ok() is false.
  Session(const InputOptions& options, Console& console);

  bool ok() const { return fabric_ != nullptr; }
  const model::Cluster& cluster() const { return *cluster_; }
  const std::filesystem::path& file() const { return file_; }
  const fabric::Fabric& fabric() const { return *fabric_; }
  spec::Diagnostics& diagnostics() { return diagnostics_; }
  // The cluster file among its sources; of a topology, the one that was made of it.
  std::uint32_t source() const { return source_; }

  // Where a key of the user's file or of --set stands, for warnings; the file as a whole when it is in neither. Of a
  // topology it is the cluster file that was made of it.
  spec::Place place(const std::string& section, const std::string& key, std::size_t item = 0);

 private:
  void load(const std::filesystem::path& path, const InputOptions& options, const model::Catalog& catalog);

  spec::Diagnostics diagnostics_;
  std::optional<model::Cluster> cluster_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::filesystem::path file_;
  std::uint32_t source_ = 0;
  std::vector<std::string> set_;
};

// The catalog with the user's directory laid over it.
model::Catalog load_catalog(const InputOptions& options, spec::Diagnostics& diagnostics);

// Prints what there is to complain about; true when there were errors.
bool report(const spec::Diagnostics& diagnostics, const InputOptions& options, Console& console);

}  // namespace weft::app
