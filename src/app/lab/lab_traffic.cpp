#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "app/lab/open_lab.hpp"
#include "host/process.hpp"
#include "lab/run_pages.hpp"

namespace weft::app {
namespace {

using nlohmann::json;

// The address of a server or pod on a rail, from the names that the lab has.
std::string address_of(const lab::State& state, const std::string& server, std::uint32_t rail) {
  std::ifstream hosts(state.hosts());
  const std::string end = fmt::format("\t{}-pf{}", server, rail + 1);
  for (std::string line; std::getline(hosts, line);)
    if (line.ends_with(end)) return line.substr(0, line.size() - end.size());
  return "";
}

struct Ends {
  std::string from_netns;
  std::string from;  // address
  std::string to_netns;
  std::string to;
  std::string log;      // of the server's words
  std::string metrics;  // of the client's, for `lab metrics`
};

struct Carried {
  double bits_per_second = 0;
  std::optional<std::int64_t> retransmitted;  // packets, where that is known
};

class ServerProcess {
 public:
  ServerProcess(const std::vector<std::string>& command, const Ends& ends)
      : pid_(host::start({command, ends.to_netns, ""}, ends.log)) {}
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

// Seconds that a client may take longer than it was told: on a machine whose cores are all busy a packet takes tens of
// milliseconds through a bridge in user space.
constexpr std::uint32_t kPatience = 30;
constexpr int kTimedOut = 124;  // of timeout(1)
constexpr int kKilled = 137;    // that does not end when asked

// What the client says, once the server listens. On a path that is silently dead some never end by themselves.
host::Finished client(const std::vector<std::string>& command, const Ends& ends, std::uint32_t seconds,
                      const std::string& not_yet) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point until = Clock::now() + std::chrono::seconds(seconds + kPatience);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(until - Clock::now()).count();
    std::vector<std::string> bounded = {"timeout", "-k", "1", fmt::format("{}", std::max<std::int64_t>(1, left))};
    bounded.insert(bounded.end(), command.begin(), command.end());
    host::Finished said = host::run({bounded, ends.from_netns, ""});
    if (said.code == kTimedOut || said.code == kKilled)
      said.text = fmt::format("nothing came of it in {} s", seconds + kPatience);
    if (said.text.find(not_yet) == std::string::npos || Clock::now() >= until) return said;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

// Subflows of MPTCP between the same two addresses: the server offers its own by further ports, and the kernel takes
// them. In the ends' namespaces only, and for as long as this lives.
class Subflows {
 public:
  explicit Subflows(const Ends& ends) : ends_(ends) {
    for (const std::string& netns : {ends.from_netns, ends.to_netns})
      run(netns, {"limits", "set", "subflows", fmt::format("{}", kSubflows), "add_addr_accepted",
                  fmt::format("{}", kSubflows)});
    for (int i = 1; i < kSubflows; ++i)
      run(ends.to_netns, {"endpoint", "add", ends.to, "port", fmt::format("{}", kFirstPort + i), "signal"});
  }
  Subflows(const Subflows&) = delete;
  Subflows& operator=(const Subflows&) = delete;
  ~Subflows() { run(ends_.to_netns, {"endpoint", "flush"}); }

  const std::string& failed() const { return failed_; }

 private:
  static constexpr int kSubflows = 8;
  static constexpr int kFirstPort = 5300;

  void run(const std::string& netns, std::vector<std::string> words) {
    words.insert(words.begin(), {"ip", "mptcp"});
    const host::Finished done = host::run({words, netns, ""});
    if (done.code != 0 && failed_.empty()) failed_ = done.text;
  }

