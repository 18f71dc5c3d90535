// How far flow level and message level are from packets, on collectives that seeds draw (drawn_scenario.hpp). A row per
// scenario, then the spread of the errors; fails when one of the limits is missed.
//
//   levels_bench [--seeds 1..40] [--show]     --show: the cluster file of each, too

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

// The time of the first job; nothing: it is not known at this level, as `why` says.
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
  about = fmt::format("{}/{} {:.2f}s", outcome.rows[0][0].algorithm, outcome.rows[0][0].protocol, took.count());
  return static_cast<double>(outcome.rows[0][0].time) / 1e6;
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
  bool show = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--show") == 0) {
      show = true;
    } else if (std::strcmp(argv[i], "--seeds") != 0 || ++i == argc || !parse_seeds(argv[i], first, last)) {
      fmt::print(stderr, "usage: levels_bench [--seeds 1..40] [--show]\n");
      return 2;
    }
  }
  Spread flow{"flow", {}, 0}, message{"message", {}, 0};
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
    for (Spread* level : {&flow, &message}) {
      why.clear();
      const auto time =
          time_at(scenario, level == &flow ? Fidelity::flow : Fidelity::message, about[level == &flow ? 1 : 2], why);
      if (time) {
        level->errors.push_back(std::abs(*time / *packets - 1));
        fmt::print(" {:10.1f} {:+6.1f}%", *time, 100 * (*time / *packets - 1));
      } else {
        ++level->unknown;
        fmt::print(" {:>18}", "not known");
      }
    }
    fmt::print("  {} [{}; {}; {}]\n", scenario.about, about[0], about[1], about[2]);
    if (!why.empty() && show) fmt::print("{}\n", why);
    std::fflush(stdout);
  }
  const bool flows_ok = flow.print();
  const bool messages_ok = message.print();
  return flows_ok && messages_ok ? 0 : 1;
}
