#pragma once
// The parts a cluster is made of, as plain data read from the catalog with overrides laid over.
// Directions: `both_ways` figures count the two directions together, as NVLink's always do; every
// other rate is one way.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/money.hpp"
#include "base/units.hpp"
#include "model/choices.hpp"

namespace weft::model {

// Where numbers of a catalog entry come from. A row that is not `used` records a disagreement.
struct SourceRow {
  std::vector<std::string> fields;
  std::string from;
  std::string value;
  bool used = true;
  std::string why;
};

// What every catalog entry has.
struct Kind {
  std::string kind;  // its name in the catalog
  std::string base;
  std::string text;
  std::vector<SourceRow> sources;
};

struct GpuKind : Kind {
  Bytes memory;
  std::optional<Bandwidth> memory_bandwidth;
  std::optional<Compute> fp16_dense;
  std::optional<Compute> fp8_dense;
  std::optional<Compute> fp4_dense;
  std::optional<std::int64_t> multiprocessors;
  Power power;
  std::string scale_up;
};

// NVLink, NeuronLink, UPI: per GPU or socket. PCIe: per lane.
struct LinkKind : Kind {
  std::optional<Bandwidth> both_ways;
  std::optional<Bandwidth> per_lane_both_ways;
  std::optional<std::int64_t> links;
  std::optional<Duration> latency;

  Bandwidth one_way() const { return both_ways.value_or(Bandwidth{}) / 2; }
  Bandwidth one_way(std::int64_t lanes) const { return per_lane_both_ways.value_or(Bandwidth{}) * lanes / 2; }
};

struct NicKind : Kind {
  Bandwidth rate;
  std::int64_t ports = 1;
  std::optional<PacketRate> packet_rate;
  Duration latency;
  std::int64_t pcie_gen = 0;
  std::int64_t pcie_lanes = 0;
  std::optional<Power> power;
  std::optional<Money> purchase;  // on top of the server's, which has its NICs in it where this is not given
  std::optional<std::int64_t> efa;

  Bandwidth port_rate() const { return rate / ports; }
};

struct SwitchKind : Kind {
  std::int64_t ports = 0;
  Bandwidth rate;
  std::vector<std::string> breakout;
  Bytes buffer;
  Duration latency;
  LinkLayer link_layer = LinkLayer::ethernet;
  bool reduces = false;  // adds up what passes (SHARP)
  std::optional<Power> power;
  std::optional<Money> purchase;
};

struct CableKind : Kind {
  Duration latency_per_metre;
  std::optional<Length> max_length;
  std::optional<Power> power;     // of what is plugged in at one end
  std::optional<Money> purchase;  // with what is plugged in at both ends
};

struct ScaleUp {
  LinkKind link;
  std::int64_t switches = 0;
  std::int64_t servers = 1;  // servers that share one domain: 18 trays in an NVL72 rack
  std::vector<std::int64_t> torus;
  std::optional<Power> power;  // of a domain, beside its servers
};

// A transport that is a program: what it takes of its host's time.
struct HostCosts {
  Duration call;        // of the kernel
  Duration packet;      // beside it
  Bytes train{65536};   // that a call hands down on one path at most
  Bytes merged{65536};  // of one path that arrive as one packet at most
  Bytes buffer{32 << 20};
};

struct ServerKind : Kind {
  GpuKind gpu;
  std::int64_t gpus = 0;
  NicKind nic;
  std::int64_t nics = 0;
  std::int64_t sockets = 1;
  std::optional<LinkKind> socket_link;
  std::int64_t pcie_gen = 5;
  std::int64_t pcie_lanes = 16;
  std::int64_t pcie_switches = 0;
  std::vector<std::int64_t> gpu_switch;
  std::vector<std::int64_t> nic_switch;
  std::vector<std::int64_t> switch_socket;
  std::optional<LinkKind> host_link;
  bool gpudirect = true;
  bool p2p = true;
  std::optional<HostCosts> host;
  std::optional<ScaleUp> scale_up;
  std::optional<std::int64_t> vcpus;
  std::optional<Bytes> memory;
  std::optional<std::int64_t> nvme_count;
  std::optional<Bytes> nvme_size;
  std::optional<Power> power;
  std::optional<Price> price;
  std::optional<Money> purchase;
  std::string ultracluster;
};

}  // namespace weft::model
