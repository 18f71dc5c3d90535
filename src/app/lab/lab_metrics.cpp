#include <fmt/format.h>
#include <signal.h>

#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/lab/open_lab.hpp"
#include "lab/metrics.hpp"

namespace weft::app {
namespace {

volatile bool metrics_end = false;
void end_metrics(int) { metrics_end = true; }

}  // namespace

int lab_metrics(const LabMetricsOptions& options, Console& console) {
  const auto lab = open_lab(options.lab, lab::State::Access::looking, console);
  if (!lab) return kYourInput;
  const auto refuse = [&](const std::string& text, int code) { return refuse_lab(options.lab, text, code, console); };
  if (const std::string why = lab::why_not_enter(); !why.empty()) return refuse(why, kThisMachine);
  const std::size_t colon = options.listen.find(':');
  std::uint16_t port = 0;
  if (colon != std::string::npos)
    std::from_chars(options.listen.data() + colon + 1, options.listen.data() + options.listen.size(), port);
  if (port == 0)
    return refuse(fmt::format("'{}' is no address with a port; 127.0.0.1:9950 is one", options.listen), kYourInput);
  if (!options.targets.empty()) {
    const nlohmann::ordered_json targets = {{{"targets", {options.listen}}, {"labels", {{"lab", lab->plan.name}}}}};
    if (!(std::ofstream(options.targets) << targets.dump() << "\n").flush())
      return refuse("cannot write " + options.targets, kThisMachine);
  }
  lab::Sampler sampler(lab->plan, lab->state);
  console.err << fmt::format("http://{}/metrics tells of lab {}; queues are looked at every {} ms; Ctrl-C ends it\n",
                             options.listen, lab->plan.name, sampler.interval().count() / 1000);
  console.err.flush();
  ::signal(SIGINT, end_metrics);
  ::signal(SIGTERM, end_metrics);
  const std::string failed = lab::serve_metrics(sampler, options.listen.substr(0, colon), port, metrics_end);
  return failed.empty() ? kFine : refuse(failed, kThisMachine);
}

}  // namespace weft::app
