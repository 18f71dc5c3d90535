#include "dst/dst.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "app/commands.hpp"
#include "base/text.hpp"

namespace weft::app {

int dst(const DstOptions& options, Console& console) {
  std::ostringstream lines;  // with --json, stdout is the record's alone
  const weft::dst::Summary summary = weft::dst::run({options.first_seed, options.seeds, options.canary, options.verbose},
                                                    options.json ? static_cast<std::ostream&>(lines) : console.out);
  console.err << lines.str();
  if (options.json) {
    console.out << nlohmann::ordered_json({{"record", "dst"}, {"version", 1}, {"seeds", summary.seeds}, {"failed", summary.failed},
                                           {"first_failed", summary.failed > 0 ? nlohmann::ordered_json(summary.first_failed) : nullptr},
                                           {"events", summary.events}, {"digest", fmt::format("{:016x}", summary.digest)}})
                       .dump()
                << "\n";
  } else {
    console.out << fmt::format("{}, {} failed; {} events; digest {:016x}\n", counted(static_cast<std::int64_t>(summary.seeds), "seed"), summary.failed,
                               grouped(static_cast<std::int64_t>(summary.events)), summary.digest);
  }
  return summary.failed == 0 ? kFine : kExpectationFailed;
}

}  // namespace weft::app
