#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "base/text.hpp"
#include "host/frr_socket.hpp"
#include "host/process.hpp"
#include "lab/frr.hpp"
#include "lab/lab.hpp"

namespace weft::lab {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kAtATime = 4;
constexpr milliseconds kDaemonsMayTake{60'000};
constexpr std::uint64_t kMegabytesPerDevice = 50;  // four daemons of FRR 8.4, measured
constexpr int kSysAdmin = 21;                      // of capabilities(7)
constexpr int kNetAdmin = 12;

// A field of /proc/self/status or /proc/meminfo.
std::string field_of(const char* file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name + ":")) return line.substr(name.size() + 1);
  return "";
}

bool has_capabilities() {
  const std::uint64_t effective = std::strtoull(field_of("/proc/self/status", "CapEff").c_str(), nullptr, 16);
  return (effective >> kSysAdmin & 1) != 0 && (effective >> kNetAdmin & 1) != 0;
}

bool give_to_frr(const fs::path& folder) {
  const passwd* user = ::getpwnam("frr");
  return user != nullptr && ::chown(folder.c_str(), user->pw_uid, user->pw_gid) == 0;
}

class Maker {
 public:
  Maker(const Plan& plan, State& state, const OnProgress& progress) : plan_(plan), state_(state), progress_(progress) {}

  std::string make(const std::vector<render::File>& frr, const std::string& hosts) {
    std::string failed = reserve_names();
    if (failed.empty()) failed = write_files(frr, hosts);
    if (failed.empty()) failed = make_namespaces();
    if (failed.empty()) failed = make_links();
    if (failed.empty()) failed = start_daemons();
    if (failed.empty()) failed = configure();
    return failed;
  }

 private:
  void tell(const std::string& step, std::size_t done, std::size_t total) const {
    if (progress_) progress_({step, done, total});
  }

