#pragma once
// What the pictures of all fabrics share.

#include <string>
#include <vector>

#include "draw/picture.hpp"
#include "draw/words.hpp"
#include "fabric/fabric.hpp"

namespace weft::draw {

// Servers of one group, by their numbers within it.
struct ServerRun {
  std::uint32_t group = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// "s0", "s0 … s15".
std::string run_name(const fabric::Fabric& fabric, const ServerRun& run);
// A server, or several in one box, with what they hold. `style` is "server" or "more".
Box server_box(const fabric::Fabric& fabric, const ServerRun& run, std::uint32_t of_all, bool folded);

// Style and width of a line that stands for `links` links of one rate.
std::string rate_style(Bandwidth rate);
double line_width(std::int64_t links, Bandwidth rate);

// Title, caption and legend, from the cluster and from what was drawn.
void describe_fabric(const fabric::Fabric& fabric, Picture& picture);

Picture clos_picture(const fabric::Fabric& fabric);
Picture dragonfly_picture(const fabric::Fabric& fabric);
Picture island_picture(const fabric::Fabric& fabric);  // no fabric: a scale-up domain alone

}  // namespace weft::draw
