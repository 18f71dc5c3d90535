#pragma once
// What the kernel says of a namespace: counters of interfaces, queues and routes.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/descriptor.hpp"

namespace weft::host {

struct InterfaceCounters {
  std::string name;
  bool up = false;  // with a carrier
  std::uint64_t tx_bytes = 0;
  std::uint64_t tx_packets = 0;
  std::uint64_t rx_bytes = 0;
  std::uint64_t rx_packets = 0;
  std::uint64_t drops = 0;    // by the queue that leads out of it
  std::uint64_t backlog = 0;  // bytes that wait there
};

// By address: the interfaces of its route.
using Routes = std::map<std::string, std::vector<std::string>>;

// A socket that lives in the namespace, so that asking needs no thread there.
class Netlink {
 public:
  static std::optional<Netlink> open(const std::string& netns);  // a name, or a path
  static std::optional<Netlink> open_here();

  std::vector<InterfaceCounters> interfaces();
  Routes host_routes();  // IPv4, /32

  // No more segments of 64 KiB on the wire: what is lost must be a packet. False: the kernel refuses.
  bool turn_offloads_off(const std::string& interface);
  // What leaves has its checksum: for who takes packets from the interface without being told that it lacks.
  bool turn_checksums_off(const std::string& interface);

  // A veth's number here, and that of its other end, wherever that is.
  struct Pair {
    int index = 0;
    int peer = 0;
  };
  std::optional<Pair> pair(const std::string& interface);
  std::optional<std::string> interface_paired(int index, int peer);

 private:
  Netlink(Descriptor route, Descriptor control) : route_(std::move(route)), control_(std::move(control)) {}
  bool request(std::uint16_t type, unsigned char family);
  bool set(const std::string& interface, std::uint32_t command);
  std::map<std::string, Pair> pairs();
  template <class Visit>
  void answers(Visit visit);

  Descriptor route_;
  Descriptor control_;  // for ioctl
  std::vector<char> buffer_ = std::vector<char>(1 << 18);
};

}  // namespace weft::host
