#include "dst/dst.hpp"

#include <fmt/ostream.h>

#include <ostream>

#include "base/digest.hpp"
#include "dst/regressions.hpp"
#include "dst/scenario.hpp"
#include "dst/world.hpp"

namespace weft::dst {

Outcome run_seed(Protocol transport, std::uint64_t seed, bool canary) {
  return World(draw(transport, seed), seed, canary).run();
}

Summary run(const Options& options, std::ostream& out) {
  Summary summary;
  Digest digest;
  const auto one = [&](Protocol transport, std::uint64_t seed) {
    const Outcome outcome = run_seed(transport, seed, options.canary);
    ++summary.seeds;
    summary.events += outcome.events;
    digest.add(outcome.digest);
    if (options.verbose)
      fmt::print(out, "seed {}: {} operations, {} failed, {} events, digest {:016x}; {}\n", seed, outcome.operations,
                 outcome.failed_operations, outcome.events, outcome.digest, draw(transport, seed).text());
    if (outcome.problem.empty()) return;
    if (summary.failed++ == 0) {
      summary.first_failed = seed;
      summary.first_failed_transport = transport;
    }
    fmt::print(out, "seed {} FAILED: {}\n  {}\n", seed, outcome.problem, draw(transport, seed).text());
    fmt::print(out, "  again: weft dst --transport {} --first-seed {} --seeds 1 --verbose{}\n", name_of(transport),
               seed, options.canary ? " --canary" : "");
  };
  for (const Regression& each : kRegressions)
    if (!options.transport || *options.transport == each.transport) one(each.transport, each.seed);
  for (std::uint64_t i = 0; i < options.seeds; ++i) {
    const std::uint64_t seed = options.first_seed + i;
    one(options.transport.value_or(tested()[seed % tested().size()]), seed);
  }
  summary.digest = digest.value();
  return summary;
}

}  // namespace weft::dst
