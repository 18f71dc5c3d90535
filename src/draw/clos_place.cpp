#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "draw/clos_drawing.hpp"

namespace weft::draw {

using fabric::Clos;
using fabric::LinkTier;
using fabric::NodeKind;

void ClosDrawing::shift(const Mark& from, double dx) {
  for (std::size_t i = from.boxes; i < picture_.boxes.size(); ++i) picture_.boxes[i].at.x += dx;
  for (std::size_t i = from.frames; i < frames_.size(); ++i) {
    frames_[i].left += dx;
    frames_[i].right += dx;
  }
}

// Sets the boxes of a row apart, in the middle of `over`, until they take a share of its width.
void ClosDrawing::spread(std::size_t first, std::size_t end, const Extent& over, double share) {
  constexpr double kWidestGap = 110;
  if (first == end) return;
  double boxes = 0;
  for (std::size_t i = first; i < end; ++i) boxes += picture_.boxes[i].at.w;
  const double gaps = static_cast<double>(end - first) - 1;
  const double gap = gaps == 0 ? 0 : std::clamp((over.width() * share - boxes) / gaps, kGap, kWidestGap);
  double x = over.middle() - (boxes + gaps * gap) / 2;
  for (std::size_t i = first; i < end; ++i) {
    picture_.boxes[i].at.x = x;
    x += picture_.boxes[i].at.w + gap;
  }
}

std::uint32_t ClosDrawing::put(Box box, double x, Rows rows) {
  box.at.x = x;
  rows_.push_back(rows);
  return add_box(picture_, std::move(box));
}

std::string ClosDrawing::switch_facts(Row row, std::uint32_t node) const {
  const model::SwitchKind& kind = fabric_.switch_kind(node);
  return fmt::format("{}: {} {}, {} ports of {}, {} latency, {} links used",
                     fabric_.name(fabric_.node(NodeKind::network_switch, node)), kind.kind, kRowNouns[row], kind.ports,
                     brief(kind.rate), brief(kind.latency), fabric_.ports(node));
}

// `first` and `count` are switch numbers within the plane.
std::vector<ClosDrawing::Shown> ClosDrawing::row_of_switches(Row row, std::uint32_t plane, std::uint32_t first,
                                                             std::uint32_t count, std::uint32_t places, double x,
                                                             Extent& extent) {
  std::vector<Shown> shown;
  extent = {x, x};
  for (const Stretch part : fold(count, places)) {
    const std::uint32_t node = plane * fabric_.switches_per_plane() + first + part.first;
    const std::string name = fabric_.name(fabric_.node(NodeKind::network_switch, node));
    Box box{name, {0, 0, kSwitchWidth, 0},      name.substr(name.rfind('/') + 1),
            {},   std::string(kRowStyles[row]), switch_facts(row, node)};
    if (fabric_.switches_per_plane() == 1) box.label = name;  // no frame says which plane
    if (part.folded) {
      box.id += "+";
      box.label = fmt::format("… {} more", grouped(part.count));
      box.notes = {fmt::format("({} in all)", grouped(count))};
      box.style = "more";
      box.title =
          fmt::format("{} to {}", name, fabric_.name(fabric_.node(NodeKind::network_switch, node + part.count - 1)));
    }
    const double w = box.at.w = std::max(kSwitchWidth, label_width(box.label) + 10);
    shown.push_back({put(std::move(box), extent.right + (shown.empty() ? 0 : kGap), {row, row}), part});
    extent.right = picture_.boxes.back().at.x + w;
  }
  return shown;
}

// A row in the middle above everything since `below`, which moves when the row is wider.
std::vector<ClosDrawing::Shown> ClosDrawing::row_above(Row row, std::uint32_t plane, std::uint32_t first,
                                                       std::uint32_t count, std::uint32_t places, const Mark& below,
                                                       Extent& extent) {
  const Mark start = mark();
  Extent own;
  auto shown = row_of_switches(row, plane, first, count, places, extent.left, own);
  const double apart = (extent.width() - own.width()) / 2;
  if (apart >= 0) {
    spread(start.boxes, picture_.boxes.size(), extent, row == kGateways ? 0.4 : 0.72);
  } else {
    for (std::size_t i = start.boxes; i < picture_.boxes.size(); ++i) picture_.boxes[i].at.x += apart;
    shift(below, -apart);  // moves the row back too
    extent.right = extent.left + own.width();
  }
  return shown;
}

std::uint32_t ClosDrawing::fold_box(std::string id, std::string_view noun, std::uint32_t folded, std::uint32_t all,
                                    std::vector<std::string> more, double x, Rows rows) {
  std::vector<std::string> notes = {plural(noun, folded), fmt::format("({} in all)", grouped(all))};
  notes.insert(notes.end(), more.begin(), more.end());
  if (rows.top == rows.bottom && rows.top != kServers) {  // a low box: one line for both
    const std::string_view short_noun = noun.substr(noun.rfind(' ') + 1);
    notes = {fmt::format("{} ({} in all)", plural(short_noun, folded), grouped(all))};
  }
  std::string title = fmt::format("{} {} folded away, {} in all", grouped(folded), plural(noun, folded), grouped(all));
  return put({std::move(id),
              {0, 0, kFoldWidth, 0},
              fmt::format("… {} more", grouped(folded)),
              std::move(notes),
              "more",
              std::move(title)},
             x, rows);
}

// ---- placing, from the inside out

void ClosDrawing::place_servers(const Unit& unit, const Block& block, double x, Extent& extent) {
  extent = {x, x};
  const auto add = [&](const ServerRun& run, std::uint32_t all, bool folded) {
    Box box = server_box(fabric_, run, all, folded);
    if (folded) box.id += "+";
    const double widest = std::max(
        {label_width(box.label), text_width(box.notes.back(), kNoteSize), text_width(box.notes.front(), kNoteSize)});
    box.at.w = folded ? 88 : std::clamp(widest + kBoxPadding + 6, kServerWidth, 180.0);
    const double w = box.at.w;
    const std::uint32_t index = put(std::move(box), extent.right + (extent.right > x ? kGap : 0), {kServers, kServers});
    extent.right = picture_.boxes[index].at.x + w;
    servers_[unit].push_back({index, run, folded || run.count > 1});
  };
  for (const Stretch some : fold(static_cast<std::uint32_t>(block.runs.size()), 4)) {
    const ServerRun& run = block.runs[some.first];
    if (some.folded) {  // groups that share a chassis
      std::uint32_t servers = 0;
      for (std::uint32_t i = 0; i < some.count; ++i) servers += block.runs[some.first + i].count;
      const double at = extent.right + kGap;
      const std::uint32_t index = fold_box(fmt::format("groups{}.{}+", unit.site, some.first), "group", some.count,
                                           static_cast<std::uint32_t>(block.runs.size()), {counted(servers, "server")},
                                           at, {kServers, kServers});
      servers_[unit].push_back({index, {run.group, 0, 0}, true});
      extent.right = at + kFoldWidth;
      continue;
    }
    const auto& scale_up = fabric_.cluster().groups[run.group].spec.scale_up;
    const std::uint32_t rack = scale_up ? static_cast<std::uint32_t>(scale_up->servers) : 1;
    const bool racks = rack > 1 && run.first % rack == 0 && run.count % rack == 0;
    const std::uint32_t step = racks ? rack : 1;  // a rack-scale domain is one box
    if (detail_.servers == 1) {
      add(run, run.count, false);
      if (racks && run.count == rack) picture_.boxes.back().style = "rack";
      continue;
    }
    for (const Stretch part : fold(run.count / step, detail_.servers)) {
      add({run.group, run.first + part.first * step, part.count * step}, run.count, part.folded);
      if (racks && !part.folded) picture_.boxes.back().style = "rack";
    }
  }
}

void ClosDrawing::name_leaf(std::uint32_t plane, const Block& block, const Shown& leaf) {
  const model::Shape& shape = fabric_.cluster().shape;
  if (leaf.what.folded) return;
  Box& box = picture_.boxes[leaf.box];
  if (fabric_.switches_per_plane() == 1) return;
  if (shape.rail_planes > 1) {
    box.notes = {fmt::format("rail {}", plane % shape.rail_planes)};
  } else if (fabric_.cluster().file.fabric.kind == model::FabricKind::rail_optimized) {
    const std::uint32_t rails = shape.wiring[block.runs[0].group].nics_per_leaf;
    const std::uint32_t first = leaf.what.first * rails;
    box.notes = {rails == 1 ? fmt::format("rail {}", first) : fmt::format("rails {}-{}", first, first + rails - 1)};
  }
}

std::vector<ClosDrawing::Shown> ClosDrawing::place_block(std::uint32_t site, std::uint32_t plane, std::uint32_t index,
                                                         double x, Extent& extent) {
  const Block block = sites_[site].block(index);
  const Unit unit{site, index};
  const Mark start = mark();
  const bool framed = !planes_apart() && block.leaves > 1;
  const double left = x + (framed ? kFramePad : 0);
  extent = {left, left};
  if (!planes_apart()) place_servers(unit, block, left, extent);
  const std::size_t servers_end = picture_.boxes.size();
  auto leaves = row_above(kLeaves, plane, block.first_leaf, block.leaves, detail_.leaves, start, extent);
  spread(start.boxes, servers_end, extent, 0.85);
  for (const Shown& leaf : leaves) {
    name_leaf(plane, block, leaf);
    leaves_[unit].push_back({leaf.box, leaf.what, plane, leaf.what.folded});
  }
  if (framed) {
    extent = {x, extent.right + kFramePad};
    frames_.push_back({extent.left,
                       extent.right,
                       {kLeaves, kServers},
                       fmt::format("{} {}", unit_noun(), index),
                       fmt::format("{}", counted(block.servers(), "server")),
                       true});
  }
  return leaves;
}

std::vector<ClosDrawing::Shown> ClosDrawing::place_pod(std::uint32_t site, std::uint32_t plane, std::uint32_t pod,
                                                       double x, Extent& extent) {
  const SiteBlocks& blocks = sites_[site];
  const std::uint32_t first = pod * blocks.per_pod();
  const std::uint32_t count = std::min(blocks.per_pod(), blocks.count() - first);
  const bool framed = clos_.tiers == 3;
  const double left = x + (framed ? kFramePad : 0);
  const Mark start = mark();
  extent = {left, left};
  std::vector<Shown> leaves;
  for (const Stretch part : fold(count, detail_.blocks)) {
    const double at = extent.right + (extent.right > left ? kBlockGap : 0);
    if (part.folded) {
      const std::uint64_t servers = blocks.servers(first + part.first, part.count);
      const Rows rows{kLeaves, planes_apart() ? kLeaves : kServers};
      std::vector<std::string> more;
      if (!planes_apart()) more.push_back(counted(static_cast<std::int64_t>(servers), "server"));
      const std::uint32_t box = fold_box(fmt::format("unit{}.{}.{}+", site, plane, first + part.first), unit_noun(),
                                         part.count, count, std::move(more), at, rows);
      leaves.push_back({box, part});
      leaves_[{site, first + part.first}].push_back({box, {}, plane, true});
      extent.right = at + kFoldWidth;
      continue;
    }
    Extent own;
    const auto shown = place_block(site, plane, first + part.first, at, own);
    leaves.insert(leaves.end(), shown.begin(), shown.end());
    extent.right = own.right;
  }
  if (clos_.tiers < 2) return leaves;
  const std::uint32_t all_pods = clos_.sites[site].first_pod + pod;
  auto spines = row_above(kSpines, plane, fabric_.clos()->count(Clos::Tier::leaf) + all_pods * clos_.spines_per_pod,
                          clos_.spines_per_pod, detail_.spines, start, extent);
  join_switches(spines, leaves, LinkTier::spine, clos_.bundle);
  if (framed) {
    extent = {x, extent.right + kFramePad};
    frames_.push_back({extent.left,
                       extent.right,
                       {kSpines, planes_apart() ? kLeaves : kServers},
                       fmt::format("pod {}", all_pods),
                       counted(static_cast<std::int64_t>(blocks.servers(first, count)), "server"),
                       true});
  }
  return spines;
}

std::vector<ClosDrawing::Shown> ClosDrawing::place_pods(std::uint32_t site, std::uint32_t plane, double x,
                                                        Extent& extent) {
  const SiteBlocks& blocks = sites_[site];
  if (clos_.tiers < 3) return place_pod(site, plane, 0, x, extent);
  const Mark start = mark();
  const std::uint32_t pods = clos_.sites[site].pods;
  extent = {x, x};
  std::vector<std::vector<Shown>> spines;
  for (const Stretch part : fold(pods, detail_.pods)) {
    const double at = extent.right + (extent.right > x ? kPodGap : 0);
    if (part.folded) {
      const std::uint32_t first = part.first * blocks.per_pod();
      const std::uint64_t servers = blocks.servers(first, part.count * blocks.per_pod());
      std::vector<std::string> more;
      if (!planes_apart()) more.push_back(counted(static_cast<std::int64_t>(servers), "server"));
      const std::uint32_t box = fold_box(fmt::format("pod{}.{}.{}+", site, plane, part.first), "pod", part.count, pods,
                                         std::move(more), at, {kSpines, planes_apart() ? kLeaves : kServers});
      leaves_[{site, first}].push_back({box, {}, plane, true});
      spines.push_back({{box, {0, clos_.spines_per_pod, true}}});
      extent.right = at + kFoldWidth;
      continue;
    }
    Extent own;
    spines.push_back(place_pod(site, plane, part.first, at, own));
    extent.right = own.right;
  }
  const std::uint32_t supers = clos_.super_groups * clos_.supers_per_group;
  const std::uint32_t first =
      fabric_.clos()->count(Clos::Tier::leaf) + fabric_.clos()->count(Clos::Tier::spine) + site * supers;
  auto shown = row_above(kSupers, plane, first, supers, detail_.supers, start, extent);
  for (const auto& pod : spines) join_supers(shown, pod);
  return shown;
}

void ClosDrawing::place_plane(std::uint32_t site, std::uint32_t plane, double x, Extent& extent) {
  const Mark start = mark();
  const double left = x + (planes_apart() ? kFramePad : 0);
  const std::size_t before = picture_.boxes.size();
  auto tops = place_pods(site, plane, left, extent);
  if (clos_.gateways > 0) {
    const std::uint32_t first =
        fabric_.switches_per_plane() - (static_cast<std::uint32_t>(clos_.sites.size()) - site) * clos_.gateways;
    auto gateways = row_above(kGateways, plane, first, clos_.gateways, 3, start, extent);
    join_switches(gateways, tops, LinkTier::gateway, clos_.gateway_bundle);
    gateways_[{plane, site}] = std::move(gateways);
  }
  if (!planes_apart() || picture_.boxes.size() - before < 2) return;
  extent = {x, extent.right + kFramePad};
  const std::string name = fabric_.name(fabric_.node(NodeKind::network_switch, plane * fabric_.switches_per_plane()));
  frames_.push_back({extent.left,
                     extent.right,
                     {top_row(), kLeaves},
                     name.substr(0, name.rfind('/')),
                     "one of " + counted(fabric_.planes(), "plane"),
                     false});
}

// With several planes the servers stand in a row of their own, below all of them.
void ClosDrawing::place_server_row(std::uint32_t site, double x, Extent& extent) {
  const SiteBlocks& blocks = sites_[site];
  const std::uint32_t per_pod = clos_.tiers == 3 ? blocks.per_pod() : blocks.count();
  const std::uint32_t pods = clos_.tiers == 3 ? clos_.sites[site].pods : 1;
  extent = {x, x};
  const auto folded = [&](std::uint32_t first, std::uint32_t count, double at) {
    const std::uint64_t servers = blocks.servers(first, count);
    const std::uint32_t box =
        fold_box(fmt::format("servers{}.{}+", site, first), "server", static_cast<std::uint32_t>(servers),
                 static_cast<std::uint32_t>(blocks.servers(0, blocks.count())), {}, at, {kServers, kServers});
    servers_[{site, first}].push_back({box, {}, true});
    extent.right = at + kFoldWidth;
  };
  for (const Stretch pod : fold(pods, detail_.pods)) {
    const std::uint32_t first = pod.first * per_pod;
    const double start = extent.right + (extent.right > x ? kBlockGap : 0);
    if (pod.folded) {
      folded(first, std::min(pod.count * per_pod, blocks.count() - first), start);
      continue;
    }
    for (const Stretch part : fold(std::min(per_pod, blocks.count() - first), detail_.blocks)) {
      const double at = extent.right + (extent.right > x ? kBlockGap : 0);
      if (part.folded) {
        folded(first + part.first, part.count, at);
        continue;
      }
      Extent own;
      place_servers({site, first + part.first}, blocks.block(first + part.first), at, own);
      extent.right = own.right;
    }
  }
}

void ClosDrawing::place_site(std::uint32_t site, double x, Extent& extent) {
  const bool framed = clos_.sites.size() > 1;
  const double left = x + (framed ? kFramePad : 0);
  const Mark start = mark();
  extent = {left, left};
  for (const Stretch part : fold(fabric_.planes(), detail_.planes)) {
    const double at = extent.right + (extent.right > left ? kBlockGap : 0);
    if (part.folded) {
      const std::uint32_t box = fold_box(fmt::format("plane{}.{}+", site, part.first),
                                         fabric_.cluster().shape.rail_planes > 1 ? "rail" : "plane", part.count,
                                         fabric_.planes(), {}, at, {top_row(), kLeaves});
      for (auto& [unit, boxes] : leaves_)
        if (unit.site == site) boxes.push_back({box, {}, part.first, true});
      extent.right = at + kFoldWidth;
      continue;
    }
    Extent own;
    place_plane(site, part.first, at, own);
    extent.right = own.right;
  }
  if (planes_apart()) {
    const Mark row = mark();
    Extent own;
    place_server_row(site, left, own);
    if (own.width() > extent.width()) {
      const double apart = (own.width() - extent.width()) / 2;
      shift(start, apart);
      shift(row, -apart);
      extent.right = extent.left + own.width();
    } else {
      spread(row.boxes, picture_.boxes.size(), extent, 0.8);
    }
  }
  if (!framed) return;
  extent = {x, extent.right + kFramePad};
  const std::string& name = fabric_.cluster().sites[site];
  frames_.push_back({extent.left,
                     extent.right,
                     {top_row(), kServers},
                     fmt::format("site {}", name),
                     counted(static_cast<std::int64_t>(sites_[site].servers(0, sites_[site].count())), "server"),
                     true});
}

void ClosDrawing::place() {
  Extent extent;
  const auto all = static_cast<std::uint32_t>(clos_.sites.size());
  for (const Stretch part : fold(all, detail_.sites)) {
    const double at = extent.right + (extent.right > 0 ? kSiteGap : 0);
    if (part.folded) {
      fold_box(fmt::format("site{}+", part.first), "site", part.count, all, {}, at, {top_row(), kServers});
      extent.right = at + kFoldWidth;
      continue;
    }
    Extent own;
    place_site(part.first, at, own);
    site_right_[part.first] = extent.right = own.right;
  }
  width_ = extent.right;
  join_servers();
}

}  // namespace weft::draw
