#include "app/run/run_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "app/build_info.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace weft::app {
namespace {

using net::PathState;
using traffic::ClientOptions;
using traffic::ClientResult;
using traffic::Instant;
using traffic::PathRow;

std::string time_text(Instant time) { return brief(Duration(time)); }
std::string rate_text(double rate) { return brief(Bandwidth(static_cast<std::int64_t>(rate))); }
std::string size_text(std::uint64_t bytes) { return brief(Bytes(static_cast<std::int64_t>(bytes))); }
std::string count_text(std::uint64_t n, std::string_view noun) { return counted(static_cast<std::int64_t>(n), noun); }

const char* name_of(traffic::Transport transport) {
  constexpr std::array<const char*, 3> kNames = {"srd", "tcp", "mptcp"};
  return kNames[static_cast<std::size_t>(transport)];
}

const char* name_of(traffic::Pattern pattern) { return pattern == traffic::Pattern::requests ? "requests" : "stream"; }

double percent(std::uint64_t part, std::uint64_t all) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(1, all));
}

// Source ports, of many the first ones.
std::string ports_text(const std::vector<std::uint16_t>& ports) {
  constexpr std::size_t kMost = 20;
  std::string out;
  for (std::size_t i = 0; i < std::min(ports.size(), kMost); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : " ", ports[i]);
  if (ports.size() > kMost) out += fmt::format(" and {} more", ports.size() - kMost);
  return out;
}

struct Ill {
  PathState state;
  std::vector<std::uint16_t> ports;
  Instant first = 0;
  Instant last = 0;
};

// Worst first.
std::vector<Ill> ill_of(const std::vector<PathRow>& paths) {
  std::vector<Ill> out;
  for (const PathState state : {PathState::dead, PathState::losing, PathState::slow}) {
    Ill ill{state, {}, 0, 0};
    for (const PathRow& row : paths) {
      if (row.health.state != state) continue;
      ill.first = ill.ports.empty() ? row.health.since : std::min(ill.first, row.health.since);
      ill.last = std::max(ill.last, row.health.since);
      ill.ports.push_back(row.port);
    }
    if (!ill.ports.empty()) out.push_back(std::move(ill));
  }
  return out;
}

std::vector<net::Suspect> suspects_of(const std::vector<PathRow>& paths) {
  Instant first = 0;  // when the first of the dead ones died
  for (const PathRow& row : paths)
    if (row.health.state == PathState::dead) first = first == 0 ? row.health.since : std::min(first, row.health.since);
  std::vector<net::Way> ways;
  // Of a path that nothing has come by since, nobody knows whether it lives: SRD leaves one before it has lost much.
  for (const PathRow& row : paths)
    if (row.health.state != PathState::healthy || row.health.heard > first)
      ways.push_back({row.health.state, row.route});
  return net::suspects(ways);
}

// Which paths are ill says which switch they have in common, and no more: between the same two hosts, whatever crosses
// a switch crosses its cables.
void print_suspect(const net::Suspect& suspect, Console& console) {
  const std::string name = suspect.router.name();
  console.out << fmt::format(
      "{} of the {} {} paths whose way is known cross {}, and {} of {} healthy ones: it, or a cable at it\n",
      suspect.ill, suspect.all_ill, net::name_of(suspect.state),
      name.empty() ? suspect.router.host() : fmt::format("{} ({})", name, suspect.router.host()),
      suspect.healthy == 0 ? "none" : std::to_string(suspect.healthy), suspect.all_healthy);
}

void print_table(const std::vector<PathRow>& paths, Console& console) {
  std::uint64_t bytes = 0;
  for (const PathRow& row : paths) bytes += row.health.bytes;
  console.out << fmt::format("{:>5}  {:>7}  {:>7}  {:>9}  {:>9}  {:>9}  {}\n", "port", "share", "loss", "RTT", "least",
                             "longest", "state");
  for (const PathRow& row : paths) {
    const net::PathHealth& path = row.health;
    const auto trip = [](Duration time) { return time == Duration(0) ? std::string("-") : brief(time); };
    std::string state = net::name_of(path.state);
    if (path.state != PathState::healthy) state += " since " + time_text(path.since);
    console.out << fmt::format("{:>5}  {:>5.2f} %  {:>5.2f} %  {:>9}  {:>9}  {:>9}  {}\n", row.port,
                               percent(path.bytes, bytes), percent(path.lost, path.arrived + path.lost),
                               trip(path.smooth_rtt), trip(path.least_rtt), trip(path.longest_rtt), state);
  }
}

