#include "model/infiniband.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::model {
namespace {

using spec::Error;
using spec::Node;

// What a path of keys says, or null.
const Node* written(const Node& root, std::initializer_list<std::string_view> keys) {
  const Node* node = &root;
  for (const std::string_view key : keys) {
    const spec::Entry* entry = node->find(key);
    if (entry == nullptr) return nullptr;
    node = &entry->value;
  }
  return node;
}

// EFA speaks SRD and nothing else, whatever switch stands for AWS's.
bool has_efa(const ClusterFile& file) {
  return std::any_of(file.servers.begin(), file.servers.end(), [](const ServerGroup& each) { return each.nic.efa; });
}

// TCP goes over InfiniBand, too (IPoIB), and raw packets are nobody's.
bool is_ethernet(TransportKind kind) {
  return kind == TransportKind::srd || kind == TransportKind::rocev2 || kind == TransportKind::uet ||
         kind == TransportKind::tcp_over_srd;
}

}  // namespace

void settle_infiniband(ClusterFile& file, const Node& root, spec::Diagnostics& diagnostics) {
  const bool switches = file.fabric.leaf_switch.link_layer == LinkLayer::infiniband && !has_efa(file);
  const Node* flow_control = written(root, {"switching", "flow_control"});
  const Node* kind = written(root, {"transport", "kind"});
  if (kind == nullptr && !has_efa(file) && (switches || file.switching.flow_control == FlowControl::credits))
    file.transport.kind = TransportKind::infiniband;
  if (kind != nullptr && switches && is_ethernet(file.transport.kind))
    diagnostics.add(Error::foreign_links, kind->place,
                    fmt::format("{} on switches that forward InfiniBand's packets only ({})",
                                enum_name(file.transport.kind), file.fabric.leaf_switch.kind),
                    "no transport.kind, an Ethernet switch such as fabric.switch: tomahawk-5, or for a switch that is "
                    "both fabric.switch.link_layer: ethernet");
  if (file.transport.kind != TransportKind::infiniband) return;
  if (flow_control == nullptr && switches) file.switching.flow_control = FlowControl::credits;
  // Its own congestion control (annex A10) is rarely switched on; RoCE needs DCQCN because pauses spread.
  if (written(root, {"transport", "rocev2", "control"}) == nullptr) file.transport.rocev2.control = RoceControl::none;
  if (file.switching.flow_control == FlowControl::credits) return;
  const Node* blamed = flow_control != nullptr ? flow_control : kind;
  diagnostics.add(
      Error::contradiction, blamed != nullptr ? blamed->place : root.place,
      fmt::format("InfiniBand's links have credits, but flow_control is {}", enum_name(file.switching.flow_control)),
      switches ? "no flow_control, or flow_control: credits"
               : "an InfiniBand switch such as fabric.switch: quantum-2, or transport.kind: rocev2 with "
                 "switching.flow_control: pfc for Ethernet");
}

}  // namespace weft::model
