#pragma once
// Collectives as nccl-tests prints them, so that whatever reads its output reads this; or as records.

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace weft::report {

struct CollectiveRow {
  std::string operation;    // all_reduce
  std::uint64_t bytes = 0;  // that were asked for
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 0;
  bool parts = false;  // the count column is of a rank's part
  bool reduces = false;
  std::int64_t root = -1;
  std::int64_t time = 0;      // ps
  std::int64_t bus_over = 1;  // busbw = algbw x over / under
  std::int64_t bus_under = 1;
  std::string algorithm;
  std::string protocol;
  std::uint32_t channels = 0;
  std::string chosen_by;  // "auto" or "user"
  std::uint64_t chunk = 0;
  bool host_memory = false;    // some of it bounces
  std::uint64_t messages = 0;  // that were simulated
  std::uint64_t skipped_rounds = 0;
  std::string stack;
  std::string executor = "message";
  std::string beside;         // traffic that ran at the same time; empty: none
  std::uint32_t groups = 1;   // that did it at the same time; the slowest one's figures
  std::uint64_t seed = 0;     // where it decided anything
  std::uint64_t digest = 0;   // likewise
  std::uint64_t dropped = 0;  // packets, by full queues and faults
  std::uint64_t sent_again = 0;

  // nccl-tests counts elements of four bytes, and so many of them that every rank has the same.
  std::uint64_t count() const { return parts ? bytes / 4 / ranks : bytes / 4; }
  std::uint64_t size() const { return parts ? count() * 4 * ranks : count() * 4; }
  double algorithm_bandwidth() const;  // GB/s
  double bus_bandwidth() const;
};

// What stands above the table.
struct CollectiveHead {
  std::string version;
  std::string cluster;
  std::string operation;
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;
  std::vector<std::string> devices;  // a line for each rank
};

void write_collective_head(const CollectiveHead& head, std::ostream& out);
void write_collective_line(const CollectiveRow& row, std::ostream& out);
void write_collective_foot(const std::vector<CollectiveRow>& rows, std::ostream& out);

// A line per size, busbw of every algorithm side by side; rows of one size follow each other, the chosen one first.
void write_algorithms_side_by_side(const std::vector<CollectiveRow>& rows, std::ostream& out);

// The same rows timed by several executors, the first of which the others are compared with: lines that readers of
// nccl-tests skip, or records.
void write_collective_differences(const std::vector<std::vector<CollectiveRow>>& by_executor, std::ostream& out);
// Several jobs that did the same, by name and with their last rows: who was fastest.
void write_collective_verdict(const std::vector<std::pair<std::string, CollectiveRow>>& jobs, std::ostream& out);
void write_difference_records(const std::vector<std::vector<CollectiveRow>>& by_executor, std::ostream& out);

void write_collective_record(const CollectiveRow& row, const CollectiveHead& head, std::ostream& out);

}  // namespace weft::report
