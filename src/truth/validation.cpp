#include "truth/validation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace weft::truth {

void Errors::add(const Errors& other) { relative.insert(relative.end(), other.relative.begin(), other.relative.end()); }

double Errors::quantile(double part) const {
  if (relative.empty()) return 0;
  std::vector<double> sorted = relative;
  std::sort(sorted.begin(), sorted.end());
  return sorted[std::min(sorted.size() - 1,
                         static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size()))) - 1)];
}

double Errors::median() const {
  if (relative.empty()) return 0;
  std::vector<double> sorted = relative;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

void BySize::add(const BySize& other) {
  small.add(other.small);
  large.add(other.large);
}

Errors BySize::all() const {
  Errors both = small;
  both.add(large);
  return both;
}

double error_of(const Measurement& measured, const schedule::CollectiveRow& simulated) {
  return static_cast<double>((simulated.time - measured.time).count()) / static_cast<double>(measured.time.count());
}

Verdict judge(const TruthTable& table, const collective::Constants& constants, TruthClock& clock) {
  Verdict verdict;
  verdict.table = &table;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    verdict.simulated.push_back(clock.row(table, i, constants));
    if (!table.rows[i].steady) continue;
    ++verdict.counted;
    Errors& errors = table.rows[i].bytes < kSmall ? verdict.errors.small : verdict.errors.large;
    errors.relative.push_back(std::abs(error_of(table.rows[i], verdict.simulated[i])));
  }
  return verdict;
}

namespace {

// Whether a time of the table is another under these constants; a few rows stand for all.
bool changes(const TruthTable& table, const collective::Constants& other, TruthClock& clock) {
  constexpr std::size_t kLookedAt = 4;
  constexpr double kMuch = 0.005;
  for (std::size_t i = 0; i < kLookedAt; ++i) {
    const std::size_t row = i * (table.rows.size() - 1) / (kLookedAt - 1);
    const auto before = static_cast<double>(clock.row(table, row, collective::constants()).time.count());
    if (std::abs(static_cast<double>(clock.row(table, row, other).time.count()) - before) > kMuch * before) return true;
  }
  return false;
}

}  // namespace

std::vector<Support> supports(const std::vector<TruthTable>& tables, TruthClock& clock) {
  std::vector<Support> found;
  collective::Constants changed = collective::constants();
  for (const collective::Knob& knob : collective::knobs(changed, collective::Origin::fitted)) {
    Support support{knob.number, {}};
    const std::int64_t value = *knob.value;
    *knob.value = std::max<std::int64_t>(1, value * 3 / 4);
    for (const TruthTable& table : tables)
      if (table.uses(knob.number.owner) && changes(table, changed, clock)) support.tables.push_back(table.name);
    *knob.value = value;
    found.push_back(std::move(support));
  }
  return found;
}

std::vector<Spread> spreads(const std::vector<TruthTable>& tables) {
  // Servers without a network between them are alike whatever NICs they have.
  std::map<std::tuple<std::string, std::int64_t, collective::Operation, std::uint32_t>, std::vector<const TruthTable*>>
      alike;
  for (const TruthTable& each : tables) {
    std::int64_t network = 0;
    if (each.team->nodes() > 1)
      for (const collective::Port& port : each.team->domain(0).ports) network += port.nic_rate.count();
    alike[{each.team->group(0).spec.gpu.kind, network, each.job.operation, each.team->ranks()}].push_back(&each);
  }
  std::vector<Spread> found;
  for (const auto& [kind, members] : alike) {
    if (members.size() < 2) continue;
    Spread spread;
    std::map<std::uint64_t, std::vector<std::int64_t>> by_size;
    for (const TruthTable* each : members) {
      spread.tables.push_back(each->name);
      for (const Measurement& row : each->rows)
        if (row.steady) by_size[row.bytes].push_back(row.time.count());
    }
    Errors apart;
    for (const auto& [bytes, times] : by_size) {
      if (times.size() < 2) continue;
      const auto [least, most] = std::minmax_element(times.begin(), times.end());
      apart.relative.push_back(static_cast<double>(*most - *least) / static_cast<double>(*least));
    }
    if (apart.relative.empty()) continue;
    spread.sizes = apart.relative.size();
    spread.median = apart.median();
    spread.worst = apart.worst();
    found.push_back(std::move(spread));
  }
  return found;
}

std::vector<Target> targets(const BySize& errors) {
  const auto of = [](const Errors& half, double value) {
    return half.relative.empty() ? std::nullopt : std::optional<double>(value);
  };
  return {{"from 1 MiB, median", 0.05, of(errors.large, errors.large.median())},
          {"from 1 MiB, nine rows in ten", 0.15, of(errors.large, errors.large.p90())},
          {"from 1 MiB, worst", 0.30, of(errors.large, errors.large.worst())},
          {"below 1 MiB, median", 0.10, of(errors.small, errors.small.median())},
          {"below 1 MiB, nine rows in ten", 0.25, of(errors.small, errors.small.p90())}};
}

}  // namespace weft::truth
