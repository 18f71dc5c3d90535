// GPU to GPU: which NICs, which relay, and the links in between. A step is looked up among the links
// of its node, so a path can only use links that exist.

#include <algorithm>

#include "fabric/fabric.hpp"

namespace weft::fabric {

class PathBuilder {
 public:
  PathBuilder(const Fabric& fabric, std::uint32_t entropy, const Failures& failures)
      : fabric_(fabric), entropy_(entropy), failures_(failures) {}

  std::optional<Path> build(std::uint32_t from, std::uint32_t to) {
    const NodeId a = fabric_.gpu(from);
    const NodeId b = fabric_.gpu(to);
    if (between_gpus(a, b)) return path_;
    if (!fabric_.has_network()) return std::nullopt;
    return over_network(fabric_.describe(a), fabric_.describe(b)) ? std::optional(path_) : std::nullopt;
  }

  std::optional<Path> build_inside(NodeId from, NodeId to, bool may_relay) {
    const Node source = fabric_.describe(from);
    const Node destination = fabric_.describe(to);
    if (source.kind == NodeKind::gpu && destination.kind == NodeKind::gpu)
      return between_gpus(from, to) ? std::optional(path_) : std::nullopt;
    if (source.server != destination.server) return std::nullopt;
    if (source.kind == NodeKind::gpu && destination.kind == NodeKind::nic) {
      leave(source, destination.local, may_relay);
    } else if (source.kind == NodeKind::nic && destination.kind == NodeKind::gpu) {
      between_gpu_and_nic(destination, source.local, false);
    } else {
      return std::nullopt;
    }
    return path_;
  }

 private:
  const model::Group& group(const Node& node) const { return fabric_.cluster().groups[node.group]; }

  bool same_domain(const Node& a, const Node& b) const {
    if (a.group != b.group || !group(a).spec.scale_up) return false;
    const auto servers = static_cast<std::uint32_t>(group(a).spec.scale_up->servers);
    const std::uint32_t first = group(a).first_server;
    return (a.server - first) / servers == (b.server - first) / servers;
  }

  // Without the network; false when nothing else joins them.
  bool between_gpus(NodeId from, NodeId to) {
    if (from == to) return true;
    const Node source = fabric_.describe(from);
    const Node destination = fabric_.describe(to);
    if (same_domain(source, destination)) {
      scale_up(from, to);
    } else if (source.server == destination.server) {
      inside_server(from, to);
    } else {
      return false;
    }
    return true;
  }

  void step(NodeId from, NodeId to, std::uint32_t port = kNone) {
    bool done = false;
    fabric_.for_each_link(from, [&](const Link& link) {
      if (done || link.to != to || (port != kNone && link.port != port)) return;
      path_.links.push_back(link);
      done = true;
    });
  }

  void scale_up(NodeId from, NodeId to) {
    const Node source = fabric_.describe(from);
    const model::ScaleUp& domain = *group(source).spec.scale_up;
    if (domain.switches > 0) {
      const auto middle = fabric_.in_server(NodeKind::scale_up_switch, source.group, source.server,
                                            choose(entropy_, 7, static_cast<std::uint32_t>(domain.switches)));
      step(from, middle);
      step(middle, to);
      return;
    }
    // Torus: dimension by dimension, the shorter way round.
    const auto servers = static_cast<std::uint32_t>(domain.servers);
    const std::uint32_t first = value(fabric_.in_server(
        NodeKind::gpu, source.group, source.server - (source.server - group(source).first_server) % servers, 0));
    std::uint32_t stride = 1;
    for (const std::int64_t length : domain.torus) {
      const auto side = static_cast<std::uint32_t>(length);
      const std::uint32_t goal = (value(to) - first) / stride % side;
      while (true) {
        const std::uint32_t at = (value(from) - first) / stride % side;
        if (at == goal) break;
        const std::uint32_t forward = (goal + side - at) % side;
        const std::uint32_t next = forward <= side - forward ? (at + 1) % side : (at + side - 1) % side;
        const NodeId neighbour{value(from) + (next - at) * stride};
        step(from, neighbour);
        from = neighbour;
      }
      stride *= side;
    }
  }

  // The chain of nodes from a GPU or NIC up to its CPU.
  std::vector<NodeId> up_to_cpu(NodeId device) const {
    const Node at = fabric_.describe(device);
    const model::Diagram& diagram = group(at).diagram;
    const auto here = [&](NodeKind kind, std::uint32_t local) {
      return fabric_.in_server(kind, at.group, at.server, local);
    };
    const std::uint32_t place = at.kind == NodeKind::gpu ? diagram.gpu_switch[at.local] : diagram.nic_switch[at.local];
    std::vector<NodeId> chain = {device};
    if (at.kind == NodeKind::nic || !group(at).spec.host_link || diagram.pcie_switches > 0) {
      if (diagram.pcie_switches > 0) chain.push_back(here(NodeKind::pcie_switch, place));
      chain.push_back(here(NodeKind::root_complex, place));
    }
    chain.push_back(here(NodeKind::cpu, diagram.socket_of_root(place)));
    return chain;
  }

  // Between two devices of one server over PCIe, turning at the lowest node they share, or, where data rest in host
  // memory, not below it.
  void inside_server(NodeId from, NodeId to, bool host_memory = false) {
    const std::vector<NodeId> up = up_to_cpu(from);
    const std::vector<NodeId> down = up_to_cpu(to);
    std::vector<NodeId> walk;
    std::size_t turn = down.size();
    for (const NodeId node : up) {
      walk.push_back(node);
      const auto shared = std::find(down.begin(), down.end(), node);
      if (shared == down.end() || (host_memory && fabric_.describe(node).kind != NodeKind::cpu)) continue;
      turn = static_cast<std::size_t>(shared - down.begin());
      break;
    }
    for (std::size_t i = turn; i-- > 0;) walk.push_back(down[i]);
    for (std::size_t i = 1; i < walk.size(); ++i) step(walk[i - 1], walk[i]);
  }

