#pragma once
// What a role has made for a pod's interface, in a file of its own, written before anything is made: DEL finds it, and
// so does who comes after a crash. A folder in /run, for what it tells of ends with the machine.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cni/tenant.hpp"
#include "host/descriptor.hpp"

namespace weft::cni {

enum class Role { ovs, frr };

struct Record {
  std::string container;
  std::string interface;
  std::string tenant;
  std::string address;
  std::string mac;     // ovs
  std::string bridge;  // ovs
  std::string port;    // ovs: the host's end, a port of the bridge
  std::string uplink;  // ovs: the port that leads to the leaf; empty: the kernel routes

  std::uint64_t cookie() const;  // of its flows
  bool operator==(const Record&) const = default;
};

class Records {
 public:
  explicit Records(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // One at a time; waits. An empty one: the folder cannot be written.
  host::Descriptor lock() const;

  std::optional<Record> find(Role role, const std::string& container, const std::string& interface) const;
  std::vector<Record> all(Role role) const;
  bool save(Role role, const Record& record) const;
  void erase(Role role, const Record& record) const;

  // Held by the agent while it lives.
  host::Descriptor become_agent() const;
  bool has_agent() const;

 private:
  std::filesystem::path path(Role role, const std::string& container, const std::string& interface) const;

  std::filesystem::path folder_;
};

}  // namespace weft::cni
