#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/lab/open_lab.hpp"
#include "base/text.hpp"
#include "lab/pods.hpp"

namespace weft::app {
namespace {

constexpr std::chrono::seconds kMayTake{60};  // until the fabric knows

// Beside weft itself, in a build and in an installation.
std::string cni_program() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "weft-cni").string();
}

void show(const lab::Pod& pod, const LabPodOptions& options, Console& console) {
  std::vector<std::string> addresses;
  for (const lab::PodInterface& each : pod.interfaces) addresses.push_back(each.address);
  if (options.lab.json) {
    const nlohmann::ordered_json record = {{"record", "lab_pod"},  {"version", 1},         {"pod", pod.name},
                                           {"tenant", pod.tenant}, {"server", pod.server}, {"addresses", addresses}};
    console.out << record.dump() << "\n";
    return;
  }
  console.out << fmt::format("pod {} of tenant {} is on {}: {}\n", pod.name, pod.tenant, pod.server,
                             fmt::join(addresses, ", "));
}

}  // namespace

int lab_pod(const LabPodOptions& options, Console& console) {
  const bool changes = options.what != PodChange::check;
  auto lab = open_lab(options.lab, changes ? lab::State::Access::changing : lab::State::Access::looking, console);
  if (!lab) return kYourInput;
  const auto refuse = [&](const std::string& text, int code) { return refuse_lab(options.lab, text, code, console); };
  if (const std::string why = lab::why_not_enter(); !why.empty()) return refuse(why, kThisMachine);
  const std::vector<lab::Pod> pods = lab->state.pods();
  const auto pod =
      std::find_if(pods.begin(), pods.end(), [&](const lab::Pod& each) { return each.name == options.name; });

  if (options.what == PodChange::add) {
    const std::string cni = cni_program();
    if (const std::string why = lab::why_no_pods(cni); !why.empty()) return refuse(why, kThisMachine);
    const auto server =
        options.server.empty() ? lab::server_for(lab->plan, pods, options.tenant) : std::optional(options.server);
    if (!server)
      return refuse(fmt::format("every server belongs to another tenant than '{}'", options.tenant), kYourInput);
    auto planned = lab::plan_pod(lab->plan, pods, options.name, options.tenant, *server);
    if (!planned) return refuse(planned.error(), kYourInput);
    if (const std::string failed = lab::add_pod(lab->plan, lab->state, *planned, cni); !failed.empty())
      return refuse(failed, kThisMachine);
    if (const std::string missing = lab::wait_for_pod(lab->plan, lab->state, *planned, true, kMayTake);
        !missing.empty())
      return refuse(fmt::format("pod {} is there, but after {} s {}", planned->name, kMayTake.count(), missing),
                    kExpectationFailed);
    show(*planned, options, console);
    return kFine;
  }

  if (pod == pods.end()) {
    std::vector<std::string> names;
    for (const lab::Pod& each : pods) names.push_back(each.name);
    const auto guess = did_you_mean(options.name, names);
    return refuse(
        fmt::format("there is no pod '{}'{}", options.name, guess ? fmt::format("; did you mean '{}'?", *guess) : ""),
        kYourInput);
  }
  if (options.what == PodChange::check) {
    const std::string wrong = lab::check_pod(lab->plan, lab->state, *pod);
    if (!wrong.empty())
      return refuse(fmt::format("pod {} is not as it was added: {}", pod->name, wrong), kExpectationFailed);
    show(*pod, options, console);
    return kFine;
  }
  if (const std::string failed = lab::delete_pod(lab->plan, lab->state, *pod); !failed.empty())
    return refuse(fmt::format("pod {} is not gone: {}", pod->name, failed), kThisMachine);
  if (const std::string left = lab::wait_for_pod(lab->plan, lab->state, *pod, false, kMayTake); !left.empty())
    return refuse(fmt::format("pod {} is gone, but after {} s {}", pod->name, kMayTake.count(), left),
                  kExpectationFailed);
  console.err << fmt::format("pod {} is gone\n", pod->name);
  return kFine;
}

}  // namespace weft::app
