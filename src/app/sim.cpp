#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/sim_collective.hpp"
#include "app/sim_output.hpp"
#include "app/sim_run.hpp"
#include "app/traffic_options.hpp"
#include "app/warnings.hpp"
#include "base/text.hpp"
#include "report/fidelity.hpp"

namespace weft::app {
namespace {

using schedule::RunResult;

int exit_code(const RunResult& result, const Traffic& traffic, Console& console) {
  if (result.stopped_by.empty()) {
    // That messages which nobody repeats are lost is a result.
    const auto as_it_should = [](const schedule::FlowRecord& flow) { return report::is_done(flow) || flow.unanswered; };
    const auto done = static_cast<std::uint64_t>(std::count_if(result.flows.begin(), result.flows.end(), as_it_should));
    if (result.flows.size() < traffic.flows)
      console.err << fmt::format("{} never started: they wait for {}\n",
                                 counted(static_cast<std::int64_t>(traffic.flows - result.flows.size()), "flow"),
                                 traffic.matrix ? "a trigger" : "others to be done");
    if (done < result.flows.size())
      console.err << fmt::format("{} did not get through\n",
                                 counted(static_cast<std::int64_t>(result.flows.size() - done), "flow"));
    if (result.unfinished > 0) console.err << "some of the work waits for what never comes\n";
    return result.unfinished == 0 && done == std::max<std::uint64_t>(traffic.flows, result.flows.size())
               ? kFine
               : kExpectationFailed;
  }
  if (!result.deadlock.empty()) {
    console.err << fmt::format("deadlock at {}: these ports wait for each other for ever\n",
                               brief(Duration(result.end)));
    return kExpectationFailed;
  }
  const bool interrupted = result.stopped_by == "ctrl-c";
  console.err << fmt::format("{}: the result is partial\n",
                             interrupted ? "interrupted" : "limit " + result.stopped_by + " reached");
  return interrupted ? kInterrupted : kLimitReached;
}

int explain_nothing(const RunResult& result, const Traffic& traffic, Console& console) {
  if (!result.stopped_by.empty()) return exit_code(result, traffic, console);
  console.err << (traffic.matrix
                      ? "no flow ever started: every one waits for a trigger\n"
                      : "no flow began in that time: a longer --duration, a higher --load or smaller flows\n");
  return kExpectationFailed;
}

void print_difference(const InputOptions& input, std::uint64_t seed, const std::vector<report::FidelityRun>& ran,
                      bool first, Console& console) {
  if (input.json) report::write_difference(seed, ran, console.out);
  if (!input.json && first) console.out << "\n" << report::difference_text(ran, console.width, console.colour_out);
}

void print_speed(const RunResult& result, double seconds, Console& console) {
  if (console.width > 0 && result.counters.packet_hops > 0)  // somebody is watching
    console.err << fmt::format("{:.2f} s, {:.1f} M packet-hops/s\n", seconds,
                               static_cast<double>(result.counters.packet_hops) / 1e6 / seconds);
}

}  // namespace

int sim(const SimOptions& options, Console& console) {
  Session session(options.input, console);
  if (!session.ok()) return kYourInput;
  const Limits limits = parse_limits(options.limit, session.diagnostics());
  if (wants_collectives(session, options.collective, options.traffic)) {
    check_no_flow_options(options.traffic, options.collective, session.diagnostics());
    check_collective_options(options.run, options.output, options.seeds, session.diagnostics());
    return sim_collectives(session,
                           {options.input, options.collective, options.run, options.traffic.nodes,
                            options.traffic.sizes, options.output.trace, options.traffic.streams},
                           limits, console);
  }
  check_no_collective_options(options.collective, session.diagnostics());
  check_outputs(options.output, options.input, options.run, options.seeds, session);
  const auto traffic = load_traffic(options.traffic, ground_of(session, options.run.seed), session.diagnostics());
  if (traffic) check_run(session, *traffic, options.run);
  if (report(session.diagnostics(), options.input, console)) return kYourInput;
  warn_of_run(session, traffic->streams, parse_fidelities(options.run.fidelity), console);

  const CtrlC ctrl_c;
  int code = kFine;
  std::int64_t least = INT64_MAX;
  std::int64_t most = 0;
  for (std::uint32_t run_number = 0; run_number < options.seeds && code <= kExpectationFailed; ++run_number) {
    RunOptions run_options = options.run;
    run_options.seed += run_number;
    std::vector<report::FidelityRun> ran;
    for (const std::string& fidelity : parse_fidelities(options.run.fidelity)) {
      const auto begin = std::chrono::steady_clock::now();
      run_options.fidelity = fidelity;
      report::RunInfo info = run_info(session, options.input, *traffic, run_options);
      Watch watch(
          limits, [&] { return traffic->total_bytes(); }, console);
      const bool first = ran.empty();
      const bool with_links = first && wants_links(options.output, options.input);
      const Run run = run_traffic(session, *traffic, run_options, with_links, watch);
      const RunResult& result = run.result;
      info.sample_interval = std::max(info.sample_interval, result.sample_interval);  // coarser where there was no room
      if (result.flows.empty()) return explain_nothing(result, *traffic, console);
      if (options.input.json || (first && run_number == 0))
        print_result(options.output, options.input, info, result, session, console);
      if (run_number == 0)
        print_speed(result, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), console);
      code = std::max(code, exit_code(result, *traffic, console));
      ran.push_back({fidelity, result.end, report::summarise(result).completion});
      // Files are of the first fidelity, of which all is told.
      const int written = first ? write_files(options.output, info, run, session, console) : kFine;
      if (written != kFine) return written;
      if (code > kExpectationFailed) break;
    }
    if (ran.size() > 1 && code <= kExpectationFailed)
      print_difference(options.input, run_options.seed, ran, run_number == 0, console);
    least = std::min(least, ran[0].end);
    most = std::max(most, ran[0].end);
  }
  if (options.seeds > 1 && code <= kExpectationFailed && !options.input.json)
    console.out << fmt::format("over {}: {} between {} and {}\n", counted(options.seeds, "seed"),
                               code == kFine ? "all done" : "ended", brief(Duration(least)), brief(Duration(most)));
  return code;
}

}  // namespace weft::app
