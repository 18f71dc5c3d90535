#include "lab/metrics.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "host/process.hpp"
#include "lab/pods.hpp"

namespace weft::lab {
namespace {

using std::chrono::microseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLinksAtFullSpeed = 64;
constexpr microseconds kFastest{10'000};
constexpr int kShareOfACore = 4;  // one in so many
constexpr std::size_t kBridgesPerLook = 8;

class Page {
 public:
  void begin(const std::string& name, const std::string& type, const std::string& help) {
    name_ = name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  template <class Value>
  void add(const std::string& labels, Value value) {
    text_ += labels.empty() ? fmt::format("{} {}\n", name_, value) : fmt::format("{}{{{}}} {}\n", name_, labels, value);
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

// Of this process and of the programs that it asked; waiting for a core does not count.
microseconds processor_time() {
  microseconds sum{0};
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    ::getrusage(who, &used);
    for (const timeval& part : {used.ru_utime, used.ru_stime})
      sum += std::chrono::seconds(part.tv_sec) + microseconds(part.tv_usec);
  }
  return sum;
}

std::string node_labels(const Device& device) {
  return fmt::format("node=\"{}\",tier=\"{}\"", device.name, device.tier);
}

}  // namespace

std::string metrics_text(const Plan& plan, const Metrics& metrics) {
  Page page;
  page.begin("weft_bgp_session_up", "gauge", "1: established");
  for (const SessionStatus& each : metrics.status.sessions)
    page.add(fmt::format("{},interface=\"{}\",peer=\"{}\"", node_labels(plan.devices[each.device]), each.interface,
                         each.peer),
             each.up ? 1 : 0);
  page.begin("weft_ecmp_paths", "gauge", "equal paths towards what is reached by most, the least of them");
  for (std::size_t i = 0; i < metrics.status.devices.size(); ++i)
    page.add(node_labels(plan.devices[i]), metrics.status.devices[i].width);
  const auto each_interface = [&](auto value) {
    for (std::size_t i = 0; i < metrics.interfaces.size(); ++i)
      for (const auto& [name, counts] : metrics.interfaces[i])
        page.add(fmt::format("{},interface=\"{}\"", node_labels(plan.devices[i]), name), value(counts));
  };
  page.begin("weft_link_transmit_bytes_total", "counter", "bytes sent");
  each_interface([](const InterfaceMetrics& of) { return of.tx_bytes; });
  page.begin("weft_link_drops_total", "counter", "packets that found the queue full");
  each_interface([](const InterfaceMetrics& of) { return of.drops; });
  page.begin("weft_queue_peak_bytes", "gauge", "the most that waited at once since the last scrape");
  each_interface([](const InterfaceMetrics& of) { return of.peak; });
  page.begin("weft_path_loss_ratio", "gauge", "share of what arrived that vanished, over the last second");
  each_interface([](const InterfaceMetrics& of) { return of.loss; });
  page.begin("weft_tenant_drops_total", "counter", "packets of pods that Open vSwitch dropped");
  for (const TenantDrops& each : metrics.tenants)
    for (const auto& [reason, count] : {std::pair("spoofed", each.total.spoofed),
                                        {"from_others", each.total.from_others},
                                        {"to_others", each.total.to_others}})
      page.add(
          fmt::format("{},tenant=\"{}\",reason=\"{}\"", node_labels(plan.devices[each.device]), each.tenant, reason),
          count);
  page.begin("weft_lab_sample_interval_seconds", "gauge", "between two looks at queues");
  page.add("", metrics.interval_s);
  return std::move(page).text() + merged(metrics.runs);
}

microseconds sample_interval(std::size_t links) {
  return std::max(kFastest, kFastest * static_cast<std::int64_t>((links + kLinksAtFullSpeed - 1) / kLinksAtFullSpeed));
}

microseconds stretched(microseconds interval, microseconds used, microseconds elapsed) {
  return used * kShareOfACore > elapsed ? interval * 2 : interval;
}

std::map<std::string, FilterCount> parse_filter_counts(const std::string& text) {
  std::map<std::string, FilterCount> counts;
  const auto from = nlohmann::json::parse(text, nullptr, false);
  if (!from.is_object() || !from.contains("nftables")) return counts;
  for (const auto& item : from["nftables"]) {
    if (!item.contains("rule")) continue;
    FilterCount& count = counts[item["rule"].value("chain", "")];
    std::uint64_t packets = 0;
    bool drops = false;
    for (const auto& part : item["rule"].value("expr", nlohmann::json::array())) {
      if (part.contains("counter")) packets = part["counter"].value("packets", std::uint64_t{0});
      drops = drops || part.contains("drop");
    }
    (drops ? count.dropped : count.arrived) += packets;
  }
  return counts;
}

Sampler::Sampler(const Plan& plan, const State& state)
    : plan_(plan),
      state_(state),
      observer_(plan, state),
      interval_(sample_interval(plan.links.size())),
      before_(plan.devices.size()) {
  for (std::uint32_t i = 0; i < plan.devices.size(); ++i) kernels_.push_back(host::Netlink::open(plan.netns(i)));
  metrics_.interfaces.resize(plan.devices.size());
  for (const Link& link : plan.links)
    for (const End& end : {link.a, link.b}) metrics_.interfaces[end.device][end.interface] = {};
  sample();
  look();
}

void Sampler::sample() {
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    if (!kernels_[i]) continue;
    for (const host::InterfaceCounters& now : kernels_[i]->interfaces()) {
      const auto found = metrics_.interfaces[i].find(now.name);
      if (found == metrics_.interfaces[i].end()) continue;
      found->second.tx_bytes = now.tx_bytes;
      found->second.drops = now.drops;
      found->second.peak = std::max(found->second.peak, now.backlog);
    }
  }
}

// Never shortened again: what is said holds from there on.
void Sampler::keep_to_its_share() {
  const Clock::time_point now = Clock::now();
  const microseconds used = processor_time();
  const auto elapsed = std::chrono::duration_cast<microseconds>(now - judged_at_);
  if (judged_at_ != Clock::time_point{}) interval_ = stretched(interval_, used - used_before_, elapsed);
  judged_at_ = now;
  used_before_ = used;
  metrics_.interval_s = std::chrono::duration<double>(interval_).count();
}

void TenantDrops::see(const cni::Drops& now) {
  const auto add = [](std::uint64_t& sum, std::uint64_t& was, std::uint64_t is) {
    sum += is >= was ? is - was : is;  // less than before: other flows, from 0
    was = is;
  };
  add(total.spoofed, last.spoofed, now.spoofed);
  add(total.from_others, last.from_others, now.from_others);
  add(total.to_others, last.to_others, now.to_others);
}

void Sampler::look() {
  keep_to_its_share();
  metrics_.status = observer_.look();
  look_at_losses();
  metrics_.runs = run_pages(state_);
  if (looks_until_tenants_-- == 0) look_at_tenants();
}

void Sampler::look_at_tenants() {
  const std::vector<Pod> pods = state_.pods();
  std::size_t bridges = 0;
  for (std::uint32_t i = 0; i < plan_.devices.size(); ++i) {
    const std::string& name = plan_.devices[i].name;
    if (std::none_of(pods.begin(), pods.end(), [&](const Pod& pod) { return pod.server == name; })) continue;
    bridges += plan_.devices[i].rails.size();
    for (const auto& [tenant, drops] : drops_by_tenant(plan_, state_, name, pods)) {
      auto known = std::find_if(metrics_.tenants.begin(), metrics_.tenants.end(),
                                [&](const TenantDrops& each) { return each.device == i && each.tenant == tenant; });
      if (known == metrics_.tenants.end())
        known = metrics_.tenants.insert(known, TenantDrops{i, tenant, drops, drops});
      else
        known->see(drops);
    }
  }
  looks_until_tenants_ = bridges / kBridgesPerLook;
}

void Sampler::look_at_losses() {
  std::set<std::uint32_t> filtered;
  for (const Fault& fault : state_.faults())
    if (fault.kind == FaultKind::loss || fault.kind == FaultKind::silent)
      for (const std::uint32_t link : fault.links) {
        filtered.insert(plan_.links[link].a.device);
        filtered.insert(plan_.links[link].b.device);
      }
  for (std::uint32_t i = 0; i < plan_.devices.size(); ++i) {
    std::map<std::string, FilterCount> now;
    if (filtered.contains(i))
      now = parse_filter_counts(host::run({{"nft", "-j", "list", "table", "netdev", "weft"}, plan_.netns(i), ""}).text);
    for (auto& [name, metrics] : metrics_.interfaces[i]) {
      const FilterCount& is = now[name];
      const FilterCount& was = before_[i][name];
      const bool counts_on = is.arrived > was.arrived && is.dropped >= was.dropped;
      metrics.loss =
          counts_on ? static_cast<double>(is.dropped - was.dropped) / static_cast<double>(is.arrived - was.arrived) : 0;
    }
    before_[i] = std::move(now);
  }
}

std::string Sampler::scrape() {
  std::string text = metrics_text(plan_, metrics_);
  for (auto& device : metrics_.interfaces)
    for (auto& [name, metrics] : device) metrics.peak = 0;
  return text;
}

}  // namespace weft::lab
