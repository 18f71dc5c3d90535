// Groups stand on a ring; global links are chords between the points of the groups nearest to the
// middle. Those points form a convex ring with every group outside it, so no chord crosses a group.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/text.hpp"
#include "draw/fabric_parts.hpp"

namespace weft::draw {
namespace {

using fabric::Fabric;
using fabric::NodeKind;

constexpr std::uint32_t kMostGroups = 9;
constexpr double kRouterWidth = 76;
constexpr double kRouterHeight = 36;
constexpr double kRouterGap = 34;
constexpr double kPad = 12;
constexpr double kServerHeight = 46;
constexpr double kGroupWidth = 2 * kRouterWidth + kRouterGap + 2 * kPad;
constexpr double kGroupHeight = 2 * kRouterHeight + kRouterGap + 40 + kServerHeight + 2 * kPad + 20;

class DragonflyDrawing {
 public:
  explicit DragonflyDrawing(const Fabric& fabric) : fabric_(fabric), shape_(fabric.dragonfly()->shape()) {}

  Picture draw() {
    groups_ = fold(shape_.groups, kMostGroups);
    place_ring();
    for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].folded ? draw_fold(i) : draw_group(i);
    draw_global_links();
    describe_fabric(fabric_, picture_);
    describe();
    finish(picture_);
    return std::move(picture_);
  }

 private:
  void place_ring();
  bool ring_fits(double radius);
  void draw_fold(std::size_t place);
  void draw_group(std::size_t place);
  void draw_routers(std::uint32_t group, const Rect& frame);
  void draw_servers(std::uint32_t group, const Rect& frame);
  void draw_global_links();
  void describe();
  std::vector<ServerRun> servers_of(std::uint32_t first_router, std::uint32_t routers) const;

