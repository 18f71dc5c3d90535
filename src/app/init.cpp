#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "base/text.hpp"

namespace weft::app {
namespace {

struct Template {
  std::string kind;
  std::string body;  // servers and fabric
};

const std::vector<Template>& templates() {
  static const std::vector<Template> all = {
      {"rail-optimized",
       "servers:\n"
       "  kind: hgx-h100          # `weft catalog servers` lists kinds; any field can be overridden here\n"
       "  count: 32               # servers in all\n"
       "  nics: 8                 # 400G NICs per server; try 2 and look at `weft show server --as svg`\n"
       "\n"
       "fabric:\n"
       "  kind: rail-optimized    # NIC i of every server goes to rail leaf i of its scalable unit\n"
       "  scalable_unit: 16       # servers of one unit\n"
       "  spines: 4               # spines that join the units\n"
       "  switch: tomahawk-4      # 64 ports of 400G\n"
       "  link: {rate: 400Gbps, cable: 5m}\n"},
      {"rail-only",
       "servers: {kind: hgx-h100, count: 32}   # 8 NICs per server, one per rail\n"
       "\n"
       "fabric:\n"
       "  kind: rail-only         # no spine: rail i joins NIC i of all servers, cross-rail goes over NVLink\n"
       "  switch: tomahawk-4      # 64 ports of 400G\n"
       "  link: {rate: 400Gbps, cable: 10m}\n"},
      {"tor-clos",
       "servers: {kind: p5.48xlarge, count: 16}\n"
       "\n"
       "fabric:\n"
       "  kind: tor-clos          # all NICs of a server go to the switch of its rack\n"
       "  switch: tomahawk-4      # 64 ports of 400G, each also 4 x 100G\n"
       "  servers_per_leaf: 2\n"
       "  oversubscription: 1     # 3:1 would save two thirds of the uplinks\n"
       "  spine_link: {rate: 400Gbps, cable: 20m}\n"},
      {"fat-tree",
       "servers: {kind: hgx-h100, count: 128}\n"
       "\n"
       "fabric:\n"
       "  kind: fat-tree          # k-ary: k/2 NIC ports per leaf, k/2 leaves and spines per pod\n"
       "  k: 16\n"
       "  switch: {kind: tomahawk-4, ports: 16}\n"
       "  link: {rate: 400Gbps, cable: 5m}\n"},
      {"single-chassis",
       "servers: {kind: hgx-h100, count: 8}\n"
       "\n"
       "fabric:\n"
       "  kind: single-chassis    # every NIC on one big switch\n"
       "  switch: tomahawk-4      # 64 ports of 400G\n"},
      {"dragonfly",
       "servers: {kind: hgx-h100, count: 144}\n"
       "\n"
       "fabric:\n"
       "  kind: dragonfly\n"
       "  switch: tomahawk-4      # 64 ports of 400G\n"
       "  servers_per_router: 2   # 16 NICs on each router\n"
       "  routers_per_group: 8    # all joined to each other\n"
       "  global_links: 16        # from each router to other groups\n"
       "  routing: minimal        # or valiant, ugal\n"},
      {"multi-plane",
       "servers:\n"
       "  kind: hgx-h100\n"
       "  count: 128\n"
       "  nic: {kind: connectx-7, ports: 2}   # 2 x 200G: one port into each plane\n"
       "\n"
       "fabric:\n"
       "  kind: rail-optimized\n"
       "  planes: 2               # two independent fabrics; one may fail\n"
       "  switch: tomahawk-4      # 64 ports of 400G, each also 2 x 200G\n"
       "  scalable_unit: 32\n"
       "  oversubscription: 1\n"},
      {"two-sites",
       "servers:\n"
       "  - {name: east, kind: hgx-h100, count: 16, site: east}\n"
       "  - {name: west, kind: hgx-h100, count: 16, site: west}\n"
       "\n"
       "fabric:\n"
       "  kind: rail-optimized\n"
       "  switch: tomahawk-4\n"
       "  scalable_unit: 16\n"
       "  spines: 4\n"
       "  sites: {gateways: 2, links: 4, rate: 400Gbps, latency: 1ms}\n"},
      {"scale-up",
       "servers: {kind: gb200-nvl72, count: 18}   # one scale-up domain: a rack of 18 trays, each a server\n"
       "\n"
       "fabric: {kind: none}      # nothing but NVLink between them; several racks: weft init --kind nvl72-racks\n"},
      {"nvl72-racks",
       "servers: {kind: gb200-nvl72, count: 72}   # four racks of 18 trays; a tray is a server with 4 GPUs and 4 NICs\n"
       "\n"
       "fabric:\n"
       "  kind: rail-optimized    # between racks: NIC i of every tray goes to rail leaf i of its scalable unit\n"
       "  scalable_unit: 36       # trays of one unit: two racks\n"
       "  spines: 3               # spines that join the units\n"
       "  switch: tomahawk-5      # 64 ports of 800G, each also 2 x 400G\n"
       "  link: {rate: 400Gbps, cable: 10m}\n"},
  };
  return all;
}

}  // namespace

const std::vector<std::string>& init_kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Template& each : templates()) out.push_back(each.kind);
    return out;
  }();
  return names;
}

std::string init_text(const std::string& kind) {
  for (const Template& each : templates())
    if (each.kind == kind)
      return "# A cluster for weft. `weft check` reads it, `weft show fabric --as svg` draws it;\n"
             "# docs/reference/cluster-file.md lists every key.\n"
             "version: 1\n\n" +
             each.body;
  return "";
}

int init(const InitOptions& options, Console& console) {
  const std::string text = init_text(options.kind);
  if (text.empty()) {
    const auto guess = did_you_mean(options.kind, init_kinds());
    console.err << fmt::format("there is no kind '{}'; {}\n", options.kind,
                               guess ? fmt::format("did you mean '{}'?", *guess) : "kinds are " + either(init_kinds()));
    return kYourInput;
  }
  if (std::filesystem::exists(options.file)) {
    console.err << fmt::format("{} exists and is left as it is; give another name: weft init other.weft.yaml\n",
                               options.file);
    return kYourInput;
  }
  errno = 0;
  std::ofstream file(options.file, std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    console.err << cannot_write(options.file, errno) << "\n";
    return kThisMachine;
  }
  if (!console.quiet) console.out << fmt::format("wrote {}\nnext: weft check {}\n", options.file, options.file);
  return kFine;
}

}  // namespace weft::app