  const Ends& ends_;
  std::string failed_;
};

Result<Carried, std::string> by_iperf(const Ends& ends, const LabTrafficOptions& options) {
  if (!host::is_installed("iperf3")) return Failure<std::string>("not installed: iperf3 (package iperf3)");
  const ServerProcess server({"iperf3", "-s", "-1", "-B", ends.to}, ends);
  const host::Finished said =
      client({"iperf3", "-c", ends.to, "-B", ends.from, "-t", fmt::format("{}", options.seconds), "-P",
              fmt::format("{}", options.streams), "-J"},
             ends, options.seconds, "unable to connect");
  const json result = json::parse(said.text, nullptr, false);
  if (result.is_discarded() || !result.contains("end") || !result["end"].contains("sum_received"))
    return Failure<std::string>("iperf3: " + (result.is_discarded() ? said.text : result.value("error", said.text)));
  return Carried{result["end"]["sum_received"].value("bits_per_second", 0.0),
                 result["end"]["sum_sent"].value("retransmits", std::int64_t{0})};
}

Result<Carried, std::string> by_weft_run(const Ends& ends, const LabTrafficOptions& options) {
  std::optional<Subflows> subflows;
  if (options.with == LabSender::mptcp) {
    subflows.emplace(ends);
    if (!subflows->failed().empty())
      return Failure<std::string>("this kernel has no MPTCP, or refuses it: " + subflows->failed());
  }
  // By its path: behind timeout(1) the name would be that of timeout.
  const std::string weft = std::filesystem::read_symlink("/proc/self/exe").string();
  const ServerProcess server({weft, "run", "server", ends.to}, ends);
  const host::Finished said = client({weft, "run", "client", ends.to, "--with", std::string(enum_name(options.with)),
                                      "--duration", fmt::format("{}s", options.seconds), "--endpoints",
                                      fmt::format("{}", options.streams), "--metrics", ends.metrics, "--json", "-q"},
                                     ends, options.seconds, "\"failure\":\"");
  const json result = json::parse(said.text, nullptr, false);
  if (result.is_discarded() || !result.contains("goodput_bps")) return Failure<std::string>("weft run: " + said.text);
  if (!result["failure"].is_null()) return Failure<std::string>("weft run: " + result.value("failure", ""));
  Carried carried{result.value("goodput_bps", 0.0), std::nullopt};
  if (options.with == LabSender::srd) carried.retransmitted = result.value("retransmitted", std::int64_t{0});
  return carried;
}

void show(const Carried& carried, const LabTrafficOptions& options, Console& console) {
  if (options.lab.json) {
    const nlohmann::ordered_json record = {
        {"record", "lab_traffic"},
        {"version", 1},
        {"from", options.from},
        {"to", options.to},
        {"rail", options.rail},
        {"with", enum_name(options.with)},
        {"streams", options.streams},
        {"seconds", options.seconds},
        {"bps", static_cast<std::int64_t>(carried.bits_per_second)},
        {"retransmitted",
         carried.retransmitted ? nlohmann::ordered_json(*carried.retransmitted) : nlohmann::ordered_json()}};
    console.out << record.dump() << "\n";
    return;
  }
  console.out << fmt::format(
      "{} to {}, rail {}, {} x {} for {} s: {}{}\n", options.from, options.to, options.rail, options.streams,
      enum_name(options.with), options.seconds, brief(Bandwidth(static_cast<std::int64_t>(carried.bits_per_second))),
      carried.retransmitted ? fmt::format(", {} packets sent again", *carried.retransmitted) : "");
}

// mpirun starts its other half in the other end's namespace as it would by ssh. Becomes it; returns why it cannot.
std::string become_mpi(const OpenLab& lab, const LabTrafficOptions& options, Console& console) {
  if (!host::is_installed("mpirun")) return "not installed: mpirun (package openmpi-bin)";
  const std::string weft = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string agent = (lab.state.folder() / "mpi-agent").string();
  // Its arguments are a host and words for a shell, as ssh takes them.
  std::ofstream(agent) << fmt::format(
      "#!/bin/sh\nhost=$1\nshift\nexec '{}' lab exec --lab {} \"$host\" -- sh -c \"$*\"\n", weft, lab.plan.name);
  std::filesystem::permissions(agent, std::filesystem::perms::owner_all);
  std::vector<std::string> command = {
      "mpirun",
      "--allow-run-as-root",
      "--mca",
      "plm_rsh_agent",
      agent,
      "--mca",
      "oob_tcp_if_include",
      "10.128.0.0/9",
      "--mca",
      "btl_tcp_if_include",
      "10.128.0.0/9",
      "-np",
      fmt::format("{}", 2 * options.streams),
      "--host",
      fmt::format("{}:{},{}:{}", options.from, options.streams, options.to, options.streams)};
  command.insert(command.end(), options.program.begin(), options.program.end());
  if (std::string failed = host::enter(lab.plan.netns(options.from), lab.state.hosts().string(), options.from);
      !failed.empty())
    return failed;
  console.out.flush();
  return host::become(command);
}

}  // namespace

int lab_traffic(const LabTrafficOptions& options, Console& console) {
  const auto lab = open_lab(options.lab, lab::State::Access::looking, console);
  if (!lab) return kYourInput;
  const auto refuse = [&](const std::string& text, int code) { return refuse_lab(options.lab, text, code, console); };
  if (const std::string why = lab::why_not_enter(); !why.empty()) return refuse(why, kThisMachine);
  Ends ends;
  ends.from = address_of(lab->state, options.from, options.rail);
  ends.to = address_of(lab->state, options.to, options.rail);
  if (ends.from.empty() || ends.to.empty())
    return refuse(fmt::format("there is no interface of {} on rail {}", ends.to.empty() ? options.to : options.from,
                              options.rail),
                  kYourInput);
  if ((options.with == LabSender::mpi) == options.program.empty())
    return refuse("--with mpi runs a program that is given behind --, and the others bring their own", kYourInput);
  if (options.with == LabSender::mpi) return refuse(become_mpi(*lab, options, console), kThisMachine);
  ends.from_netns = lab->plan.netns(options.from);
  ends.to_netns = lab->plan.netns(options.to);
  ends.log = (lab->state.folder() / (options.to + ".traffic.out")).string();
  ends.metrics = lab::run_page(lab->state, options.from, options.to).string();
  const auto carried = options.with == LabSender::iperf3 ? by_iperf(ends, options) : by_weft_run(ends, options);
  if (!carried) return refuse(carried.error(), kExpectationFailed);
  show(*carried, options, console);
  return kFine;
}

}  // namespace weft::app
