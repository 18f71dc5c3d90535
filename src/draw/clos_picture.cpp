#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text.hpp"
#include "draw/clos_drawing.hpp"

namespace weft::draw {

using fabric::Clos;
using fabric::Fabric;
using fabric::LinkTier;

namespace {

constexpr Detail kDetails[] = {
    {4, 8, 8, 4, 8, 8, 8, 4}, {4, 4, 8, 4, 8, 4, 8, 4}, {4, 4, 8, 4, 8, 4, 4, 3}, {4, 4, 8, 4, 8, 8, 8, 1},
    {4, 4, 8, 4, 8, 4, 8, 1}, {4, 4, 6, 4, 6, 4, 4, 1}, {4, 4, 6, 3, 4, 3, 4, 1}, {3, 3, 4, 3, 4, 3, 3, 1},
    {3, 1, 4, 3, 4, 3, 3, 1}, {3, 1, 4, 1, 4, 1, 3, 1},
};
constexpr double kWidest = 1800;
constexpr std::size_t kMostBoxes = 200;

// Lines leave a box somewhat towards where they go, so that a fan of them can be told apart.
double port_x(const Rect& from, const Rect& to) {
  const double reach = from.w * 0.42;
  return from.centre().x + std::clamp((to.centre().x - from.centre().x) * 0.12, -reach, reach);
}

// Bandwidth below over bandwidth above, tier by tier, where a tier is full.
std::string oversubscription_line(const model::ClosShape& clos, const model::Cluster& cluster) {
  if (clos.tiers == 1) return clos.gateways > 0 ? "" : "one tier: nothing is oversubscribed";
  double below = 0;
  for (std::size_t g = 0; g < cluster.groups.size(); ++g) {
    const model::Wiring& wiring = cluster.shape.wiring[g];
    const double servers = std::min(wiring.servers_per_block, cluster.groups[g].servers);
    below = std::max(
        below, servers * wiring.nics_per_leaf * wiring.ports_per_plane * static_cast<double>(wiring.wire.rate.count()));
  }
  const auto up = static_cast<double>(clos.spine_wire.rate.count());
  std::string line =
      fmt::format("oversubscription at a leaf {}", ratio_text(below, up * clos.spines_per_pod * clos.bundle));
  if (clos.tiers == 3)
    line += fmt::format(", at a spine {}", ratio_text(up * clos.leaves_per_pod * clos.bundle,
                                                      static_cast<double>(clos.super_wire.rate.count()) *
                                                          clos.supers_per_group * clos.super_bundle));
  return line;
}

std::string sites_line(const model::ClosShape& clos, const Fabric& fabric) {
  if (clos.gateways == 0) return "";
  return fmt::format(
      "between two sites {}, {} one way",
      bundle_text(static_cast<std::int64_t>(clos.gateways) * clos.site_links * fabric.planes(), clos.site_wire.rate),
      brief(clos.site_wire.latency));
}

}  // namespace

// ---- what is joined to what

void ClosDrawing::join_switches(const std::vector<Shown>& upper, const std::vector<Shown>& lower, LinkTier tier,
                                std::int64_t links) {
  for (const Shown& a : upper)
    for (const Shown& b : lower)
      joins_.push_back({a.box, b.box, tier, links, fabric_.wire(tier), a.what.folded || b.what.folded});
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
                        super.what.folded || spine.what.folded});
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
        const std::uint32_t lanes =
            shape.rail_planes > 1 ? 1 : std::min(wiring.nics_per_leaf, nics - std::min(nics, first));
        joins_.push_back({leaf.box, server.box, LinkTier::nic,
                          static_cast<std::int64_t>(lanes) * wiring.ports_per_plane * std::max(1u, server.run.count),
                          wiring.wire, leaf.folded || picture_.boxes[server.box].style == "more"});
      }
}

// ---- drawing