  std::string reserve_names() {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < plan_.devices.size(); ++i) {
      names.push_back(plan_.netns(i));
      if (fs::exists("/run/netns/" + names.back()))
        return fmt::format("there is a namespace {} that this lab did not make; take another name with --lab",
                           names.back());
    }
    return state_.journal(names) && state_.save(plan_) ? "" : "cannot write " + state_.folder().string();
  }

  std::string write_files(const std::vector<render::File>& frr, const std::string& hosts) {
    std::ofstream(state_.hosts(), std::ios::binary) << "127.0.0.1\tlocalhost\n" << hosts;
    for (const Device& device : plan_.devices) {
      fs::create_directory(state_.folder(device.name));
      if (!give_to_frr(state_.folder(device.name))) return "there is no user frr (package frr)";
    }
    for (const render::File& file : frr) {
      rendered_[file.path] = file.text;
      if (!(std::ofstream(state_.folder() / file.path, std::ios::binary) << file.text).flush())
        return "cannot write " + (state_.folder() / file.path).string();
    }
    for (const Device& device : plan_.devices)
      std::ofstream(state_.folder(device.name) / "lab.conf")
          << frr_for_lab(rendered_[device.name + "/frr.conf"], (state_.folder(device.name) / "frr.log").string());
    return "";
  }

  // One batch, said to the program `name`; in no namespace of the lab.
  static std::string batch(const std::string& name, const std::string& text) {
    const host::Finished done = host::run({{name, "-batch", "-"}, "", text});
    return done.code == 0 ? "" : fmt::format("{}: {}", name, done.text);
  }

  std::string make_namespaces() {
    tell("namespaces", 0, plan_.devices.size());
    if (const std::string failed = batch("ip", namespaces_batch(plan_)); !failed.empty()) return failed;
    for (std::uint32_t i = 0; i < plan_.devices.size(); ++i) {
      std::string refused;
      host::within(plan_.netns(i), [&] { refused = set_kernel(rendered_[plan_.devices[i].name + "/sysctl.conf"]); });
      if (!refused.empty()) return refused;
    }
    return "";
  }

  // /proc/sys/net is that of whoever opens it.
  static std::string set_kernel(const std::string& sysctl_conf) {
    for (const auto& [key, value] : kernel_settings(sysctl_conf)) {
      std::string path = "/proc/sys/" + key;
      std::replace(path.begin() + 10, path.end(), '.', '/');
      if (!(std::ofstream(path) << value).flush()) return fmt::format("the kernel does not take {} = {}", key, value);
    }
    return "";
  }

  std::string make_links() {
    tell("links", 0, plan_.links.size());
    if (const std::string failed = batch("ip", links_batch(plan_)); !failed.empty()) return failed;
    std::vector<host::Command> commands;
    for (std::uint32_t i = 0; i < plan_.devices.size(); ++i) {
      commands.push_back({{"tc", "-batch", "-"}, plan_.netns(i), shaping_batch(plan_, i)});
      commands.push_back({{"ip", "-batch", "-"}, plan_.netns(i), interfaces_batch(plan_, i)});
    }
    for (const host::Finished& done : host::run_all(commands, kAtATime))
      if (done.code != 0) return done.text;
    for (std::uint32_t i = 0; i < plan_.devices.size(); ++i) {
      auto kernel = host::Netlink::open(plan_.netns(i));
      for (const Link& link : plan_.links)
        for (const End& end : {link.a, link.b})
          if (end.device == i && (!kernel || !kernel->turn_offloads_off(end.interface)))
            return fmt::format("cannot turn offloads of {} {} off", plan_.devices[i].name, end.interface);
    }
    return "";
  }

  std::string start_daemons() {
    std::vector<std::pair<std::uint32_t, std::string>> all;  // device, daemon
    for (std::uint32_t i = 0; i < plan_.devices.size(); ++i)
      for (const std::string& name :
           frr_daemons(rendered_[plan_.devices[i].name + "/daemons"], plan_.devices[i].is_server))
        all.emplace_back(i, name);
    // The others wait for zebra's socket, so all zebras go first.
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return (a.second == "zebra") > (b.second == "zebra"); });
    const Clock::time_point until = Clock::now() + kDaemonsMayTake;
    std::size_t ready = 0;
    for (std::size_t started = 0; ready < all.size();) {
      const auto& [device, daemon] = all[ready];
      const bool may_start = started < all.size() && (all[started].second == "zebra" || all[ready].second != "zebra");
      if (may_start && started < ready + 2 * kAtATime) {
        const fs::path folder = state_.folder(plan_.devices[all[started].first].name);
        const host::Command command = daemon_command(all[started].second, folder, plan_.netns(all[started].first));
        if (host::start(command, (folder / (all[started].second + ".out")).string()) < 0)
          return fmt::format("cannot start {} of {}", all[started].second, plan_.devices[all[started].first].name);
        ++started;
      } else if (fs::exists(state_.folder(plan_.devices[device].name) / (daemon + ".vty"))) {
        tell("daemons", ++ready, all.size());
      } else if (Clock::now() > until) {
        return fmt::format("{} of {} does not come up; its words are in {}", daemon, plan_.devices[device].name,
                           (state_.folder(plan_.devices[device].name) / (daemon + ".out")).string());
      } else {
        std::this_thread::sleep_for(milliseconds(2));
      }
    }
    return "";
  }

  std::string configure() {
    std::vector<host::Command> commands;
    for (std::uint32_t i = 0; i < plan_.devices.size(); ++i) {
      const fs::path folder = state_.folder(plan_.devices[i].name);
      commands.push_back(
          {{"vtysh", "--vty_socket", folder.string(), "-f", (folder / "lab.conf").string()}, plan_.netns(i), ""});
    }
    const auto done =
        host::run_all(commands, kAtATime, [&](std::size_t n) { tell("configuration", n, commands.size()); });
    for (std::size_t i = 0; i < done.size(); ++i)
      if (const std::string complaint = host::complaints(done[i].text); done[i].code != 0 || !complaint.empty())
        return fmt::format("FRR refuses {}: {}", commands[i].arguments.back(),
                           complaint.empty() ? done[i].text : complaint);
    return "";
  }

  const Plan& plan_;
  State& state_;
  const OnProgress& progress_;
  std::map<std::string, std::string> rendered_;  // by path
};

}  // namespace

std::string why_not_enter() {
  return has_capabilities() ? "" : "a lab needs the capabilities CAP_NET_ADMIN and CAP_SYS_ADMIN: run it as root";
}

std::string why_not_here(std::size_t devices) {
  if (std::string why = why_not_enter(); !why.empty()) return why;
  std::vector<std::string> missing;
  const std::pair<std::string, std::string> wanted[] = {{"ip", "iproute2"},
                                                        {"tc", "iproute2"},
                                                        {"nft", "nftables"},
                                                        {"vtysh", "frr"},
                                                        {fmt::format("{}/zebra", kFrrDirectory), "frr"}};
  for (const auto& [program, package] : wanted)
    if (!host::is_installed(program)) missing.push_back(fmt::format("{} (package {})", program, package));
  if (!missing.empty()) return fmt::format("not installed: {}", fmt::join(missing, ", "));
  const std::uint64_t there = std::strtoull(field_of("/proc/meminfo", "MemAvailable").c_str(), nullptr, 10) / 1024;
  if (const std::uint64_t needed = devices * kMegabytesPerDevice; needed > there)
    return fmt::format("{} need about {} MB of memory and {} MB are free; --set servers.count=... makes it smaller",
                       counted(static_cast<std::int64_t>(devices), "device"), needed, there);
  return "";
}

std::string make(const Plan& plan, const std::vector<render::File>& frr, const std::string& hosts, State& state,
                 const OnProgress& progress) {
  return Maker(plan, state, progress).make(frr, hosts);
}

}  // namespace weft::lab
