#pragma once
// A lab as a value: which namespaces, cables and rates one cluster becomes on one machine, and which equal paths every
// device must have before it counts as up. Nothing here touches the machine.
//
// Rates are scaled: all links by one factor, so that what is oversubscribed in the cluster is so in the lab.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "render/addressing.hpp"

namespace weft::lab {

// NICs' addresses that a device reaches by the same interfaces, at equal cost. In a Dragonfly BGP takes one of the
// shortest ways, and not always the one that minimal routing would: there `any` of them is right.
struct Reach {
  std::vector<std::string> interfaces;
  std::vector<std::string> addresses;
  bool any = false;
};

// What a server has of a rail: its NIC, and addresses for pods behind it.
struct RailOfServer {
  std::string interface;  // pf1
  std::string nic;        // 10.128.0.1
  std::string block;      // 10.128.0.0/28: the NIC's address and those of pods
  std::string rail;       // 10.128.0.0/10: of all servers
};

struct Device {
  std::string name;  // leaf0
  std::string tier;  // leaf, spine, ..., server
  bool is_server = false;
  std::vector<Reach> reach;
  std::vector<RailOfServer> rails = {};  // of a server
  std::string owner = {};                // the tenant that the cluster file gives it to; empty: anybody's

  std::uint32_t planned_width() const;  // interfaces of its widest reach
};

struct End {
  std::uint32_t device = 0;
  std::string interface;
};

struct Link {
  End a;  // a server's, or that of the switch with the lower number
  End b;
  Bandwidth planned;  // in the cluster
  Bandwidth rate;     // in the lab
  bool is_nic = false;
};

// Something that the lab does otherwise than the rendered files say.
struct Overlay {
  std::string what;
  std::string rendered;
  std::string lab;
  std::string why;
};

struct Plan {
  std::string name;
  std::string cluster;
  std::vector<Device> devices;  // switches, then servers
  std::vector<Link> links;
  bool has_frontend = false;
  Bandwidth planned;  // what `rate` stands for
  Bandwidth rate;     // of the fastest link between switches; of NICs, where one switch is all there is

  std::string netns(std::uint32_t device) const;  // weft-NAME-DEVICE
  std::string netns(const std::string& device) const;
  const Device* find(std::string_view device) const;
  std::uint32_t sessions() const { return static_cast<std::uint32_t>(2 * links.size()); }  // ends of sessions
};

// Two busy cores carry four of them.
inline constexpr Bandwidth kDefaultRate{500'000'000};
inline constexpr std::uint32_t kMtu = 9000;

// A name for namespaces and folders, made of a cluster's: "small ACP" -> "small-acp".
std::string lab_name(std::string_view text);

Result<Plan, render::Refusal> plan_lab(const render::Addressing& addressing, std::string name, Bandwidth rate);

std::vector<Overlay> overlays(const Plan& plan);
std::vector<std::string> not_exercised();

// ---- what the programs are told that carry it out

// A token bucket as a switch's port: its burst and the queue behind it.
struct Shaping {
  Bandwidth rate;
  std::int64_t burst = 0;  // bytes
  std::int64_t limit = 0;  // bytes that may wait, the burst among them
};
Shaping shaping(Bandwidth rate);
std::string shaping_line(std::string_view verb, const std::string& interface, Bandwidth rate);  // for tc -batch

std::string namespaces_batch(const Plan& plan);  // for ip -batch
std::string links_batch(const Plan& plan);       // likewise: veth pairs, each end in its namespace
std::string interfaces_batch(const Plan& plan, std::uint32_t device);  // in the device's namespace: up
std::string shaping_batch(const Plan& plan, std::uint32_t device);     // for tc -batch there
// Keys and values in /proc/sys, of a rendered sysctl.conf with the lab's changes behind it.
std::vector<std::pair<std::string, std::string>> kernel_settings(std::string_view sysctl_conf);
std::string frr_for_lab(std::string rendered, const std::string& log_file);  // frr.conf with what the lab changes

}  // namespace weft::lab
