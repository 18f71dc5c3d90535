// Boxes are placed from left to right first, each remembering the rows it stands in; when the width
// is known, rows get their heights, and only then are the lines drawn.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/text.hpp"
#include "draw/clos_blocks.hpp"
#include "draw/fabric_parts.hpp"

namespace weft::draw {
namespace {

using fabric::Clos;
using fabric::Fabric;
using fabric::LinkTier;
using fabric::NodeKind;

enum Row : std::uint8_t { kGateways, kSupers, kSpines, kLeaves, kServers };
constexpr std::size_t kRows = 5;
constexpr std::string_view kRowNouns[] = {"gateway", "super-spine", "spine", "leaf", "server"};
constexpr std::string_view kRowStyles[] = {"gateway", "super", "spine", "leaf", "server"};

// How many places a row of each sort may take before it is folded.
struct Detail {
  std::uint32_t sites, planes, supers, pods, spines, blocks, leaves, servers;
};

constexpr Detail kDetails[] = {
    {4, 8, 8, 4, 8, 8, 8, 4}, {4, 4, 8, 4, 8, 4, 8, 4}, {4, 4, 8, 4, 8, 8, 8, 1}, {4, 4, 8, 4, 8, 4, 8, 1},
    {4, 4, 6, 4, 6, 4, 4, 1}, {4, 4, 6, 3, 4, 3, 4, 1}, {3, 3, 4, 3, 4, 3, 3, 1},
};
constexpr double kWidest = 1800;
constexpr std::size_t kMostBoxes = 200;

constexpr double kSwitchWidth = 76;
constexpr double kSwitchHeight = 40;
constexpr double kServerWidth = 112;
constexpr double kServerHeight = 52;
constexpr double kFoldWidth = 118;
constexpr double kGap = 12;
constexpr double kBlockGap = 26;
constexpr double kPodGap = 40;
constexpr double kFramePad = 12;
constexpr double kFrameLabel = 20;

class ClosDrawing {
 public:
  ClosDrawing(const Fabric& fabric, const Detail& detail)
      : fabric_(fabric), clos_(fabric.clos()->shape()), detail_(detail) {
    for (std::uint32_t site = 0; site < clos_.sites.size(); ++site) sites_.emplace_back(fabric, site);
  }

  void place();
  bool fits() const { return width_ <= kWidest && picture_.boxes.size() <= kMostBoxes; }
  Picture draw();

 private:
  // A box that stands for switches or servers, and what lines to it mean.
  struct Shown {
    std::uint32_t box;
    Stretch what;
  };
  // Blocks shown or folded, the same in every plane and in the row of servers.
  struct Unit {
    std::uint32_t site;
    std::uint32_t first_block;
    auto operator<=>(const Unit&) const = default;
  };
  struct Rows {
    Row top;
    Row bottom;
  };
  struct FramePlan {
    double left, right;
    Rows rows;
    int inside;  // frames within it
    std::string label;
    std::string title;
    bool below;
  };
  struct Join {
    std::uint32_t upper;
    std::uint32_t lower;
    LinkTier tier;
    std::int64_t links;
    model::Wire wire;
    bool folded;
  };
  struct Extent {
    double left = 0;
    double right = 0;
    double width() const { return right - left; }
    double middle() const { return (left + right) / 2; }
  };
  struct Mark {
    std::size_t boxes, frames;
  };

  bool planes_apart() const { return fabric_.planes() > 1; }
  Row top_row() const {
    return clos_.gateways > 0 ? kGateways : clos_.tiers == 3 ? kSupers : clos_.tiers == 2 ? kSpines : kLeaves;
  }
  bool has_row(Row row) const {
    switch (row) {
      case kGateways: return clos_.gateways > 0;
      case kSupers: return clos_.tiers == 3;
      case kSpines: return clos_.tiers >= 2;
      default: return true;
    }
  }
  std::string_view unit_noun() const {
    return fabric_.cluster().file.fabric.kind == "rail-optimized" ? "scalable unit" : "leaf";
  }

