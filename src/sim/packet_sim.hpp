#pragma once
// Packet by packet: switches with computed departures, hosts that drive the transport, one event per
// packet and link.
//
// Entities are switches (numbered as in the fabric) and, behind them, servers. An event touches only
// its own entity, and its effects on others take at least the look-ahead: the shortest cable plus the
// latency of the switch before it. So all events of one window of that width can be handled entity by
// entity, each in the order (time, cause, number), and the result is the same in whatever order the
// entities come. That order is what the caches like: a switch's ports stay close while its packets
// pass. Effects without delay (triggers of a connection matrix) break the rule; such a run is handled
// strictly in time order instead.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/digest.hpp"
#include "base/random.hpp"
#include "fabric/fabric.hpp"
#include "sim/wheel.hpp"
#include "transport/srd.hpp"

namespace weft::sim {

struct SimConfig {
  std::uint64_t seed = 1;
  transport::SrdConfig srd;
  bool trimming = true;
  std::int64_t queue_bytes = 0;     // of one port; 0: one bandwidth-delay product
  std::uint32_t mark_from = 20;     // percent of the queue
  std::uint32_t mark_to = 80;
  bool in_time_order = false;       // effects between hosts without delay
};

struct Flow {
  std::uint32_t source = 0;  // endpoint
  std::uint32_t destination = 0;
  std::uint64_t bytes = 0;
  std::int64_t start = 0;  // ps
};

struct SimResult {
  std::int64_t end = 0;
  std::uint64_t events = 0;
  std::uint64_t packet_hops = 0;
  std::uint64_t data_sent = 0;
  std::uint64_t data_resent = 0;
  std::uint64_t acks_sent = 0;
  std::uint64_t trimmed = 0;
  std::uint64_t marked = 0;
  std::uint64_t dropped = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t digest = 0;
};

class PacketSim {
 public:
  PacketSim(const fabric::Fabric& fabric, const SimConfig& config);

  // Starts a flow; may be called from `on_sent` and `on_received`, where `now` is the current time.
  void start(std::uint32_t tag, const Flow& flow);
  std::function<void(std::uint32_t tag, std::int64_t now)> on_sent;
  std::function<void(std::uint32_t tag, std::int64_t now)> on_received;

  std::function<void(std::int64_t now)> on_window;  // for progress

  SimResult run();
  std::int64_t base_rtt() const { return base_rtt_; }
  // What a flow takes alone until the sender has the last acknowledgement: to the picosecond for whole
  // packets on links of one rate, else a lower bound.
  std::int64_t unloaded(const Flow& flow) const;
  bool reachable(std::uint32_t source, std::uint32_t destination) const {
    return attached_[source].plane == attached_[destination].plane;
  }

 private:
  struct Port {
    std::int64_t busy = 0;       // data leaves until then
    std::int64_t busy_high = 0;  // headers and acknowledgements
    std::uint32_t marked = 0;
    std::uint32_t trimmed = 0;
    std::uint64_t bytes = 0;
  };
  struct Link {  // what a kind of link is like; few exist
    std::int64_t latency = 0;
    std::int64_t ps_per_byte = 0;
    std::int64_t queue = 0;  // in time: how far ahead a port may be booked
    std::int64_t mark_from = 0;
    std::int64_t mark_to = 0;
  };
  struct Entity {
    Digest digest;
    std::uint32_t caused = 0;  // number of its next effect
    Random random;
  };
  struct Pending {
    std::int64_t time;
    std::uint64_t cause;  // (from, number)
    std::uint32_t event;
  };
  void handle(const Event& event);
  void at_switch(const Event& event);
  void at_host(const Event& event);
  void forward(Event packet, Port& port, const Link& link, std::uint32_t entity, std::int64_t ready);
  void pump(std::uint32_t endpoint, std::int64_t now);
  void send(std::uint32_t endpoint, const transport::Transmit& packet, std::int64_t now);
  void arm(std::uint32_t endpoint, std::int64_t when, std::int64_t now);
  void emit(Event& event, std::uint32_t from);
  void complete(std::int64_t now);
  void run_window();
  void run_group(std::span<Pending> group);

  std::int64_t one_way(std::uint32_t from, std::uint32_t to, std::uint32_t bytes) const;
  void find_links();
  std::int64_t connect_ports();  // and the look-ahead
  std::uint32_t host_entity(std::uint32_t endpoint) const { return hosts0_ + host_of_[endpoint]; }

  const fabric::Fabric& fabric_;
  SimConfig config_;
  std::uint32_t hosts0_ = 0;
  std::uint32_t per_plane_ = 0;
  std::int64_t base_rtt_ = 0;
  std::vector<Link> links_;                // by LinkTier, then per server group for NIC links
  std::vector<std::uint32_t> first_port_;  // by switch
  struct Far {  // the other end of a port
    std::uint32_t entity;
    std::uint32_t link;
  };
  std::vector<Far> far_;                   // by port
  std::vector<Port> ports_;
  std::vector<Port> nic_ports_;            // by endpoint
  std::vector<fabric::Attachment> attached_;
  std::vector<std::uint32_t> host_of_;     // server of an endpoint
  std::vector<std::int64_t> armed_;        // by endpoint: the wake-up that counts
  std::vector<Entity> entities_;
  std::vector<std::int64_t> switch_latency_;  // by switch
  transport::Srd srd_;
  Wheel wheel_;
  std::int64_t window_end_ = 0;
  std::vector<Pending> pending_;
  std::vector<std::uint32_t> counts_;
  std::vector<Event> late_;  // min-heap of events within the running window
  bool running_ = false;
  std::uint64_t events_ = 0;
  std::uint64_t hops_ = 0;
  std::uint64_t dropped_ = 0;
  std::int64_t now_ = 0;
};

}  // namespace weft::sim
