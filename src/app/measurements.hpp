#pragma once
// Published or own measurements of a collective: what nccl-tests printed, or a CSV file with a line per size. Lines
// that begin with # say where it comes from. Columns are found by name: size_bytes, and oop_time_us and ip_time_us
// (nccl-tests' two times), or time_us, or algbw_GBps.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "spec/diagnostics.hpp"

namespace weft::app {

struct Measurement {
  std::uint64_t bytes = 0;
  std::int64_t time = 0;  // ps; of two the smaller
  bool steady = true;     // the two differ by at most 15 %: else the row is shown and not counted
};

// nullopt when it cannot be read or something in it is wrong, which is then said with line and column.
std::optional<std::vector<Measurement>> load_measurements(const std::filesystem::path& file,
                                                          spec::Diagnostics& diagnostics);

}  // namespace weft::app
