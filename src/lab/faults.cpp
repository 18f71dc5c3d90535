#include "lab/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/text.hpp"
#include "host/process.hpp"

namespace weft::lab {
namespace {

using Error = Failure<std::string>;

std::string percent(std::uint32_t per_mille) {
  return per_mille % 10 == 0 ? fmt::format("{}%", per_mille / 10)
                             : fmt::format("{}.{}%", per_mille / 10, per_mille % 10);
}

// 5% or 0.5%: whole thousandths.
std::optional<std::uint32_t> parse_percent(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || std::string_view(end, text.data() + text.size()) != "%") return std::nullopt;
  const double thousandths = value * 10;
  if (!(thousandths > 0) || thousandths > 1000) return std::nullopt;
  const auto whole = static_cast<std::uint32_t>(thousandths + 0.5);
  if (std::abs(thousandths - whole) > 1e-6) return std::nullopt;
  return whole;
}

// leaf0, leaf0/Ethernet16; s0/nic0 is the fabric's name for s0/pf1.
bool names_end(const Plan& plan, const End& end, const std::string& name) {
  const std::string& device = plan.devices[end.device].name;
  return name == device || name == device + "/" + end.interface;
}

std::vector<std::uint32_t> links_named(const Plan& plan, const std::string& name) {
  const std::size_t colon = name.find(':');
  const std::string from = name.substr(0, colon);
  const std::string to = colon == std::string::npos ? "" : name.substr(colon + 1);
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < plan.links.size(); ++i) {
    const Link& link = plan.links[i];
    const bool forward = names_end(plan, link.a, from) && (to.empty() || names_end(plan, link.b, to));
    const bool backward = names_end(plan, link.b, from) && (to.empty() || names_end(plan, link.a, to));
    if (forward || backward) found.push_back(i);
  }
  return found;
}

Error nothing_named(const Plan& plan, FaultPlace what, const std::string& name) {
  std::vector<std::string> names;
  for (const Device& device : plan.devices)
    if (what != FaultPlace::network_switch || !device.is_server) names.push_back(device.name);
  if (what == FaultPlace::link)
    return Error(
        fmt::format("no link is called '{}'; links are named by their ends: {}:{}, or one end with its "
                    "interface: {}/{}",
                    name, plan.devices[plan.links.back().a.device].name, plan.devices[plan.links.back().b.device].name,
                    plan.devices[plan.links.back().a.device].name, plan.links.back().a.interface));
  if (what == FaultPlace::nic)
    return Error(fmt::format("no NIC is called '{}'; they are called s0/pf1 or s0/nic0", name));
  const auto guess = did_you_mean(name, names);
  return Error(
      fmt::format("no switch is called '{}'{}", name, guess ? fmt::format("; did you mean '{}'?", *guess) : ""));
}

}  // namespace

std::string Fault::text() const {
  std::string out = fmt::format("{} {} {}", enum_name(what), name, enum_name(kind));
  if (kind == FaultKind::loss || kind == FaultKind::rate) out += " " + percent(per_mille);
  return out;
}

bool same_place(const Fault& fault, const std::string& what, const std::string& name) {
  return enum_name(fault.what) == what && fault.name == name;
}

Result<Fault, std::string> parse_fault(const Plan& plan, const std::vector<std::string>& words) {
  Fault fault;
  const auto what = parse_enum<FaultPlace>(words.at(0));
  if (!what) return Error(fmt::format("'{}' cannot fail; link, switch or nic can", words[0]));
  fault.what = *what;
  fault.name = words.at(1);
  const bool of_nic = fault.what == FaultPlace::nic;
  std::string name = fault.name;
  if (const std::size_t nic = name.find("/nic"); of_nic && nic != std::string::npos) {
    std::uint32_t number = 0;
    std::from_chars(name.data() + nic + 4, name.data() + name.size(), number);
    name = fmt::format("{}/pf{}", name.substr(0, nic), number + 1);
  }
  const Device* device = plan.find(name.substr(0, name.find('/')));
  const bool fits = fault.what == FaultPlace::link || (device != nullptr && device->is_server == of_nic &&
                                                       (name.find('/') != std::string::npos) == of_nic);
  if (fits) fault.links = links_named(plan, name);
  if (fault.links.empty()) return nothing_named(plan, fault.what, fault.name);

  const std::string how = words.size() > 2 ? words[2] : "dead";
  const auto kind = parse_enum<FaultKind>(how);
  if (!kind)
    return Error(fmt::format("a {} cannot be '{}'; it can be dead, silent, loss 5% or rate 10%", words[0], how));
  fault.kind = *kind;
  const bool counts = fault.kind == FaultKind::loss || fault.kind == FaultKind::rate;
  if (words.size() != (counts ? 4u : 3u) && !(words.size() == 2 && !counts))
    return Error(fmt::format("{} {}", how, counts ? "needs a share: " + how + " 5%" : "takes nothing behind it"));
  if (counts) {
    const auto share = parse_percent(words[3]);
    if (!share) return Error(fmt::format("'{}' is no share from 0.1% to 100%, in steps of 0.1%", words[3]));
    fault.per_mille = *share;
  }
  return fault;
}

