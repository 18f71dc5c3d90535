#pragma once
// What is known about a slow job: what was measured, what the files say, and the machine that it ran on.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measured/facts.hpp"
#include "why/machine.hpp"

namespace weft::why {

// One figure that was measured. An average (nccl-tests prints one over all sizes) has several sizes.
struct Observation {
  std::vector<std::uint64_t> sizes;
  double bus = 0;      // GB/s
  bool steady = true;  // two runs agreed; others are shown and not counted
  spec::Place place;
  bool said_as_algbw = false;  // by who looks at that column

  std::uint64_t largest() const { return sizes.back(); }
  bool is_average() const { return sizes.size() > 1; }
};

struct Situation {
  measured::Facts facts;
  Job job;
  std::uint32_t nodes = 1;
  std::vector<Observation> observations;  // by size; may be empty
  std::optional<double> hoped;            // busbw in GB/s that was expected
  std::size_t table = 0;                  // of facts.tables, that the observations are
  bool fabric_known = false;              // from a cluster file and not from a topology
  bool machine_known = true;              // something describes it, or names its GPUs

  // NCCL's own, of any release and launch mode.
  bool uses_sockets() const { return job.stack->network.name == "tcp"; }
  // NICs that the files name as used; 0: they do not say. Few connections tell nothing of the other NICs when they are
  // of one or two ranks, which have a NIC each.
  std::int64_t nics_named(std::int64_t nics) const {
    const std::int64_t connections = facts.with_gpudirect + facts.without_gpudirect;
    const bool many = connections >= 2 * nics || (facts.net_ranks >= 3 && facts.net_channels >= 2);
    if (facts.net_devices_used > 0 && many) return facts.net_devices_used;
    if (const std::int64_t listed = nics_listed(); listed > 0 && listed < nics) return listed;
    if (const std::int64_t allowed = nics_allowed(); allowed > 0 && allowed < nics) return allowed;
    return 0;
  }
  // That are in use, as far as they tell: a channel of a ring goes through one NIC.
  std::int64_t nics_used(std::int64_t nics) const {
    if (const std::int64_t named = nics_named(nics); named > 0) return named;
    if (const std::int64_t rings = ring_channels(); rings > 0 && rings < nics && several_nodes()) return rings;
    return nics_listed();
  }
  std::int64_t nics_listed() const {
    std::int64_t listed = 0;
    for (const measured::LogInterface& each : facts.interfaces) listed += each.plugin == "IB";
    return listed;
  }
  // As many as NCCL_IB_HCA names one by one; 0: any. "mlx5" is all whose names begin so.
  std::int64_t nics_allowed() const {
    const std::string* value = environment("NCCL_IB_HCA");
    if (value == nullptr || value->starts_with('^')) return 0;
    std::int64_t nics = 0;
    for (std::size_t begin = 0; begin < value->size();) {
      const std::size_t end = std::min(value->find(',', begin), value->size());
      const std::string name = value->substr(begin, std::min(value->find(':', begin), end) - begin);
      if (name.empty() || name.ends_with("mlx5") || name.ends_with("mlx4") || name.back() < '0' || name.back() > '9')
        return 0;
      ++nics;
      begin = end + 1;
    }
    return nics;
  }
  // Their numbers among so many, as the names end with them; empty where these are not of as many different NICs.
  std::vector<std::int64_t> nic_numbers(std::int64_t among) const {
    std::vector<std::int64_t> numbers;
    const std::string* value = nics_allowed() > 0 ? environment("NCCL_IB_HCA") : nullptr;
    for (std::size_t begin = 0; value != nullptr && begin < value->size();) {
      const std::size_t end = std::min(value->find(',', begin), value->size());
      const std::string name = value->substr(begin, std::min(value->find(':', begin), end) - begin);
      const std::string digits = name.substr(name.find_last_not_of("0123456789") + 1);
      const std::int64_t number = digits.empty() || digits.size() > 3 ? among : std::stoll(digits);
      if (number >= among || std::find(numbers.begin(), numbers.end(), number) != numbers.end()) return {};
      numbers.push_back(number);
      begin = end + 1;
    }
    return numbers;
  }
  // A port that is up and slower than the NICs of the machine are: the slowest. Ports of another network are not meant:
  // those that NCCL's log does not name, where it names any.
  const measured::ReportedPort* slowest_port(Bandwidth rate) const {
    const measured::ReportedPort* found = nullptr;
    for (const measured::ReportedPort& port : facts.hardware.ports) {
      const bool named = std::any_of(facts.interfaces.begin(), facts.interfaces.end(),
                                     [&](const measured::LogInterface& each) { return each.name == port.name; });
      const bool slow = port.megabits > 0 && port.megabits < rate.count() / 1'000'000 * 9 / 10;
      if (port.down || !slow || (!facts.interfaces.empty() && !named)) continue;
      if (found == nullptr || port.megabits < found->megabits) found = &port;
    }
    return found;
  }
  // Channels of rings that the log counts; 0: it does not say.
  std::int64_t ring_channels() const {
    std::int64_t out = facts.channels.collective.value_or(0);
    for (const measured::LogGraph& graph : facts.graphs)
      if (graph.pattern == 4 && out == 0) out = graph.channels;
    return out;
  }
  // Small messages whose two times are not alike, where a third of them and three at least are so.
  std::size_t small_rows_that_differ() const {
    constexpr std::uint64_t kSmall = 64 << 10;
    std::size_t small = 0;
    std::size_t differ = 0;
    for (const Observation& each : observations) {
      if (each.largest() > kSmall) continue;
      ++small;
      differ += !each.steady;
    }
    return differ >= 3 && differ * 3 >= small ? differ : 0;
  }
  // Somebody tried that variable, or option of a launcher, and it helps.
  bool helped(std::string_view name) const {
    return std::any_of(facts.trials.begin(), facts.trials.end(),
                       [&](const measured::LogTrial& each) { return each.trial.helps && each.trial.name == name; });
  }
  std::uint32_t per_node() const { return job.gpus / nodes; }
  bool several_nodes() const { return nodes > 1; }
  const std::string* environment(const std::string& name) const {
    const auto found = facts.environment.find(name);
    return found == facts.environment.end() ? nullptr : &found->second;
  }
};

}  // namespace weft::why