  Mark mark() const { return {picture_.boxes.size(), frames_.size()}; }
  void shift(const Mark& from, double dx);
  std::uint32_t put(Box box, double x, Rows rows);
  std::string switch_facts(Row row, std::uint32_t node) const;
  std::vector<Shown> row_of_switches(Row row, std::uint32_t plane, std::uint32_t first, std::uint32_t count,
                                     std::uint32_t places, double x, Extent& extent);
  std::vector<Shown> row_above(Row row, std::uint32_t plane, std::uint32_t first, std::uint32_t count,
                               std::uint32_t places, const Mark& below, Extent& extent);
  std::uint32_t fold_box(std::string id, std::string_view noun, std::uint32_t folded, std::uint32_t all,
                         std::vector<std::string> more, double x, Rows rows);

  void place_site(std::uint32_t site, double x, Extent& extent);
  void place_plane(std::uint32_t site, std::uint32_t plane, double x, Extent& extent);
  std::vector<Shown> place_pods(std::uint32_t site, std::uint32_t plane, double x, Extent& extent);
  std::vector<Shown> place_pod(std::uint32_t site, std::uint32_t plane, std::uint32_t pod, double x, Extent& extent);
  std::vector<Shown> place_block(std::uint32_t site, std::uint32_t plane, std::uint32_t index, double x, Extent& extent);
  void place_servers(const Unit& unit, const Block& block, double x, Extent& extent);
  void place_server_row(std::uint32_t site, double x, Extent& extent);
  void name_leaf(std::uint32_t plane, const Block& block, const Shown& leaf);

  void join_switches(const std::vector<Shown>& upper, const std::vector<Shown>& lower, LinkTier tier, std::int64_t links);
  void join_supers(const std::vector<Shown>& supers, const std::vector<Shown>& spines);
  void join_servers();
  void set_heights();
  void draw_frames();
  void draw_joins();
  void draw_site_links();
  void draw_gutter();
  void gap_text(Row upper, const std::string& strong, const std::string& aside);

