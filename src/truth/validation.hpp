#pragma once
// How far the simulator is from tables of measurements, table by table and in all.

#include "truth/refit.hpp"

namespace weft::truth {

// Of time, without sign.
struct Errors {
  std::vector<double> relative;

  void add(const Errors& other);
  double quantile(double part) const;
  double median() const;  // of an even number the mean of the two in the middle
  double p90() const { return quantile(0.9); }
  double worst() const { return quantile(1.0); }
};

inline constexpr std::uint64_t kSmall = 1 << 20;  // below it latency decides, above it bandwidth

struct BySize {
  Errors small;
  Errors large;

  void add(const BySize& other);
  Errors all() const;
};

struct Verdict {
  const TruthTable* table = nullptr;
  std::vector<schedule::CollectiveRow> simulated;
  std::size_t counted = 0;
  BySize errors;
  std::optional<BySize> left_out;   // with the constants fitted without this table
  std::vector<std::string> lonely;  // of those, what no other table knows
};

double error_of(const Measurement& measured, const schedule::CollectiveRow& simulated);  // with its sign

Verdict judge(const TruthTable& table, const collective::Constants& constants, TruthClock& clock);

// The tables that a fitted number rests on: those whose times change with it.
struct Support {
  collective::Number number;
  std::vector<std::string> tables;
};
std::vector<Support> supports(const std::vector<TruthTable>& tables, TruthClock& clock);

// Tables of the same kind (GPUs, network, operation), and how far apart what they measured is at sizes they share.
struct Spread {
  std::vector<std::string> tables;
  std::size_t sizes = 0;
  double median = 0;  // of (longest - shortest) / shortest
  double worst = 0;
};
std::vector<Spread> spreads(const std::vector<TruthTable>& tables);

// What is asked of the whole.
struct Target {
  std::string_view text;
  double limit;
  std::optional<double> reached;  // nothing where there are no rows
  bool met() const { return !reached || *reached <= limit; }
};
std::vector<Target> targets(const BySize& errors);

}  // namespace weft::truth
