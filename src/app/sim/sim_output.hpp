#pragma once
// Where the result of a simulation goes: text or JSON on stdout, and files beside it.

#include "app/output.hpp"
#include "app/session.hpp"
#include "app/sim/sim_options.hpp"
#include "experiment/experiment.hpp"
#include "report/sim_records.hpp"

namespace weft::app {

// Complains, before anything runs, about what could not be written after it.
bool outputs_can_be_written(const SimOutputOptions& options, Console& console);
void check_outputs(const SimOutputOptions& options, const InputOptions& input, const RunOptions& run,
                   std::uint32_t seeds, const NamedFile& traffic, Session& session);

// Whether anything of it needs to know what links carried.
bool wants_links(const SimOutputOptions& options, const InputOptions& input);

void print_result(const SimOutputOptions& options, const InputOptions& input, const report::RunInfo& info,
                  const schedule::RunResult& result, const Session& session, Console& console);

// The files; the exit code.
int write_files(const SimOutputOptions& options, const report::RunInfo& info, const experiment::Outcome& run,
                const Session& session, Console& console);

}  // namespace weft::app