void print_paths(const std::vector<PathRow>& paths, bool per_path, Console& console) {
  if (paths.empty()) return;
  std::uint64_t all = 0;
  for (const PathRow& row : paths) all += row.health.bytes;
  const auto by_bytes = [](const PathRow& a, const PathRow& b) { return a.health.bytes < b.health.bytes; };
  const auto [least, most] = std::ranges::minmax_element(paths, by_bytes);
  if (paths.size() > 1 && all > 0)
    console.out << fmt::format("over {}: from {:.2f} % of the bytes (source port {}) to {:.2f} % ({})\n",
                               count_text(paths.size(), "path"), percent(least->health.bytes, all), least->port,
                               percent(most->health.bytes, all), most->port);
  for (const Ill& ill : ill_of(paths)) {
    const std::string since = ill.last - ill.first > net::kMillisecond * 10
                                  ? fmt::format("{} to {}", time_text(ill.first), time_text(ill.last))
                                  : time_text(ill.first);
    console.out << fmt::format("{} {} since {} after the start: source {} {}\n", count_text(ill.ports.size(), "path"),
                               net::name_of(ill.state), since, ill.ports.size() == 1 ? "port" : "ports",
                               ports_text(ill.ports));
  }
  for (const net::Suspect& suspect : suspects_of(paths)) print_suspect(suspect, console);
  if (per_path) return print_table(paths, console);
}

nlohmann::ordered_json route_json(const net::Route& route) {
  auto out = nlohmann::ordered_json::array();
  for (const auto& router : route)
    out.push_back(router ? nlohmann::ordered_json(router->host()) : nlohmann::ordered_json());
  return out;
}

nlohmann::ordered_json suspects_json(const std::vector<PathRow>& paths) {
  auto out = nlohmann::ordered_json::array();
  for (const net::Suspect& suspect : suspects_of(paths)) {
    const std::string name = suspect.router.name();
    out.push_back({{"state", net::name_of(suspect.state)},
                   {"router", suspect.router.host()},
                   {"name", name.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(name)},
                   {"ill", suspect.ill},
                   {"all_ill", suspect.all_ill},
                   {"healthy", suspect.healthy},
                   {"all_healthy", suspect.all_healthy}});
  }
  return out;
}

nlohmann::ordered_json path_json(const PathRow& row) {
  const net::PathHealth& path = row.health;
  const auto known = [](Duration time) {
    return time == Duration(0) ? nlohmann::ordered_json() : nlohmann::ordered_json(time.count());
  };
  return {
      {"port", row.port},
      {"packets", path.packets},
      {"bytes", path.bytes},
      {"lost", path.lost},
      {"late", path.late},
      {"rtt_ps", known(path.smooth_rtt)},
      {"least_rtt_ps", known(path.least_rtt)},
      {"longest_rtt_ps", known(path.longest_rtt)},
      {"state", net::name_of(path.state)},
      {"since_ps", path.state == PathState::healthy ? nlohmann::ordered_json() : nlohmann::ordered_json(path.since)},
      {"route", route_json(row.route)}};
}

void print_record(const nlohmann::ordered_json& record, Console& console) {
  console.out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

nlohmann::ordered_json swept_json(const traffic::SweptPath& path, const char* direction) {
  return {{"record", "swept_path"},
          {"version", 1},
          {"direction", direction},
          {"port", path.port == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(path.port)},
          {"probes", path.probes},
          {"lost", path.lost},
          {"rtt_ps", path.median.count()},
          {"longest_rtt_ps", path.longest.count()},
          {"verdict", traffic::name_of(path.verdict)}};
}

void print_direction(const std::vector<traffic::SweptPath>& paths, const char* direction, Console& console) {
  std::uint64_t probes = 0;
  std::vector<Duration> trips;
  for (const traffic::SweptPath& path : paths) {
    probes += path.probes;
    trips.push_back(path.median);
  }
  console.out << fmt::format("{}: {} with {}, median round trip {}\n", direction,
                             count_text(paths.size(), "source port"), count_text(probes, "probe"),
                             brief(traffic::percentile(trips, 0.5)));
  using traffic::Verdict;
  for (const Verdict verdict : {Verdict::dead, Verdict::loses, Verdict::lags}) {
    std::vector<std::uint16_t> ports;
    std::size_t unknown = 0;
    std::uint64_t lost = 0;
    std::uint64_t sent = 0;
    Duration longest;
    for (const traffic::SweptPath& path : paths) {
      if (path.verdict != verdict) continue;
      if (path.port != 0) ports.push_back(path.port);
      unknown += path.port == 0;
      lost += path.lost;
      sent += path.probes;
      longest = std::max(longest, path.median);
    }
    if (ports.empty() && unknown == 0) continue;
    const std::string how = verdict == Verdict::dead    ? "dead"
                            : verdict == Verdict::loses ? fmt::format("lose {:.1f} %", percent(lost, sent))
                                                        : fmt::format("lag, {} and less", brief(longest));
    std::string which = ports_text(ports);
    if (unknown > 0) which += fmt::format("{}{} whose number nobody could tell", ports.empty() ? "" : " and ", unknown);
    console.out << fmt::format("  {} {}: {}\n", ports.size() + unknown, how, which);
  }
}

}  // namespace

std::string ill_paths(const std::vector<PathRow>& paths) {
  std::string out;
  for (const Ill& ill : ill_of(paths))
    out += fmt::format("{}{} of {} paths {} since {}", out.empty() ? "" : ", ", ill.ports.size(), paths.size(),
                       net::name_of(ill.state), time_text(ill.first));
  return out;
}

