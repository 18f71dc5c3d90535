#pragma once
// The packet executor: carries out a schedule on the packet simulator, rank i on GPU i, and ranks behind the GPUs on
// the switches of scale-up domains.
//
// A message leaves by all NICs near its GPU, or near the one that it names, a stripe on each (stripes.hpp). Where hosts
// are modelled, a stripe crosses NVLink and PCIe first (host_links.hpp), enters the NIC part by part as its bytes
// become ready, and each part that has arrived crosses to the GPU. Between GPUs of one scale-up domain a message does
// not touch the network. What is read is asked for, and comes the other way. The target's NIC fetches it from memory
// while it sends: the way inside the target's server costs its latency, and nobody there shares it.
//
// Stripes of one connection cross one behind another: a queue pair, a stream of bytes keeps the order of its messages.
//
// A server is often faster than its NIC. What is ready and has no room there waits as a number of bytes, not as parts:
// a message of any length costs what its transport is busy with.
//
// Streams whose verb is tagged have a layer of messages between the schedule and what is carried (tagged.hpp).
//
// Where links go down, parts whose NIC does not get through go by another one (failover.hpp), but for those of raw
// messages: nobody notices that they do not get through.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "schedule/result.hpp"
#include "schedule/schedule.hpp"
#include "sim/host/failover.hpp"
#include "sim/host/host_links.hpp"
#include "sim/host/host_route.hpp"
#include "sim/host/stripes.hpp"
#include "sim/packet/message_names.hpp"
#include "sim/packet/packet_sim.hpp"
#include "sim/packet/parts.hpp"
#include "sim/packet/reads.hpp"
#include "sim/packet/tagged.hpp"
#include "sim/run/runner.hpp"

namespace weft::sim {

class PacketRun final : public Network, public Client {
 public:
  // `hosts`: what happens inside servers counts. Both must outlive it.
  PacketRun(schedule::Schedule& schedule, PacketSim& engine, bool hosts, const HostRates& rates = {});
  ~PacketRun() override;

  // Whether there is a way between two GPUs.
  bool joined(std::uint32_t from, std::uint32_t to);
  // `counted`: how many lanes of each rank, the first ones, the run is for; it ends when they have. Else all of them.
  using LanesOf = std::function<std::uint32_t(std::uint32_t rank)>;
  schedule::RunResult run(const LanesOf& counted = {});

  // Answers of the engine, and wishes of the runner.
  void completed(std::int64_t now, const transport::Completion& completion) override;
  void called(std::int64_t now, std::uint32_t host, std::uint64_t context) override;
  std::uint32_t send(std::int64_t now, const Transfer& transfer) override;
  void wake(std::int64_t at, std::uint32_t rank, std::uint32_t context) override;
  void local(std::int64_t now, std::uint32_t rank, schedule::Instruction::Kind kind, std::uint64_t bytes,
             std::uint32_t context) override;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  // What crosses a server: a stripe on its way to a NIC, a part from a NIC, or a whole message.
  struct Crossing {
    enum class Kind : std::uint8_t { out, in, inside };
    Kind kind;
    std::uint32_t from;  // rank
    std::uint32_t to;
    std::uint32_t message;
    NicPair pair;
    std::uint64_t bytes;
    std::uint64_t part;    // out
    std::uint64_t posted;  // out: bytes that the NIC has been given
    std::uint32_t again;   // out: the part that goes by another NIC than it was meant to; kNew: none
    std::uint32_t queue;   // out: as of a transport::Operation
    HostLinks::TransferId transfer;
    std::uint64_t ready = 0;     // out: bytes that have come to the NIC
    std::uint32_t next = kNone;  // out: who waits behind it for room
    bool crossed = false;        // out: all of it has come
    bool waits = false;          // out
  };
  // What the transport of a NIC has to do towards another, and the stripes that wait for room, first come first served.
  // Parts that go by other NICs in the end count as well: else a stripe whose NIC is dead would move as a whole, at
  // once.
  struct Backlog {
    std::uint64_t bytes = 0;  // posted, and not known to be there
    std::uint64_t most = 0;   // 0: not known yet
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };
  // What keeps the order of its messages: ranks, NICs, stream and queue pair. Who sends several streams at once opens
  // connections for each.
  using Connection = std::array<std::uint32_t, 5>;
  // What belongs to the hosts of one shard, and is touched by its thread only.
  struct Hosts {
    Hosts(const Layout& layout, const HostRates& rates, const SimConfig& config)
        : routes(layout.fabric(), rates),
          links(routes),
          reads(config.stack.srd.reads),
          failover(layout, config.failover.count()) {}
    HostRoutes routes;
    HostLinks links;
    std::vector<Crossing> crossings;
    std::vector<std::uint32_t> free;
    std::vector<HostLinks::Ready> ready;
    std::vector<NicPair> pairs;
    std::map<Connection, HostLinks::TransferId> last_out;  // of connections with something on its way to their NIC
    std::map<std::array<std::uint32_t, 3>, std::uint32_t> turns;  // by pair of NICs and stream: messages so far
    ByNicPair<Backlog> backlogs;
    Reads reads;
    Failover failover;
    schedule::Failures failures;                       // those of these hosts
    std::int64_t gave_up = schedule::kNotYet.count();  // when a transport did so last
    std::uint64_t inside_bytes = 0;                    // of messages that needed no network
    std::uint32_t calls = 0;                           // since who limits the run was asked
    bool stopped = false;                              // by them, in the middle of a window
  };
  static constexpr std::uint32_t kNew = 0xFFFFFFFFu;