LinkState state_of_link(const std::vector<Fault>& faults, std::uint32_t link) {
  LinkState state;
  for (const Fault& fault : faults) {
    if (std::find(fault.links.begin(), fault.links.end(), link) == fault.links.end()) continue;
    switch (fault.kind) {
      case FaultKind::dead:
        state.up = false;
        break;
      case FaultKind::silent:
        state.silent = true;
        break;
      case FaultKind::loss:
        state.loss_per_mille = std::max(state.loss_per_mille, fault.per_mille);
        break;
      case FaultKind::rate:
        state.rate_per_mille = std::min(state.rate_per_mille, fault.per_mille);
        break;
    }
  }
  return state;
}

std::string filter_rules(const Plan& plan, const std::vector<Fault>& faults, std::uint32_t device) {
  std::string chains;
  for (std::uint32_t i = 0; i < plan.links.size(); ++i) {
    const LinkState state = state_of_link(faults, i);
    if (!state.silent && state.loss_per_mille == 0) continue;
    for (const End& end : {plan.links[i].a, plan.links[i].b}) {
      if (end.device != device) continue;
      chains += fmt::format(
          "  chain {0} {{\n    type filter hook ingress device \"{0}\" priority 0; policy accept;\n"
          "    counter\n",
          end.interface);
      // Sessions run over IPv6, from link to link; all else is IPv4.
      if (state.silent) chains += "    meta protocol ip counter drop\n";
      if (state.loss_per_mille > 0)
        chains += fmt::format("    numgen random mod 1000 < {} counter drop\n", state.loss_per_mille);
      chains += "  }\n";
    }
  }
  // Made, so that it is there to be deleted.
  std::string text = "table netdev weft\ndelete table netdev weft\n";
  if (!chains.empty()) text += "table netdev weft {\n" + chains + "}\n";
  return text;
}

std::string apply_faults(const Plan& plan, const std::vector<Fault>& before, const std::vector<Fault>& after) {
  std::vector<std::string> ip(plan.devices.size());
  std::vector<std::string> tc(plan.devices.size());
  std::set<std::uint32_t> filtered;
  for (std::uint32_t i = 0; i < plan.links.size(); ++i) {
    const Link& link = plan.links[i];
    const LinkState was = state_of_link(before, i);
    const LinkState is = state_of_link(after, i);
    if (was == is) continue;
    for (const End& end : {link.a, link.b}) {
      if (was.up != is.up) ip[end.device] += fmt::format("link set {} {}\n", end.interface, is.up ? "up" : "down");
      if (was.rate_per_mille != is.rate_per_mille)
        tc[end.device] +=
            shaping_line("change", end.interface, Bandwidth(link.rate.count() / 1000 * is.rate_per_mille));
      if (was.silent != is.silent || was.loss_per_mille != is.loss_per_mille) filtered.insert(end.device);
    }
  }
  std::vector<host::Command> commands;
  for (std::uint32_t i = 0; i < plan.devices.size(); ++i) {
    if (!ip[i].empty()) commands.push_back({{"ip", "-batch", "-"}, plan.netns(i), ip[i]});
    if (!tc[i].empty()) commands.push_back({{"tc", "-batch", "-"}, plan.netns(i), tc[i]});
    if (filtered.contains(i)) commands.push_back({{"nft", "-f", "-"}, plan.netns(i), filter_rules(plan, after, i)});
  }
  for (const host::Finished& each : host::run_all(commands, 4))
    if (each.code != 0) return each.text;
  return "";
}

}  // namespace weft::lab
