#pragma once
// A collective as a trace that ui.perfetto.dev and chrome://tracing open: a process per rank, a track per channel, a
// slice per message from when it leaves until it is there. Messages of one channel that overlap lie on further tracks
// of it: viewers draw an overlap on one as nesting, which would say something that is not so.

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace weft::report {

struct ChannelSlice {
  std::uint32_t process = 0;  // into names
  std::uint32_t channel = 0;
  std::uint32_t peer = 0;  // into names
  std::uint64_t bytes = 0;
  Duration start = {};
  Duration end = {};
};

void write_channel_trace(const std::vector<std::string>& names, std::vector<ChannelSlice> slices, std::ostream& out);

}  // namespace weft::report
