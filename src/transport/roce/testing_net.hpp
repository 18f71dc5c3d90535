#pragma once
// A network for the tests of RoCE.
//
//   endpoint 0 ── wire ──┐            ┌── port ── endpoint 0
//   endpoint 1 ── wire ──┼── switch ──┼── port ── endpoint 1
//   ...                  ┘            └── ...
//
// Wires and ports have the rate that packet_time says; each way takes kRoceDelay besides. Ports mark as RED does, by
// the queue that a packet finds. Acknowledgements and CNPs only take the time of the way.

#include <cstdint>

#include "base/random.hpp"
#include "transport/roce/roce.hpp"
#include "transport/testing_net.hpp"
#include "transport/testing_times.hpp"

namespace weft::transport {

inline constexpr Instant kRoceDelay = 2 * kMicrosecond;  // one way

inline Instant packet_time_at(const RoceConfig& config, std::uint64_t bits_per_second) {
  return static_cast<Instant>(std::uint64_t{config.mtu + config.header} * 8'000'000'000'000 / bits_per_second);
}

// 100 Gb/s.
inline RoceConfig roce_config() {
  RoceConfig config;
  config.mtu = 1024;
  config.packet_time = Duration(packet_time_at(config, 100'000'000'000));
  config.base_rtt = Duration(2 * (kRoceDelay + config.packet_time.count()));
  return config;
}

class RedSwitch : public TestingClock {
 public:
  // RED: nothing below `from` bytes, everything above `to`, in between rising to `most` percent.
  struct Marking {
    std::int64_t from = INT64_MAX;
    std::int64_t to = INT64_MAX;
    double most = 0;
  };

  RedSwitch(std::uint32_t endpoints, const RoceConfig& config)
      : config_(config), wires_(endpoints), ports_(endpoints) {}

  Marking marking;
  std::function<Instant()> extra = [] { return Instant{0}; };  // time on the way

  // The mean of a port's queue is taken from now on.
  void begin_mean(std::uint32_t endpoint) {
    look(ports_[endpoint]);
    ports_[endpoint].area = 0;
    ports_[endpoint].began = now_;
  }
  double mean_queue(std::uint32_t endpoint) {  // bytes
    Port& port = ports_[endpoint];
    look(port);
    return port.area / static_cast<double>(now_ - port.began) * (config_.mtu + config_.header) /
           static_cast<double>(config_.packet_time.count());
  }

 protected:
  // A NIC has the next packet at hand while it sends one.
  Instant ready(std::uint32_t endpoint) const { return wires_[endpoint] - config_.packet_time.count() + 1; }

  void enter(Transmit packet, bool is_ack) {
    if (is_ack) {
      if (deliver(packet)) book(now_ + kRoceDelay + extra(), packet);
      return;
    }
    Instant& wire = wires_[packet.header.source];
    wire = std::max(wire, now_) + time_of(packet.wire_bytes);
    if (deliver(packet)) book(wire + extra(), packet, 0);
  }

  bool pass(Transmit& packet, int) {
    Port& port = ports_[packet.header.destination];
    look(port);
    const std::int64_t queue =
        std::max<Instant>(0, port.busy - now_) * (config_.mtu + config_.header) / config_.packet_time.count();
    const double share = static_cast<double>(queue - marking.from) / static_cast<double>(marking.to - marking.from);
    if (queue > marking.to || (queue > marking.from && random_.below(1'000'000) < marking.most * share * 10'000))
      packet.flags |= kMarked;
    port.busy = std::max(port.busy, now_) + time_of(packet.wire_bytes);
    book(port.busy + kRoceDelay, packet);
    return false;
  }

 private:
  struct Port {
    Instant busy = 0;
    Instant looked = 0;
    Instant began = 0;
    double area = 0;  // of the queue over time, ps^2
  };

  Instant time_of(std::uint32_t bytes) const {
    return config_.packet_time.count() * bytes / (config_.mtu + config_.header);
  }

  void look(Port& port) const {
    const auto dt = static_cast<double>(now_ - port.looked);
    const auto queue = static_cast<double>(std::max<Instant>(0, port.busy - port.looked));
    port.area += queue >= dt ? queue * dt - dt * dt / 2 : queue * queue / 2;
    port.looked = now_;
  }

  RoceConfig config_;
  std::vector<Instant> wires_;  // busy until
  std::vector<Port> ports_;
  Random random_{1, 2, 3};
};

class RoceNet : public TestingNet<Roce, RedSwitch> {
 public:
  explicit RoceNet(std::uint32_t endpoints = 2, const RoceConfig& config = roce_config())
      : TestingNet(RedSwitch(endpoints, config), endpoints, endpoints, config) {}
};

}  // namespace weft::transport
