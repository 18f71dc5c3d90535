#pragma once
// Where the result of a simulation goes: text or JSON on stdout, and files beside it.

#include <optional>
#include <string>
#include <vector>

#include "app/session.hpp"
#include "report/sim_records.hpp"

namespace weft::app {

struct SimOutputOptions {
  std::optional<std::size_t> links;  // busiest links shown; 0: all. With --json: "link" records
  bool flows = false;                // with --json: "flow" records
  bool samples = false;              // with --json: "sample" records
  std::vector<std::string> csv;      // a directory, or flows=FILE, links=FILE, samples=FILE
  std::string trace;                 // a file for ui.perfetto.dev
};

// Complains, before anything runs, about what could not be written after it.
void check_outputs(const SimOutputOptions& options, const InputOptions& input, std::uint32_t seeds, Session& session);

void print_result(const SimOutputOptions& options, const InputOptions& input, const report::RunInfo& info,
                  const schedule::RunResult& result, Console& console);

// The files; the exit code.
int write_files(const SimOutputOptions& options, const report::RunInfo& info, const schedule::RunResult& result,
                const Session& session, Console& console);

}  // namespace weft::app
