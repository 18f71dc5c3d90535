#pragma once
// What the columns of somebody's table mean: heads as people write them (size_bytes, "Size (MiB)", oop_time_us, "time
// [ms]", algbw_GBps, busbw), and cells with or without a unit.

#include <optional>
#include <string_view>

namespace weft::truth {

struct MeasuredColumn {
  enum class What { size, time, algorithm_rate, bus_rate };
  What what = What::size;
  bool in_place = false;
  double scale = 1;        // to bytes, us, GB/s
  bool ambiguous = false;  // gbps: bits or bytes
};

// Nothing for a column that says nothing here (count, type, #wrong).
std::optional<MeasuredColumn> column_named(std::string_view head);

// Without quotes and blanks around it.
std::string_view bare_cell(std::string_view cell);
// What people write where nothing was measured: nothing, -, N/A.
bool nothing_measured(std::string_view cell);
// "1048576", "1,048,576", "64K", "1 MiB". K is 1024 of them, as for nccl-tests.
std::optional<double> size_in(std::string_view cell);
std::optional<double> number_in(std::string_view cell);

}  // namespace weft::truth
