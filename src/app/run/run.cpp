#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "app/commands.hpp"
#include "app/ctrl_c.hpp"
#include "app/output.hpp"
#include "app/run/run_options.hpp"
#include "app/run/run_output.hpp"
#include "app/sim/progress.hpp"
#include "traffic/client.hpp"
#include "traffic/messages.hpp"
#include "traffic/sweep.hpp"
#include "traffic/tcp.hpp"

namespace weft::app {
namespace {

using net::Address;
using traffic::ClientOptions;
using traffic::ClientResult;
using traffic::Instant;

std::string rate_text(double rate) { return brief(Bandwidth(static_cast<std::int64_t>(rate))); }

// What takes messages at one address, and at the same port by TCP, to hold SRD against.
class Listener {
 public:
  explicit Listener(traffic::Pool& pool) : pool_(pool), server_(pool) {}

  bool open(const net::NodeConfig& config, std::string& problem) {
    auto node = net::Node::open(config, server_, server_);
    if (!node) return problem = node.error(), false;
    node_ = std::move(*node);
    // Who only wants SRD does without.
    auto tcp = traffic::TcpServer::open(node_->address(), pool_);
    if (tcp)
      tcp_ = std::move(*tcp);
    else
      problem = tcp.error();
    return true;
  }
  const Address& address() const { return node_->address(); }
  void serve() {
    while (!CtrlC::pressed()) {
      node_->progress();
      node_->wait(net::Node::now() + 200 * net::kMillisecond);
    }
  }

