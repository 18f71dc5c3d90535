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

#include "cni/flows.hpp"
#include "lab/lab.hpp"
#include "lab/run_pages.hpp"

namespace weft::lab {

// Of one interface since the lab came up; `peak` since the last scrape.
struct InterfaceMetrics {
  std::uint64_t tx_bytes = 0;
  std::uint64_t drops = 0;
  std::uint64_t peak = 0;  // bytes that waited
  double loss = 0;         // share of what arrived that vanished on arrival, over the last second
};

// Packets that Open vSwitch of a server dropped; only ever more, though flows and their counters go with a tenant's
// last pod.
struct TenantDrops {
  std::uint32_t device = 0;
  std::string tenant;
  cni::Drops last;   // as the flows have it
  cni::Drops total;  // since the metrics are served

  void see(const cni::Drops& now);
};

struct Metrics {
  Status status;
  std::vector<TenantDrops> tenants = {};
  std::vector<RunPage> runs = {};
  std::vector<std::map<std::string, InterfaceMetrics>> interfaces;  // by device
  double interval_s = 0;                                            // between two looks at queues
};
std::string metrics_text(const Plan& plan, const Metrics& metrics);

// How often queues of so many links are looked at: a quarter of a core is all that it may take.
std::chrono::microseconds sample_interval(std::size_t links);
// The same after a while in which so much of a core was used: twice as long where that was more than a quarter.
std::chrono::microseconds stretched(std::chrono::microseconds interval, std::chrono::microseconds used,
                                    std::chrono::microseconds elapsed);

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
  void keep_to_its_share();
  void look_at_losses();
  void look_at_tenants();

  const Plan& plan_;
  const State& state_;
  Observer observer_;
  std::vector<std::optional<host::Netlink>> kernels_;
  Metrics metrics_;
  std::chrono::microseconds interval_;
  std::chrono::steady_clock::time_point judged_at_{};
  std::chrono::microseconds used_before_{0};                // of processors, then
  std::vector<std::map<std::string, FilterCount>> before_;  // by device, a second ago
  std::size_t looks_until_tenants_ = 0;                     // asking every bridge takes a process
};

// Serves /metrics until `stop` is set; the text says why it cannot.
std::string serve_metrics(Sampler& sampler, const std::string& address, std::uint16_t port, const volatile bool& stop);

}  // namespace weft::lab
