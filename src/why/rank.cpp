#include "why/rank.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace weft::why {
namespace {

// By regime: sizes up to it, and the spread of ln(measured / predicted) when the model is right.
// The spreads are what `weft validate` says about the model, with the differences between machines
// of one kind (docs/validation.md); where it is open how bad a cause is, variants lie about a
// factor of two apart, and the spread is half of that.
struct Regime {
  std::uint64_t up_to;
  double spread;
  double open;
};
constexpr std::array<Regime, 3> kRegimes = {{{64 << 10, 0.35, 0.5}, {16 << 20, 0.25, 0.45}, {UINT64_MAX, 0.12, 0.35}}};
constexpr double kRowsThatCount = 2;  // of a regime
constexpr std::size_t kMostRows = 6;  // of a regime that are simulated
constexpr double kTails = 3;          // degrees of freedom of Student's t
constexpr double kSame = 0.02;        // a variant that changes less explains nothing
constexpr double kExplained = 1.33;
constexpr double kSaid = 3;           // evidence that makes a cause one of a pair: seldom otherwise
constexpr std::size_t kMostSaid = 3;  // of such causes
constexpr double kPair = 0.05;        // of what is slow, so much has a second cause of a given kind
constexpr double kClearly = 3;        // times the odds of the best single cause
constexpr double kGap = 1.25;         // that a cause leaves for a second one

std::size_t regime_of(const Observation& each) {
  std::size_t regime = 0;
  while (each.largest() > kRegimes[regime].up_to) ++regime;
  return regime;
}

// Those that are simulated: evenly spread, the largest always.
std::vector<Observation> looked_at(const std::vector<Observation>& all) {
  std::array<std::vector<Observation>, kRegimes.size()> by_regime;
  for (const Observation& each : all) by_regime[regime_of(each)].push_back(each);
  std::vector<Observation> out;
  for (const std::vector<Observation>& rows : by_regime) {
    const std::size_t wanted = std::min(rows.size(), kMostRows);
    for (std::size_t i = 0; i < wanted; ++i)
      out.push_back(rows[wanted == 1 ? rows.size() - 1 : i * (rows.size() - 1) / (wanted - 1)]);
  }
  return out;
}

double log_density(double residual, double spread) {
  const double z = residual / spread;
  return -(kTails + 1) / 2 * std::log1p(z * z / kTails);
}

class Ranking {
 public:
  Ranking(const Situation& situation, Machine& machine, const GoesOn& goes_on)
      : situation_(situation), machine_(machine), goes_on_(goes_on) {}

  Diagnosis run();

 private:
  // busbw by observation; empty when the variant cannot be.
  std::vector<double> predict(const Variant& variant);
  double log_likelihood(const std::vector<double>& predicted, bool open) const;
  void set_reference();
  bool same(const std::vector<double>& predicted, const std::vector<double>& others) const;
  bool consider(Cause cause, std::vector<Hypothesis>& out);
  void weigh_findings();
  void join();
  void join(const Hypothesis& said, const Hypothesis& other, double best_alone, double& best);
  void set_shares();
  double median_error(const std::vector<double>& predicted, double* worst = nullptr) const;

