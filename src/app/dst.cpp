#include "dst/dst.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/commands.hpp"
#include "app/ctrl_c.hpp"
#include "app/sim/progress.hpp"
#include "app/sweep/sweep_progress.hpp"
#include "base/text.hpp"
#include "dst/scenario.hpp"

namespace weft::app {
namespace {

std::string record(const DstOptions& options, const weft::dst::Summary& summary) {
  const bool failed = summary.failed > 0;
  return nlohmann::ordered_json(
             {{"record", "dst"},
              {"version", 1},
              {"transport", options.transport},
              {"seeds", summary.seeds},
              {"failed", summary.failed},
              {"first_failed", failed ? nlohmann::ordered_json(summary.first_failed) : nullptr},
              {"first_failed_transport", failed ? nlohmann::ordered_json(summary.first_failed_name) : nullptr},
              {"events", summary.events},
              {"digest", fmt::format("{:016x}", summary.digest)}})
      .dump();
}

}  // namespace

std::vector<std::string> dst_transports() {
  std::vector<std::string> names;
  for (const weft::dst::Subject& each : weft::dst::subjects()) names.emplace_back(each.name());
  return names;
}

int dst(const DstOptions& options, Console& console) {
  std::ostringstream lines;  // with --json, stdout is the record's alone
  const CtrlC ctrl_c;
  SweepProgress progress(options.seeds, console, "seeds");
  const auto goes_on = [&](std::uint64_t done) {
    progress.show(std::min(done, options.seeds));  // those that once failed come on top
    return !CtrlC::pressed();
  };
  const weft::dst::Summary summary = weft::dst::run({weft::dst::subject_named(options.transport), options.first_seed,
                                                     options.seeds, options.canary, options.verbose, goes_on},
                                                    options.json ? static_cast<std::ostream&>(lines) : console.out);
  progress.finish();
  console.err << lines.str();
  if (options.json) {
    console.out << record(options, summary) << "\n";
  } else {
    console.out << fmt::format("{}, {} failed; {} events; digest {:016x}\n",
                               counted(static_cast<std::int64_t>(summary.seeds), "seed"), summary.failed,
                               grouped(static_cast<std::int64_t>(summary.events)), summary.digest);
  }
  if (summary.stopped) return progress.interrupted(std::min(summary.seeds, options.seeds));
  return summary.failed == 0 ? kFine : kExpectationFailed;
}

}  // namespace weft::app