  const Fabric& fabric_;
  const model::DragonflyShape& shape_;
  Picture picture_;
  std::vector<Stretch> groups_;
  std::vector<Rect> at_;                   // of the groups shown
  std::vector<Point> inner_;               // where their global links end
  std::vector<std::uint32_t> router_box_;  // first router of each group shown, for lines
};

// Rectangles outside a circle, touching it with the point nearest to its middle.
bool DragonflyDrawing::ring_fits(double radius) {
  at_.clear();
  inner_.clear();
  const double n = static_cast<double>(groups_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    // From the top; two stand side by side.
    const double start = groups_.size() == 2 ? std::numbers::pi : -std::numbers::pi / 2;
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / n + start;
    const double cx = std::cos(angle);
    const double cy = std::sin(angle);
    const Point touch{radius * cx, radius * cy};
    // A blend from corner to edge keeps the ring even: at 0 and 90 degrees the middle of a side.
    const Point middle{touch.x + cx * kGroupWidth / 2, touch.y + cy * kGroupHeight / 2};
    at_.push_back({middle.x - kGroupWidth / 2, middle.y - kGroupHeight / 2, kGroupWidth, kGroupHeight});
    inner_.push_back({std::clamp(0.0, at_[i].x, at_[i].right()), std::clamp(0.0, at_[i].y, at_[i].bottom())});
  }
  for (std::size_t i = 0; i < at_.size(); ++i)
    for (std::size_t j = i + 1; j < at_.size(); ++j) {
      constexpr double kBetween = 24;
      const bool apart = at_[i].right() + kBetween <= at_[j].x || at_[j].right() + kBetween <= at_[i].x ||
                         at_[i].bottom() + kBetween <= at_[j].y || at_[j].bottom() + kBetween <= at_[i].y;
      if (!apart) return false;
    }
  return true;
}

void DragonflyDrawing::place_ring() {
  double radius = groups_.size() == 1 ? 0 : 90;
  while (!ring_fits(radius) && radius < 5000) radius += 10;
}

void DragonflyDrawing::draw_fold(std::size_t place) {
  const Stretch part = groups_[place];
  const Point middle = at_[place].centre();
  at_[place] = {middle.x - 70, middle.y - 45, 140, 90};
  inner_[place] = {std::clamp(0.0, at_[place].x, at_[place].right()),
                   std::clamp(0.0, at_[place].y, at_[place].bottom())};
  router_box_.push_back(add_box(picture_, {fmt::format("group{}+", part.first),
                                           at_[place],
                                           fmt::format("… {} more", grouped(part.count)),
                                           {"groups", fmt::format("({} in all)", grouped(shape_.groups))},
                                           "more",
                                           fmt::format("group {} to {}", part.first, part.first + part.count - 1)}));
}

void DragonflyDrawing::draw_group(std::size_t place) {
  const std::uint32_t group = groups_[place].first;
  picture_.frames.push_back(
      {at_[place], fmt::format("group {}", group), "",
       fmt::format("group {}: {}, all joined to each other", group, counted(shape_.routers_per_group, "router")),
       true});
  draw_routers(group, at_[place]);
  draw_servers(group, at_[place]);
}

// Up to four places in a square, joined all to all.
void DragonflyDrawing::draw_routers(std::uint32_t group, const Rect& frame) {
  const auto shown = fold(shape_.routers_per_group, 4);
  const std::uint32_t base = group * shape_.routers_per_group;
  std::vector<std::uint32_t> boxes;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const double x = frame.x + kPad + static_cast<double>(i % 2) * (kRouterWidth + kRouterGap);
    const double y = frame.y + kPad + static_cast<double>(i / 2) * (kRouterHeight + kRouterGap);
    const std::uint32_t router = base + shown[i].first;
    const std::string name = fabric_.name(fabric_.node(NodeKind::network_switch, router));
    Box box{name,
            {x, y, kRouterWidth, kRouterHeight},
            name.substr(name.rfind('/') + 1),
            {},
            "leaf",
            fmt::format("{}: {}, {} NIC ports, {} local links, {} global links", name, fabric_.switch_kind(router).kind,
                        shape_.router_down, shape_.routers_per_group - 1, shape_.global_links)};
    if (shown[i].folded) {
      box.id += "+";
      box.label = fmt::format("… {} more", grouped(shown[i].count));
      box.notes = {fmt::format("({} in all)", grouped(shape_.routers_per_group))};
      box.style = "more";
    }
    boxes.push_back(add_box(picture_, std::move(box)));
  }
  router_box_.push_back(boxes[0]);
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t j = i + 1; j < boxes.size(); ++j) {
      const Rect& a = picture_.boxes[boxes[i]].at;
      const Rect& b = picture_.boxes[boxes[j]].at;
      const bool folded = shown[i].folded || shown[j].folded;
      picture_.lines.push_back(
          {{a.centre(), b.centre()},
           rate_style(shape_.local_wire.rate) + (folded ? " folded" : " thin"),
           line_width(1, shape_.local_wire.rate),
           short_rate(shape_.local_wire.rate),
           {},
           fmt::format("local link, {}, {} of cable", brief(shape_.local_wire.rate), brief(shape_.local_wire.latency)),
           boxes[i],
           boxes[j]});
    }
}

std::vector<ServerRun> DragonflyDrawing::servers_of(std::uint32_t first_router, std::uint32_t routers) const {
  std::vector<ServerRun> runs;
  const model::Cluster& cluster = fabric_.cluster();
  for (std::uint32_t g = 0; g < cluster.groups.size(); ++g) {
    const model::Wiring& wiring = cluster.shape.wiring[g];
    const std::int64_t each = wiring.servers_per_block;
    const auto clip = [&](std::int64_t router) {
      return std::clamp<std::int64_t>((router - wiring.first_leaf) * each, 0, cluster.groups[g].servers);
    };
    const std::int64_t from = clip(first_router);
    const std::int64_t to = clip(static_cast<std::int64_t>(first_router) + routers);
    if (to > from) runs.push_back({g, static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to - from)});
  }
  return runs;
}

