#include "report/collective_trace.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

namespace weft::report {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The format counts in microseconds; six decimals keep the picosecond.
std::string microseconds_text(std::int64_t ps) { return fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000); }

constexpr std::uint32_t kMostTracks = 64;  // of a channel; more lie on the last

}  // namespace

void write_channel_trace(const std::vector<std::string>& names, std::vector<ChannelSlice> slices, std::ostream& out) {
  std::stable_sort(slices.begin(), slices.end(), [](const ChannelSlice& a, const ChannelSlice& b) {
    return std::tie(a.process, a.channel, a.start) < std::tie(b.process, b.channel, b.start);
  });
  bool first = true;
  const auto line = [&](const std::string& text) {
    out << (first ? "\n" : ",\n") << text;
    first = false;
  };
  out << R"({"displayTimeUnit":"ns","traceEvents":[)";
  for (std::size_t at = 0; at < slices.size();) {
    const std::uint32_t process = slices[at].process;
    const std::uint32_t channel = slices[at].channel;
    if (at == 0 || slices[at - 1].process != process)
      line(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", process + 1,
                       quoted(names[process])));
    std::vector<std::int64_t> busy;  // by track of this channel: until when
    for (; at < slices.size() && slices[at].process == process && slices[at].channel == channel; ++at) {
      const ChannelSlice& each = slices[at];
      auto track = static_cast<std::size_t>(
          std::find_if(busy.begin(), busy.end(), [&](std::int64_t until) { return until <= each.start.count(); }) -
          busy.begin());
      if (track == busy.size() && busy.size() == kMostTracks) --track;
      const std::uint64_t number = std::uint64_t{channel} * kMostTracks + track;
      if (track == busy.size()) {
        busy.push_back(0);
        line(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"channel {}"}}}})",
                         process + 1, number, channel));
      }
      busy[track] = std::max(busy[track], each.end.count());
      line(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"name":{},"ts":{},"dur":{},"args":{{"bytes":{}}}}})",
                       process + 1, number, quoted("to " + names[each.peer]), microseconds_text(each.start.count()),
                       microseconds_text((each.end - each.start).count()), each.bytes));
    }
  }
  out << "\n]}\n";
}

}  // namespace weft::report
