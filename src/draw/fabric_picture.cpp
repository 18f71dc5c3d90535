#include "draw/fabric_picture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "draw/fabric_parts.hpp"
#include "draw/words.hpp"

namespace weft::draw {
namespace {

// One scale-up domain, or one server: switches above, servers below.
Picture island_picture(const fabric::Fabric& fabric) {
  constexpr double kWidth = 120;
  constexpr double kStep = kWidth + 14;
  Picture picture;
  const model::Group& group = fabric.cluster().groups[0];
  const auto& scale_up = group.spec.scale_up;
  const bool shared = scale_up && scale_up->servers > 1;
  const auto shown = fold(group.servers, 8);
  const double width = std::max(kStep * static_cast<double>(shown.size()) - 14, 420.0);
  std::uint32_t domain = kNoBox;
  if (shared) {
    const std::string what = scale_up->switches > 0 ? counted(scale_up->switches, "scale-up switch") : "torus";
    domain = add_box(picture, {"scale-up",
                               {0, 0, width, 48},
                               fmt::format("{}: {}", scale_up->link.kind, what),
                               {fmt::format("{} per GPU one way", byte_rate(scale_up->link.one_way()))},
                               "nvswitch",
                               fmt::format("joins {} servers", scale_up->servers)});
  }
  double x = (width - (kStep * static_cast<double>(shown.size()) - 14)) / 2;
  for (const Stretch part : shown) {
    Box box = server_box(fabric, {0, part.first, part.count}, group.servers, part.folded);
    if (part.folded) box.id += "+";
    box.at = {x, shared ? 118.0 : 0.0, kWidth, 52};
    const std::uint32_t index = add_box(picture, std::move(box));
    if (domain != kNoBox)
      picture.lines.push_back(
          {{{x + kWidth / 2, 48}, {x + kWidth / 2, 118}},
           part.folded ? "nvlink folded" : "nvlink",
           4,
           fmt::format("{} x {}", group.spec.gpus, byte_rate(scale_up->link.one_way())),
           {},
           fmt::format("{} GPUs, {} each one way", group.spec.gpus, byte_rate(scale_up->link.one_way())),
           domain,
           index});
    x += kStep;
  }
  describe_fabric(fabric, picture);
  finish(picture);
  return picture;
}

}  // namespace

Picture fabric_picture(const fabric::Fabric& fabric) {
  Picture picture = fabric.has_network()
                        ? fabric.ask([&](const auto& network) { return network_picture(network, fabric); })
                        : island_picture(fabric);
  const auto& groups = fabric.cluster().groups;
  if (std::all_of(groups.begin(), groups.end(), [](const auto& group) { return is_chip(group.spec.gpu.kind); }))
    reword(picture, chips_for_gpus);
  return picture;
}

}  // namespace weft::draw
