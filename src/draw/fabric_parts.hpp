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

// How a server is joined to its leaves: "8 x 400G"; of groups that differ, "8 x 200G or 8 x 400G".
std::string links_of_servers(const model::Cluster& cluster);

// Title, caption and legend, from the cluster and from what was drawn.
void describe_fabric(const fabric::Fabric& fabric, Picture& picture);

// What every kind of network (fabric/networks.hpp) has of its own: its picture, what the caption says of it, and the
// rates of the links between its switches.
Picture network_picture(const fabric::Clos& clos, const fabric::Fabric& fabric);
Picture network_picture(const fabric::Dragonfly& dragonfly, const fabric::Fabric& fabric);
std::vector<std::string> caption_of(const fabric::Clos& clos, const fabric::Fabric& fabric);
std::vector<std::string> caption_of(const fabric::Dragonfly& dragonfly, const fabric::Fabric& fabric);
std::vector<Bandwidth> drawn_rates(const fabric::Clos& clos);
std::vector<Bandwidth> drawn_rates(const fabric::Dragonfly& dragonfly);

}  // namespace weft::draw
