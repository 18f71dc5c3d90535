#include "app/sim/run_info.hpp"

#include "app/build_info.hpp"
#include "experiment/fingerprint.hpp"

namespace weft::app {

report::RunInfo run_info(const Session& session, const InputOptions& input, const RunOptions& options,
                         const experiment::Experiment& experiment) {
  const spec::Sources& sources = session.design().diagnostics().sources();
  experiment::Fingerprint fingerprint;
  if (const std::uint32_t file = sources.find(session.file().string()); file != 0) fingerprint.add(sources.text(file));
  for (const std::string& change : input.set) fingerprint.add(change);
  fingerprint.add(input.catalog);
  fingerprint.add(experiment::fingerprint(*experiment.workload));
  if (const auto* traffic = std::get_if<experiment::Traffic>(experiment.workload.get()))
    for (const experiment::TrafficStream& stream : traffic->named())
      fingerprint.add(std::string(stream.run.transport ? enum_name(*stream.run.transport) : "") + " " +
                      stream.run.service.value_or(""));
  fingerprint.add(name(experiment.fidelity));
  for (const std::string& fault : options.faults) fingerprint.add(fault);
  report::RunInfo info;
  info.cluster = session.cluster().name;
  info.traffic = experiment::describe(*experiment.workload);
  info.version = build_info().version;
  info.commit = build_info().commit;
  info.configuration = fingerprint.value();
  info.sample_interval = experiment.wanted.sample;
  info.line_rate = experiment::ground_of(session.design(), experiment.seed).line_rate;
  if (const auto* traffic = std::get_if<experiment::Traffic>(experiment.workload.get())) {
    info.offered = {traffic->fingerprint, traffic->nodes, traffic->load_of()};
    info.open_loop = traffic->is_open_loop();
  }
  return info;
}

}  // namespace weft::app
