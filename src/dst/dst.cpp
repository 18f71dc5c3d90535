#include "dst/dst.hpp"

#include <fmt/ostream.h>

#include <ostream>

#include "base/digest.hpp"
#include "dst/regressions.hpp"
#include "dst/scenario.hpp"
#include "dst/world.hpp"

namespace weft::dst {

Outcome run_seed(std::uint64_t seed, bool canary) {
  return World(draw(seed), seed, canary).run();
}

Summary run(const Options& options, std::ostream& out) {
  Summary summary;
  Digest digest;
  const auto one = [&](std::uint64_t seed) {
    const Outcome outcome = run_seed(seed, options.canary);
    ++summary.seeds;
    summary.events += outcome.events;
    digest.add(outcome.digest);
    if (options.verbose)
      fmt::print(out, "seed {}: {} operations, {} failed, {} events, digest {:016x}; {}\n", seed, outcome.operations,
                 outcome.failed_operations, outcome.events, outcome.digest, draw(seed).text());
    if (outcome.problem.empty()) return;
    if (summary.failed++ == 0) summary.first_failed = seed;
    fmt::print(out, "seed {} FAILED: {}\n  {}\n  again: weft dst --first-seed {} --seeds 1 --verbose{}\n", seed,
               outcome.problem, draw(seed).text(), seed, options.canary ? " --canary" : "");
  };
  for (const std::uint64_t seed : kRegressions) one(seed);
  for (std::uint64_t i = 0; i < options.seeds; ++i) one(options.first_seed + i);
  summary.digest = digest.value();
  return summary;
}

}  // namespace weft::dst