 private:
  traffic::Pool& pool_;
  traffic::Server server_;
  std::unique_ptr<net::Node> node_;
  std::unique_ptr<traffic::TcpServer> tcp_;
};

int serve(const RunVerbOptions& options, Console& console) {
  const bool anywhere = options.hosts.empty() && options.nics.empty();
  const auto local = Address::parse(options.hosts.empty() ? "0.0.0.0" : options.hosts[0], kRunPort);
  if (!local) return wrong_run(local.error(), console);
  net::NodeConfig config;
  config.local = *local;
  std::vector<Address> nics;
  if (!read_nics(options, local->port(), nics, console)) return kYourInput;
  if (!nics.empty() && !options.hosts.empty())
    return wrong_run("--nics says where to listen, and so does " + options.hosts[0], console);
  if (!nics.empty()) {
    config.local = nics[0];
    config.more.assign(nics.begin() + 1, nics.end());
  }
  config.paths = options.paths;
  config.datagram = options.datagram;
  if (!read_job_key(options, config.key, console)) return kYourInput;
  traffic::Pool pool(traffic::kLongestMessage);
  Listener first(pool);
  std::string problem;
  if (!first.open(config, problem)) {
    console.err << problem << "\n";
    return kThisMachine;
  }
  if (!problem.empty()) console.err << fmt::format("{}: no runs --with tcp\n", problem);
  // The name of a host may stand for addresses of either family. A machine without IPv6 does without.
  Listener second(pool);
  config.local = Address::any(AF_INET6, kRunPort);
  const bool both = anywhere && second.open(config, problem);
  console.err << fmt::format("listening at {}{}; on another machine: weft run client {}\n", first.address().text(),
                             both ? " and " + second.address().text() : "", "THIS-HOST");
  const CtrlC ctrl_c;
  std::thread beside;
  if (both) beside = std::thread([&] { second.serve(); });
  first.serve();
  if (both) beside.join();
  return kFine;
}

// Whole or not at all, for somebody reads it at any time. What is wrong is said once and does not end the run.
void write_metrics(const std::string& file, const std::string& text, bool& complained, Console& console) {
  if (file.empty() || complained) return;
  Console quiet = console;
  quiet.quiet = true;
  complained = write_output(file, quiet, [&](std::ostream& out) { out << text; }) != kFine;
}

int sweep(const RunVerbOptions& options, Console& console) {
  if (!options.nics.empty())
    return wrong_run("--sweep-paths tries the paths of one NIC, and --nics names them", console);
  traffic::SweepOptions sweep;
  const auto server = Address::parse(options.hosts[0], kRunPort);
  if (!server) return wrong_run(server.error(), console);
  sweep.server = *server;
  sweep.paths = options.paths;
  sweep.datagram = options.datagram;
  if (!read_quantity("--duration", options.duration, sweep.duration, console) ||
      !read_job_key(options, sweep.key, console))
    return kYourInput;
  const CtrlC ctrl_c;
  const traffic::SweepResult result = traffic::sweep_paths(sweep, [] { return !CtrlC::pressed(); });
  if (!result.failure.empty()) {
    console.err << fmt::format("{}: {}\n", sweep.server.text(), result.failure);
    return kThisMachine;
  }
  if (options.json) {
    print_sweep_records(result, console);
  } else {
    print_sweep(result, console);
  }
  return kFine;
}

int send(const RunVerbOptions& options, Console& console) {
  for (const std::string& why : file_conflicts({{"--key", options.key}}, {{"--metrics", options.metrics}}))
    return wrong_run(why, console);
  ClientOptions client;
  const auto server = Address::parse(options.hosts[0], kRunPort);
  if (!server) return wrong_run(server.error(), console);
  client.server = *server;
  client.transport = options.with == "tcp"     ? traffic::Transport::tcp
                     : options.with == "mptcp" ? traffic::Transport::mptcp
                                               : traffic::Transport::srd;
  client.pattern = options.pattern == "requests" ? traffic::Pattern::requests : traffic::Pattern::stream;
  Bytes size(options.pattern == "requests" ? 64 : 64 << 10);
  Bytes window(8 << 20);
  Bandwidth rate;
  if (!read_quantity("--size", options.size, size, console) ||
      !read_quantity("--window", options.window, window, console) ||
      !read_quantity("--rate", options.rate, rate, console) ||
      !read_quantity("--duration", options.duration, client.duration, console) ||
      !read_job_key(options, client.key, console))
    return kYourInput;
  if (!read_nics(options, 0, client.nics, console)) return kYourInput;
  if (!client.nics.empty() && client.transport != traffic::Transport::srd)
    return wrong_run("--nics is SRD's: TCP goes by one address", console);
  if (client.key && client.transport != traffic::Transport::srd)
    return wrong_run("--key is SRD's: TCP has none", console);
  if (static_cast<std::uint64_t>(size.count()) > traffic::kLongestMessage)
    return wrong_run(fmt::format("--size {}: a message has at most {}", options.size,
                                 brief(Bytes(static_cast<std::int64_t>(traffic::kLongestMessage)))),
                     console);
  client.size = static_cast<std::uint64_t>(size.count());
  client.window = static_cast<std::uint64_t>(window.count());
  client.rate = static_cast<std::uint64_t>(rate.count());
  client.messages = options.messages;
  client.endpoints = options.endpoints;
  client.paths = options.paths;
  client.datagram = options.datagram;
  client.start_at = static_cast<std::int64_t>(std::clamp(options.start_at, 0.0, 9e9) * 1e9);
  const CtrlC ctrl_c;
  std::uint64_t before = 0;
  bool complained = false;
  ClientResult result = traffic::run_client(client, [&](const traffic::Progress& progress) {
    if (!options.json && !console.quiet)
      console.err << fmt::format("{:>4} s  {:9} {}\n", progress.now.count() / net::kSecond,
                                 rate_text(static_cast<double>(progress.bytes - before) * 8),
                                 ill_paths(progress.paths));
    before = progress.bytes;
    write_metrics(options.metrics, run_metrics(client, progress), complained, console);
    return !CtrlC::pressed();
  });
  write_metrics(options.metrics, run_metrics(client, {{}, result.acknowledged, result.paths}), complained, console);
  if (options.json) {
    print_run_record(client, result, console);
  } else if (result.failure.empty() || result.acknowledged > 0) {
    print_run(client, result, options.per_path, console);
  }
  if (result.failure.empty()) return result.received.wrong + result.received.repeated > 0 ? kOurBug : kFine;
  console.err << fmt::format("{}: {}\n", client.server.text(), result.failure);
  return kThisMachine;
}

}  // namespace

int run(const RunVerbOptions& options, Console& console) {
  if (options.role == "all-reduce") {
    if (!options.nics.empty()) return wrong_run("--nics is of weft run server and client", console);
    return run_all_reduce(options, console);
  }
  for (const std::string& each : options.given)
    if (each == "--rank" || each == "--times") return wrong_run(each + " is of weft run all-reduce", console);
  if (options.hosts.size() > 1)
    return wrong_run(fmt::format("weft run {} takes one host, and '{}' is another", options.role, options.hosts[1]),
                     console);
  if (options.role == "server") return serve(options, console);
  if (options.hosts.empty()) return wrong_run("weft run client needs the server's name or address", console);
  return options.sweep_paths ? sweep(options, console) : send(options, console);
}

}  // namespace weft::app
