#pragma once
// Hosts and their transports: hands messages to a transport, lets it send while the NIC has room, hands it what has
// come, and tells the client what is done.

#include <cstdint>
#include <vector>

#include "sim/packet/client.hpp"
#include "sim/packet/computed_ports.hpp"
#include "sim/packet/exact_ports.hpp"
#include "transport/stack.hpp"

namespace weft::sim {

class HostDriver {
 public:
  HostDriver(World& world, Windows& windows, Tally& tally, ComputedPorts& computed, ExactPorts& exact);
  void set_client(Client& client) { client_ = &client; }

  void post(std::int64_t when, std::uint32_t endpoint, const transport::Operation& operation);
  void call(std::int64_t when, std::uint32_t host, std::uint64_t context);
  void start_raw(std::uint32_t endpoint, const transport::RawStream& stream);  // before the run
  void handle(const Event& event);

  const std::vector<transport::Stack>& stacks() const { return stacks_; }  // by lane

 private:
  transport::Stack& stack_of(const transport::Header& header) {
    return last_lane_ == 0 ? stacks_[0]
                           : stacks_[std::min<std::uint32_t>(header.generation >> transport::kLaneShift, last_lane_)];
  }
  void pump(std::uint32_t endpoint, std::int64_t now);
  bool poll_in_turn(std::uint32_t endpoint, std::int64_t now, transport::Transmit& out);
  void send(std::uint32_t endpoint, const transport::Transmit& packet, std::int64_t now);
  void arm(std::uint32_t endpoint, std::int64_t when, std::int64_t now);
  void complete(std::int64_t now);
  // host_driver_software.cpp
  void program_takes(const Event& event);
  void pump_program(std::uint32_t endpoint, std::int64_t now);
  std::int64_t clock_of(std::uint32_t endpoint, std::int64_t now) const {
    return world_.software.empty() ? now : world_.software[endpoint].clock(now);
  }
  // host_driver_exact.cpp
  void pump_exactly(std::uint32_t endpoint, std::int64_t now);
  void put(const transport::Transmit& packet, std::uint32_t port, std::int64_t now);

  World& world_;
  Windows& windows_;
  Tally& tally_;
  ComputedPorts& computed_;
  PortQueues& queues_;
  ExactPorts& exact_;
  Client* client_ = nullptr;
  std::vector<transport::Stack> stacks_;  // by lane
  std::uint32_t last_lane_ = 0;
  // All transports of all stacks that are used, by number: lane, then protocol.
  struct Carrier {
    std::uint8_t number;
    std::uint8_t lane;
    transport::Protocol protocol;
    std::uint8_t cls;  // of its data, where ports are exact
  };
  std::vector<Carrier> carriers_;
};

}  // namespace weft::sim