void print_run(const ClientOptions& options, ClientResult& result, bool per_path, Console& console) {
  const traffic::Measured& received = result.received;
  if (options.pattern == traffic::Pattern::requests) {
    console.out << fmt::format(
        "{} of {}: median {}, p99 {}, p99.9 {}, longest {}\n", count_text(result.round_trips.size(), "request"),
        size_text(options.size), brief(traffic::percentile(result.round_trips, 0.5)),
        brief(traffic::percentile(result.round_trips, 0.99)), brief(traffic::percentile(result.round_trips, 0.999)),
        brief(traffic::percentile(result.round_trips, 1)));
  } else {
    console.out << fmt::format("{} in {}: {}; longest gap {}\n", size_text(received.bytes),
                               count_text(received.messages, "message"), rate_text(received.rate(options.size)),
                               brief(received.longest_gap));
  }
  console.out << fmt::format("{}, {} retransmitted ({:.2f} %); {} wrong, {} twice\n",
                             count_text(result.srd.data_sent, "packet"), result.srd.data_resent,
                             percent(result.srd.data_resent, result.srd.data_sent), received.wrong, received.repeated);
  print_paths(result.paths, per_path, console);
}

void print_run_record(const ClientOptions& options, ClientResult& result, Console& console) {
  nlohmann::ordered_json paths = nlohmann::ordered_json::array();
  for (const PathRow& row : result.paths) paths.push_back(path_json(row));
  print_record({{"record", "run"},
                {"version", 2},
                {"weft", build_info().version},
                {"commit", build_info().commit},
                {"failure", result.failure.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(result.failure)},
                {"server", options.server.text()},
                {"transport", name_of(options.transport)},
                {"pattern", name_of(options.pattern)},
                {"size", options.size},
                {"endpoints", options.endpoints},
                {"goodput_bps", result.received.rate(options.size)},
                {"began_ns", result.began},
                {"ended_ns", result.ended},
                {"messages", result.received.messages},
                {"bytes", result.received.bytes},
                {"wrong", result.received.wrong},
                {"repeated", result.received.repeated},
                {"longest_gap_ps", result.received.longest_gap.count()},
                {"gap_at_ps", result.received.gap_at.count()},
                {"interval_ps", traffic::kInterval.count()},
                {"intervals_bytes", result.received.intervals},
                {"round_trips", result.round_trips.size()},
                {"p50_ps", traffic::percentile(result.round_trips, 0.5).count()},
                {"p99_ps", traffic::percentile(result.round_trips, 0.99).count()},
                {"p999_ps", traffic::percentile(result.round_trips, 0.999).count()},
                {"longest_ps", traffic::percentile(result.round_trips, 1).count()},
                {"packets", result.srd.data_sent},
                {"retransmitted", result.srd.data_resent},
                {"timeouts", result.srd.timeouts},
                {"datagrams_out", result.node.datagrams_out},
                {"system_calls", result.node.system_calls},
                {"not_ours", result.node.not_ours},
                {"damaged", result.node.damaged},
                {"refused_by_kernel", result.node.refused_by_kernel},
                {"suspects", suspects_json(result.paths)},
                {"paths", paths}},
               console);
}

void print_sweep(const traffic::SweepResult& result, Console& console) {
  print_direction(result.there, "there", console);
  print_direction(result.back, "back", console);
}

void print_sweep_records(const traffic::SweepResult& result, Console& console) {
  for (const traffic::SweptPath& path : result.there) print_record(swept_json(path, "there"), console);
  for (const traffic::SweptPath& path : result.back) print_record(swept_json(path, "back"), console);
}

std::string run_metrics(const ClientOptions& options, const traffic::Progress& progress) {
  const std::string labels =
      fmt::format("server=\"{}\",transport=\"{}\"", options.server.text(), name_of(options.transport));
  std::string out = fmt::format(
      "# HELP weft_run_acknowledged_bytes_total Payload that the server has.\n"
      "# TYPE weft_run_acknowledged_bytes_total counter\n"
      "weft_run_acknowledged_bytes_total{{{}}} {}\n",
      labels, progress.bytes);
  const auto family = [&](const char* name, const char* type, const char* help, auto value) {
    out += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
    for (const PathRow& row : progress.paths)
      out += fmt::format("{}{{{},port=\"{}\"}} {}\n", name, labels, row.port, value(row.health));
  };
  family("weft_run_path_packets_total", "counter", "Packets sent from a source port, copies among them.",
         [](const net::PathHealth& path) { return path.packets; });
  family("weft_run_path_bytes_total", "counter", "Bytes of them.",
         [](const net::PathHealth& path) { return path.bytes; });
  family("weft_run_path_lost_packets", "gauge", "Packets that were lost; one that came late is taken back.",
         [](const net::PathHealth& path) { return path.lost; });
  family("weft_run_path_rtt_seconds", "gauge", "Mean of the last round trips; 0: none yet.",
         [](const net::PathHealth& path) { return static_cast<double>(path.smooth_rtt.count()) * 1e-12; });
  family("weft_run_path_state", "gauge", "0 healthy, 1 slow, 2 losing, 3 dead.",
         [](const net::PathHealth& path) { return static_cast<int>(path.state); });
  return out;
}

}  // namespace weft::app
