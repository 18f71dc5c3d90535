#pragma once
// What a lab tells Prometheus, by the names that `weft render prometheus` makes rules and dashboards for.
//
// Queues are looked at far more often than anybody scrapes: what is told is the highest since the last scrape, so that
// a burst of milliseconds is seen.

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lab/lab.hpp"

namespace weft::lab {

// Of one interface since the lab came up; `peak` since the last scrape.
struct InterfaceMetrics {
  std::uint64_t tx_bytes = 0;
  std::uint64_t drops = 0;
  std::uint64_t peak = 0;  // bytes that waited
  double loss = 0;         // share of what arrived that vanished on arrival, over the last second
};

struct Metrics {
  Status status;
  std::vector<std::map<std::string, InterfaceMetrics>> interfaces;  // by device
  double interval_s = 0;                                            // between two looks at queues
};
std::string metrics_text(const Plan& plan, const Metrics& metrics);

// How often queues of so many links are looked at: a quarter of a core is all that it may take.
std::chrono::microseconds sample_interval(std::size_t links);

// What the rules of `filter_rules` dropped and let pass, by interface; from `nft -j list`.
struct FilterCount {
  std::uint64_t dropped = 0;
  std::uint64_t arrived = 0;
};
std::map<std::string, FilterCount> parse_filter_counts(const std::string& nft_json);

class Sampler {
 public:
  Sampler(const Plan& plan, const State& state);

  std::chrono::microseconds interval() const { return interval_; }
  void sample();         // queues, each interval
  void look();           // sessions, routes, losses: each second
  std::string scrape();  // and the peaks begin anew

 private:
  void look_at_losses();

  const Plan& plan_;
  const State& state_;
  Observer observer_;
  std::vector<std::optional<Netlink>> kernels_;
  Metrics metrics_;
  std::chrono::microseconds interval_;
  std::vector<std::map<std::string, FilterCount>> before_;  // by device, a second ago
};

// Serves /metrics until `stop` is set; the text says why it cannot.
std::string serve_metrics(Sampler& sampler, const std::string& address, std::uint16_t port, const volatile bool& stop);

}  // namespace weft::lab
