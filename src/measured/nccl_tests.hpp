#pragma once
// What nccl-tests prints, of any version, as a measurement. One text may hold several tables: of
// several operations, or one run after another. Lines of other programs between them (launchers,
// NCCL's log) are passed over, tags of launchers too. A row that begins like one of nccl-tests must
// be whole, but may go on in a later line, as it does when a terminal is narrow or NCCL's log got
// in between.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "spec/diagnostics.hpp"

namespace weft::measured {

// Times are as printed, with three or four digits.
struct Timing {
  Duration time;
  Bandwidth algorithm;                // algbw
  Bandwidth bus;                      // busbw
  std::optional<std::int64_t> wrong;  // elements; nothing where it was not checked
};

struct BenchmarkRow {
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  std::string type;
  std::string operation;  // redop: sum, none
  std::int64_t root = -1;
  std::optional<Timing> out_of_place;
  std::optional<Timing> in_place;
  spec::Place place;

  // The faster of the two: what the machine can do.
  const Timing& best() const;
};

struct BenchmarkTable {
  std::string collective;  // all_reduce, sendrecv, ...; empty when nothing says it
  std::string note;        // the last comment before it that is not a heading
  std::vector<BenchmarkRow> rows;
  std::optional<Bandwidth> average;  // "Avg bus bandwidth"
  std::optional<std::int64_t> out_of_bounds;
  std::optional<std::int64_t> said_ranks;  // "16 ranks", "2 nodes" in a comment or a file that was typed
  std::optional<std::int64_t> said_nodes;
  std::map<std::string, std::string> environment;  // NCCL_ALGO=Ring
  spec::Place place;

  // From busbw / algbw of the largest row, where the collective gives different ones; 0 when it does not.
  std::int64_t inferred_ranks() const;
  std::int64_t wrong() const;  // elements, in all rows
};

struct BenchmarkRank {
  std::int64_t rank = 0;
  std::string host;
  std::int64_t device = 0;
  std::string bus_id;
  std::string gpu;  // as CUDA names it
  spec::Place place;
};

struct Benchmark {
  std::vector<BenchmarkTable> tables;
  std::vector<BenchmarkRank> ranks;
  std::string tests_version;
  std::string nccl_version;            // 2.21.5
  std::optional<spec::Place> of_rccl;  // AMD's library, by a device of theirs or in words
  std::int64_t threads = 0;            // per process; 0: not said
  std::int64_t gpus_per_thread = 0;
  std::int64_t failures = 0;      // lines that tell of one
  std::int64_t jobs_at_once = 1;  // several rank 0, on several hosts: every process ran alone, without MPI

  std::int64_t hosts() const;  // of one job
};

std::optional<Benchmark> read_benchmark(std::uint32_t source, spec::Diagnostics& diagnostics);

// NCCL_VERSION_CODE as people write it: 22105 is 2.21.5, 2708 is 2.7.8.
std::string version_of_code(std::int64_t code);

}  // namespace weft::measured
