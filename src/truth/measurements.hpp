#pragma once
// Published or own measurements of a collective: what nccl-tests printed, or a table with a line per size, its columns
// in any order, between commas, semicolons or tabs. Lines that begin with # say where it comes from. Columns are found
// by what their heads say (measurement_columns.hpp): a size, and nccl-tests' two times, or one, or algbw, or busbw.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ranges.hpp"
#include "base/units.hpp"
#include "spec/diagnostics.hpp"

namespace weft::truth {

struct Measurement {
  std::uint64_t bytes = 0;
  Duration time = {};   // of two the smaller. 0: only the bus bandwidth was written
  bool steady = true;   // the two differ by at most 15 %: else the row is shown and not counted
  double bus_rate = 0;  // GB/s, where there is no time
};

struct Measurements {
  std::vector<Measurement> rows;
  std::string collective;                          // as nccl-tests names it; empty: nothing says it
  std::map<std::string, std::string> environment;  // NCCL_ALGO=Ring in lines that begin with #
  // What busbw / algbw says of how many there were; 0: nothing.
  std::int64_t ranks = 0;
  std::uint32_t source = 0;
};

// nullopt when it cannot be read or something in it is wrong, which is then said with line and column.
std::optional<Measurements> load_measurements(const std::filesystem::path& file, spec::Diagnostics& diagnostics);

// The times of rows that have a bus bandwidth only, when it is `factor` times the other.
void time_from_bus(std::vector<Measurement>& rows, Ratio factor);

}  // namespace weft::truth
