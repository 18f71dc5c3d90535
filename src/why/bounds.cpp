#include "why/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/text.hpp"

namespace weft::why {
namespace {

using collective::Algorithm;
using collective::Operation;
using collective::PlanOptions;
using collective::Team;

// Bytes of the operation, as over / under of its size; 0 stands for a resource that it does not need.
struct Fraction {
  std::int64_t over = 0;
  std::int64_t under = 1;
};

struct Needs {
  Fraction server;  // out of a server, on average over the servers
  Fraction gpu;     // out of a GPU over the scale-up network, on average
};

Needs needs_of(const Team& team, Operation operation, Algorithm algorithm) {
  const std::int64_t n = team.ranks();
  const std::int64_t nodes = team.nodes();
  const std::int64_t m = n / nodes;  // a server has at least so many
  const bool reduces_all = operation == Operation::all_reduce;
  const std::int64_t twice = reduces_all ? 2 : 1;
  const Fraction across_tree{2 * (nodes - 1), nodes};
  switch (algorithm) {
    case Algorithm::ring:
      // A ring leaves every server once; broadcast and reduce are rings cut open.
      if (operation == Operation::broadcast || operation == Operation::reduce) return {{nodes - 1, nodes}, {m - 1, m}};
      return {{nodes > 1 ? twice * (n - 1) : 0, n}, {twice * (n - 1) * (m - 1), n * m}};
    case Algorithm::tree:
      return {across_tree, {2 * (m - 1), m}};
    case Algorithm::nvls:
      return {{}, {(m - 1), m}};
    case Algorithm::nvls_tree:
      return {across_tree, {(m - 1), m}};
    case Algorithm::collnet:
      return {{nodes > 1 ? 1 : 0, 1}, {(m - 1), m}};
    case Algorithm::pat:
      return {{nodes > 1 ? n - 1 : 0, n}, {}};
    case Algorithm::hierarchical:
      return {{twice * (nodes - 1), nodes}, {twice * (m - 1), m}};
    case Algorithm::direct:
      if (operation == Operation::all_to_all) {
        std::int64_t pairs = 0;  // of ranks on different servers
        for (std::uint32_t node = 0; node < team.nodes(); ++node)
          pairs += std::int64_t{team.domain(node).ranks} * (n - team.domain(node).ranks);
        return {{pairs, n * nodes}, {m - 1, n}};
      }
      return {{nodes > 1 ? 1 : 0, 1}, {m > 1 ? m - 1 : 0, m}};
  }
  return {};
}

// Steps over the network and within servers that wait for each other.
std::pair<std::int64_t, std::int64_t> chain_of(const Team& team, Operation operation, Algorithm algorithm) {
  const std::int64_t n = team.ranks();
  const std::int64_t nodes = team.nodes();
  const auto levels = static_cast<std::int64_t>(std::bit_width(team.nodes()) - 1);
  if (algorithm == Algorithm::ring && operation == Operation::all_reduce) {
    const std::int64_t outside = nodes > 1 ? 2 * nodes - 2 : 0;
    return {outside, std::max<std::int64_t>(0, 2 * (n - 1) - 2 * nodes)};
  }
  if (algorithm == Algorithm::ring && collective::counts_parts(operation)) {
    const std::int64_t outside = nodes > 1 ? nodes - 1 : 0;
    return {outside, std::max<std::int64_t>(0, n - 1 - nodes)};
  }
  if (algorithm == Algorithm::tree || algorithm == Algorithm::nvls_tree) return {2 * levels, 0};
  return {nodes > 1 ? 1 : 0, 0};
}

// What must cross any line between two halves of the servers, one way.
Fraction cut_of(const Team& team, Operation operation, Algorithm algorithm) {
  const std::int64_t n = team.ranks();
  if (team.nodes() < 2 || algorithm == Algorithm::collnet) return {};
  if (operation == Operation::all_to_all) return {n / 2 * (n - n / 2), n};
  if (collective::counts_parts(operation)) return {1, 2};  // a half has what the other needs
  if (algorithm == Algorithm::ring && operation == Operation::all_reduce) return {2 * (n - 1), n};
  return {1, 1};
}

Duration time_for(Fraction part, std::uint64_t bytes, Bandwidth rate) {
  if (rate.count() <= 0 || part.over == 0) return Duration(0);
  const auto exact = static_cast<double>(bytes) * static_cast<double>(part.over) / static_cast<double>(part.under);
  return Duration(static_cast<std::int64_t>(exact * 8e12 / static_cast<double>(rate.count())));
}

std::string gigabytes(Bandwidth rate) { return fmt::format("{} GB/s", rate.count() / 8'000'000'000); }

}  // namespace

Duration Bounds::total() const {
  Duration most = latency;
  for (const Bound& each : bandwidths) most = std::max(most, each.time);
  return launch + most;
}

const Bound* Bounds::tightest() const {
  return bandwidths.empty() || bandwidths.front().time <= latency ? nullptr : &bandwidths.front();
}

Bounds bounds_of(const Team& team, const PlanOptions& options, Bandwidth bisection) {
  const collective::Plan plan = make_plan(team, options);
  const Algorithm algorithm = options.choice.algorithm;
  const Needs needs = needs_of(team, options.operation, algorithm);
  Bounds out;
  out.launch = plan.launch;
  const auto [outside, inside] = chain_of(team, options.operation, algorithm);
  // Operations that go one way overlap with those behind them (collective::time_among_many): what they wait for at
  // first binds none of them.
  const bool one_way = options.operation == Operation::broadcast || options.operation == Operation::reduce;
  out.latency = one_way ? Duration(0) : plan.outside * outside + plan.inside * inside;

  const model::ServerKind& server = team.group(0).spec;
  const auto add = [&](Resource resource, std::string text, Fraction part, Bandwidth rate) {
    if (const Duration time = time_for(part, options.bytes, rate); time.count() > 0)
      out.bandwidths.push_back({resource, std::move(text), time});
  };
  if (server.scale_up)
    add(Resource::scale_up,
        fmt::format("{} of a GPU, {}", server.scale_up->link.kind, gigabytes(server.scale_up->link.one_way())),
        needs.gpu, server.scale_up->link.one_way());
  else
    add(Resource::pcie, fmt::format("PCIe of a GPU, {}", gigabytes(team.group(0).pcie.one_way(server.pcie_lanes))),
        needs.gpu, team.group(0).pcie.one_way(server.pcie_lanes));
  // The richest server: the average over all cannot be below what it would need.
  Bandwidth nic_rate;
  Bandwidth slots;
  for (std::uint32_t node = 0; node < team.nodes(); ++node) {
    Bandwidth rate;
    Bandwidth pcie;
    for (const collective::Port& port : team.domain(node).ports) {
      rate += port.nic_rate;
      pcie += port.pcie_rate;
    }
    nic_rate = std::max(nic_rate, rate);
    slots = std::max(slots, pcie);
  }
  std::size_t nics = 0;
  for (const collective::Port& port : team.domain(0).ports) nics += port.nics.size();
  const bool several = server.scale_up && server.scale_up->servers > 1;
  add(Resource::nic,
      fmt::format("{} of a {}, {}", counted(static_cast<std::int64_t>(nics), "NIC"),
                  several ? "scale-up domain" : "server", gigabytes(nic_rate)),
      needs.server, nic_rate);
  add(Resource::pcie, fmt::format("PCIe between GPUs and NICs, {}", gigabytes(slots)), needs.server, slots);
  add(Resource::fabric, fmt::format("bisection of the fabric, {}", gigabytes(bisection)),
      cut_of(team, options.operation, algorithm), bisection);
  if (plan.network_time.count() > 0)
    out.bandwidths.push_back({Resource::fabric, "the busiest link of the fabric", plan.network_time});
  std::stable_sort(out.bandwidths.begin(), out.bandwidths.end(),
                   [](const Bound& a, const Bound& b) { return a.time > b.time; });
  return out;
}

}  // namespace weft::why
