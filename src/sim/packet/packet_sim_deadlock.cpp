// Circles of exact ports that wait for each other.
//
// A gate is alive when nothing holds it, or when anything that holds the buffer behind it is alive. What is not
// alive then can never move again: packets only ever join it. But credit may be on its way, so only a circle that is
// found twice without having sent anything counts.

#include <algorithm>

#include "sim/packet/packet_sim.hpp"

namespace weft::sim {
namespace {

// Gates by number: port and class, as ExactWorld has them.
class WaitingGates {
 public:
  explicit WaitingGates(const World& world)
      : exact_(world.exact), layout_(world.layout), config_(world.config.exact), number_(exact_.details.size(), -1) {}

  // Whether what waits there does so for room in the next switch.
  bool is_held(std::uint32_t gate, const PacketPool& pool) const {
    const std::uint32_t port = port_of(gate);
    const std::uint32_t cls = gate % config_.classes;
    const Gate& path = exact_.gate(port, cls);
    if (!config_.is_lossless(cls)) return false;
    if (layout_.is_host(layout_.far(port).entity)) return false;  // a host takes what comes, however slowly
    if (config_.flow_control == FlowControl::credits) return path.credit < pool[path.head].bytes;
    return exact_.holds[layout_.reverse_port(port) * config_.classes + cls].pausing;
  }
  void add(std::uint32_t gate) {
    number_[gate] = static_cast<std::int32_t>(held_.size());
    held_.push_back({gate, true, {}});
  }
  bool empty() const { return held_.empty(); }

  // All that waits in a gate holds the buffer behind the one that it came through.
  void note_what_holds(std::uint32_t gate, const PacketPool& pool) {
    const std::uint32_t at = layout_.owner(port_of(gate));
    if (layout_.is_host(at)) return;
    std::uint32_t last = PacketPool::kNone;
    std::uint32_t index = exact_.gate(port_of(gate), gate % config_.classes).head;
    for (; index != PacketPool::kNone; index = pool.next(index)) {
      const Event& packet = pool[index];
      const std::uint32_t in = layout_.port_of(at, exact_.port_in(packet));
      const std::uint32_t cls = gate % config_.classes - exact_.channel_out(packet.from) + exact_.channel_in(packet);
      const std::uint32_t through = layout_.reverse_port(in) * config_.classes + cls;
      if (through == last) continue;
      last = through;
      if (number_[through] >= 0) held_[static_cast<std::size_t>(number_[through])].by.push_back(gate);
    }
  }

  // Ports from one that is not alive to what it waits for, and so on, until that comes round; none: all are alive.
  std::vector<std::uint32_t> circle() {
    find_dead();
    const auto first = std::find_if(held_.begin(), held_.end(), [](const Held& each) { return each.dead; });
    if (first == held_.end()) return {};
    std::vector<std::uint32_t> path;
    std::uint32_t at = first->gate;
    while (std::find(path.begin(), path.end(), at) == path.end()) {
      path.push_back(at);
      at = held_[static_cast<std::size_t>(number_[at])].by.front();
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), at));
    for (std::uint32_t& gate : path) gate = port_of(gate);
    return path;
  }

 private:
  struct Held {
    std::uint32_t gate;
    bool dead;
    std::vector<std::uint32_t> by;  // gates of the next switch
  };
  std::uint32_t port_of(std::uint32_t gate) const { return gate / config_.classes; }
  bool is_dead(std::uint32_t gate) const {
    return number_[gate] >= 0 && held_[static_cast<std::size_t>(number_[gate])].dead;
  }
  void find_dead() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Held& each : held_) {
        // Where nothing holds it any more, what did is on its way out.
        const bool alive = each.by.empty() || std::any_of(each.by.begin(), each.by.end(),
                                                          [&](std::uint32_t gate) { return !is_dead(gate); });
        if (!each.dead || !alive) continue;
        each.dead = false;
        changed = true;
      }
    }
  }

  const ExactWorld& exact_;
  const Layout& layout_;
  const ExactConfig& config_;
  std::vector<Held> held_;
  std::vector<std::int32_t> number_;  // by gate: in held_
};

}  // namespace

PacketSim::Circle PacketSim::find_deadlock() const {
  const auto for_each_filled = [&](auto visit) {
    const std::uint32_t classes = config_.exact.classes;
    for (std::uint32_t gate = 0; gate < layout_.ports() * classes; ++gate)
      if (world_.exact.gate(gate / classes, gate % classes).head != PacketPool::kNone)
        visit(gate, pool_of(gate / classes));
  };
  WaitingGates waiting(world_);
  for_each_filled([&](std::uint32_t gate, const PacketPool& pool) {
    if (waiting.is_held(gate, pool)) waiting.add(gate);
  });
  if (waiting.empty()) return {};
  for_each_filled([&](std::uint32_t gate, const PacketPool& pool) { waiting.note_what_holds(gate, pool); });
  const std::vector<std::uint32_t> ports = waiting.circle();
  Circle circle;
  for (const std::uint32_t port : ports) {
    circle.names += layout_.name_of_end(port) + " -> ";
    circle.sent += world_.ports[port].packets;
  }
  if (!ports.empty()) circle.names += layout_.name_of_end(ports.front());
  return circle;
}

}  // namespace weft::sim
