#include "host/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>

#include "host/descriptor.hpp"

namespace weft::host {
namespace {

// Texts go through memory files: however long they are, nobody waits for the other side.
Descriptor text_file(const std::string& text) {
  Descriptor file(memfd_create("weft-lab", MFD_CLOEXEC));
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(file.get(), text.data() + at, text.size() - at);
    if (written <= 0) break;
    at += static_cast<std::size_t>(written);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string contents(const Descriptor& file) {
  std::string text;
  char buffer[65536];
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file.get(), buffer, sizeof buffer, at);
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    at += got;
  }
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& each : texts) all.push_back(const_cast<char*>(each.c_str()));
  all.push_back(nullptr);
  return all;
}

// What weft has, with what is said anew in its place.
std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> all = more;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry = *each;
    const std::string_view name = entry.substr(0, entry.find('=') + 1);
    if (std::none_of(more.begin(), more.end(), [&](const std::string& other) { return other.starts_with(name); }))
      all.emplace_back(entry);
  }
  return all;
}

std::string path_of(const std::string& netns) {
  return netns.find('/') == std::string::npos ? "/run/netns/" + netns : netns;
}

pid_t spawn(const Command& command, int input, int output, int errors, bool detached) {
  const std::vector<char*> arguments = pointers(command.arguments);
  const std::vector<std::string> variables = environment_with(command.environment);
  const std::vector<char*> environment = pointers(variables);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (detached) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = -1;
  const auto go = [&] {
    if (posix_spawnp(&pid, arguments[0], &files, &attributes, arguments.data(), environment.data()) != 0) pid = -1;
  };
  if (command.netns.empty())
    go();
  else if (!within(command.netns, go))
    pid = -1;
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return pid;
}

int exit_code(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

bool within(const std::string& netns, const std::function<void()>& work) {
  const Descriptor file(::open(path_of(netns).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  bool entered = false;
  std::thread([&] {
    entered = ::setns(file.get(), CLONE_NEWNET) == 0;
    if (entered) work();
  }).join();
  return entered;
}

std::vector<Finished> run_all(const std::vector<Command>& commands, std::size_t at_a_time,
                              const std::function<void(std::size_t)>& progress) {
  struct Running {
    pid_t pid;
    Descriptor output;
    Descriptor errors;  // none: as the output
  };
  std::deque<Running> running;
  std::vector<Finished> finished;
  const auto take = [&] {
    const Running& first = running.front();
    const int code = first.pid < 0 ? 127 : exit_code(first.pid);
    finished.push_back({code, contents(first.output), first.errors ? contents(first.errors) : ""});
    running.pop_front();
    if (progress) progress(finished.size());
  };
  for (const Command& command : commands) {
    if (running.size() >= at_a_time) take();
    const Descriptor input = text_file(command.input);
    Descriptor output(memfd_create("weft-lab", MFD_CLOEXEC));
    Descriptor errors(command.errors_apart ? memfd_create("weft-errors", MFD_CLOEXEC) : -1);
    const pid_t pid = spawn(command, input.get(), output.get(), errors ? errors.get() : output.get(), false);
    running.push_back({pid, std::move(output), std::move(errors)});
  }
  while (!running.empty()) take();
  return finished;
}

Finished run(const Command& command) { return run_all({command}, 1).front(); }

pid_t start(const Command& command, const std::string& log_file) {
  const Descriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Descriptor output(::open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!input || !output) return -1;
  return spawn(command, input.get(), output.get(), output.get(), true);
}

std::string become(const std::vector<std::string>& command) {
  const std::vector<char*> arguments = pointers(command);
  ::execvp(arguments[0], arguments.data());
  return fmt::format("cannot run {}: {}", command[0], std::strerror(errno));
}

std::string enter(const std::string& netns, const std::string& hosts_file, const std::string& hostname) {
  const Descriptor file(::open(("/run/netns/" + netns).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::setns(file.get(), CLONE_NEWNET) != 0)
    return fmt::format("cannot enter {}: {}", netns, std::strerror(errno));
  if (::unshare(CLONE_NEWUTS) != 0 || ::sethostname(hostname.c_str(), hostname.size()) != 0)
    return fmt::format("cannot be called {}: {}", hostname, std::strerror(errno));
  // Mounts of this process alone: names of the lab's hosts, and /sys/class/net of the namespace.
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", "none", MS_SLAVE | MS_REC, nullptr) != 0 ||
      ::mount(hosts_file.c_str(), "/etc/hosts", "none", MS_BIND, nullptr) != 0)
    return fmt::format("cannot mount the lab's /etc/hosts: {}", std::strerror(errno));
  ::umount2("/sys", MNT_DETACH);
  ::mount(netns.c_str(), "/sys", "sysfs", 0, nullptr);
  return "";
}

bool is_installed(const std::string& program) {
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
  const char* variable = std::getenv("PATH");
  std::string path = variable == nullptr ? "/usr/sbin:/usr/bin:/sbin:/bin" : variable;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    if (::access((path.substr(at, end - at) + "/" + program).c_str(), X_OK) == 0) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace weft::host
