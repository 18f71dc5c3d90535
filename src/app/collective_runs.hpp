#pragma once
// Jobs that run at the same time, size by size, and the tables that come of them.

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/collective_choice.hpp"
#include "app/collective_run.hpp"
#include "app/sim_collective.hpp"
#include "app/watch.hpp"

namespace weft::app {

// One of the jobs that run at the same time: its groups, and what came of them.
struct CollectiveSide {
  const CollectiveJob* job = nullptr;
  const collective::Stack* stack = nullptr;
  std::vector<std::unique_ptr<collective::Team>> teams;  // by group
  std::vector<collective::Conditions> conditions;        // by group
  std::vector<std::vector<report::CollectiveRow>> rows;  // by fidelity
};

class CollectiveRuns {
 public:
  // `beside`: streams that run at the same time, or nullptr.
  CollectiveRuns(Session& session, const CollectiveRequest& request, const Wanted& wanted,
                 const std::vector<std::string>& fidelities, const Traffic* beside, const Limits& limits,
                 Console& console);

  // Jobs that run at the same time; the exit code.
  int run(std::span<const CollectiveJob> jobs);
  // The last row of each, and what the job is called; none where nothing ran.
  const std::vector<std::pair<std::string, report::CollectiveRow>>& last() const { return last_; }
  const std::vector<report::CollectiveRow>& rows() const { return all_rows_; }

 private:
  bool side_by_side() const { return wanted_.all || wanted_.algorithms.size() > 1; }
  bool has(std::string_view fidelity) const {
    return std::find(fidelities_.begin(), fidelities_.end(), fidelity) != fidelities_.end();
  }
  bool by_links() const { return fidelities_.size() > 1 || fidelities_[0] != "message"; }
  // Rows are printed as they come.
  bool streams(const std::vector<CollectiveSide>& sides) const {
    return sides.size() == 1 && fidelities_.size() == 1 && !side_by_side();
  }
  void print_row(const CollectiveSide& side, const report::CollectiveRow& row) const;
  CollectiveSide side_of(const CollectiveJob& job);
  bool check(const CollectiveSide& side);
  void check_networks(const std::vector<CollectiveSide>& sides);
  report::CollectiveHead head(const CollectiveSide& side) const;
  bool run_size(std::vector<CollectiveSide>& sides, std::size_t index);
  bool run_choice(std::vector<CollectiveSide>& sides, std::size_t index,
                  const std::vector<collective::Choice>& choices);
  void print_rows(const CollectiveSide& side) const;
  void print_foot(const CollectiveSide& side) const;
  int stopped() const;
  int write_trace(const std::vector<CollectiveSide>& sides) const;

  Session& session_;
  const CollectiveRequest& request_;
  const Wanted& wanted_;
  const Traffic* beside_;
  Console& console_;
  std::vector<std::string> fidelities_;
  Watch watch_;
  std::vector<CollectiveMessage> traced_;
  bool traced_all_ = true;
  bool stuck_ = false;
  std::vector<std::pair<std::string, report::CollectiveRow>> last_;
  std::vector<report::CollectiveRow> all_rows_;  // of the first fidelity
};

}  // namespace weft::app
