#include "experiment/workload.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "experiment/fingerprint.hpp"

namespace weft::experiment {
namespace {

std::string describe_job(const CollectiveJob& job) {
  return fmt::format("{} of {}{}", collective::name(job.operation),
                     job.on.empty() ? counted(job.gpus, "GPU") : "GPUs " + job.on,
                     job.split.empty() ? "" : " split " + job.split);
}

void add_job(const CollectiveJob& job, Fingerprint& fingerprint) {
  fingerprint.add(collective::name(job.operation));
  fingerprint.add(job.gpus);
  for (const Bytes size : job.sizes) fingerprint.add(static_cast<std::uint64_t>(size.count()));
  fingerprint.add(job.stack);
  fingerprint.add(job.per_server);
  fingerprint.add(job.on);
  fingerprint.add(job.split);
  fingerprint.add(static_cast<std::uint64_t>(job.skew.count()));
  for (const std::string& rank : job.slow_ranks) fingerprint.add(rank);
}

void add_choice(const CollectiveChoice& choice, Fingerprint& fingerprint) {
  for (const collective::Algorithm each : choice.algorithms) fingerprint.add(collective::name(each));
  fingerprint.add(choice.all ? "all" : "");
  fingerprint.add(choice.protocol ? collective::name(*choice.protocol) : "");
  fingerprint.add(choice.channels);
  fingerprint.add(choice.pxn ? "" : "no PXN");
}

std::string describe_collectives(const Collectives& work) {
  std::string text;
  for (const CollectiveJob& job : work.jobs) text += (text.empty() ? "" : " beside ") + describe_job(job);
  return work.beside ? text + " beside " + work.beside->name : text;
}

std::uint64_t fingerprint_of(const Collectives& work) {
  Fingerprint fingerprint;
  for (const CollectiveJob& job : work.jobs) add_job(job, fingerprint);
  add_choice(work.choice, fingerprint);
  if (work.beside) fingerprint.add(work.beside->fingerprint);
  return fingerprint.value();
}

}  // namespace

std::string describe(const Workload& workload) {
  return std::visit(Match{[](const Traffic& traffic) { return traffic.name; },
                          [](const Collectives& work) { return describe_collectives(work); }},
                    workload);
}

std::uint64_t fingerprint(const Workload& workload) {
  return std::visit(Match{[](const Traffic& traffic) { return traffic.fingerprint; },
                          [](const Collectives& work) { return fingerprint_of(work); }},
                    workload);
}

}  // namespace weft::experiment