  const Fabric& fabric_;
  const model::ClosShape& clos_;
  Detail detail_;
  std::vector<SiteBlocks> sites_;
  Picture picture_;
  std::vector<Rows> rows_;  // by box
  std::vector<FramePlan> frames_;
  std::vector<Join> joins_;
  struct UnitServers {
    std::uint32_t box;
    ServerRun run;
    bool folded;
  };
  struct UnitLeaves {
    std::uint32_t box;
    Stretch leaves;  // within the block
    std::uint32_t plane;
    bool folded;
  };
  std::map<Unit, std::vector<UnitServers>> servers_;
  std::map<Unit, std::vector<UnitLeaves>> leaves_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Shown>> gateways_;  // by plane, site
  double y_[kRows] = {};
  double height_[kRows] = {};
  double width_ = 0;
};

void ClosDrawing::shift(const Mark& from, double dx) {
  for (std::size_t i = from.boxes; i < picture_.boxes.size(); ++i) picture_.boxes[i].at.x += dx;
  for (std::size_t i = from.frames; i < frames_.size(); ++i) {
    frames_[i].left += dx;
    frames_[i].right += dx;
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
                     fabric_.name(fabric_.node(NodeKind::network_switch, node)), kind.kind, kRowNouns[row],
                     kind.ports, brief(kind.rate), brief(kind.latency), fabric_.ports(node));
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
    Box box{name, {0, 0, kSwitchWidth, 0}, name.substr(name.rfind('/') + 1), {}, std::string(kRowStyles[row]),
            switch_facts(row, node)};
    if (part.folded()) {
      box.id += "+";
      box.label = fmt::format("… {} more", grouped(part.count));
      box.at.w = std::max(kSwitchWidth, text_width(box.label, kLabelSize) + 10);
      box.notes = {fmt::format("({} in all)", grouped(count))};
      box.style = "more";
      box.title = fmt::format("{} to {}", name, fabric_.name(fabric_.node(NodeKind::network_switch, node + part.count - 1)));
    }
    const double w = box.at.w;
    shown.push_back({put(std::move(box), extent.right + (shown.empty() ? 0 : kGap), {row, row}), part});
    extent.right = picture_.boxes.back().at.x + w;
  }
  return shown;
}

// A row in the middle above everything since `below`, which moves when the row is wider.
std::vector<ClosDrawing::Shown> ClosDrawing::row_above(Row row, std::uint32_t plane, std::uint32_t first,
                                                       std::uint32_t count, std::uint32_t places,
                                                       const Mark& below, Extent& extent) {
  const Mark start = mark();
  Extent own;
  auto shown = row_of_switches(row, plane, first, count, places, extent.left, own);
  const double apart = (extent.width() - own.width()) / 2;
  if (apart >= 0) {
    shift(start, apart);
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
  std::string title = fmt::format("{} {} folded away, {} in all", grouped(folded), plural(noun, folded), grouped(all));
  return put({std::move(id), {0, 0, kFoldWidth, 0}, fmt::format("… {} more", grouped(folded)), std::move(notes), "more",
              std::move(title)},
             x, rows);
}

// ---- placing, from the inside out

void ClosDrawing::place_servers(const Unit& unit, const Block& block, double x, Extent& extent) {
  extent = {x, x};
  const auto add = [&](const ServerRun& run, std::uint32_t all, bool folded) {
    Box box = server_box(fabric_, run, all, folded);
    if (folded) box.id += "+";
    const double widest = std::max({text_width(box.label, kLabelSize), text_width(box.notes.back(), kNoteSize),
                                    text_width(box.notes.front(), kNoteSize)});
    box.at.w = folded ? 88 : std::clamp(widest + kBoxPadding + 6, kServerWidth, 180.0);
    const double w = box.at.w;
    const std::uint32_t index = put(std::move(box), extent.right + (extent.right > x ? kGap : 0), {kServers, kServers});
    extent.right = picture_.boxes[index].at.x + w;
    servers_[unit].push_back({index, run, folded || run.count > 1});
  };
  for (const ServerRun& run : block.runs) {
    const auto& scale_up = fabric_.cluster().groups[run.group].spec.scale_up;
    const std::uint32_t rack = scale_up ? static_cast<std::uint32_t>(scale_up->servers) : 1;
    const bool racks = rack > 1 && run.first % rack == 0 && run.count % rack == 0;
    const std::uint32_t step = racks ? rack : 1;  // a rack-scale domain is one box
    if (detail_.servers == 1) {
      add(run, run.count, false);
      continue;
    }
    for (const Stretch part : fold(run.count / step, detail_.servers))
      add({run.group, run.first + part.first * step, part.count * step}, run.count, part.folded());
  }
}

void ClosDrawing::name_leaf(std::uint32_t plane, const Block& block, const Shown& leaf) {
  const model::Shape& shape = fabric_.cluster().shape;
  if (leaf.what.folded()) return;
  Box& box = picture_.boxes[leaf.box];
  if (shape.rail_planes > 1) {
    box.notes = {fmt::format("rail {}", plane % shape.rail_planes)};
  } else if (fabric_.cluster().file.fabric.kind == "rail-optimized") {
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
  auto leaves = row_above(kLeaves, plane, block.first_leaf, block.leaves, detail_.leaves, start, extent);
  for (const Shown& leaf : leaves) {
    name_leaf(plane, block, leaf);
    leaves_[unit].push_back({leaf.box, leaf.what, plane, leaf.what.folded()});
  }
  if (framed) {
    extent = {x, extent.right + kFramePad};
    frames_.push_back({extent.left, extent.right, {kLeaves, kServers}, 0,
                       fmt::format("{} {}", unit_noun(), index), fmt::format("{}", counted(block.servers(), "server")), true});
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
    if (part.folded()) {
      const std::uint64_t servers = blocks.servers(first + part.first, part.count);
      const Rows rows{kLeaves, planes_apart() ? kLeaves : kServers};
      std::vector<std::string> more;
      if (!planes_apart()) more.push_back(counted(static_cast<std::int64_t>(servers), "server"));
      const std::uint32_t box = fold_box(fmt::format("unit{}.{}.{}+", site, plane, first + part.first), unit_noun(),
                                         part.count, count, std::move(more), at, rows);
      leaves.push_back({box, part});
      leaves_[{site, first + part.first}].push_back({box, {0, 1}, plane, true});
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
    const bool inner = !planes_apart() && blocks.block(first).leaves > 1;
    frames_.push_back({extent.left, extent.right, {kSpines, planes_apart() ? kLeaves : kServers}, inner ? 1 : 0,
                       fmt::format("pod {}", all_pods),
                       counted(static_cast<std::int64_t>(blocks.servers(first, count)), "server"), true});
  }
  return spines;
}

std::vector<ClosDrawing::Shown> ClosDrawing::place_pods(std::uint32_t site, std::uint32_t plane, double x, Extent& extent) {
  const SiteBlocks& blocks = sites_[site];
  if (clos_.tiers < 3) return place_pod(site, plane, 0, x, extent);
  const Mark start = mark();
  const std::uint32_t pods = clos_.sites[site].pods;
  extent = {x, x};
  std::vector<std::vector<Shown>> spines;
  for (const Stretch part : fold(pods, detail_.pods)) {
    const double at = extent.right + (extent.right > x ? kPodGap : 0);
    if (part.folded()) {
      const std::uint32_t first = part.first * blocks.per_pod();
      const std::uint64_t servers = blocks.servers(first, part.count * blocks.per_pod());
      std::vector<std::string> more;
      if (!planes_apart()) more.push_back(counted(static_cast<std::int64_t>(servers), "server"));
      const std::uint32_t box = fold_box(fmt::format("pod{}.{}.{}+", site, plane, part.first), "pod", part.count, pods,
                                         std::move(more), at, {kSpines, planes_apart() ? kLeaves : kServers});
      leaves_[{site, first}].push_back({box, {0, 1}, plane, true});
      spines.push_back({{box, {0, clos_.spines_per_pod}}});
      extent.right = at + kFoldWidth;
      continue;
    }
    Extent own;
    spines.push_back(place_pod(site, plane, part.first, at, own));
    extent.right = own.right;
  }
  const std::uint32_t supers = clos_.super_groups * clos_.supers_per_group;
  const std::uint32_t first = fabric_.clos()->count(Clos::Tier::leaf) + fabric_.clos()->count(Clos::Tier::spine) + site * supers;
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
    const std::uint32_t first = fabric_.switches_per_plane() - (static_cast<std::uint32_t>(clos_.sites.size()) - site) * clos_.gateways;
    auto gateways = row_above(kGateways, plane, first, clos_.gateways, 3, start, extent);
    join_switches(gateways, tops, LinkTier::gateway, clos_.gateway_bundle);
    gateways_[{plane, site}] = std::move(gateways);
  }
  if (!planes_apart() || picture_.boxes.size() - before < 2) return;
  extent = {x, extent.right + kFramePad};
  const std::string name = fabric_.name(fabric_.node(NodeKind::network_switch, plane * fabric_.switches_per_plane()));
  frames_.push_back({extent.left, extent.right, {top_row(), kLeaves}, clos_.tiers == 3 ? 1 : 0,
                     name.substr(0, name.rfind('/')), "one of " + counted(fabric_.planes(), "plane"), false});
}

// With several planes the servers stand in a row of their own, below all of them.
void ClosDrawing::place_server_row(std::uint32_t site, double x, Extent& extent) {
  const SiteBlocks& blocks = sites_[site];
  const std::uint32_t per_pod = clos_.tiers == 3 ? blocks.per_pod() : blocks.count();
  const std::uint32_t pods = clos_.tiers == 3 ? clos_.sites[site].pods : 1;
  extent = {x, x};
  const auto folded = [&](std::uint32_t first, std::uint32_t count, double at) {
    const std::uint64_t servers = blocks.servers(first, count);
    const std::uint32_t box = fold_box(fmt::format("servers{}.{}+", site, first), "server", static_cast<std::uint32_t>(servers),
                                       static_cast<std::uint32_t>(blocks.servers(0, blocks.count())), {}, at, {kServers, kServers});
    servers_[{site, first}].push_back({box, {}, true});
    extent.right = at + kFoldWidth;
  };
  for (const Stretch pod : fold(pods, detail_.pods)) {
    const std::uint32_t first = pod.first * per_pod;
    const double start = extent.right + (extent.right > x ? kBlockGap : 0);
    if (pod.folded()) {
      folded(first, std::min(pod.count * per_pod, blocks.count() - first), start);
      continue;
    }
    for (const Stretch part : fold(std::min(per_pod, blocks.count() - first), detail_.blocks)) {
      const double at = extent.right + (extent.right > x ? kBlockGap : 0);
      if (part.folded()) {
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
    if (part.folded()) {
      const std::uint32_t box = fold_box(fmt::format("plane{}.{}+", site, part.first),
                                         fabric_.cluster().shape.rail_planes > 1 ? "rail" : "plane", part.count,
                                         fabric_.planes(), {}, at, {top_row(), kLeaves});
      for (const auto& [unit, unused] : std::map(leaves_))
        if (unit.site == site) leaves_[unit].push_back({box, {0, 1}, part.first, true});
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
    const double apart = (extent.width() - own.width()) / 2;
    shift(apart >= 0 ? row : start, std::abs(apart));
    if (apart < 0) {
      shift(row, apart);
      extent.right = extent.left + own.width();
    }
  }
  if (!framed) return;
  extent = {x, extent.right + kFramePad};
  const std::string& name = fabric_.cluster().sites[site];
  frames_.push_back({extent.left, extent.right, {top_row(), kServers}, clos_.tiers == 3 ? 2 : 1,
                     fmt::format("site {}", name), counted(static_cast<std::int64_t>(sites_[site].servers(0, sites_[site].count())), "server"), true});
}

void ClosDrawing::place() {
  Extent extent;
  const auto all = static_cast<std::uint32_t>(clos_.sites.size());
  for (const Stretch part : fold(all, detail_.sites)) {
    const double at = extent.right + (extent.right > 0 ? 90 : 0);
    if (part.folded()) {
      fold_box(fmt::format("site{}+", part.first), "site", part.count, all, {}, at, {top_row(), kServers});
      extent.right = at + kFoldWidth;
      continue;
    }
    Extent own;
    place_site(part.first, at, own);
    extent.right = own.right;
  }
  width_ = extent.right;
  join_servers();
}

// ---- what is joined to what

void ClosDrawing::join_switches(const std::vector<Shown>& upper, const std::vector<Shown>& lower, LinkTier tier,
                                std::int64_t links) {
  for (const Shown& a : upper)
    for (const Shown& b : lower)
      joins_.push_back({a.box, b.box, tier, links, fabric_.wire(tier), a.what.folded() || b.what.folded()});
}

// Spine s is joined to the super-spines of group s / (spines per group) alone.
void ClosDrawing::join_supers(const std::vector<Shown>& supers, const std::vector<Shown>& spines) {
  const std::uint32_t each = clos_.spines_per_pod / clos_.super_groups;
  for (const Shown& super : supers)
    for (const Shown& spine : spines) {
      const std::uint32_t low = super.what.first / clos_.supers_per_group * each;
      const std::uint32_t high = (super.what.first + super.what.count - 1) / clos_.supers_per_group * each + each;
      if (spine.what.first >= high || spine.what.first + spine.what.count <= low) continue;
      joins_.push_back({super.box, spine.box, LinkTier::super_spine, clos_.super_bundle, clos_.super_wire,
                        super.what.folded() || spine.what.folded()});
    }
}

void ClosDrawing::join_servers() {
  const model::Shape& shape = fabric_.cluster().shape;
  for (const auto& [unit, servers] : servers_)
    for (const UnitServers& server : servers)
      for (const UnitLeaves& leaf : leaves_[unit]) {
        const model::Wiring& wiring = shape.wiring[server.run.group];
        const std::uint32_t nics = fabric_.cluster().groups[server.run.group].nics();
        const std::uint32_t first = leaf.leaves.first * wiring.nics_per_leaf;
        const std::uint32_t lanes = shape.rail_planes > 1 ? 1 : std::min(wiring.nics_per_leaf, nics - std::min(nics, first));
        joins_.push_back({leaf.box, server.box, LinkTier::nic,
                          static_cast<std::int64_t>(lanes) * wiring.ports_per_plane * std::max(1u, server.run.count), wiring.wire,
                          leaf.folded || picture_.boxes[server.box].style == "more"});
      }
}

// ---- drawing

void ClosDrawing::set_heights() {
  const double gap = std::clamp(width_ * 0.065, 62.0, 120.0);
  double y = 0;
  for (std::size_t row = 0; row < kRows; ++row) {
    if (!has_row(static_cast<Row>(row))) continue;
    y_[row] = y;
    height_[row] = row == kServers ? kServerHeight : kSwitchHeight;
    y += height_[row] + gap;
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Rect& at = picture_.boxes[i].at;
    at.y = y_[rows_[i].top];
    at.h = y_[rows_[i].bottom] + height_[rows_[i].bottom] - at.y;
  }
}

void ClosDrawing::draw_frames() {
  for (const FramePlan& plan : frames_) {
    const double pad = kFramePad + 4 * plan.inside;
    const double top = y_[plan.rows.top] - pad - (plan.below ? 0 : 14);
    const double label = plan.below ? kFrameLabel * (plan.inside + 1) : 4;
    const double bottom = y_[plan.rows.bottom] + height_[plan.rows.bottom] + pad - 6 + label;
    picture_.frames.push_back({{plan.left, top, plan.right - plan.left, bottom - top}, plan.label, "", plan.title, plan.below});
  }
  // The outer ones first, so that inner ones lie on top.
  std::stable_sort(picture_.frames.begin(), picture_.frames.end(),
                   [](const Frame& a, const Frame& b) { return a.at.w * a.at.h > b.at.w * b.at.h; });
}

// Lines leave a box somewhat towards where they go, so that a fan of them can be told apart.
double port_x(const Rect& from, const Rect& to) {
  const double reach = from.w * 0.42;
  return from.centre().x + std::clamp((to.centre().x - from.centre().x) * 0.12, -reach, reach);
}

void ClosDrawing::draw_joins() {
  std::map<LinkTier, std::size_t> many;
  for (const Join& join : joins_) ++many[join.tier];
  for (const Join& join : joins_) {
    const Box& a = picture_.boxes[join.upper];
    const Box& b = picture_.boxes[join.lower];
    const double thin = many[join.tier] > 64 ? 0.6 : 1;
    const std::string label = bundle_text(join.links, join.wire.rate);
    picture_.lines.push_back({{{port_x(a.at, b.at), a.at.bottom()}, {port_x(b.at, a.at), b.at.y}},
                              rate_style(join.wire.rate) + (join.folded ? " folded" : " thin"),
                              line_width(join.links, join.wire.rate) * thin, label, {},
                              fmt::format("{} to {}: {}{}, {} of cable", a.id, b.id, join.folded ? "each " : "", label,
                                          brief(join.wire.latency)),
                              join.upper, join.lower});
  }
}

// Above everything, a level for each line: gateway i of a site to gateway i of every other.
void ClosDrawing::draw_site_links() {
  constexpr double kLevel = 30;
  std::map<std::uint32_t, int> used;  // lines that leave a box already
  double y = -40;
  for (auto a = gateways_.begin(); a != gateways_.end(); ++a)
    for (auto b = std::next(a); b != gateways_.end() && b->first.first == a->first.first; ++b)
      for (std::size_t i = 0; i < a->second.size(); ++i) {
        const Box& from = picture_.boxes[a->second[i].box];
        const Box& to = picture_.boxes[b->second[i].box];
        const double x0 = from.at.centre().x + 9 * used[a->second[i].box]++;
        const double x1 = to.at.centre().x - 9 * used[b->second[i].box]++;
        const std::string text = fmt::format("{}, {} one way", bundle_text(clos_.site_links, clos_.site_wire.rate), brief(clos_.site_wire.latency));
        const bool folded = a->second[i].what.folded();
        picture_.lines.push_back({{{x0, from.at.y}, {x0, y}, {x1, y}, {x1, to.at.y}}, folded ? "site folded" : "site", 3,
                                  folded ? "each " + text : text, Point{(x0 + x1) / 2, y - 11},
                                  fmt::format("{} to {}: {}", from.id, to.id, text), a->second[i].box, b->second[i].box});
        y -= kLevel;
      }
}

void ClosDrawing::gap_text(Row upper, const std::string& strong, const std::string& aside) {
  std::size_t lower = upper + 1u;
  while (!has_row(static_cast<Row>(lower))) ++lower;
  const double y = (y_[upper] + height_[upper] + y_[lower]) / 2;
  picture_.texts.push_back({{-30, y - 2}, strong, "strong", Anchor::end});
  picture_.texts.push_back({{-30, y + 12}, aside, "aside", Anchor::end});
}

void ClosDrawing::draw_gutter() {
  const Clos& tree = *fabric_.clos();
  const auto& kinds = fabric_.cluster().shape.switches;
  constexpr Clos::Tier kTiers[] = {Clos::Tier::gateway, Clos::Tier::super_spine, Clos::Tier::spine, Clos::Tier::leaf};
  for (std::size_t row = 0; row < kRows; ++row) {
    if (!has_row(static_cast<Row>(row))) continue;
    const bool servers = row == kServers;
    const std::int64_t n = servers ? fabric_.cluster().servers : static_cast<std::int64_t>(tree.count(kTiers[row])) * fabric_.planes();
    std::string kind = counted(fabric_.cluster().gpus, "GPU");
    if (!servers) kind = (row == kGateways ? kinds.back() : kinds[std::min<std::size_t>(3 - row, kinds.size() - 1)]).kind;
    const double y = y_[row] + height_[row] / 2;
    picture_.texts.push_back({{-30, y - 2}, fmt::format("{} {}", grouped(n), plural(kRowNouns[row], n)), "strong", Anchor::end});
    picture_.texts.push_back({{-30, y + 12}, kind, "aside", Anchor::end});
  }
  const model::Wiring& wiring = fabric_.cluster().shape.wiring[0];
  const model::Group& group = fabric_.cluster().groups[0];
  gap_text(kLeaves, bundle_text(static_cast<std::int64_t>(group.nics()) * group.spec.nic.ports, wiring.wire.rate), "per server");
  if (clos_.tiers >= 2) gap_text(kSpines, bundle_text(clos_.bundle, clos_.spine_wire.rate), "leaf to spine, each pair");
  if (clos_.tiers == 3)
    gap_text(kSupers, bundle_text(clos_.super_bundle, clos_.super_wire.rate),
             clos_.super_groups > 1 ? fmt::format("spine to each of its {}", clos_.supers_per_group) : "spine to super-spine, each pair");
  if (clos_.gateways > 0)
    gap_text(kGateways, bundle_text(clos_.gateway_bundle, fabric_.wire(LinkTier::gateway).rate), "to gateway, each pair");
}

Picture ClosDrawing::draw() {
  set_heights();
  draw_frames();
  draw_joins();
  draw_site_links();
  draw_gutter();
  describe_fabric(fabric_, picture_);
  finish(picture_);
  return std::move(picture_);
}

}  // namespace

Picture clos_picture(const Fabric& fabric) {
  for (const Detail& detail : kDetails) {
    ClosDrawing drawing(fabric, detail);
    drawing.place();
    if (drawing.fits() || &detail == std::end(kDetails) - 1) return drawing.draw();
  }
  return {};
}

}  // namespace weft::draw
