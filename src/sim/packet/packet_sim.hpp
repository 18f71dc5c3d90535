#pragma once
// Packet by packet: switches with computed departures, hosts that drive the transport, one event per
// packet and link, on any number of threads with one result (windows.hpp says how).

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "schedule/progress.hpp"
#include "schedule/result.hpp"
#include "sim/packet/shard.hpp"

namespace weft::sim {

struct Flow {
  std::uint32_t source = 0;  // endpoint
  std::uint32_t destination = 0;
  std::uint64_t bytes = 0;
  std::int64_t start = 0;  // ps
};

class PacketSim {
 public:
  PacketSim(const fabric::Fabric& fabric, const SimConfig& config);
  ~PacketSim();

  // Before the run. A port is one direction of a link; see Layout.
  const Layout& layout() const { return layout_; }
  const SimConfig& config() const { return config_; }
  void add_condition(std::uint32_t port, const Condition& condition);
  void add_to_link(std::uint32_t port, const Condition& condition);              // both directions
  void add_to_switch(std::uint32_t network_switch, const Condition& condition);  // all its links
  void remove_link(std::uint32_t port) { layout_.remove_link(port); }            // of a switch; routing knows
  void shape(std::uint32_t port, const Bucket& bucket);
  void slow_receiver(std::uint32_t endpoint,
                     std::uint32_t millionths);  // exact ports: the host takes so much of the line rate
  // Of hosts whose transport is a program; computed ports. Any of them makes all hosts' transports programs.
  Software& software_of(std::uint32_t endpoint);
  // Times at which links are down, each once and by start; a fault that comes again and again counts until its first
  // end.
  std::vector<schedule::Outage> outages() const;
  void capture(std::uint32_t port);  // numbered in the order of these calls

  // Hands a message to the transport of an endpoint, at a time from now on. Before the run, or by a
  // client during a call about the same host (about any host when the run is in time order).
  void post(std::int64_t when, std::uint32_t endpoint, const transport::Operation& operation) {
    shards_[shard_of(layout_.host_of(endpoint))]->hosts().post(when, endpoint, operation);
  }
  // Calls the client back at a time.
  void call(std::int64_t when, std::uint32_t host, std::uint64_t context) {
    shards_[shard_of(host)]->hosts().call(when, host, context);
  }
  // Calls about hosts of one shard never come at once.
  std::uint32_t shards() const { return static_cast<std::uint32_t>(shards_.size()); }
  std::uint32_t shard_of(std::uint32_t host) const { return shards_.size() == 1 ? 0 : world_.shard_of[host]; }

  // An open-loop source beside it: packets that nobody acknowledges. Before the run.
  void start_raw(std::uint32_t endpoint, const transport::RawStream& stream) {
    shards_[shard_of(layout_.host_of(endpoint))]->hosts().start_raw(endpoint, stream);
  }
  transport::RawCounters raw_counters() const;

  // False stops the run, which leaves a partial result. Called between windows.
  std::function<bool(const schedule::Progress&)> on_progress;

  schedule::RunResult run(Client& client);
  const Port& port(std::uint32_t number) const { return world_.ports[number]; }
  // What links carried; at most so many, the busiest first. All that were sampled.
  void collect_links(schedule::RunResult& result, std::size_t most) const;
  // By time, whole until the result's capture_end.
  std::vector<transport::Captured> captured() const;

  // Why exact ports cannot work on this fabric with this buffer.
  ExactProblem exact_problem() const;
  // How a flow is cut into packets, and how far they spread between switches (Layout::Train).
  struct Cut {
    std::uint32_t full_packet = 0;  // bytes on the wire
    std::uint32_t header = 0;
    std::int64_t paths = Layout::Train::kAnyPath;
    std::int64_t trains = 1;
    bool detours = false;
  };
  // What a flow takes alone until the sender has the last acknowledgement, by the quickest way: to the picosecond where
  // links between switches are no slower than those of hosts, and never more than it takes. 0 where removed links leave
  // no way.
  std::int64_t unloaded(const Flow& flow) const { return unloaded(flow, {config_.full_packet, config_.header}); }
  std::int64_t unloaded(const Flow& flow, const Cut& cut) const;
  // Until the receiver has the last byte.
  std::int64_t unloaded_arrival(const Flow& flow, const Cut& cut) const;
  // By how much it may be sooner there: on another path a short last packet overtakes those before it, where they are
  // few. Which paths they take is a matter of hashes.
  std::int64_t overtaking(const Flow& flow, const Cut& cut) const;
  // Of one transport on all hosts, in one lane.
  transport::Counters counters(transport::Protocol protocol, std::uint8_t lane = 0) const;

 private:
  static Layout::Train train_of(const Flow& flow, const Cut& cut);
  Special& special(std::uint32_t port);
  std::uint32_t most_samples() const;  // of one link
  void prepare_exact();
  struct BufferUse {  // of a switch, in bytes
    std::int64_t buffer = 0;
    std::int64_t headroom = 0;  // that ports take of it, all classes together
    std::int64_t ports = 0;     // that are connected
    std::int64_t pausing = 0;   // of those, that take headroom
  };
  BufferUse buffer_use(std::uint32_t s) const;
  void prepare_channels();
  std::uint32_t most_ports() const;  // of one switch
  void prepare_scheduled();
  void settle_scheduled(std::int64_t end);
  std::int64_t longest_wait(transport::PacketType type) const;
  bool answers_ask() const;
  void work_together();
  void work(std::uint32_t shard);
  void choose_window();
  void look_around();
  struct Circle {
    std::string names;       // of the ports that wait for each other; empty: none do
    std::uint64_t sent = 0;  // packets by them so far
    bool operator==(const Circle&) const = default;
  };
  Circle find_deadlock() const;
  // With a watchdog no pause is for ever.
  bool can_lock_up() const {
    return config_.exact.on && config_.exact.deadlock_check.count() > 0 && config_.exact.watchdog.count() == 0;
  }
  const PacketPool& pool_of(std::uint32_t port) const { return shards_[shard_of(layout_.owner(port))]->pool(); }
  void check_conservation() const;
  std::int64_t capture_end() const;  // INT64_MAX: there was room for all

  World world_;
  SimConfig& config_;
  Layout& layout_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::uint32_t captures_ = 0;
  std::unique_ptr<class Barrier> barrier_;
  std::int64_t window_ = 0;
  std::int64_t next_publication_ = 0;  // ps: of queues
  std::int64_t next_search_ = 0;       // ps: for deadlocks
  Circle suspected_;
  std::string deadlock_;
  bool stopped_ = false;
  std::vector<std::exception_ptr> failures_;  // by shard
};

}  // namespace weft::sim
