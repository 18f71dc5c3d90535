#include "truth/refit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace weft::truth {
namespace {

using collective::Constants;
using collective::Knob;
using collective::Origin;

// A tenth of a per cent of what is gained is not worth another step.
constexpr double kWorthIt = 1e-3;
constexpr int kMostSweeps = 3;
constexpr double kSteps[] = {1.25, 1.05};
// What would move further than by this factor makes up for something else.
constexpr double kFurthest = 2;
constexpr std::size_t kFewRows = 8;

bool any_uses(const std::vector<const TruthTable*>& tables, std::string_view owner) {
  return std::any_of(tables.begin(), tables.end(), [&](const TruthTable* each) { return each->uses(owner); });
}

// Parts of a whole stay below it.
std::int64_t scaled(const Knob& knob, double factor) {
  const auto made = static_cast<std::int64_t>(std::llround(static_cast<double>(*knob.value) * factor));
  return std::max<std::int64_t>(1, knob.number.unit == "per mille" ? std::min<std::int64_t>(made, 1000) : made);
}

// Of |ln(simulated / measured)| over the rows that count, the sum; of long tables some rows stand for all.
double distance(const TruthTable& table, const Constants& constants, TruthClock& clock) {
  const std::size_t stride = std::max<std::size_t>(1, table.rows.size() / kFewRows);
  double sum = 0;
  for (std::size_t i = 0; i < table.rows.size(); i += stride) {
    if (!table.rows[i].steady) continue;
    const double simulated = static_cast<double>(clock.row(table, i, constants).time.count());
    sum += std::abs(std::log(simulated / static_cast<double>(table.rows[i].time.count())));
  }
  return sum * static_cast<double>(stride);
}

class Descent {
 public:
  Descent(const std::vector<const TruthTable*>& tables, Constants& constants, TruthClock& clock)
      : tables_(tables), constants_(constants), clock_(clock) {}

  void run(const std::vector<Knob>& all) {
    for (const Knob& knob : all) starts_.emplace(knob.value, static_cast<double>(*knob.value));
    for (const double step : kSteps)
      for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
        bool better = false;
        for (const Knob& knob : all) better |= improve(knob, step);
        if (!better) break;
      }
  }

 private:
  double distance_of(std::string_view owner) {
    double sum = 0;
    for (const TruthTable* each : tables_)
      if (each->uses(owner)) sum += distance(*each, constants_, clock_);
    return sum;
  }

  bool improve(const Knob& knob, double step) {
    const double before = distance_of(knob.number.owner);
    double now = before;
    for (const double factor : {step, 1 / step}) {
      for (;;) {
        const std::int64_t old = *knob.value;
        *knob.value = scaled(knob, factor);
        const double moved = static_cast<double>(*knob.value) / starts_.at(knob.value);
        const bool too_far = moved > kFurthest || moved < 1 / kFurthest;
        const double then = *knob.value == old || too_far ? now : distance_of(knob.number.owner);
        if (then >= now * (1 - kWorthIt)) {
          *knob.value = old;
          break;
        }
        now = then;
      }
      if (now < before) return true;
    }
    return false;
  }

  const std::vector<const TruthTable*>& tables_;
  Constants& constants_;
  TruthClock& clock_;
  std::map<const std::int64_t*, double> starts_;
};

Constants fit(const std::vector<const TruthTable*>& tables, Constants start, Origin origin, TruthClock& clock,
              const TruthTable* only_for) {
  std::vector<Knob> all = collective::knobs(start, origin);
  std::erase_if(all, [&](const Knob& each) {
    const std::string_view owner = each.number.owner;
    return !any_uses(tables, owner) || (only_for != nullptr && !only_for->uses(owner));
  });
  Descent(tables, start, clock).run(all);
  return start;
}

std::vector<const TruthTable*> fitted_to(const std::vector<TruthTable>& tables, const TruthTable* without) {
  std::vector<const TruthTable*> found;
  for (const TruthTable& each : tables)
    if (&each != without && each.team->ranks() <= kMostFittedRanks && !(each.never_fitted && !each.blind.empty()))
      found.push_back(&each);
  return found;
}

}  // namespace

Constants refit(const std::vector<TruthTable>& tables, Constants start, Origin origin, TruthClock& clock) {
  return fit(fitted_to(tables, nullptr), std::move(start), origin, clock, nullptr);
}

LeftOut leave_out(const std::vector<TruthTable>& tables, const TruthTable& out, TruthClock& clock) {
  const std::vector<const TruthTable*> others = fitted_to(tables, &out);
  LeftOut made{collective::constants(), {}};
  const std::vector<Knob> all = collective::knobs(made.constants, Origin::fitted);
  for (const Knob& knob : all) {
    if (!out.uses(knob.number.owner) || any_uses(others, knob.number.owner)) continue;
    // The middle one of what others of its kind have, or nothing.
    std::vector<std::int64_t> like;
    for (const Knob& other : all)
      if (other.number.name == knob.number.name && other.number.owner != knob.number.owner)
        like.push_back(other.number.value);
    std::sort(like.begin(), like.end());
    *knob.value = like.empty() ? 0 : like[(like.size() - 1) / 2];
    made.lonely.push_back(fmt::format("{} of {}", knob.number.name, knob.number.owner));
  }
  made.constants = fit(others, std::move(made.constants), Origin::fitted, clock, &out);
  return made;
}

}  // namespace weft::truth
