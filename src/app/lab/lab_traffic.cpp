#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/lab/open_lab.hpp"
#include "lab/process.hpp"

namespace weft::app {
namespace {

// The address of a server's NIC on a rail, from the names that the lab has.
std::string address_of(const lab::State& state, const std::string& server, std::uint32_t rail) {
  const lab::Finished hosts = lab::run({{"cat", state.hosts().string()}, "", ""});
  const std::string name = fmt::format("\t{}-pf{}\n", server, rail + 1);
  const std::size_t at = hosts.text.find(name);
  if (at == std::string::npos) return "";
  const std::size_t line = hosts.text.rfind('\n', at);
  return hosts.text.substr(line + 1, at - line - 1);
}

}  // namespace

int lab_traffic(const LabTrafficOptions& options, Console& console) {
  const auto lab = open_lab(options.lab, lab::State::Access::looking, console);
  if (!lab) return kYourInput;
  const auto refuse = [&](const std::string& text, int code) { return refuse_lab(options.lab, text, code, console); };
  if (const std::string why = lab::why_not_enter(); !why.empty()) return refuse(why, kThisMachine);
  if (!lab::is_installed("iperf3")) return refuse("not installed: iperf3 (package iperf3)", kThisMachine);
  const std::string target = address_of(lab->state, options.to, options.rail);
  const std::string source = address_of(lab->state, options.from, options.rail);
  if (target.empty() || source.empty())
    return refuse(fmt::format("{} has no NIC on rail {}", target.empty() ? options.to : options.from, options.rail),
                  kYourInput);
  const auto netns = [&](const std::string& server) {
    return lab->plan.netns(static_cast<std::uint32_t>(lab->plan.find(server) - lab->plan.devices.data()));
  };
  const std::string log = (lab->state.folder(options.to) / "iperf3.out").string();
  if (lab::start({{"iperf3", "-s", "-1", "-B", target}, netns(options.to), ""}, log) < 0)
    return refuse("cannot start iperf3", kThisMachine);
  lab::Finished client;
  // The server needs a moment until it listens.
  for (int tries = 0; tries < 20; ++tries) {
    client = lab::run({{"iperf3", "-c", target, "-B", source, "-t", fmt::format("{}", options.seconds), "-P",
                        fmt::format("{}", options.streams), "-J"},
                       netns(options.from),
                       ""});
    if (client.text.find("unable to connect") == std::string::npos) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const auto result = nlohmann::json::parse(client.text, nullptr, false);
  if (result.is_discarded() || !result.contains("end") || !result["end"].contains("sum_received"))
    return refuse(fmt::format("iperf3: {}", result.is_discarded() ? client.text : result.value("error", client.text)),
                  kExpectationFailed);
  const double rate = result["end"]["sum_received"].value("bits_per_second", 0.0);
  const auto again = result["end"]["sum_sent"].value("retransmits", std::int64_t{0});
  if (options.lab.json)
    console.out << nlohmann::ordered_json{{"record", "lab_traffic"},    {"version", 1},
                                          {"from", options.from},       {"to", options.to},
                                          {"rail", options.rail},       {"streams", options.streams},
                                          {"seconds", options.seconds}, {"bps", rate},
                                          {"retransmits", again}}
                       .dump()
                << "\n";
  else
    console.out << fmt::format("{} to {}, rail {}, {} TCP: {}, {} segments sent again\n", options.from, options.to,
                               options.rail, options.streams, brief(Bandwidth(static_cast<std::int64_t>(rate))), again);
  return kFine;
}

}  // namespace weft::app
