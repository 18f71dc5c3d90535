#pragma once
// One run of a sweep as a line of JSON, which a later sweep can read back instead of running it again.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "report/verdict.hpp"

namespace weft::report {

struct SweptRun {
  std::string version;  // of the weft that ran it
  std::string commit;
  std::uint64_t inputs = 0;  // hash of everything that decided the run, but for the seed
  ComparedRun run;
};

// The keys that the "sweep" record has of a run, too.
nlohmann::ordered_json run_json(const ComparedRun& run);

// A row of a collective, as the records of comparisons have it.
nlohmann::ordered_json collective_json(const CollectiveRow& row);

// Of its links.
nlohmann::ordered_json links_json(const schedule::RunResult& run);

// `point`: its label, for people. With the newline.
std::string swept_run_line(const SweptRun& swept, const std::string& point);
// Nothing when the line is something else, or was cut off.
std::optional<SweptRun> read_swept_run(std::string_view line);

}  // namespace weft::report
