#include "app/one_job.hpp"

#include <fmt/format.h>

#include "app/collective_choice.hpp"
#include "fabric/summary.hpp"

namespace weft::app {
namespace {

using spec::Complaint;

constexpr const char* kUsualSizes = "[1MiB, 16MiB, 256MiB, 1GiB, 8GiB]";

// More is said of a job, or of what the command line makes of it, than how many GPUs it has.
template <class Job>
bool is_particular(const Job& job) {
  return !job.on.empty() || !job.split.empty() || !job.slow_ranks.empty();
}

}  // namespace

why::Variant OneJob::variant(const CollectiveOptions& options) const {
  return {.text = "as it is",
          .algorithm = algorithm,
          .protocol = protocol,
          .channels = options.channels,
          .pxn = options.pxn};
}

Bandwidth bisection_of(const Session& session, const why::Job& job) {
  if (job.gpus != session.cluster().gpus || !session.fabric().has_network()) return {};
  return fabric::summarise(session.fabric()).bisection;
}

InputOptions with_job(InputOptions input, const JobOptions& options) {
  if (options.collective.operation.empty() && options.gpus == 0 && options.sizes.empty()) return input;
  std::string operation = options.collective.operation.empty() ? "all_reduce" : options.collective.operation;
  if (const auto known = collective::operation_named(operation)) operation = collective::name(*known);
  const std::string gpus = options.gpus == 0 ? "" : fmt::format("gpus: {}, ", options.gpus);
  input.set.push_back(fmt::format("run=[{{{}: {{{}sizes: {}}}}}]", operation, gpus,
                                  options.sizes.empty() ? kUsualSizes : bare_as_bytes(options.sizes)));
  return input;
}

std::optional<OneJob> job_of(Session& session, const JobOptions& options) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  std::vector<CollectiveJob> jobs = collectives_of(session.cluster());
  if (jobs.empty()) {
    diagnostics.add(Complaint::missing_key, {}, "the file's run names no collective", "--collective all_reduce");
    return std::nullopt;
  }
  check_job(jobs[0], session.cluster(), diagnostics);
  if (is_particular(jobs[0]) || jobs[0].skew.count() > 0 || is_particular(options.collective) ||
      !options.collective.skew.empty() || !options.collective.beside.empty())
    diagnostics.add(Complaint::not_simulated, session.place("run", ""),
                    "a job on certain GPUs, in groups, or with ranks that are late or slow",
                    "`weft sim` runs those; here --gpus and --per-server say where a job is");
  OneJob out;
  out.job.operation = jobs[0].operation;
  out.job.gpus = jobs[0].gpus;
  out.job.per_server = options.collective.per_server > 0 ? options.collective.per_server : jobs[0].per_server;
  out.job.stack = stack_of(jobs[0], options.collective.stack, session.cluster(), diagnostics);
  out.sizes = jobs[0].sizes;
  const std::string& algorithm = options.collective.algorithms.empty() ? "auto" : options.collective.algorithms[0];
  if (algorithm != "auto") {
    out.algorithm = collective::algorithm_named(algorithm);
    if (!out.algorithm)
      diagnostics.add(Complaint::unknown_key, {}, fmt::format("--algorithms knows no '{}'", algorithm.substr(0, 40)),
                      "one of Ring, Tree, NVLS, NVLSTree, PAT, CollNet, Direct, Hierarchical or auto");
  }
  if (options.collective.protocol != "auto") {
    out.protocol = collective::protocol_named(options.collective.protocol);
    if (!out.protocol)
      diagnostics.add(Complaint::unknown_key, {},
                      fmt::format("--protocol knows no '{}'", options.collective.protocol.substr(0, 40)),
                      "one of LL, LL128, Simple or auto");
  }
  if (diagnostics.has_errors()) return std::nullopt;
  return out;
}

}  // namespace weft::app
