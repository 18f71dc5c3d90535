#include "app/why/one_job.hpp"

#include <fmt/format.h>

#include "app/sim/collective_options.hpp"
#include "collective/tuner.hpp"
#include "experiment/run_collectives.hpp"
#include "fabric/summary.hpp"

namespace weft::app {
namespace {

using spec::Error;

constexpr const char* kUsualSizes = "1MiB,16MiB,256MiB,1GiB,8GiB";
constexpr std::uint64_t kSeed = 1;  // that `weft sim` draws late ranks by, unless told otherwise

// Lists as a file has them, in brackets, are lists here, too.
std::string bare_list(std::string sizes) {
  std::erase_if(sizes, [](char c) { return c == '[' || c == ']' || c == ' '; });
  return sizes;
}

}  // namespace

why::Variant OneJob::variant(const CollectiveOptions& options) const {
  return {.text = "as it is",
          .algorithm = algorithm,
          .protocol = protocol,
          .channels = options.channels,
          .pxn = options.pxn};
}

std::string OneJob::why_not(const collective::Team& team) const {
  if (!algorithm) return "that protocol cannot do it on these GPUs, or it is too large";
  const auto bytes = static_cast<std::uint64_t>(sizes.back().count());
  const collective::Protocol with =
      protocol.value_or(collective::protocol_for(team, job.operation, *algorithm, bytes, *job.stack));
  const std::string why = collective::why_not(team, job.operation, *algorithm, with);
  return fmt::format("{} with {}: {}", collective::name(job.operation), collective::name(*algorithm),
                     why.empty() ? "not with that protocol, or too large" : why);
}

Bandwidth bisection_of(const Session& session, const why::Job& job) {
  if (job.gpus != session.cluster().gpus || !session.fabric().has_network()) return {};
  return fabric::summarise(session.fabric()).bisection;
}

std::optional<OneJob> job_of(Session& session, const JobOptions& options) {
  spec::Diagnostics& diagnostics = session.diagnostics();
  CollectiveOptions asked = options.collective;
  std::uint32_t gpus = options.gpus;
  take_servers(session.cluster(), options.servers, false, gpus, asked.per_server, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  std::string sizes = bare_list(options.sizes);
  if (!asked.operation.empty() || experiment::collectives_of(session.cluster()).empty()) {
    if (asked.operation.empty() && (gpus > 0 || !sizes.empty())) asked.operation = "all_reduce";
    if (sizes.empty()) sizes = kUsualSizes;
  }
  const std::vector<experiment::CollectiveJob> jobs = jobs_of(session.cluster(), asked, gpus, sizes, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  if (jobs.empty()) {
    diagnostics.add(Error::missing_key, {}, "the file's run names no collective", "--collective all_reduce");
    return std::nullopt;
  }
  if (!jobs[0].on.empty() || !jobs[0].split.empty() || !asked.beside.empty())
    diagnostics.add(Error::not_simulated, session.design().place("run", ""),
                    "a job on certain GPUs, in groups or beside others",
                    "`weft sim` runs those; here --gpus and --per-server say where a job is");
  if (diagnostics.has_errors()) return std::nullopt;
  experiment::check_jobs(session.design(), {.jobs = {jobs[0]}}, {}, false);
  OneJob out;
  out.job.operation = jobs[0].operation;
  out.job.gpus = jobs[0].gpus;
  out.job.per_server = jobs[0].per_server;
  out.job.stack = experiment::stack_of(jobs[0], session.cluster(), diagnostics);
  out.job.conditions = experiment::conditions_of(jobs[0], out.job.gpus, kSeed, diagnostics);
  out.sizes = jobs[0].sizes;
  const std::string& algorithm = options.collective.algorithms.empty() ? "auto" : options.collective.algorithms[0];
  if (algorithm != "auto") {
    out.algorithm = collective::algorithm_named(algorithm);
    if (!out.algorithm)
      diagnostics.add(Error::unknown_key, {}, fmt::format("--algorithms has no '{}'", algorithm.substr(0, 40)),
                      "one of Ring, Tree, NVLS, NVLSTree, PAT, CollNet, Direct, Hierarchical or auto");
  }
  if (options.collective.protocol != "auto") {
    out.protocol = collective::protocol_named(options.collective.protocol);
    if (!out.protocol)
      diagnostics.add(Error::unknown_key, {},
                      fmt::format("--protocol has no '{}'", options.collective.protocol.substr(0, 40)),
                      "one of LL, LL128, Simple or auto");
  }
  if (diagnostics.has_errors()) return std::nullopt;
  return out;
}

}  // namespace weft::app
