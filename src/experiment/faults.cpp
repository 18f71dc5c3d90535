#include "experiment/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/text.hpp"
#include "experiment/links.hpp"

namespace weft::experiment {
namespace {

using sim::Condition;
using spec::Error;

bool is_of_host(model::FaultKind kind) {
  using enum model::FaultKind;
  return kind == slow_receiver || kind == host_pause || kind == clock_jump;
}

// What a link does; what is of a host does nothing to its link.
Condition::Kind condition_kind(model::FaultKind kind) {
  switch (kind) {
    case model::FaultKind::down:
    case model::FaultKind::flapping:
    case model::FaultKind::slow_receiver:
    case model::FaultKind::host_pause:
    case model::FaultKind::clock_jump:
      return Condition::Kind::down;
    case model::FaultKind::blackhole:
      return Condition::Kind::blackhole;
    case model::FaultKind::lossy:
      return Condition::Kind::loss;
    case model::FaultKind::corrupting:
      return Condition::Kind::corrupt;
    case model::FaultKind::slow:
      return Condition::Kind::degraded;
  }
  std::abort();
}

// What a fault does to each direction of its links; nothing with an error when keys do not fit.
std::optional<Condition> condition_of(const model::FaultSpec& fault, const spec::Place& place,
                                      spec::Diagnostics& diagnostics) {
  Condition condition;
  condition.from = fault.at.count();
  condition.to = fault.lasts ? condition.from + fault.lasts->count() : sim::kForever;
  using enum model::FaultKind;
  const bool shares =
      fault.kind == lossy || fault.kind == corrupting || fault.kind == slow || fault.kind == slow_receiver;
  const bool flaps = fault.kind == flapping;
  const auto refuse = [&](std::string what, std::string help) {
    diagnostics.add(Error::contradiction, place, std::move(what), std::move(help));
  };
  if (shares != fault.share.has_value())
    refuse(fmt::format("a fault of '{}' that is {} {} 'share'", fault.part, enum_name(fault.kind),
                       shares ? "needs" : "has no"),
           shares ? "for example share: 1%" : "share is for lossy, corrupting, slow and slow-receiver");
  if (flaps != fault.every.has_value())
    refuse(fmt::format("a fault of '{}' that is {} {} 'every'", fault.part, enum_name(fault.kind),
                       flaps ? "needs" : "has no"),
           flaps ? "for example every: 200us" : "every is for flapping");
  if ((fault.kind == host_pause || fault.kind == clock_jump) && !fault.lasts)
    refuse(fmt::format("a fault of '{}' that is {} needs 'for'", fault.part, enum_name(fault.kind)),
           "for example for: 10ms");
  if (flaps && (!fault.lasts || (fault.every && *fault.lasts >= *fault.every)))
    refuse(fmt::format("'{}' flaps, but is never up again", fault.part), "a 'for' that is shorter than 'every'");
  if (diagnostics.has_errors()) return std::nullopt;
  condition.kind = condition_kind(fault.kind);
  if (fault.share) condition.amount = static_cast<std::uint32_t>(fault.share->count());
  if (fault.every) condition.period = fault.every->count();
  return condition;
}

// The hosts at the ends of these links.
void add_to_hosts(const model::FaultSpec& fault, const std::vector<NamedLink>& links, const FaultTaker& taker,
                  spec::Diagnostics& diagnostics) {
  const auto refuse = [&](std::string what, std::string help) {
    diagnostics.add(Error::contradiction, {}, std::move(what), std::move(help));
  };
  const bool slow = fault.kind == model::FaultKind::slow_receiver;
  if (slow && (fault.at.count() > 0 || fault.lasts))
    return refuse("a receiver is slow during the whole run", "no 'at' and no 'for'");
  bool found = false;
  for (const NamedLink& link : links) {
    if (!taker.layout.is_endpoint_port(link.port)) continue;
    const std::uint32_t endpoint = taker.layout.endpoint_of_port(link.port);
    found = true;
    if (slow) {
      if (!taker.slow_receiver(endpoint, static_cast<std::uint32_t>(fault.share->count())))
        return refuse("a slow receiver needs packets and exact ports", "--fidelity packet --set switching.ports=exact");
      continue;
    }
    sim::Software* const program = taker.software(endpoint);
    if (program == nullptr)
      return refuse(fmt::format("a fault that is {} needs packets and computed ports", enum_name(fault.kind)),
                    "--fidelity packet, and no switching.flow_control");
    if (fault.kind == model::FaultKind::host_pause)
      program->stand_still(fault.at.count(), (fault.at + *fault.lasts).count());
    else
      program->jump(fault.at.count(), fault.lasts->count());
  }
  if (!found) refuse(fmt::format("'{}' is no host's link", fault.part), "a NIC, such as s0/nic0");
}

// All GPUs of the servers that these NICs are in.
std::vector<std::uint32_t> gpus_behind(const fabric::Fabric& fabric, const std::set<std::uint32_t>& ends) {
  std::set<std::uint32_t> gpus;
  for (const std::uint32_t end : ends) {
    const fabric::Node nic = fabric.describe(fabric.nic_of(end));
    const model::Group& group = fabric.cluster().groups[nic.group];
    const std::uint32_t first = group.first_gpu + (nic.server - group.first_server) * group.gpus();
    for (std::uint32_t i = 0; i < group.gpus(); ++i) gpus.insert(first + i);
  }
  return {gpus.begin(), gpus.end()};
}

}  // namespace

void add_faults(const std::vector<model::FaultSpec>& faults, const FaultTaker& taker, spec::Diagnostics& diagnostics) {
  for (const model::FaultSpec& fault : faults) {
    const auto condition = condition_of(fault, {}, diagnostics);
    const auto links = find_links(taker.layout, {fault.part}, {"a fault"}, diagnostics);
    if (!condition || links.empty()) return;  // complained about
    if (is_of_host(fault.kind)) {
      add_to_hosts(fault, links, taker, diagnostics);
      continue;
    }
    const auto taken = [&](const NamedLink& link) { return taker.add(link.port, *condition); };
    if (!std::all_of(links.begin(), links.end(), taken))
      diagnostics.add(
          Error::not_simulated, {},
          fmt::format("{} cannot show a fault of '{}' that is {}", taker.why_not, fault.part, enum_name(fault.kind)),
          taker.instead);
  }
}

std::int64_t least_rate(const std::vector<model::FaultSpec>& faults) {
  std::int64_t least = 1'000'000;
  for (const model::FaultSpec& fault : faults)
    if ((fault.kind == model::FaultKind::slow || fault.kind == model::FaultKind::slow_receiver) && !fault.lasts)
      least = std::min(least, fault.share.value_or(Share(least)).count());
  return std::max<std::int64_t>(1, least);
}

bool is_host_link(const fabric::Fabric& fabric, const std::string& part) {
  const sim::Layout layout(fabric, {});
  spec::Diagnostics nothing;
  const auto links = find_links(layout, {part}, {"a fault"}, nothing);
  return !links.empty() && std::all_of(links.begin(), links.end(), [&](const NamedLink& link) {
    return layout.is_endpoint_port(link.port) || layout.is_host(layout.far(link.port).entity);
  });
}

std::optional<std::vector<std::uint32_t>> gpus_near(const fabric::Fabric& fabric,
                                                    const std::vector<model::FaultSpec>& faults) {
  const sim::Layout layout(fabric, {});
  spec::Diagnostics nothing;
  std::set<std::pair<std::uint32_t, std::uint32_t>> cables;  // between switches
  std::set<std::uint32_t> switches;
  std::set<std::uint32_t> ends;
  for (const model::FaultSpec& fault : faults)
    for (const NamedLink& link : find_links(layout, {fault.part}, {"a fault"}, nothing)) {
      const std::uint32_t back = layout.reverse(link.port);
      if (layout.is_endpoint_port(link.port)) {
        ends.insert(layout.endpoint_of_port(link.port));
      } else if (layout.is_endpoint_port(back)) {
        ends.insert(layout.endpoint_of_port(back));
      } else {
        cables.insert({layout.owner(link.port), layout.owner(back)});
        switches.insert({layout.owner(link.port), layout.owner(back)});
      }
    }
  std::set<std::uint32_t> leaves;
  for (std::uint32_t end = 0; !switches.empty() && end < layout.endpoints(); ++end)
    if (switches.contains(layout.leaf_of(end))) {
      leaves.insert(layout.leaf_of(end));
      ends.insert(end);
    }
  for (const auto& [one, other] : cables)
    if (!leaves.contains(one) && !leaves.contains(other)) return std::nullopt;
  return gpus_behind(fabric, ends);
}

namespace {

// Whether a spine has less upwards than downwards.
bool has_narrow_pods(const model::ClosShape& shape) {
  return shape.super_groups > 0 && shape.super_wire.rate * (shape.supers_per_group * shape.super_bundle) <
                                       shape.spine_wire.rate * (shape.leaves_per_pod * shape.bundle);
}

}  // namespace

std::vector<std::uint32_t> gpus_beside_first(const fabric::Fabric& fabric) {
  if (!fabric.has_network()) return {};
  const fabric::Clos* clos = fabric.clos();
  const sim::Layout layout(fabric, {});
  const auto place = [&](std::uint32_t end) {
    if (clos == nullptr || !has_narrow_pods(clos->shape())) return layout.leaf_of(end);
    return clos->destination(fabric.attachment(end).target).place[1];
  };
  std::set<std::uint32_t> ends;
  for (std::uint32_t end = 0; end < layout.endpoints(); ++end)
    if (place(end) == place(0)) ends.insert(end);
  return gpus_behind(fabric, ends);
}

void check_faults(Design& design) {
  const std::vector<model::FaultSpec>& faults = design.cluster().file.faults;
  if (faults.empty() || !design.fabric().has_network()) return;
  spec::Diagnostics& diagnostics = design.diagnostics();
  const sim::Layout layout(design.fabric(), {});
  for (std::size_t i = 0; i < faults.size(); ++i) {
    spec::Place place = design.place("faults", "part", i);
    if (place.source != 0 && diagnostics.sources().line(place).find(faults[i].part) == std::string_view::npos)
      place = {};  // it is of --set
    condition_of(faults[i], place, diagnostics);
    find_links(layout, {faults[i].part}, {"a fault", place}, diagnostics);
  }
}

void add_failures(const workload::Matrix& matrix, const FaultTaker& taker, spec::Diagnostics& diagnostics) {
  const fabric::Clos* clos = taker.layout.fabric().clos();
  using Tier = fabric::Clos::Tier;
  for (const workload::MatrixFailure& failure : matrix.failures) {
    const auto refuse = [&](const std::string& what, const std::string& help) {
      diagnostics.add(Error::bad_matrix, failure.place, what, help);
    };
    if (clos == nullptr || failure.type == workload::MatrixFailure::Switch::core) {
      refuse("this failure names no uplink", "a ToR or AGG switch of a fat tree has uplinks");
      continue;
    }
    const model::ClosShape& shape = clos->shape();
    const bool leaf = failure.type == workload::MatrixFailure::Switch::tor;
    const std::uint32_t switches = clos->count(leaf ? Tier::leaf : Tier::spine);
    const std::uint32_t index = (leaf ? 0 : clos->count(Tier::leaf)) + failure.switch_id;
    const std::uint32_t down = leaf ? shape.leaf_down : shape.leaves_per_pod * shape.bundle;
    if (failure.switch_id >= switches) {
      refuse(fmt::format("there is no switch {}", failure.switch_id),
             fmt::format("the tier has {}", counted(switches, "switch")));
    } else if (down + failure.link_id >= clos->ports(index)) {
      refuse(fmt::format("switch {} has no uplink {}", failure.switch_id, failure.link_id),
             fmt::format("it has {}", counted(clos->ports(index) - down, "uplink")));
    } else {
      taker.remove_link(taker.layout.port_of(index, down + failure.link_id));
    }
  }
}

}  // namespace weft::experiment
