#include <fmt/format.h>

#include <cstdlib>

#include "app/lab/open_lab.hpp"
#include "base/text.hpp"
#include "host/process.hpp"

namespace weft::app {
namespace {

// The program takes weft's place, so that signals, exit code and terminal are its own.
int become(const std::vector<std::string>& command, const LabOptions& options, Console& console) {
  console.out.flush();
  console.err.flush();
  return refuse_lab(options, host::become(command), kThisMachine, console);
}

int no_device(const OpenLab& lab, const std::string& name, const LabOptions& options, Console& console) {
  std::vector<std::string> names;
  for (const lab::Device& device : lab.plan.devices) names.push_back(device.name);
  for (const lab::Pod& pod : lab.state.pods()) names.push_back(pod.name);
  const auto guess = did_you_mean(name, names);
  return refuse_lab(options,
                    fmt::format("lab {} has no device or pod '{}'; {}", lab.plan.name, name,
                                guess ? fmt::format("did you mean '{}'?", *guess) : "`weft lab status` lists them"),
                    kYourInput, console);
}

}  // namespace

int lab_exec(const LabExecOptions& options, Console& console) {
  const auto lab = open_lab(options.lab, lab::State::Access::looking, console);
  if (!lab) return kYourInput;
  const auto netns = lab->netns(options.device);
  if (!netns) return no_device(*lab, options.device, options.lab, console);
  if (const std::string why = lab::why_not_enter(); !why.empty())
    return refuse_lab(options.lab, why, kThisMachine, console);
  if (const std::string failed = host::enter(*netns, lab->state.hosts().string(), options.device); !failed.empty())
    return refuse_lab(options.lab, failed, kThisMachine, console);
  std::vector<std::string> command = options.command;
  // It finds the device's own daemons.
  const std::string folder = lab->state.folder(options.device).string();
  if (command.front() == "vtysh") command.insert(command.begin() + 1, {"--vty_socket", folder});
  if (command.front() == "ovs-ofctl" || command.front() == "ovs-vsctl" || command.front() == "ovs-appctl")
    ::setenv("OVS_RUNDIR", (folder + "/ovs").c_str(), 1);
  return become(command, options.lab, console);
}

int lab_capture(const LabCaptureOptions& options, Console& console) {
  const auto lab = open_lab(options.lab, lab::State::Access::looking, console);
  if (!lab) return kYourInput;
  const std::size_t slash = options.what.find('/');
  const lab::Device* device = lab->plan.find(options.what.substr(0, slash));
  if (device == nullptr) return no_device(*lab, options.what.substr(0, slash), options.lab, console);
  const auto index = static_cast<std::uint32_t>(device - lab->plan.devices.data());
  std::vector<std::string> command = {"dumpcap", "-q", "-n", "-w", options.output};
  for (const lab::Link& link : lab->plan.links)
    for (const lab::End& end : {link.a, link.b})
      if (end.device == index && (slash == std::string::npos || options.what.substr(slash + 1) == end.interface))
        command.insert(command.end(), {"-i", end.interface});
  if (command.size() == 5)
    return refuse_lab(options.lab,
                      fmt::format("{} has no interface '{}'", device->name, options.what.substr(slash + 1)), kYourInput,
                      console);
  if (options.seconds > 0) command.insert(command.end(), {"-a", fmt::format("duration:{}", options.seconds)});
  if (options.packets > 0) command.insert(command.end(), {"-c", fmt::format("{}", options.packets)});
  if (!host::is_installed("dumpcap"))
    return refuse_lab(options.lab, "not installed: dumpcap (package wireshark-common)", kThisMachine, console);
  if (const std::string why = lab::why_not_enter(); !why.empty())
    return refuse_lab(options.lab, why, kThisMachine, console);
  if (const std::string failed = host::enter(lab->plan.netns(index), lab->state.hosts().string(), device->name);
      !failed.empty())
    return refuse_lab(options.lab, failed, kThisMachine, console);
  return become(command, options.lab, console);
}

}  // namespace weft::app
