#pragma once
// `weft lab`: the cluster as a real network on this machine. One function per verb; each returns the exit code.

#include <cstdint>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "app/input_options.hpp"
#include "base/names.hpp"

namespace weft::app {

// Which lab; empty: the one that is there, and for `up` the cluster's name.
struct LabOptions {
  std::string lab;
  bool json = false;
};

struct LabUpOptions {
  InputOptions input;
  std::string lab;
  std::string rate;              // of the fastest link between switches
  std::uint32_t timeout_s = 60;  // until every session must be up
};
int lab_up(const LabUpOptions& options, Console& console);

int lab_status(const LabOptions& options, Console& console);
int lab_down(const LabOptions& options, Console& console);

struct LabExecOptions {
  LabOptions lab;
  std::string device;
  std::vector<std::string> command;
};
// Becomes the command; returns only when it cannot.
int lab_exec(const LabExecOptions& options, Console& console);

enum class LabSender { srd, tcp, mptcp, iperf3, mpi };  // the first three are weft run's
constexpr auto names_of(LabSender) {
  using enum LabSender;
  return std::to_array<EnumName<LabSender>>(
      {{srd, "srd"}, {tcp, "tcp"}, {mptcp, "mptcp"}, {iperf3, "iperf3"}, {mpi, "mpi"}});
}

struct LabTrafficOptions {
  LabOptions lab;
  std::string from;
  std::string to;
  LabSender with = LabSender::tcp;
  std::uint32_t rail = 0;
  std::uint32_t seconds = 5;
  std::uint32_t streams = 1;
  std::vector<std::string> program;  // with mpi: and its arguments
};
int lab_traffic(const LabTrafficOptions& options, Console& console);

struct LabFaultOptions {
  LabOptions lab;
  std::vector<std::string> words;  // link leaf0:spine1 loss 5%
};
int lab_fail(const LabFaultOptions& options, Console& console);
int lab_heal(const LabFaultOptions& options, Console& console);  // no words: everything

struct LabCaptureOptions {
  LabOptions lab;
  std::string what;  // a device, or one end of a link: leaf0/Ethernet16
  std::string output;
  std::uint32_t seconds = 0;  // 0: until Ctrl-C
  std::uint64_t packets = 0;  // 0: however many
};
int lab_capture(const LabCaptureOptions& options, Console& console);

enum class PodChange { add, del, check };
constexpr auto names_of(PodChange) {
  using enum PodChange;
  return std::to_array<EnumName<PodChange>>({{add, "add"}, {del, "del"}, {check, "check"}});
}

struct LabPodOptions {
  LabOptions lab;
  PodChange what = PodChange::check;
  std::string name;
  std::string tenant;
  std::string server;  // empty: one that the tenant may use
};
int lab_pod(const LabPodOptions& options, Console& console);

struct LabMetricsOptions {
  LabOptions lab;
  std::string listen = "127.0.0.1:9950";
  std::string targets;  // a file that tells Prometheus where to scrape
};
int lab_metrics(const LabMetricsOptions& options, Console& console);  // until Ctrl-C

}  // namespace weft::app