void DragonflyDrawing::draw_servers(std::uint32_t group, const Rect& frame) {
  const std::uint32_t first = group * shape_.routers_per_group;
  auto runs = servers_of(first, shape_.routers_per_group);
  const double y = frame.y + kGroupHeight - kPad - 20 - kServerHeight;
  const Rect at{frame.x + kPad, y, frame.w - 2 * kPad, kServerHeight};
  Box box;
  if (runs.empty()) {
    box = {fmt::format("group{}/none", group), at, "no servers", {}, "more", "spare routers"};
  } else {
    box = server_box(fabric_, runs[0], runs[0].count, false);
    for (std::size_t i = 1; i < runs.size(); ++i) box.notes.push_back("and " + run_name(fabric_, runs[i]));
    if (box.notes.size() > 2)
      box.notes = {box.notes[0],
                   fmt::format("and {} more", counted(static_cast<std::int64_t>(runs.size()) - 1, "group"))};
    box.at = at;
  }
  const std::uint32_t index = add_box(picture_, std::move(box));
  if (runs.empty()) return;
  // One line for all routers: from the lower pair down to the servers.
  const model::Wire wire = fabric_.wire(fabric::LinkTier::nic, runs[0].group);
  const model::Group& servers = fabric_.cluster().groups[runs[0].group];
  const double top = frame.y + kPad + (shape_.routers_per_group > 2 ? 2 * kRouterHeight + kRouterGap : kRouterHeight);
  for (const double x : {at.x + kRouterWidth / 2, at.right() - kRouterWidth / 2}) {
    if (shape_.routers_per_group == 1 && x > at.centre().x) continue;
    picture_.lines.push_back(
        {{{x, top}, {x, y}},
         rate_style(wire.rate) + " thin",
         line_width(servers.nics(), wire.rate),
         bundle_text(static_cast<std::int64_t>(servers.nics()) * servers.spec.nic.ports, wire.rate),
         {},
         fmt::format("each server: {}, {} of cable",
                     bundle_text(static_cast<std::int64_t>(servers.nics()) * servers.spec.nic.ports, wire.rate),
                     brief(wire.latency)),
         kNoBox,
         index});
  }
}

void DragonflyDrawing::draw_global_links() {
  for (std::size_t i = 0; i < groups_.size(); ++i)
    for (std::size_t j = i + 1; j < groups_.size(); ++j) {
      const std::uint32_t links = fabric_.dragonfly()->links_between(groups_[j].first - groups_[i].first);
      const bool folded = groups_[i].folded || groups_[j].folded;
      if (links == 0 && !folded) continue;
      const std::string label = bundle_text(std::max(1u, links), shape_.global_wire.rate);
      Line line{{inner_[i], inner_[j]},
                rate_style(shape_.global_wire.rate) + (folded ? " folded" : " thin"),
                line_width(std::max(1u, links), shape_.global_wire.rate),
                label,
                {},
                fmt::format("group {} to group {}: {}{}, {} of cable", groups_[i].first, groups_[j].first,
                            folded ? "each " : "", label, brief(shape_.global_wire.latency)),
                router_box_[i],
                router_box_[j]};
      if (groups_.size() <= 3) line.label_at = Point{(inner_[i].x + inner_[j].x) / 2, (inner_[i].y + inner_[j].y) / 2};
      picture_.lines.push_back(std::move(line));
    }
}

void DragonflyDrawing::describe() {
  std::uint32_t least = 0xFFFFFFFFu;
  std::uint32_t most = 0;
  for (std::uint32_t ahead = 1; ahead < std::min(shape_.groups, 4096u); ++ahead) {
    least = std::min(least, fabric_.dragonfly()->links_between(ahead));
    most = std::max(most, fabric_.dragonfly()->links_between(ahead));
  }
  const std::string pairs =
      shape_.groups < 2 ? ""
      : least == most
          ? fmt::format("; {} between two groups", bundle_text(most, shape_.global_wire.rate))
          : fmt::format("; {} to {} x {} between two groups", least, most, short_rate(shape_.global_wire.rate));
  picture_.caption.push_back(fmt::format(
      "{} of {}, {} each{}; {} routing", counted(shape_.groups, "group"), counted(shape_.routers_per_group, "router"),
      counted(shape_.global_links, "global link"), pairs, enum_name(shape_.routing)));
  if (fabric_.planes() > 1)
    picture_.caption.push_back(fmt::format("one of {} planes is drawn; the others are like it", fabric_.planes()));
  picture_.description += "; " + picture_.caption.back();
}

}  // namespace

Picture dragonfly_picture(const Fabric& fabric) { return DragonflyDrawing(fabric).draw(); }

}  // namespace weft::draw
