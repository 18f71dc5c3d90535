#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/lab/open_lab.hpp"
#include "lab/process.hpp"

namespace weft::app {
namespace {

using nlohmann::json;

// The address of a server's NIC on a rail, from the names that the lab has.
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
  std::string log;  // of the server's words
};

struct Carried {
  double bits_per_second = 0;
  std::int64_t retransmitted = 0;
};

class ServerProcess {
 public:
  ServerProcess(const std::vector<std::string>& command, const Ends& ends)
      : pid_(lab::start({command, ends.to_netns, ""}, ends.log)) {}
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

constexpr std::uint32_t kPatience = 5;  // seconds that a client may take longer than it was told
constexpr int kTimedOut = 124;          // of timeout(1)

// What the client says, once the server listens. On a path that is silently dead some never end by themselves.
lab::Finished client(std::vector<std::string> command, const Ends& ends, std::uint32_t seconds,
                     const std::string& not_yet) {
  command.insert(command.begin(), {"timeout", "-k", "1", fmt::format("{}", seconds + kPatience)});
  lab::Finished said;
  for (int tries = 0; tries < 40; ++tries) {
    said = lab::run({command, ends.from_netns, ""});
    if (said.code == kTimedOut) said.text = fmt::format("nothing came of it in {} s", seconds + kPatience);
    if (said.text.find(not_yet) == std::string::npos) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return said;
}

Result<Carried, std::string> by_tcp(const Ends& ends, const LabTrafficOptions& options) {
  if (!lab::is_installed("iperf3")) return Failure<std::string>("not installed: iperf3 (package iperf3)");
  const ServerProcess server({"iperf3", "-s", "-1", "-B", ends.to}, ends);
  const lab::Finished said = client({"iperf3", "-c", ends.to, "-B", ends.from, "-t", fmt::format("{}", options.seconds),
                                     "-P", fmt::format("{}", options.streams), "-J"},
                                    ends, options.seconds, "unable to connect");
  const json result = json::parse(said.text, nullptr, false);
  if (result.is_discarded() || !result.contains("end") || !result["end"].contains("sum_received"))
    return Failure<std::string>("iperf3: " + (result.is_discarded() ? said.text : result.value("error", said.text)));
  return Carried{result["end"]["sum_received"].value("bits_per_second", 0.0),
                 result["end"]["sum_sent"].value("retransmits", std::int64_t{0})};
}

Result<Carried, std::string> by_srd(const Ends& ends, const LabTrafficOptions& options) {
  // By its path: behind timeout(1) the name would be that of timeout.
  const std::string weft = std::filesystem::read_symlink("/proc/self/exe").string();
  const ServerProcess server({weft, "run", "server", ends.to}, ends);
  const lab::Finished said = client({weft, "run", "client", ends.to, "--duration", fmt::format("{}s", options.seconds),
                                     "--endpoints", fmt::format("{}", options.streams), "--json"},
                                    ends, options.seconds, "\"failure\":\"");
  const json result = json::parse(said.text, nullptr, false);
  if (result.is_discarded() || !result.contains("goodput_bps"))
    return Failure<std::string>("weft run: " + said.text);
  if (!result["failure"].is_null()) return Failure<std::string>("weft run: " + result.value("failure", ""));
  return Carried{result.value("goodput_bps", 0.0), result.value("retransmitted", std::int64_t{0})};
}

void show(const Carried& carried, const LabTrafficOptions& options, Console& console) {
  if (options.lab.json) {
    const nlohmann::ordered_json record = {{"record", "lab_traffic"},
                                           {"version", 1},
                                           {"from", options.from},
                                           {"to", options.to},
                                           {"rail", options.rail},
                                           {"with", options.with},
                                           {"streams", options.streams},
                                           {"seconds", options.seconds},
                                           {"bps", static_cast<std::int64_t>(carried.bits_per_second)},
                                           {"retransmitted", carried.retransmitted}};
    console.out << record.dump() << "\n";
    return;
  }
  console.out << fmt::format("{} to {}, rail {}, {} x {} for {} s: {}, {} packets sent again\n", options.from,
                             options.to, options.rail, options.streams, options.with, options.seconds,
                             brief(Bandwidth(static_cast<std::int64_t>(carried.bits_per_second))),
                             carried.retransmitted);
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
    return refuse(
        fmt::format("there is no NIC of {} on rail {}", ends.to.empty() ? options.to : options.from, options.rail),
        kYourInput);
  const auto netns = [&](const std::string& server) {
    return lab->plan.netns(static_cast<std::uint32_t>(lab->plan.find(server) - lab->plan.devices.data()));
  };
  ends.from_netns = netns(options.from);
  ends.to_netns = netns(options.to);
  ends.log = (lab->state.folder(options.to) / "traffic.out").string();
  const auto carried = options.with == "srd" ? by_srd(ends, options) : by_tcp(ends, options);
  if (!carried) return refuse(carried.error(), kExpectationFailed);
  show(*carried, options, console);
  return kFine;
}

}  // namespace weft::app
