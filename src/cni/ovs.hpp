#pragma once
// Open vSwitch on this server, through its own programs.

#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "host/process.hpp"

namespace weft::cni {

class Ovs {
 public:
  explicit Ovs(std::filesystem::path folder) : folder_(std::move(folder)) {}  // of its sockets

  host::Finished database(std::vector<std::string> words) const;  // ovs-vsctl
  // Changes of flows, all or none. What failed; empty: nothing.
  std::string change_flows(const std::string& bridge, const std::string& changes) const;
  std::string dump_flows(const std::string& bridge, const std::string& which = "") const;

  bool has_bridge(const std::string& bridge) const;
  Result<std::uint32_t, std::string> add_port(const std::string& bridge, const std::string& port) const;
  Result<std::uint32_t, std::string> number_of(const std::string& port) const;  // OpenFlow's
  std::string bridge_of(const std::string& port) const;                         // empty: none
  std::string mac_of(const std::string& bridge) const;  // pinned: it would follow its ports otherwise
  bool is_in_user_space(const std::string& bridge) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace weft::cni