  void between_gpu_and_nic(const Node& gpu_node, std::uint32_t nic, bool outward) {
    const NodeId gpu = fabric_.in_server(NodeKind::gpu, gpu_node.group, gpu_node.server, gpu_node.local);
    const NodeId nic_node = fabric_.in_server(NodeKind::nic, gpu_node.group, gpu_node.server, nic);
    const bool bounces = !group(gpu_node).diagram.direct(gpu_node.local, nic);
    path_.host_memory |= bounces;
    outward ? inside_server(gpu, nic_node, bounces) : inside_server(nic_node, gpu, bounces);
  }

  // The NICs of a GPU in order of preference: its near ones, then the others of its server; each
  // part is turned by the entropy so that several near NICs share the load.
  std::vector<std::uint32_t> preferred_nics(const Node& gpu) const {
    std::vector<std::uint32_t> nics = group(gpu).diagram.near_nics[gpu.local];
    std::rotate(nics.begin(),
                nics.begin() + choose(entropy_, 8, static_cast<std::uint32_t>(std::max<std::size_t>(1, nics.size()))),
                nics.end());
    const std::size_t near = nics.size();
    for (std::uint32_t nic = 0; nic < group(gpu).nics(); ++nic)
      if (std::find(nics.begin(), nics.begin() + static_cast<std::ptrdiff_t>(near), nic) ==
          nics.begin() + static_cast<std::ptrdiff_t>(near))
        nics.push_back(nic);
    return nics;
  }

  std::uint32_t endpoint(const Node& gpu, std::uint32_t nic, std::uint32_t port) const {
    const NodeId nic_node = fabric_.in_server(NodeKind::nic, gpu.group, gpu.server, nic);
    return fabric_.endpoint(value(nic_node) - value(fabric_.node(NodeKind::nic, 0)), port);
  }

  bool over_network(const Node& source, const Node& destination) {
    const auto out_nics = preferred_nics(source);
    const auto in_nics = preferred_nics(destination);
    const auto in_ports = static_cast<std::uint32_t>(group(destination).spec.nic.ports);
    const auto out_ports = static_cast<std::uint32_t>(group(source).spec.nic.ports);
    const std::uint32_t first_port = choose(entropy_, 9, in_ports);
    for (const std::uint32_t in : in_nics) {
      for (const std::uint32_t out : out_nics) {
        for (std::uint32_t i = 0; i < in_ports; ++i) {
          const std::uint32_t port = (first_port + i) % in_ports;
          const std::uint32_t to = endpoint(destination, in, port);
          // The like port first: it is in the same plane and spreads the load.
          for (std::uint32_t j = 0; j < out_ports; ++j) {
            const std::uint32_t from = endpoint(source, out, (port + j) % out_ports);
            if (!fabric_.reachable(from, to, failures_)) continue;
            leave(source, out, true);
            cross(from, to);
            between_gpu_and_nic(destination, in, false);
            return true;
          }
        }
      }
    }
    return false;
  }

  // From the GPU to a NIC of its server. A NIC that is not the GPU's own is reached over NVLink and
  // the memory of the GPU next to it (PXN's way), which costs no host memory; without a scale-up
  // network, over PCIe.
  void leave(const Node& source, std::uint32_t nic, bool may_relay) {
    const auto& near = group(source).diagram.near_nics[source.local];
    const std::uint32_t neighbour = group(source).diagram.near_gpu[nic];
    const bool own = std::find(near.begin(), near.end(), nic) != near.end();
    Node at = source;
    if (may_relay && !own && group(source).spec.scale_up && neighbour != source.local) {
      at.local = neighbour;
      const NodeId relay = fabric_.in_server(NodeKind::gpu, at.group, at.server, neighbour);
      scale_up(fabric_.in_server(NodeKind::gpu, source.group, source.server, source.local), relay);
      path_.relay = relay;
    }
    between_gpu_and_nic(at, nic, true);
  }

  void cross(std::uint32_t from, std::uint32_t to) {
    const Attachment a = fabric_.attachment(from);
    const Attachment b = fabric_.attachment(to);
    const Broken& broken = failures_.planes[a.plane];
    NodeId at = fabric_.network_node(a.plane, a.target.leaf);
    step(fabric_.nic_of(from), at, a.target.port);
    std::uint32_t here = a.target.leaf;
    RouteState state = fabric_.start(here, b.target, entropy_, broken);
    while (true) {
      const Hop hop = fabric_.next_hop(here, b.target, entropy_, state, broken);
      if (here == b.target.leaf && hop.port == b.target.port) break;
      const Peer next = fabric_.peer(here, hop.port);
      step(at, fabric_.network_node(a.plane, next.switch_index), hop.port);
      here = next.switch_index;
      at = fabric_.network_node(a.plane, here);
      state = hop.state;
    }
    step(at, fabric_.nic_of(to), b.target.port);
  }

  const Fabric& fabric_;
  std::uint32_t entropy_;
  const Failures& failures_;
  Path path_;
};

std::optional<Path> Fabric::path(std::uint32_t from_gpu, std::uint32_t to_gpu, std::uint32_t entropy,
                                 const Failures& failures) const {
  return PathBuilder(*this, entropy, failures).build(from_gpu, to_gpu);
}

std::optional<Path> Fabric::path_inside(NodeId from, NodeId to, std::uint32_t entropy, bool may_relay) const {
  return PathBuilder(*this, entropy, Failures{}).build_inside(from, to, may_relay);
}

}  // namespace weft::fabric
