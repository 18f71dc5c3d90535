#include <dirent.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <thread>

#include "host/process.hpp"
#include "lab/frr.hpp"
#include "lab/lab.hpp"

namespace weft::lab {
namespace {

namespace fs = std::filesystem;

constexpr long kNamespaceFiles = 0x6e736673;  // NSFS_MAGIC
constexpr std::chrono::milliseconds kMayTidyUp{500};
constexpr std::chrono::milliseconds kMayDie{5000};

// The namespace that a file stands for; none where it is a plain file, as after half an `ip netns add`.
std::optional<ino_t> namespace_of(const std::string& path) {
  struct stat file {};
  struct statfs system {};
  if (::stat(path.c_str(), &file) != 0 || ::statfs(path.c_str(), &system) != 0) return std::nullopt;
  return system.f_type == kNamespaceFiles ? std::optional(file.st_ino) : std::nullopt;
}

struct Process {
  pid_t pid;
  std::string program;
};

std::vector<Process> processes_in(const std::set<ino_t>& namespaces) {
  std::vector<Process> found;
  std::error_code gone;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", gone)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc() || pid == ::getpid()) continue;
    const auto network = namespace_of("/proc/" + name + "/ns/net");
    if (!network || !namespaces.contains(*network)) continue;
    found.push_back({pid, fs::read_symlink("/proc/" + name + "/exe", gone).string()});
  }
  return found;
}

// FRR needs no good-bye: its neighbours go as well. All others may write their files to the end.
void end_processes(const std::set<ino_t>& namespaces) {
  const auto is_frr = [](const Process& process) { return process.program.starts_with(kFrrDirectory); };
  const auto until = [&](std::chrono::milliseconds most, auto is_over) {
    for (std::chrono::milliseconds spent{0}; spent < most && !is_over(); spent += std::chrono::milliseconds(10))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  std::vector<Process> all = processes_in(namespaces);
  for (const Process& process : all) ::kill(process.pid, is_frr(process) ? SIGKILL : SIGTERM);
  if (!std::all_of(all.begin(), all.end(), is_frr))
    until(kMayTidyUp, [&] {
      const auto left = processes_in(namespaces);
      return std::all_of(left.begin(), left.end(), is_frr);
    });
  until(kMayDie, [&] {
    const auto left = processes_in(namespaces);
    for (const Process& process : left) ::kill(process.pid, SIGKILL);
    return left.empty();
  });
  // Where FRR keeps what it wants to log while it dies.
  for (const Process& process : all)
    if (is_frr(process)) {
      std::error_code none;
      fs::remove_all(fmt::format("/var/tmp/frr/{}.{}", fs::path(process.program).filename().string(), process.pid),
                     none);
    }
}

}  // namespace

std::string remove(State& state) {
  const std::vector<std::string> names = state.namespaces();
  std::set<ino_t> namespaces;
  for (const std::string& name : names)
    if (const auto network = namespace_of("/run/netns/" + name)) namespaces.insert(*network);
  if (const auto own = namespace_of("/proc/self/ns/net")) namespaces.erase(*own);
  if (!namespaces.empty()) end_processes(namespaces);
  std::string batch;
  for (const std::string& name : names)
    if (fs::exists("/run/netns/" + name)) batch += fmt::format("netns delete {}\n", name);
  const host::Finished done = host::run({{"ip", "-batch", "-"}, "", batch});
  if (done.code != 0) return done.text;
  state.remove();
  return "";
}

}  // namespace weft::lab
