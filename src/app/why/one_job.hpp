#pragma once
// The one collective that `weft why CLUSTER` and `weft plan` are about.

#include <optional>
#include <string>

#include "app/session.hpp"
#include "app/sim/sim_options.hpp"
#include "why/machine.hpp"

namespace weft::app {

struct JobOptions {
  CollectiveOptions collective;
  std::uint32_t gpus = 0;     // 0: as the file's run says, or all
  std::string sizes;          // likewise
  std::uint32_t servers = 0;  // likewise
};

struct OneJob {
  why::Job job;
  std::vector<Bytes> sizes;
  std::optional<collective::Algorithm> algorithm;  // forced
  std::optional<collective::Protocol> protocol;

  why::Variant variant(const CollectiveOptions& options) const;
  // Why it cannot be timed with what was forced.
  std::string why_not(const collective::Team& team) const;
};

// Between halves of the job's servers, where it has all of the cluster's; else not known.
Bandwidth bisection_of(const Session& session, const why::Job& job);

// Complains into the session's diagnostics when there is none.
std::optional<OneJob> job_of(Session& session, const JobOptions& options);

}  // namespace weft::app
