#pragma once
// A folder of measurements with their clusters: NAME.csv is what was measured, NAME.weft.yaml the cluster, with one
// `run:` that says which collective, on how many GPUs and with which stack.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective/constants.hpp"
#include "collective/team.hpp"
#include "experiment/collectives.hpp"
#include "experiment/design.hpp"
#include "schedule/collective_row.hpp"
#include "truth/measurements.hpp"

namespace weft::truth {

struct TruthTable {
  std::string name;
  std::unique_ptr<experiment::Design> design;
  experiment::CollectiveJob job;
  std::string stack;
  std::string kind;                // of the servers
  std::vector<std::string> notes;  // lines of the cluster file that begin with "# note: "
  std::vector<std::string>
      blind;                  // with "# blind: ": how far off it was when it was written from the table's head alone
  bool never_fitted = false;  // its source has no address, or one whose CRC-32 is odd
  std::vector<Measurement> rows;
  std::vector<collective::Choice> choices;        // by row: what NCCL would take
  std::vector<collective::ChannelLimits> limits;  // by row: what NCCL was told
  std::unique_ptr<collective::Team> team;

  // The numbers of this owner count in it.
  bool uses(std::string_view owner) const;
};

struct LoadedTables {
  std::vector<TruthTable> tables;        // all that can be read, in the order of their names
  std::vector<spec::Diagnostics> wrong;  // of each that cannot
  std::vector<std::string> remarks;      // what is odd about some
};
LoadedTables load_tables(const std::string& directory);

// What the simulator says under any constants. Asked for the same twice, it remembers.
class TruthClock {
 public:
  const schedule::CollectiveRow& row(const TruthTable& table, std::size_t i, const collective::Constants& constants);

 private:
  std::map<std::pair<const TruthTable*, std::vector<std::int64_t>>, std::vector<schedule::CollectiveRow>> known_;
};

}  // namespace weft::truth
