#pragma once
// One cluster that is tried: what its file says, its fabric, and where its words stand, so that errors point there.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"
#include "model/load.hpp"

namespace weft::experiment {

class Design {
 public:
  // A cluster with the diagnostics of loading it. `source`: the cluster file among their sources (0: there is none),
  // which `set` and the catalog made into the cluster.
  Design(model::Cluster cluster, spec::Diagnostics diagnostics, std::uint32_t source, std::vector<std::string> set,
         std::shared_ptr<const model::Catalog> catalog);
  // The cluster file that is `source` of `diagnostics`; nullptr when it is wrong, which they then say.
  static std::unique_ptr<Design> read(std::uint32_t source, const std::string& name, std::vector<std::string> set,
                                      std::shared_ptr<const model::Catalog> catalog, spec::Diagnostics& diagnostics);
  Design(const Design&) = delete;
  Design& operator=(const Design&) = delete;

  const model::Cluster& cluster() const { return cluster_; }
  const fabric::Fabric& fabric() const { return fabric_; }
  const model::Catalog& catalog() const { return *catalog_; }
  // What there is to say about it: experiments add to it what is wrong with them.
  spec::Diagnostics& diagnostics() { return diagnostics_; }
  const spec::Diagnostics& diagnostics() const { return diagnostics_; }
  std::uint32_t source() const { return source_; }

  // Where a key of the file or of --set stands; the file as a whole when it is in neither.
  spec::Place place(const std::string& section, const std::string& key, std::size_t item = 0);

  // The same file with more words of --set behind its own; nullptr when that describes no cluster.
  std::unique_ptr<Design> with(const std::vector<std::string>& more) const;

 private:
  spec::Diagnostics diagnostics_;
  model::Cluster cluster_;
  fabric::Fabric fabric_;
  std::uint32_t source_;
  std::vector<std::string> set_;
  std::shared_ptr<const model::Catalog> catalog_;
};

}  // namespace weft::experiment
