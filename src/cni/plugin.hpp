#pragma once
// The plugin `weft-cni`, in the role that its name says:
//   ovs-provider  makes the host's end of a pod's interface a port of an Open vSwitch bridge, with flows that let the
//   pod
//                 speak as itself and with its own tenant only
//   frr-provider  tells the fabric of the pod's address, and whose it is, through this server's FRR
// Both stand behind plugins that make an interface and give it an address, and hand their result on unchanged.

#include <string>

#include "cni/record.hpp"
#include "cni/request.hpp"

namespace weft::cni {

struct Reply {
  int exit_code = 0;
  std::string text;  // for stdout
};
Reply run_plugin(Role role, const Variable& variable, const std::string& input);

// Each of the verbs; nothing: it is done.
using Done = std::optional<Error>;
Done ovs_add(const Request& request, const Attachment& attachment);
Done ovs_check(const Request& request, const Attachment& attachment);
Done ovs_del(const Request& request);
Done frr_add(const Request& request, const Attachment& attachment);
Done frr_check(const Request& request, const Attachment& attachment);
Done frr_del(const Request& request);

inline constexpr const char* kStateFolder = "/run/weft-cni";
inline constexpr const char* kOvsFolder = "/run/openvswitch";
inline constexpr const char* kFrrFolder = "/run/frr";

}  // namespace weft::cni