  const Situation& situation_;
  Machine& machine_;
  const GoesOn& goes_on_;
  Diagnosis out_;
  std::vector<std::uint64_t> sizes_;
  std::map<Cause, std::vector<double>> odds_;  // of the pairs that a cause is in
};

std::vector<double> Ranking::predict(const Variant& variant) {
  const std::vector<Prediction> made = machine_.predict(situation_.job, variant, sizes_);
  if (made.empty()) return {};
  const auto bus = [&](std::uint64_t size) {
    const auto at = static_cast<std::size_t>(std::lower_bound(sizes_.begin(), sizes_.end(), size) - sizes_.begin());
    return bus_bandwidth(situation_.job, size, made[at].time);
  };
  std::vector<double> predicted;
  for (const Observation& each : out_.observations) {
    double sum = 0;
    for (const std::uint64_t size : each.sizes) sum += bus(size);
    predicted.push_back(sum / static_cast<double>(each.sizes.size()));
  }
  if (out_.observations.empty())
    for (const std::uint64_t size : sizes_) predicted.push_back(bus(size));
  return predicted;
}

double Ranking::log_likelihood(const std::vector<double>& predicted, bool open) const {
  // Of a machine that only stands in no rate means anything; what a cause takes off does, where somebody says what was
  // there before.
  if (!situation_.machine_known) {
    if (!situation_.hoped || out_.observations.empty() || out_.observations.back().bus <= 0) return 0;
    const double left = out_.observations.back().bus / *situation_.hoped;
    return log_density(std::log(left * out_.expected.back() / predicted.back()), kRegimes.back().open);
  }
  std::array<double, kRegimes.size()> sum{};
  std::array<double, kRegimes.size()> rows{};
  for (std::size_t i = 0; i < out_.observations.size(); ++i) {
    const Observation& each = out_.observations[i];
    if (!each.steady || each.bus <= 0) continue;
    const std::size_t regime = regime_of(each);
    sum[regime] +=
        log_density(std::log(each.bus / predicted[i]), open ? kRegimes[regime].open : kRegimes[regime].spread);
    ++rows[regime];
  }
  double total = 0;
  for (std::size_t regime = 0; regime < kRegimes.size(); ++regime)
    if (rows[regime] > 0) total += sum[regime] / rows[regime] * std::min(rows[regime], kRowsThatCount);
  return open ? total - std::log(kRegimes.back().open / kRegimes.back().spread) : total;
}

void Ranking::set_reference() {
  const std::vector<std::uint64_t> large = {256u << 20, 1u << 30, UINT64_C(8) << 30};
  const std::vector<Prediction> most = machine_.predict(situation_.job, {}, large);
  for (std::size_t i = 0; i < most.size(); ++i)
    out_.reference.best = std::max(out_.reference.best, bus_bandwidth(situation_.job, large[i], most[i].time));
  for (const double each : out_.expected) out_.reference.best = std::max(out_.reference.best, each);
  out_.reference.expected = out_.expected.empty() ? 0 : out_.expected.back();
  if (!out_.observations.empty()) out_.reference.measured = out_.observations.back().bus;
  const std::vector<Prediction> last = machine_.predict(situation_.job, {}, {sizes_.back()});
  if (!last.empty()) out_.reference.algorithm = collective::name(last[0].choice.algorithm);
}

bool Ranking::same(const std::vector<double>& predicted, const std::vector<double>& others) const {
  for (std::size_t i = 0; i < predicted.size(); ++i)
    if (std::abs(predicted[i] - others[i]) > kSame * others[i]) return false;
  return true;
}

double Ranking::median_error(const std::vector<double>& predicted, double* worst) const {
  std::vector<double> errors;
  for (std::size_t i = 0; i < out_.observations.size(); ++i)
    if (out_.observations[i].steady && out_.observations[i].bus > 0)
      errors.push_back(std::abs(predicted[i] - out_.observations[i].bus) / out_.observations[i].bus);
  if (errors.empty()) return 0;
  std::sort(errors.begin(), errors.end());
  if (worst != nullptr) *worst = errors.back();
  return errors[errors.size() / 2];
}

// Adds the cause, if it can be here and changes something; false when all that it could be changes nothing.
bool Ranking::consider(Cause cause, std::vector<Hypothesis>& out) {
  Hypothesis best{.cause = cause};
  double likelihood = 0;
  double best_fit = -INFINITY;
  std::size_t possible = 0;
  std::size_t effective = 0;
  for (Variant& variant : variants_of(cause, situation_, machine_)) {
    const bool as_is = variant.changes_nothing();
    std::vector<double> predicted = as_is ? out_.expected : predict(variant);
    if (predicted.empty()) continue;
    ++possible;
    if (!as_is && same(predicted, out_.expected)) continue;
    ++effective;
    // Figures of another job than the one that was meant speak neither for it nor against it.
    // What is open may also be just as the model has it.
    double fit = cause == Cause::separate_jobs ? 0 : log_likelihood(predicted, false);
    if (info(cause).open && !as_is) fit = std::log((std::exp(fit) + std::exp(log_likelihood(predicted, true))) / 2);
    likelihood += std::exp(fit);
    if (fit <= best_fit) continue;
    best_fit = fit;
    best.variant = std::move(variant);
    best.predicted = std::move(predicted);
  }
  if (effective == 0) return possible == 0;
  best.log_odds = std::log(info(cause).prior) + std::log(likelihood / static_cast<double>(effective));
  best.median_error = median_error(best.predicted, &best.worst_error);
  out.push_back(std::move(best));
  return true;
}

void Ranking::weigh_findings() {
  const std::vector<Finding> found = findings(situation_, out_.reference, machine_);
  for (auto* list : {&out_.ranked, &out_.without_effect})
    for (Hypothesis& each : *list)
      for (const Finding& finding : found)
        if (finding.cause == each.cause) {
          each.evidence += finding.weight;
          each.findings.push_back(finding);
        }
  std::erase_if(out_.without_effect, [](const Hypothesis& each) { return each.evidence <= 0; });
  for (Hypothesis& each : out_.ranked) each.log_odds += each.evidence;
}

// By a setting or by NCCL itself, which says so; slow to simulate, too.
bool is_a_choice(Cause cause) {
  return cause == Cause::algorithm || cause == Cause::protocol || cause == Cause::few_channels;
}

// What the files say outright, with each of the others.
void Ranking::join() {
  if (out_.observations.empty() || !situation_.machine_known) return;
  std::vector<const Hypothesis*> said;
  double best_alone = -INFINITY;
  for (const Hypothesis& each : out_.ranked) {
    best_alone = std::max(best_alone, each.log_odds);
    const bool leaves_a_gap = each.predicted.back() > kGap * out_.observations.back().bus;
    if (each.evidence >= kSaid && leaves_a_gap && !each.variant.changes_nothing()) said.push_back(&each);
  }
  std::stable_sort(said.begin(), said.end(),
                   [](const Hypothesis* a, const Hypothesis* b) { return a->evidence > b->evidence; });
  if (said.size() > kMostSaid) said.resize(kMostSaid);
  double best = best_alone + std::log(kClearly);
  for (std::size_t i = 0; i < said.size(); ++i)
    for (const Hypothesis& other : out_.ranked) {
      const auto known = std::find(said.begin(), said.begin() + static_cast<std::ptrdiff_t>(i) + 1, &other);
      if (known == said.begin() + static_cast<std::ptrdiff_t>(i) + 1 && !other.variant.changes_nothing() &&
          !is_a_choice(other.cause))
        join(*said[i], other, best_alone, best);
    }
}

void Ranking::join(const Hypothesis& said, const Hypothesis& other, double best_alone, double& best) {
  constexpr double kHopeless = -12;  // beside the best: a millionth
  double likelihood = 0;
  double best_fit = -INFINITY;
  std::size_t effective = 0;
  Pair pair{.first = said.cause, .second = other.cause};
  // Where both are said, how bad the first would have to be alone says nothing of how bad it is beside the other.
  const std::vector<Variant> firsts =
      other.evidence >= kSaid ? variants_of(said.cause, situation_, machine_) : std::vector<Variant>{said.variant};
  for (const Variant& first : firsts)
    for (const Variant& variant : variants_of(other.cause, situation_, machine_)) {
      if (variant.changes_nothing() || first.changes_nothing()) continue;
      Variant joined = both(first, variant);
      std::vector<double> predicted = predict(joined);
      if (predicted.empty() || same(predicted, said.predicted)) continue;
      ++effective;
      const double fit = log_likelihood(predicted, info(said.cause).open || info(other.cause).open);
      likelihood += std::exp(fit);
      if (fit <= best_fit) continue;
      best_fit = fit;
      pair.variant = std::move(joined);
      pair.predicted = std::move(predicted);
    }
  if (effective == 0) return;
  const double log_odds = std::log(kPair * info(said.cause).prior * info(other.cause).prior) + said.evidence +
                          other.evidence + std::log(likelihood / static_cast<double>(effective));
  if (log_odds < best_alone + kHopeless) return;
  for (const Cause cause : {said.cause, other.cause}) odds_[cause].push_back(std::exp(log_odds) / 2);
  if (log_odds <= best) return;
  best = log_odds;
  pair.share = std::exp(log_odds);
  pair.median_error = median_error(pair.predicted);
  out_.pair = std::move(pair);
}

void Ranking::set_shares() {
  double all = 0;
  for (Hypothesis& each : out_.ranked) {
    double odds = std::exp(each.log_odds);
    for (const double more : odds_[each.cause]) odds += more;
    each.log_odds = std::log(odds);
    all += odds;
  }
  for (Hypothesis& each : out_.ranked) each.share = std::exp(each.log_odds) / all;
  if (out_.pair) out_.pair->share /= all;
}

Diagnosis Ranking::run() {
  out_.observations = looked_at(situation_.observations);
  // Where every row is shaky, they are all there is.
  if (std::none_of(out_.observations.begin(), out_.observations.end(),
                   [](const Observation& each) { return each.steady; }))
    for (Observation& each : out_.observations) each.steady = true;
  for (const Observation& each : out_.observations) sizes_.insert(sizes_.end(), each.sizes.begin(), each.sizes.end());
  if (sizes_.empty()) sizes_ = {64 << 10, 16 << 20, 1 << 30};
  std::sort(sizes_.begin(), sizes_.end());
  sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
  out_.sizes = sizes_;
  out_.expected = predict({});
  if (out_.expected.empty()) return std::move(out_);
  set_reference();
  std::size_t tried = 0;
  const auto goes_on = [&] { return !goes_on_ || goes_on_(tried, causes().size()); };
  for (; tried < causes().size() && goes_on(); ++tried)
    if (const Cause cause = causes()[tried].cause; !consider(cause, out_.ranked))
      out_.without_effect.push_back({.cause = cause});
  weigh_findings();
  if (goes_on()) join();
  set_shares();
  std::stable_sort(out_.ranked.begin(), out_.ranked.end(),
                   [](const Hypothesis& a, const Hypothesis& b) { return a.log_odds > b.log_odds; });
  if (!out_.observations.empty() && !out_.ranked.empty()) {
    const double predicted = out_.pair ? out_.pair->predicted.back() : out_.ranked[0].predicted.back();
    const double ratio = out_.observations.back().bus / predicted;
    out_.explained = ratio < kExplained && ratio > 1 / kExplained;
  }
  return std::move(out_);
}

}  // namespace

Diagnosis diagnose(const Situation& situation, Machine& machine, const GoesOn& goes_on) {
  return Ranking(situation, machine, goes_on).run();
}

}  // namespace weft::why
