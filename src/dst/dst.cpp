#include "dst/dst.hpp"

#include <fmt/ostream.h>

#include <ostream>

#include "base/digest.hpp"
#include "dst/message_world.hpp"
#include "dst/regressions.hpp"
#include "dst/scenario.hpp"
#include "dst/world.hpp"

namespace weft::dst {

namespace {

std::string text_of(const Subject& subject, std::uint64_t seed) {
  return subject.transport ? draw(*subject.transport, seed).text() : MessageWorld(seed, false).text();
}

}  // namespace

std::string_view Subject::name() const { return transport ? name_of(*transport) : "messages"; }

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all = [] {
    std::vector<Subject> those;
    for (const Protocol each : tested()) those.push_back({each});
    those.push_back({});
    return those;
  }();
  return all;
}

std::optional<Subject> subject_named(std::string_view name) {
  for (const Subject& each : subjects())
    if (each.name() == name) return each;
  return std::nullopt;
}

Outcome run_seed(const Subject& subject, std::uint64_t seed, bool canary) {
  if (!subject.transport) return MessageWorld(seed, canary).run();
  return World(draw(*subject.transport, seed), seed, canary).run();
}

Summary run(const Options& options, std::ostream& out) {
  Summary summary;
  Digest digest;
  bool& stopped = summary.stopped;
  const auto one = [&](const Subject& subject, std::uint64_t seed) {
    stopped = stopped || (options.goes_on && !options.goes_on(summary.seeds));
    if (stopped) return;
    const Outcome outcome = run_seed(subject, seed, options.canary);
    ++summary.seeds;
    summary.events += outcome.events;
    digest.add(outcome.digest);
    if (options.verbose)
      fmt::print(out, "seed {}: {} operations, {} failed, {} events, digest {:016x}; {}\n", seed, outcome.operations,
                 outcome.failed_operations, outcome.events, outcome.digest, text_of(subject, seed));
    if (outcome.problem.empty()) return;
    if (summary.failed++ == 0) {
      summary.first_failed = seed;
      summary.first_failed_name = subject.name();
    }
    fmt::print(out, "seed {} FAILED: {}\n  {}\n", seed, outcome.problem, text_of(subject, seed));
    fmt::print(out, "  again: weft dst --transport {} --first-seed {} --seeds 1 --verbose{}\n", subject.name(), seed,
               options.canary ? " --canary" : "");
  };
  for (const Regression& each : kRegressions)
    if (!options.subject || *options.subject == Subject{each.transport}) one({each.transport}, each.seed);
  for (std::uint64_t i = 0; i < options.seeds && !stopped; ++i) {
    const std::uint64_t seed = options.first_seed + i;
    one(options.subject.value_or(subjects()[seed % subjects().size()]), seed);
  }
  summary.digest = digest.value();
  return summary;
}

}  // namespace weft::dst