void ClosDrawing::set_heights() {
  const double gap = std::clamp(width_ * 0.072, 64.0, 130.0);
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

// Plans come from the inside out, so a frame grows around those already drawn within it.
void ClosDrawing::draw_frames() {
  for (const FramePlan& plan : frames_) {
    double top = y_[plan.rows.top] - kFramePad;
    double bottom = y_[plan.rows.bottom] + height_[plan.rows.bottom] + kFramePad;
    if (plan.below) bottom -= kFrameLabel - kFramePad;  // the label makes the room
    for (const Frame& inner : picture_.frames) {
      if (inner.at.x < plan.left || inner.at.right() > plan.right) continue;
      top = std::min(top, inner.at.y - kFramePad / 2);
      bottom = std::max(bottom, inner.at.bottom() + (plan.below ? 0 : kFramePad / 2));
    }
    (plan.below ? bottom : top) += plan.below ? kFrameLabel + 2 : -kFrameLabel / 2 - 4;
    const double width = plan.right - plan.left;
    picture_.frames.push_back(
        {{plan.left, top, width, bottom - top}, fitted(plan.label, width - 18, kTextSize), "", plan.title, plan.below});
  }
  // The outer ones first, so that inner ones lie on top.
  std::stable_sort(picture_.frames.begin(), picture_.frames.end(),
                   [](const Frame& a, const Frame& b) { return a.at.w * a.at.h > b.at.w * b.at.h; });
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
                              std::min(line_width(join.links, join.wire.rate), join.folded ? 2.0 : 6.0) * thin,
                              label,
                              {},
                              fmt::format("{} to {}: {}{}, {} of cable", a.id, b.id, join.folded ? "each " : "", label,
                                          brief(join.wire.latency)),
                              join.upper,
                              join.lower});
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
        const std::string text = fmt::format("{}, {} one way", bundle_text(clos_.site_links, clos_.site_wire.rate),
                                             brief(clos_.site_wire.latency));
        const bool folded = a->second[i].what.folded;
        picture_.lines.push_back({{{x0, from.at.y}, {x0, y}, {x1, y}, {x1, to.at.y}},
                                  folded ? "site folded" : "site",
                                  3,
                                  folded ? "each " + text : text,
                                  Point{site_right_[a->first.second] + kSiteGap / 2, y - 11},
                                  fmt::format("{} to {}: {}", from.id, to.id, text),
                                  a->second[i].box,
                                  b->second[i].box});
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
    const std::int64_t n =
        servers ? fabric_.cluster().servers : static_cast<std::int64_t>(tree.count(kTiers[row])) * fabric_.planes();
    std::string kind = counted(fabric_.cluster().gpus, "GPU");
    if (!servers)
      kind = (row == kGateways ? kinds.back() : kinds[std::min<std::size_t>(3 - row, kinds.size() - 1)]).kind;
    const double y = y_[row] + height_[row] / 2;
    picture_.texts.push_back(
        {{-30, y - 2}, fmt::format("{} {}", grouped(n), plural(kRowNouns[row], n)), "strong", Anchor::end});
    picture_.texts.push_back({{-30, y + 12}, kind, "aside", Anchor::end});
  }
  gap_text(kLeaves, links_of_servers(fabric_.cluster()), "per server");
  if (clos_.tiers >= 2) gap_text(kSpines, bundle_text(clos_.bundle, clos_.spine_wire.rate), "leaf to spine, each pair");
  if (clos_.tiers == 3)
    gap_text(kSupers, bundle_text(clos_.super_bundle, clos_.super_wire.rate),
             clos_.super_groups > 1 ? fmt::format("spine to each of its {}", clos_.supers_per_group)
                                    : "spine to super-spine, each pair");
  if (clos_.gateways > 0)
    gap_text(kGateways, bundle_text(clos_.gateway_bundle, fabric_.wire(LinkTier::gateway).rate),
             "to gateway, each pair");
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

Picture network_picture(const Clos&, const Fabric& fabric) {
  for (const Detail& detail : kDetails) {
    ClosDrawing drawing(fabric, detail);
    drawing.place();
    const bool fits = drawing.width() <= kWidest && drawing.boxes() <= kMostBoxes;
    if (fits || &detail == std::end(kDetails) - 1) return drawing.draw();
  }
  return {};
}

std::vector<std::string> caption_of(const Clos& clos, const Fabric& fabric) {
  return {oversubscription_line(clos.shape(), fabric.cluster()), sites_line(clos.shape(), fabric)};
}

std::vector<Bandwidth> drawn_rates(const Clos& clos) {
  std::vector<Bandwidth> rates;
  if (clos.shape().tiers > 1) rates.push_back(clos.shape().spine_wire.rate);
  if (clos.shape().tiers > 2) rates.push_back(clos.shape().super_wire.rate);
  return rates;
}

}  // namespace weft::draw
