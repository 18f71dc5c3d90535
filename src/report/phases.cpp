#include "report/phases.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/sim_summary.hpp"
#include "report/table.hpp"

namespace weft::report {
namespace {

constexpr std::size_t kMostPhases = 12;  // more are no story

Phase::What what_is(const schedule::Failures& failures, Duration time) {
  using enum Phase::What;
  if (time < failures.outages.front().from) return before;
  const bool is_down = std::any_of(failures.outages.begin(), failures.outages.end(),
                                   [&](const schedule::Outage& each) { return each.from <= time && time < each.to; });
  if (!is_down) return after;
  return failures.moved > 0 && time >= failures.first_moved ? moved : down;
}

std::string_view name_of(Phase::What what) {
  switch (what) {
    case Phase::What::before:
      return "before";
    case Phase::What::down:
      return "down";
    case Phase::What::moved:
      return "down, moved";
    case Phase::What::after:
      break;
  }
  return "after";
}

std::string percent(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? fmt::format("{:.0f}%", 100 * static_cast<double>(part) / static_cast<double>(whole)) : "-";
}

}  // namespace

std::vector<Phase> phases(const schedule::RunResult& result) {
  if (!result.failures || result.failures->outages.empty()) return {};
  const schedule::Failures& failures = *result.failures;
  std::vector<Duration> turns = {Duration(0), result.end};
  const auto turn = [&](Duration time) {
    if (time > Duration(0) && time < result.end) turns.push_back(time);
  };
  for (const schedule::Outage& each : failures.outages) {
    turn(each.from);
    turn(each.to);
  }
  if (turns.size() == 2 && failures.outages.front().from >= result.end) return {};  // it was over before
  const auto holds = [&](const schedule::Outage& each) {
    return each.from <= failures.first_moved && failures.first_moved < each.to;
  };
  if (failures.moved > 0 && std::any_of(failures.outages.begin(), failures.outages.end(), holds))
    turn(failures.first_moved);
  std::sort(turns.begin(), turns.end());
  turns.erase(std::unique(turns.begin(), turns.end()), turns.end());
  if (turns.size() > kMostPhases + 1) return {};
  std::vector<Phase> found;
  for (std::size_t i = 0; i + 1 < turns.size(); ++i) {
    const Duration from = turns[i];
    const Duration to = turns[i + 1];
    found.push_back({what_is(failures, from), from, to, goodput(failures.delivered.between(from, to), to - from)});
  }
  return found;
}

std::string phases_text(const schedule::RunResult& result, std::size_t width, bool colour) {
  const std::vector<Phase> all = phases(result);
  if (all.empty()) return "";
  const std::int64_t before = all.front().what == Phase::What::before ? all.front().goodput : 0;
  Table table({{"over time"}, {"from", true}, {"to", true}, {"goodput", true}, {"of before", true}});
  for (const Phase& each : all)
    table.add({std::string(name_of(each.what)), brief(each.from), brief(each.to), brief(Bandwidth(each.goodput)),
               percent(each.goodput, before)});
  std::string text = "\n" + table.text(width, colour);
  const schedule::Failures& failures = *result.failures;
  if (failures.moved == 0) return text;
  const auto moved =
      std::find_if(all.begin(), all.end(), [](const Phase& each) { return each.what == Phase::What::moved; });
  text += fmt::format("{} of messages moved to other NICs, noticed after {} to {}",
                      counted(static_cast<std::int64_t>(failures.moved), "part"),
                      brief(failures.first_moved - failures.outages.front().from),
                      brief(failures.last_moved - failures.outages.front().from));
  if (moved != all.end() && before > 0)
    text += fmt::format(";\nwith them {} of the goodput before is kept", percent(moved->goodput, before));
  return text + "\n";
}

}  // namespace weft::report
