#include "app/show/bom.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "fabric/summary.hpp"

namespace weft::app {
namespace {

using fabric::CableRun;
using fabric::Fabric;
using fabric::LinkTier;
using fabric::Summary;

struct Item {
  std::string part;  // server, NIC, switch, module, cable
  std::string kind;
  std::string used_for;  // "leaf", "NIC to leaf"
  std::optional<Bandwidth> rate = {};
  std::optional<Length> length = {};
  std::uint64_t count = 0;
  std::optional<Money> each = {};
  std::optional<Price> per_hour = {};  // of one
  std::optional<Power> power = {};     // of one
  std::string note = {};
  bool hole = false;  // nobody has said what it costs
};

// Prices that a file gives may be anything: a product too large for 64 bits is the largest that fits.
double dollars(Money each, std::uint64_t count) {
  return static_cast<double>(each.count()) / 1e6 * static_cast<double>(count);
}

void add_servers(const Fabric& fabric, std::vector<Item>& items) {
  for (const model::Group& group : fabric.cluster().groups) {
    const model::ServerGroup& spec = group.spec;
    Item server{"server", spec.kind, fmt::format("{} x {}", spec.gpus, spec.gpu.kind)};
    server.count = group.servers;
    server.each = spec.purchase;
    server.per_hour = spec.price;
    server.power = spec.power;
    server.hole = !spec.purchase && !spec.price;
    if (server.hole) server.note = "no price";
    const bool priced = !server.hole;
    items.push_back(std::move(server));
    if (group.nics() == 0) continue;
    Item nic{"NIC", spec.nic.kind, fmt::format("{} in each server", group.nics())};
    nic.rate = spec.nic.rate;
    nic.count = static_cast<std::uint64_t>(group.servers) * group.nics();
    nic.each = spec.nic.purchase;
    nic.power = spec.nic.power;
    nic.hole = !spec.nic.purchase && !priced;
    nic.note = spec.nic.purchase ? "" : priced ? "in the server's price" : "no price";
    items.push_back(std::move(nic));
  }
}

void add_scale_up(const Fabric& fabric, std::vector<Item>& items) {
  for (const model::Group& group : fabric.cluster().groups) {
    const auto& domain = group.spec.scale_up;
    if (!domain || domain->servers <= 1 || domain->switches == 0) continue;
    Item item{"scale-up switch", domain->link.kind, fmt::format("{} in each domain", domain->switches)};
    item.count =
        group.servers / static_cast<std::uint64_t>(domain->servers) * static_cast<std::uint64_t>(domain->switches);
    item.note = "part of the rack that the servers come in";
    items.push_back(std::move(item));
  }
}

void add_switches(const Fabric& fabric, const Summary& summary, std::vector<Item>& items) {
  for (std::size_t i = 0; i < summary.tiers.size(); ++i) {
    const model::SwitchKind& kind = fabric.cluster().shape.switches[i];
    Item item{"switch", kind.kind, summary.tiers[i].name};
    item.rate = kind.rate;
    item.count = summary.tiers[i].switches;
    item.each = kind.purchase;
    item.power = kind.power;
    item.hole = !kind.purchase;
    if (item.hole) item.note = "no price";
    items.push_back(std::move(item));
  }
}

// The cables of one tier, and by what they are switched at both ends (nullptr: a NIC).
struct Run {
  CableRun cables;
  const model::LinkSpec* link = nullptr;
  Bandwidth rate;
  std::string used_for;
  const model::SwitchKind* lower = nullptr;
  const model::SwitchKind* upper = nullptr;
};

const model::LinkSpec& link_of(const model::FabricSpec& spec, LinkTier tier, bool three_tiers) {
  const model::LinkSpec& spine = spec.spine_link ? *spec.spine_link : spec.link;
  const model::LinkSpec& super = spec.super_spine_link ? *spec.super_spine_link : spine;
  if (tier == LinkTier::spine) return spine;
  if (tier == LinkTier::super_spine) return super;
  if (tier == LinkTier::gateway) return three_tiers ? super : spine;
  return spec.link;
}

Run run_of(const Fabric& fabric, const CableRun& cables) {
  const model::Shape& shape = fabric.cluster().shape;
  const auto* clos = std::get_if<model::ClosShape>(&shape.layout);
  const auto* dragonfly = std::get_if<model::DragonflyShape>(&shape.layout);
  const std::uint32_t tiers = clos != nullptr ? clos->tiers : 1;
  const auto kind = [&](std::size_t tier) { return &shape.switches[std::min(tier, shape.switches.size() - 1)]; };
  Run run{cables, &link_of(fabric.cluster().file.fabric, cables.tier, tiers == 3), {}, "", kind(0), kind(0)};
  switch (cables.tier) {
    case LinkTier::spine:
      run.used_for = "leaf to spine";
      run.upper = kind(1);
      run.rate = clos->spine_wire.rate;
      break;
    case LinkTier::super_spine:
      run.used_for = "spine to super-spine";
      run.lower = kind(1);
      run.upper = kind(2);
      run.rate = clos->super_wire.rate;
      break;
    case LinkTier::gateway:
      run.used_for = "top to gateway";
      run.lower = kind(tiers - 1);
      run.upper = kind(tiers);
      run.rate = tiers == 3 ? clos->super_wire.rate : clos->spine_wire.rate;
      break;
    case LinkTier::local:
      run.used_for = "within a group";
      run.rate = dragonfly->local_wire.rate;
      break;
    case LinkTier::global:
      run.used_for = "between groups";
      run.rate = dragonfly->global_wire.rate;
      break;
    case LinkTier::nic:
    case LinkTier::site:
      break;
  }
  return run;
}

// From NICs to switches: groups may have NICs of different rates.
std::vector<Run> nic_runs(const Fabric& fabric) {
  const model::Cluster& cluster = fabric.cluster();
  std::vector<Run> runs;
  for (std::size_t i = 0; i < cluster.groups.size(); ++i) {
    const model::Group& group = cluster.groups[i];
    const std::uint64_t cables = static_cast<std::uint64_t>(group.servers) * group.nics() *
                                 cluster.shape.wiring[i].ports_per_plane * cluster.shape.port_planes;
    if (cables == 0) continue;
    const model::LinkSpec& link = cluster.file.fabric.link;
    runs.push_back({{LinkTier::nic, cables, &link.medium},
                    &link,
                    cluster.shape.wiring[i].wire.rate,
                    cluster.groups.size() > 1 ? fmt::format("NIC of {} to switch", group.spec.name) : "NIC to switch",
                    nullptr,
                    &cluster.shape.switches[0]});
  }
  return runs;
}

std::vector<Run> all_runs(const Fabric& fabric) {
  if (!fabric.has_network()) return {};
  std::vector<Run> runs = nic_runs(fabric);
  for (const CableRun& cables : fabric::cable_runs(fabric))
    if (cables.tier != LinkTier::nic) runs.push_back(run_of(fabric, cables));
  return runs;
}

// Where a port is split, one module serves several links.
std::uint64_t modules_at(const model::SwitchKind* end, const Run& run) {
  const std::int64_t share = end == nullptr ? 1 : std::max<std::int64_t>(1, model::links_per_port(*end, run.rate));
  return (run.cables.cables + static_cast<std::uint64_t>(share) - 1) / static_cast<std::uint64_t>(share);
}

// Copper and active optical cables come with their ends.
bool has_modules(const model::CableKind& kind) {
  return kind.kind != "dac" && kind.kind != "aec" && kind.kind != "aoc";
}

void add_cables(const Fabric& fabric, std::vector<Item>& items) {
  const std::vector<Run> runs = all_runs(fabric);
  for (const Run& run : runs) {
    const model::CableKind& kind = *run.cables.kind;
    if (!has_modules(kind)) continue;
    Item item{"module", kind.kind, run.used_for};
    item.rate = run.rate;
    const std::uint64_t lower = modules_at(run.lower, run);
    const std::uint64_t upper = modules_at(run.upper, run);
    item.count = lower + upper;
    item.power = kind.power;
    item.hole = !kind.purchase;
    item.note = kind.purchase ? "in the cable's price" : "no price";
    if (item.count < 2 * run.cables.cables)
      item.note = fmt::format("{} below, {} above: ports are split; {}", grouped(static_cast<std::int64_t>(lower)),
                              grouped(static_cast<std::int64_t>(upper)), item.note);
    items.push_back(std::move(item));
  }
  for (const Run& run : runs) {
    Item item{"cable", run.cables.kind->kind, run.used_for};
    item.rate = run.rate;
    item.length = run.link->cable;
    item.count = run.cables.cables;
    item.each = run.cables.kind->purchase;
    item.hole = !item.each;
    if (item.hole) item.note = "no price";
    items.push_back(std::move(item));
  }
}

// Two cables of each server; the file does not say of what kind.
void add_frontend(const Fabric& fabric, std::vector<Item>& items) {
  const model::Cluster& cluster = fabric.cluster();
  if (!cluster.file.frontend) return;
  const model::FrontendSpec& spec = *cluster.file.frontend;
  Item leaf{"switch", spec.leaf_switch.kind, "frontend leaf"};
  leaf.rate = spec.leaf_switch.rate;
  leaf.count = cluster.frontend_leaves();
  leaf.each = spec.leaf_switch.purchase;
  leaf.power = spec.leaf_switch.power;
  leaf.hole = !leaf.each;
  if (leaf.hole) leaf.note = "no price";
  items.push_back(std::move(leaf));
  Item cable{"cable", "any", "server to frontend leaf"};
  cable.rate = spec.rate;
  cable.length = spec.cable;
  cable.count = std::uint64_t{2} * cluster.servers;
  cable.hole = true;
  cable.note = "no price";
  items.push_back(std::move(cable));
}

void add_storage(const Fabric& fabric, std::vector<Item>& items) {
  for (const model::StorageTier& tier : fabric.cluster().file.storage) {
    Item item{"storage", tier.name, ""};
    item.count = 1;
    item.per_hour = tier.price;
    item.hole = !tier.price;
    if (item.hole) item.note = "no price";
    items.push_back(std::move(item));
  }
}

std::vector<Item> items_of(const Fabric& fabric) {
  std::vector<Item> items;
  add_servers(fabric, items);
  add_scale_up(fabric, items);
  if (fabric.has_network()) add_switches(fabric, fabric::summarise(fabric), items);
  add_cables(fabric, items);
  add_frontend(fabric, items);
  add_storage(fabric, items);
  return items;
}

Cell length_cell(const std::optional<Length>& length) {
  if (!length) return Cell::none();
  return {exact(*length), Json(static_cast<double>(length->count()) / 1000)};
}

Cell money_cell(const std::optional<Money>& each, std::uint64_t count) {
  if (!each) return Cell::none();
  const double amount = dollars(*each, count);
  return {fmt::format("${}", grouped(static_cast<std::int64_t>(amount + 0.5))), Json(amount)};
}

Cell hourly_cell(const std::optional<Price>& price, std::uint64_t count) {
  if (!price) return Cell::none();
  const double amount = static_cast<double>(price->count()) / 1e6 * static_cast<double>(count);
  return {fmt::format("${:.2f}", amount), Json(amount)};
}

Cell power_cell(const std::optional<Power>& power) {
  if (!power) return Cell::none();
  return {brief(*power), Json(static_cast<double>(power->count()) / 1000)};
}

}  // namespace

Listing list_materials(const Fabric& fabric) {
  return {
      "material",
      {{"part", "part"},
       {"kind", "kind"},
       {"for", "for"},
       {"rate", "rate_bps", true},
       {"length", "length_m", true},
       {"count", "count", true},
       {"power", "power_each_w", true},
       {"each", "each_usd", true},
       {"in all", "total_usd", true},
       {"$ an hour", "usd_per_hour", true},
       {"note", "note"}},
      true,
      [&fabric](Rows& rows) {
        for (const Item& item : items_of(fabric)) {
          if (!rows.wants_more()) {
            rows.skip(1);
            continue;
          }
          rows.add({item.part, item.kind, item.used_for, item.rate ? Cell(*item.rate) : Cell::none(),
                    length_cell(item.length), Cell::count(item.count), power_cell(item.power), money_cell(item.each, 1),
                    money_cell(item.each, item.count), hourly_cell(item.per_hour, item.count), item.note});
        }
      },
      true};
}

report::Facts materials_note(const Fabric& fabric) {
  double sum = 0;
  bool bought = false;
  std::map<std::pair<std::string, std::string>, std::uint64_t> missing;  // by part and kind
  for (const Item& item : items_of(fabric)) {
    if (item.each) {
      sum += dollars(*item.each, item.count);
      bought = true;
    }
    if (item.hole) missing[{item.part, item.kind}] += item.count;
  }
  std::vector<std::string> holes;
  for (const auto& [what, count] : missing)
    holes.push_back(fmt::format("{} ({})", counted(static_cast<std::int64_t>(count), what.first), what.second));
  report::Facts facts;
  if (bought) facts.add("to buy", fmt::format("${}", grouped(static_cast<std::int64_t>(sum + 0.5))));
  if (!holes.empty()) facts.add("no price known of", fmt::format("{}", fmt::join(holes, ", ")));
  if (fabric.cluster().sites.size() > 1) facts.add("not listed", "links between sites");
  return facts;
}

}  // namespace weft::app
