// The messages of the last size as a trace for ui.perfetto.dev.

#include <fmt/format.h>

#include <map>

#include "app/collective_runs.hpp"
#include "app/commands.hpp"
#include "app/output.hpp"
#include "base/text.hpp"
#include "report/collective_trace.hpp"

namespace weft::app {

int CollectiveRuns::write_trace(const std::vector<CollectiveSide>& sides) const {
  std::map<std::uint32_t, std::uint32_t> number;  // by GPU or switch
  std::vector<std::string> names;
  const fabric::Fabric& fabric = session_.fabric();
  const auto process = [&](std::uint32_t part) {
    const auto [found, is_new] = number.emplace(part, static_cast<std::uint32_t>(names.size()));
    if (is_new)
      names.push_back(part < session_.cluster().gpus ? fabric.name(fabric.gpu(part))
                                                     : fmt::format("switches {}", part - session_.cluster().gpus));
    return found->second;
  };
  std::vector<report::ChannelSlice> slices;
  for (const CollectiveMessage& each : traced_)
    slices.push_back({process(each.gpu), each.channel, process(each.peer), each.bytes, each.start, each.end});
  const int code = write_output(request_.trace, console_,
                                [&](std::ostream& out) { report::write_channel_trace(names, std::move(slices), out); });
  const auto& rows = sides[0].rows[0];
  if (code == kFine && (!traced_all_ || rows.back().skipped_rounds > 0))
    console_.err << fmt::format("the trace has {} of the last size, and not all of it\n",
                                counted(static_cast<std::int64_t>(traced_.size()), "message"));
  return code;
}

}  // namespace weft::app