  std::uint32_t domain_of(std::uint32_t rank) const { return domain_of_[rank]; }
  std::uint32_t host_of(std::uint32_t rank) const { return engine_.layout().switches() + domain_of_[rank]; }
  Hosts& hosts_of(std::uint32_t domain) { return *hosts_[engine_.shard_of(engine_.layout().switches() + domain)]; }
  void cross(std::int64_t now, std::uint32_t domain, const HostRoute* route, const Crossing& crossing);
  bool keeps_order(const Crossing& crossing);
  Connection connection_of(const Crossing& crossing);
  void moved(std::int64_t now, Hosts& hosts, const HostLinks::Ready& ready);
  std::uint32_t keep(Hosts& hosts, const Crossing& crossing);
  bool has_room(Hosts& hosts, const NicPair& pair);
  void hand_over(std::int64_t now, Hosts& hosts, std::uint32_t slot);
  bool post_ready(std::int64_t now, Hosts& hosts, std::uint32_t slot);
  void settle(std::int64_t now, std::uint32_t from, std::uint32_t stream, const NicPair& home, std::uint64_t bytes);
  void post(std::int64_t now, const NicPair& pair, std::uint32_t from, std::uint32_t message, std::uint64_t bytes,
            std::uint32_t queue);
  std::uint32_t next_queue(Hosts& hosts, const NicPair& pair, std::uint32_t stream);
  void read(std::int64_t now, Hosts& hosts, const Read& part);
  void read_in_parts(std::int64_t now, Hosts& hosts, Read whole);
  Read numbered(Read part);
  void has_read(std::int64_t now, std::uint32_t from, std::uint32_t message, const transport::Completion& done);
  void read_next(std::int64_t now, Hosts& hosts, const NicPair& pair);
  void launch(std::int64_t now, const NicPair& pair, std::uint32_t from, std::uint32_t message, std::uint32_t named,
              std::uint64_t bytes, std::uint32_t queue);
  void launch(std::int64_t now, std::uint32_t from, std::uint32_t part);
  void try_again(std::int64_t now, Hosts& hosts, std::uint32_t from, std::uint32_t part);
  void leave_out_avoided(std::int64_t now, Hosts& hosts);
  bool move(std::int64_t now, std::uint32_t from, std::uint32_t part);
  void give_up(std::int64_t now, std::uint32_t endpoint);
  void give_up_part(std::int64_t now, std::uint32_t from, std::uint32_t part);
  void failed(std::int64_t now, std::uint32_t from, std::uint32_t part);
  schedule::Failures take_failures();
  void arm(Hosts& hosts, std::uint32_t domain);
  bool is_stopped(Hosts& hosts);
  std::uint32_t stream_of(std::uint32_t from, std::uint32_t message) const {
    return tagged_.is_carried(message) ? tagged_.stream_of(from, message) : runner_.message(from, message).stream;
  }
  std::uint32_t destination_of(std::uint32_t from, std::uint32_t message) const {
    return tagged_.is_carried(message) ? tagged_.destination_of(from, message)
                                       : std::uint32_t{runner_.message(from, message).destination};
  }
  void tell_sent(std::int64_t now, std::uint32_t from, std::uint32_t message);
  void tell_received(std::int64_t now, std::uint32_t to, std::uint32_t from, std::uint32_t message);
  bool is_raw(std::uint32_t stream) const { return engine_.config().protocol_of(stream) == transport::Protocol::raw; }
  bool is_read(std::uint32_t stream) const { return engine_.config().verb_of(stream) == transport::Op::read; }
  bool may_move(std::uint32_t stream) const { return fails_over_ && !is_raw(stream); }
  fabric::NodeId part(std::uint32_t rank) const { return hosts_[0]->routes.part(rank); }
  fabric::NodeId nic(std::uint32_t endpoint) const { return fabric_.nic_of(endpoint); }

  PacketSim& engine_;
  const fabric::Fabric& fabric_;
  bool model_hosts_;
  Runner runner_;
  Tagged tagged_;
  std::uint32_t ranks_;
  std::vector<std::uint32_t> domain_of_;       // by rank
  MessageNames names_;                         // of messages; where parts may move, of parts
  std::vector<std::int64_t> armed_;            // by domain: when its links are looked at next
  std::vector<std::unique_ptr<Hosts>> hosts_;  // by shard
  bool fails_over_ = false;                    // parts are numbered, and some may move
  std::vector<NumberedParts> parts_;           // by rank
  std::mutex asking_;                          // who limits the run, within a window
  schedule::Progress last_;                    // that they were told
  std::function<bool(const schedule::Progress&)> go_on_;
};

}  // namespace weft::sim
