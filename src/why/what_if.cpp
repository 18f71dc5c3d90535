#include "why/what_if.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace weft::why {
namespace {

using collective::Algorithm;

WhatIf change(std::string text, std::vector<std::string> set) {
  std::string command;
  for (const std::string& each : set)
    command += fmt::format("{}--set {}{}{}", command.empty() ? "" : " ", each.find(' ') == std::string::npos ? "" : "'",
                           each, each.find(' ') == std::string::npos ? "" : "'");
  Variant variant{.text = text, .set = std::move(set)};
  return {std::move(text), std::move(command), std::move(variant)};
}

// Parts of a list over places, evenly and in order.
std::string spread(std::int64_t count, std::int64_t places) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(i * places / count);
  return fmt::format("[{}]", fmt::join(out, ","));
}

void add_nics(const model::ServerKind& server, const std::string& at, std::vector<WhatIf>& out) {
  const std::int64_t places = server.pcie_switches > 0 ? server.pcie_switches : server.sockets;
  for (const std::int64_t nics : {2 * server.nics, server.gpus}) {
    if (nics <= server.nics || nics > server.gpus || (nics == 2 * server.nics && nics == server.gpus && !out.empty()))
      continue;
    std::vector<std::string> set = {fmt::format("{}.nics={}", at, nics)};
    if (!server.nic_switch.empty()) set.push_back(fmt::format("{}.nic_switch={}", at, spread(nics, places)));
    out.push_back(change(fmt::format("{} NICs per server", nics), std::move(set)));
    if (nics == server.gpus) break;
  }
}

// Every GPU below a PCIe switch that has a NIC.
void add_layout(const model::Group& group, const std::string& at, std::vector<WhatIf>& out) {
  const model::ServerKind& server = group.spec;
  bool far = false;
  for (std::uint32_t gpu = 0; gpu < group.gpus(); ++gpu)
    far |= group.diagram.near_nics[gpu].empty() || !group.diagram.direct(gpu, group.diagram.near_nics[gpu][0]);
  if (!far || server.nics == 0 || server.gpus % server.nics != 0 || !server.gpudirect) return;
  out.push_back(change("GPUs on the PCIe switch of a NIC",
                       {fmt::format("{}.pcie_switches={}", at, server.nics),
                        fmt::format("{}.gpu_switch={}", at, spread(server.gpus, server.nics)),
                        fmt::format("{}.nic_switch={}", at, spread(server.nics, server.nics)),
                        fmt::format("{}.switch_socket={}", at, spread(server.nics, server.sockets))}));
}

bool oversubscribed(const std::optional<Ratio>& asked) { return asked && asked->over > asked->under; }

void add_fabric(const model::Cluster& cluster, std::vector<WhatIf>& out) {
  const model::FabricSpec& fabric = cluster.file.fabric;
  const auto* clos = std::get_if<model::ClosShape>(&cluster.shape.layout);
  if (clos == nullptr || clos->tiers < 2) return;
  const bool ecmp = cluster.file.transport.balance == model::Balance::ecmp;
  if (ecmp) out.push_back(change("spraying instead of ECMP", {"transport.balance=spray"}));
  if (ecmp && cluster.file.transport.kind == model::TransportKind::rocev2 && cluster.file.transport.rocev2.qps < 4)
    out.push_back(change("4 queue pairs per connection", {"transport.rocev2.qps=4"}));
  // Where a ratio is asked for, more spines are thinner bundles and no more bandwidth.
  if (oversubscribed(fabric.oversubscription))
    out.push_back(change("no oversubscription above leaves", {"fabric.oversubscription=1"}));
  else if (fabric.spines && !fabric.oversubscription)
    out.push_back(change("twice the spines", {fmt::format("fabric.spines={}", *fabric.spines * 2)}));
  if (oversubscribed(fabric.super_oversubscription))
    out.push_back(change("no oversubscription above spines", {"fabric.super_oversubscription=1"}));
}

}  // namespace

std::vector<WhatIf> what_ifs(const Job& job, Algorithm algorithm, bool pxn, Machine& machine) {
  const model::Cluster& cluster = *machine.cluster();
  const model::Group& group = cluster.groups[0];
  const collective::Team* team = machine.team(job, {});
  std::vector<WhatIf> out;
  if (team->nodes() > 1) {
    add_nics(group.spec, machine.servers(), out);
    add_layout(group, machine.servers(), out);
    if (!cluster.file.faults.empty()) out.push_back(change("without the faults", {"faults=[]"}));
    add_fabric(cluster, out);
    for (WhatIf& each : out) each.variant.pxn = pxn;
    out.push_back({pxn ? "without PXN" : "with PXN", pxn ? "--no-pxn" : "without --no-pxn", {.text = "", .pxn = !pxn}});
  }
  if (job.conditions.of_ranks()) {
    const bool slow = !job.conditions.ranks.empty();
    const bool late = !job.conditions.starts.empty();
    out.push_back(
        {fmt::format("all ranks {}{}{}", late ? "in time" : "", late && slow ? " and " : "",
                     slow ? "equally fast" : ""),
         fmt::format("without {}{}{}", late ? "--skew" : "", late && slow ? " and " : "", slow ? "--slow-rank" : ""),
         {.text = "", .pxn = pxn, .even = true}});
  }
  for (const Algorithm each : collective::kAlgorithms)
    if (each != algorithm)
      out.push_back(
          {fmt::format("{}{}", collective::name(each), each == Algorithm::collnet ? ", with NCCL's SHARP plugin" : ""),
           fmt::format("--algorithms {}", collective::name(each)),
           {.text = "", .algorithm = each, .pxn = pxn}});
  // The same number of GPUs, on more servers or on fewer.
  const std::uint32_t now = job.per_server == 0 ? group.gpus() : job.per_server;
  for (const std::uint32_t per : {now / 2, now * 2}) {
    if (per == 0 || per > group.gpus() || job.gpus % per != 0 || job.gpus / per > cluster.servers) continue;
    out.push_back({fmt::format("{} GPUs on each of {} servers", per, job.gpus / per),
                   fmt::format("--per-server {}", per),
                   {.text = "", .pxn = pxn},
                   per});
  }
  return out;
}

}  // namespace weft::why
