#pragma once
// Collectives as nccl-tests prints them, so that whatever reads its output reads this; or as records.

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "schedule/collective_row.hpp"

namespace weft::report {

using schedule::CollectiveRow;

// What stands above the table.
struct CollectiveHead {
  std::string version;
  std::string cluster;
  std::string operation;
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;
  std::vector<std::string> devices;  // a line for each rank
  std::string level = {};            // "message", or several: "flow, packet"
  std::uint32_t ranks = 0;
  std::uint32_t servers = 0;
};

// Columns of a terminal that nccl-tests' table takes, with the algorithm behind it.
inline constexpr std::size_t kNcclTestsWidth = 136;

// narrow: for a terminal that has less. Without what is the same in every line, and the first ranks only.
void write_collective_head(const CollectiveHead& head, std::ostream& out, bool narrow = false);
void write_collective_line(const CollectiveRow& row, std::ostream& out, bool narrow = false);
void write_collective_foot(const std::vector<CollectiveRow>& rows, std::ostream& out, bool narrow = false);

// A line per size, busbw of every algorithm side by side; rows of one size follow each other, the chosen one first.
void write_algorithms_side_by_side(const std::vector<CollectiveRow>& rows, std::ostream& out, bool narrow = false);

// The same rows timed by several executors, the first of which the others are compared with: lines that readers of
// nccl-tests skip, or records.
void write_collective_differences(const std::vector<std::vector<CollectiveRow>>& by_level, std::ostream& out);
// Several jobs that did the same, by name and with their last rows: who was fastest.
void write_collective_verdict(const std::vector<std::pair<std::string, CollectiveRow>>& jobs, std::ostream& out);
void write_difference_records(const std::vector<std::vector<CollectiveRow>>& by_level, std::ostream& out);

void write_collective_record(const CollectiveRow& row, const CollectiveHead& head, std::ostream& out);

}  // namespace weft::report
