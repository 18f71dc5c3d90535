// How far flow level and message level are from packets, on collectives that seeds draw (drawn_scenario.hpp). A row per
// scenario, then the spread of the errors; fails when one of the limits is missed. What a level says that it does not
// know of a scenario (`not_known` of its row) is no answer there: it is counted, and its error is shown in brackets.
//
//   levels_bench [--seeds 1..40] [--pairs] [--show]
//
// --pairs: each work on a second network, too; no two that differ by more than 15 % in packets may change places.
// --show: the cluster file of each.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "drawn_scenario.hpp"

namespace {

using namespace weft;
using experiment::Fidelity;

constexpr double kMedian = 0.05, kMost = 0.10, kWorst = 0.25;  // of the packets' time
constexpr double kUnknown = 0.05;                              // of all scenarios
constexpr double kApart = 1.15;                                // that a level has to tell apart

// The time of the first job; nothing: it cannot be told at this level. `why` says that, or what is not known of it.
std::optional<double> time_at(bench::Scenario& scenario, Fidelity fidelity, std::string& about, std::string& why) {
  experiment::Experiment what;
  what.workload = std::make_shared<const experiment::Workload>(scenario.work);
  what.fidelity = fidelity;
  auto design = scenario.design->with({});
  check(*design, what);
  if (design->diagnostics().has_errors()) {
    why = spec::render_text(design->diagnostics(), false);
    return std::nullopt;
  }
  const auto start = std::chrono::steady_clock::now();
  const experiment::Outcome outcome = run(*design, what, {});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (outcome.rows.empty() || outcome.rows[0].empty()) {
    why = outcome.stuck ? "stuck" : "left out";
    return std::nullopt;
  }
  why = outcome.rows[0][0].not_known;
  about = fmt::format("{}/{} {:.2f}s", outcome.rows[0][0].algorithm, outcome.rows[0][0].protocol, took.count());
  return static_cast<double>(outcome.rows[0][0].time.count()) / 1e6;
}

struct Spread {
  std::string level;
  std::vector<double> errors;
  std::size_t unknown = 0;

  bool print() {
    std::sort(errors.begin(), errors.end());
    const std::size_t all = errors.size() + unknown;
    if (errors.empty()) return false;
    const auto at = [&](double part) {
      return errors[static_cast<std::size_t>(part * static_cast<double>(errors.size() - 1))];
    };
    const bool ok = at(0.5) <= kMedian && at(0.9) <= kMost && errors.back() <= kWorst &&
                    static_cast<double>(unknown) <= kUnknown * static_cast<double>(all);
    fmt::print("{:8} of {}: median {:.1f} %, nine in ten {:.1f} %, worst {:.1f} %, not known {}   {}\n", level, all,
               100 * at(0.5), 100 * at(0.9), 100 * errors.back(), unknown, ok ? "ok" : "MISSED");
    return ok;
  }
};

// How often a level has two designs in another order than packets do.
struct Order {
  std::size_t pairs = 0;    // that differ enough
  std::size_t changed = 0;  // places

  void add(double first, double second, double packets_first, double packets_second) {
    if (std::max(packets_first, packets_second) < kApart * std::min(packets_first, packets_second)) return;
    ++pairs;
    changed += (first < second) != (packets_first < packets_second);
  }
};

bool parse_seeds(std::string_view text, std::uint64_t& first, std::uint64_t& last) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return false;
  const auto number = [](std::string_view part, std::uint64_t& out) {
    return std::from_chars(part.data(), part.data() + part.size(), out).ptr == part.data() + part.size();
  };
  return number(text.substr(0, dots), first) && number(text.substr(dots + 2), last);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t first = 1, last = 8;
  bool show = false, pairs = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--show") == 0) {
      show = true;
    } else if (std::strcmp(argv[i], "--pairs") == 0) {
      pairs = true;
    } else if (std::strcmp(argv[i], "--seeds") != 0 || ++i == argc || !parse_seeds(argv[i], first, last)) {
      fmt::print(stderr, "usage: levels_bench [--seeds 1..40] [--pairs] [--show]\n");
      return 2;
    }
  }
  Spread flow{"flow", {}, 0}, message{"message", {}, 0};
  Order order[2];
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    bench::Scenario scenario = bench::draw_scenario(seed);
    if (show) fmt::print("{}", scenario.text);
    std::string about[3], why;
    const std::optional<double> packets = time_at(scenario, Fidelity::packet, about[0], why);
    if (!packets) {
      fmt::print("{:5} not run by packets: {} {}\n", seed, scenario.about, why);
      continue;
    }
    fmt::print("{:5} {:10.1f}", seed, *packets);
    std::string unused;
    auto rival = pairs ? bench::draw_rival(seed) : std::nullopt;
    const auto rival_packets = rival ? time_at(*rival, Fidelity::packet, unused, unused) : std::nullopt;
    for (Spread* level : {&flow, &message}) {
      why.clear();
      const auto time =
          time_at(scenario, level == &flow ? Fidelity::flow : Fidelity::message, about[level == &flow ? 1 : 2], why);
      if (time) {
        const double error = *time / *packets - 1;
        if (why.empty())
          level->errors.push_back(std::abs(error));
        else
          ++level->unknown;
        fmt::print(" {:10.1f} {:>9}", *time,
                   fmt::format("{}{:+.1f}%{}", why.empty() ? "" : "(", 100 * error, why.empty() ? "" : ")"));
        const Fidelity fidelity = level == &flow ? Fidelity::flow : Fidelity::message;
        if (const auto other = rival_packets ? time_at(*rival, fidelity, unused, unused) : std::nullopt)
          order[level == &flow ? 0 : 1].add(*time, *other, *packets, *rival_packets);
      } else {
        ++level->unknown;
        fmt::print(" {:>20}", "not known");
      }
    }
    fmt::print("  {} [{}; {}; {}]\n", scenario.about, about[0], about[1], about[2]);
    if (!why.empty() && show) fmt::print("{}\n", why);
    std::fflush(stdout);
  }
  const bool flows_ok = flow.print();
  const bool messages_ok = message.print();
  for (std::size_t i = 0; pairs && i < std::size(order); ++i)
    fmt::print("{:8} of {} pairs that differ by more than 15 %: {} change places   {}\n", i == 0 ? "flow" : "message",
               order[i].pairs, order[i].changed, order[i].changed == 0 ? "ok" : "MISSED");
  return flows_ok && messages_ok && order[0].changed + order[1].changed == 0 ? 0 : 1;
}
