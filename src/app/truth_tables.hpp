#pragma once
// A folder of measurements with their clusters: NAME.csv is what was measured, NAME.weft.yaml the cluster, with one
// `run:` that says which collective, on how many GPUs and with which stack.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/measurements.hpp"
#include "app/session.hpp"
#include "app/sim_collective.hpp"
#include "collective/constants.hpp"

namespace weft::app {

struct TruthTable {
  std::string name;
  std::unique_ptr<Session> session;
  CollectiveJob job;
  std::string stack;
  std::string kind;                // of the servers
  std::vector<std::string> notes;  // lines of the cluster file that begin with "# note: "
  std::vector<Measurement> rows;
  std::vector<collective::Choice> choices;  // by row: what NCCL would take
  std::unique_ptr<collective::Team> team;

  // The numbers of this owner count in it.
  bool uses(std::string_view owner) const;
};

// All that can be read, in the order of their names; `failed` when some could not be, which was then said.
std::vector<TruthTable> load_tables(const std::string& directory, bool json, Console& console, bool& failed);

// What the simulator says under any constants. Asked for the same twice, it remembers.
class TruthClock {
 public:
  const report::CollectiveRow& row(const TruthTable& table, std::size_t i, const collective::Constants& constants);

 private:
  std::map<std::pair<const TruthTable*, std::vector<std::int64_t>>, std::vector<report::CollectiveRow>> known_;
};

}  // namespace weft::app
