#pragma once
// The addressing plan that all targets share: names, AS numbers, addresses and interfaces, each by position, so that a
// cluster that grows keeps what it has.
//
//   10.0.0.0/10    servers      one loopback each, told to the frontend; from 10.48.0.0 on, leaves of the frontend
//   10.64.0.0/10   switches     one loopback each
//   10.128.0.0/9   the backend  cut into one block per rail (NIC port of a server); of it each server has 16 addresses,
//                               less in clusters too large for that: the NIC's own, then those of pods' virtual
//                               functions
//
// AS numbers are private ones of four bytes (RFC 6996). As RFC 7938 has it, switches that must not hand packets to each
// other through those below them share one: the spines of a pod, the super-spines of a site, its gateways.
//
//   4200000000 + site   gateways      4220000000 + pod    spines    4260000000 + server   servers
//   4210000000 + site   super-spines  4230000000 + leaf   leaves, routers of a Dragonfly  (each counted over all
//   planes)                           4250000000 + leaf   leaves of the frontend
//
// Switches are numbered as the fabric has them; behind them come the frontend's leaves, which the fabric does not know.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "render/rendered.hpp"

namespace weft::render {

struct Prefix {
  std::uint32_t address = 0;
  std::uint32_t length = 32;
  std::string text() const;  // 10.128.0.0/28
};
std::string dotted(std::uint32_t address);

// A port of a switch or a server, and the cable to its peer.
struct Port {
  std::string interface;       // Ethernet8; pf1
  std::uint32_t panel = 0;     // switch: front-panel port, from 0
  std::uint32_t breakout = 1;  // switch: links that the front-panel port is split into
  std::uint32_t part = 0;      // switch: which of them
  std::uint32_t lanes = 0;     // switch: that this link has
  bool connected = false;
  fabric::LinkTier tier = fabric::LinkTier::nic;
  bool up = false;  // towards switches above; on a server, always
  model::Wire wire;
  Length cable;
  std::string peer;            // device
  std::string peer_interface;  // its port
  bool peer_is_server = false;
  std::uint32_t peer_index = 0;  // among switches or servers
  std::uint32_t rail = 0;        // NIC port within the server, where one end is one
  bool frontend = false;         // of the frontend: no rail
};

// What a neighbour of a switch is to it, in BGP: SERVERS, BELOW, ABOVE, ROUTERS (a Dragonfly's), SITES.
std::string peer_group(const Port& port);

class Addressing {
 public:
  // Refuses clusters that have more of something than the plan has addresses.
  static Result<Addressing, Refusal> of(const fabric::Fabric& fabric);

  const fabric::Fabric& fabric() const { return *fabric_; }
  std::uint32_t servers() const { return fabric_->cluster().servers; }
  std::uint32_t switches() const { return fabric_switches() + fabric_->cluster().frontend_leaves(); }
  std::uint32_t fabric_switches() const { return fabric_->planes() * fabric_->switches_per_plane(); }
  bool is_frontend(std::uint32_t switch_index) const { return switch_index >= fabric_switches(); }
  std::uint32_t rails() const { return rails_; }  // NIC ports of the server that has most

  const model::Group& group_of(std::uint32_t server) const;
  std::string server_name(std::uint32_t server) const;
  std::string switch_name(std::uint32_t index) const;  // a name that hosts may have: plane0-leaf3
  std::string_view tier_noun(std::uint32_t switch_index) const;
  const model::SwitchKind& switch_kind(std::uint32_t index) const;
  std::uint32_t plane(std::uint32_t switch_index) const { return switch_index / fabric_->switches_per_plane(); }

  std::uint32_t server_as(std::uint32_t server) const;
  std::uint32_t switch_as(std::uint32_t index) const;
  std::uint32_t server_loopback(std::uint32_t server) const;
  std::uint32_t switch_loopback(std::uint32_t index) const;

  static Prefix backend();
  static Prefix switch_loopbacks();
  Prefix rail(std::uint32_t rail) const;                              // of all servers
  Prefix pods(std::uint32_t server, std::uint32_t rail) const;        // of one: NIC and pods
  std::uint32_t nic(std::uint32_t server, std::uint32_t rail) const;  // the NIC's own address

  std::vector<Port> switch_ports(std::uint32_t index) const;   // in the fabric's order, those without a peer too
  std::vector<Port> server_ports(std::uint32_t server) const;  // by rail
  // mgmt1 and mgmt2; without a peer where the file does not describe the frontend.
  std::vector<Port> server_frontend(std::uint32_t server) const;
  // What a switch takes from the server on this port, and nothing else: of the rail, or the server's own address.
  Prefix announced_by(const Port& to_server) const;
  // Equal-cost ports that a switch has towards a target, at most; what BGP has to keep. FRR keeps 256.
  std::uint32_t ecmp_width(std::uint32_t switch_index) const;

 private:
  explicit Addressing(const fabric::Fabric& fabric);

  std::optional<Refusal> name_clash() const;
  // Ports of a switch that are alike, one behind another.
  struct Run {
    std::uint32_t first;
    std::uint32_t panel;  // of the first
    std::uint32_t breakout;
    fabric::LinkTier tier;
    model::Wire wire;
  };
  const std::vector<Run>& runs(std::uint32_t index) const;
  Port bare_port(std::uint32_t index, std::uint32_t number) const;  // without its peer
  std::vector<Port> frontend_leaf_ports(std::uint32_t leaf) const;
  std::optional<std::uint32_t> endpoint_on(std::uint32_t index, std::uint32_t port) const;

  const fabric::Fabric* fabric_;
  std::uint32_t rails_ = 0;
  std::uint32_t rail_bits_ = 0;                 // 2^rail_bits_ blocks
  std::uint32_t server_bits_ = 4;               // 2^server_bits_ addresses of a server and rail
  mutable std::vector<std::vector<Run>> runs_;  // by switch, found when asked for
};

}  // namespace weft::render
