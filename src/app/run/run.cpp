#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/sim/progress.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "traffic/client.hpp"
#include "traffic/messages.hpp"

namespace weft::app {
namespace {

using net::Address;
using traffic::ClientOptions;
using traffic::ClientResult;
using traffic::Instant;

constexpr std::uint16_t kPort = 7791;

int wrong(const std::string& what, Console& console) {
  console.err << what << "\n";
  return kYourInput;
}

template <class Quantity>
bool read(const std::string& name, const std::string& text, std::int64_t& out, Console& console) {
  if (text.empty()) return true;
  const auto& family = unit_family<Quantity>();
  const auto value = parse_quantity(text, family);
  if (!value || *value < 0) {
    console.err << fmt::format("{} '{}' is no {}: for example {}\n", name, text, family.name, family.example);
    return false;
  }
  out = *value;
  return true;
}

std::string seconds_text(Instant time) { return brief(Duration(time)); }
std::string rate_text(double rate) { return brief(Bandwidth(static_cast<std::int64_t>(rate))); }

int serve(const RunVerbOptions& options, Console& console) {
  const auto local = Address::parse(options.host.empty() ? "0.0.0.0" : options.host, kPort);
  if (!local) return wrong(local.error(), console);
  traffic::Pool pool(traffic::kLongestMessage);
  traffic::Server server(pool);
  net::NodeConfig config;
  config.local = *local;
  config.paths = options.paths;
  config.datagram = options.datagram;
  auto node = net::Node::open(config, server, server);
  if (!node) {
    console.err << node.error() << "\n";
    return kThisMachine;
  }
  console.err << fmt::format("listening at {}; on another machine: weft run client {}\n", (*node)->address().text(),
                             "THIS-HOST");
  const CtrlC ctrl_c;
  while (!CtrlC::pressed()) {
    (*node)->progress();
    (*node)->wait(net::Node::now() + 200 * net::kMillisecond);
  }
  return kFine;
}

void print_record(const ClientOptions& options, ClientResult& result, Console& console) {
  nlohmann::ordered_json paths = nlohmann::ordered_json::array();
  for (const net::PathReport& path : result.paths)
    paths.push_back({{"port", path.port}, {"packets", path.packets}, {"bytes", path.bytes}});
  nlohmann::ordered_json record = {
      {"record", "run"},
      {"version", 1},
      {"failure", result.failure.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(result.failure)},
      {"size", options.size},
      {"endpoints", options.endpoints},
      {"bits_per_second", result.received.rate(options.size)},
      {"began_ns", result.began},
      {"ended_ns", result.ended},
      {"messages", result.received.messages},
      {"bytes", result.received.bytes},
      {"wrong", result.received.wrong},
      {"repeated", result.received.repeated},
      {"longest_gap_ps", result.received.longest_gap},
      {"gap_at_ps", result.received.gap_at},
      {"interval_ps", traffic::kInterval},
      {"intervals_bytes", result.received.intervals},
      {"round_trips", result.round_trips.size()},
      {"p50_ps", traffic::percentile(result.round_trips, 0.5)},
      {"p99_ps", traffic::percentile(result.round_trips, 0.99)},
      {"p999_ps", traffic::percentile(result.round_trips, 0.999)},
      {"longest_ps", traffic::percentile(result.round_trips, 1)},
      {"packets", result.srd.data_sent},
      {"retransmitted", result.srd.data_resent},
      {"timeouts", result.srd.timeouts},
      {"datagrams_out", result.node.datagrams_out},
      {"system_calls", result.node.system_calls},
      {"not_ours", result.node.not_ours},
      {"damaged", result.node.damaged},
      {"refused_by_kernel", result.node.refused_by_kernel},
      {"paths", paths}};
  console.out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

void print_text(const ClientOptions& options, ClientResult& result, Console& console) {
  const auto count = [](std::uint64_t n, std::string_view noun) { return counted(static_cast<std::int64_t>(n), noun); };
  const traffic::Measured& received = result.received;
  if (options.pattern == traffic::Pattern::requests) {
    console.out << fmt::format("{} of {}: median {}, p99 {}, p99.9 {}, longest {}\n",
                               count(result.round_trips.size(), "request"),
                               brief(Bytes(static_cast<std::int64_t>(options.size))),
                               seconds_text(traffic::percentile(result.round_trips, 0.5)),
                               seconds_text(traffic::percentile(result.round_trips, 0.99)),
                               seconds_text(traffic::percentile(result.round_trips, 0.999)),
                               seconds_text(traffic::percentile(result.round_trips, 1)));
  } else {
    console.out << fmt::format("{} in {}: {}; longest gap {}\n",
                               brief(Bytes(static_cast<std::int64_t>(received.bytes))),
                               count(received.messages, "message"), rate_text(received.rate(options.size)),
                               seconds_text(received.longest_gap));
  }
  console.out << fmt::format("{}, {} retransmitted ({:.2f} %); {} wrong, {} twice\n",
                             count(result.srd.data_sent, "packet"), result.srd.data_resent,
                             100.0 * static_cast<double>(result.srd.data_resent) /
                                 static_cast<double>(std::max<std::uint64_t>(1, result.srd.data_sent)),
                             received.wrong, received.repeated);
}

// How evenly the paths were used: one that is ill carries less.
void print_paths(const ClientResult& result, Console& console) {
  std::uint64_t all = 0;
  for (const net::PathReport& path : result.paths) all += path.bytes;
  if (all == 0 || result.paths.size() < 2) return;
  const auto by_bytes = [](const net::PathReport& a, const net::PathReport& b) { return a.bytes < b.bytes; };
  const auto [least, most] = std::ranges::minmax_element(result.paths, by_bytes);
  const auto share = [&](const net::PathReport& path) {
    return 100.0 * static_cast<double>(path.bytes) / static_cast<double>(all);
  };
  console.out << fmt::format("over {}: from {:.2f} % of the bytes (source port {}) to {:.2f} % ({})\n",
                             counted(static_cast<std::int64_t>(result.paths.size()), "path"), share(*least),
                             least->port, share(*most), most->port);
}

int send(const RunVerbOptions& options, Console& console) {
  ClientOptions client;
  const auto server = Address::parse(options.host, kPort);
  if (!server) return wrong(server.error(), console);
  client.server = *server;
  client.pattern = options.pattern == "requests" ? traffic::Pattern::requests : traffic::Pattern::stream;
  std::int64_t size = options.pattern == "requests" ? 64 : 64 << 10;
  std::int64_t window = 8 << 20;
  std::int64_t rate = 0;
  std::int64_t duration = client.duration;
  if (!read<Bytes>("--size", options.size, size, console) ||
      !read<Bytes>("--window", options.window, window, console) ||
      !read<Bandwidth>("--rate", options.rate, rate, console) ||
      !read<Duration>("--duration", options.duration, duration, console))
    return kYourInput;
  if (static_cast<std::uint64_t>(size) > traffic::kLongestMessage)
    return wrong(fmt::format("--size {}: a message has at most {}", options.size,
                             brief(Bytes(static_cast<std::int64_t>(traffic::kLongestMessage)))),
                 console);
  client.size = static_cast<std::uint64_t>(size);
  client.window = static_cast<std::uint64_t>(window);
  client.rate = static_cast<std::uint64_t>(rate);
  client.duration = duration;
  client.messages = options.messages;
  client.endpoints = options.endpoints;
  client.paths = options.paths;
  client.datagram = options.datagram;
  client.start_at = static_cast<std::int64_t>(std::clamp(options.start_at, 0.0, 9e9) * 1e9);
  const CtrlC ctrl_c;
  std::uint64_t before = 0;
  ClientResult result = traffic::run_client(client, [&](Instant now, std::uint64_t bytes) {
    if (!options.json)
      console.err << fmt::format("{:>4} s  {}\n", now / net::kSecond,
                                 rate_text(static_cast<double>(bytes - before) * 8));
    before = bytes;
    return !CtrlC::pressed();
  });
  if (options.json) {
    print_record(client, result, console);
  } else {
    print_text(client, result, console);
    print_paths(result, console);
  }
  if (result.failure.empty()) return result.received.wrong + result.received.repeated > 0 ? kOurBug : kFine;
  console.err << fmt::format("{}: {}\n", client.server.text(), result.failure);
  return kThisMachine;
}

}  // namespace

int run(const RunVerbOptions& options, Console& console) {
  if (options.role == "server") return serve(options, console);
  if (options.host.empty()) return wrong("weft run client needs the server's name or address", console);
  return send(options, console);
}

}  // namespace weft::app
