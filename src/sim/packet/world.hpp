#pragma once
// What the parts of a packet simulation have in common.

#include <cstdint>
#include <vector>

#include "base/digest.hpp"
#include "base/random.hpp"
#include "base/zeroed.hpp"
#include "sim/conditions.hpp"
#include "sim/layout.hpp"
#include "sim/packet/exact.hpp"
#include "sim/packet/scheduled.hpp"
#include "sim/packet/sim_config.hpp"
#include "sim/packet/software.hpp"

namespace weft::sim {

// The fabric, what the run is to be like, and the state of all entities, each part of it touched by one shard only.
struct World {
  struct Entity {
    Digest digest;
    std::uint32_t caused = 0;  // number of its next effect
    Random random;
  };
  struct Flowlet {
    std::int64_t last = 0;  // when its latest packet came
    std::uint32_t port = 0;
  };
  World(const fabric::Fabric& fabric, const SimConfig& run);

  SimConfig config;
  Layout layout;
  Zeroed<Port> ports;
  Zeroed<std::int64_t> armed;   // by endpoint: the wake-up that counts; 0: none
  Zeroed<std::uint8_t> served;  // by endpoint: the transport that sent last
  std::vector<Entity> entities;
  std::vector<Special> specials;
  std::vector<std::uint16_t> shard_of;
  std::uint32_t entropy_salt = 0;
  ExactWorld exact;
  ScheduledWorld scheduled;
  std::vector<Software> software;               // by endpoint; empty: transports cost their hosts nothing
  bool plain = true;                            // computed ports, and no software
  std::vector<std::vector<Flowlet>> flowlets;   // by switch
  std::vector<std::vector<std::int64_t>> told;  // by switch and queue pair (a hash): when it was last sent a CNP
  std::vector<std::int64_t> published;          // by port: its queue as other switches know it, ps

  // Picoseconds of work before a port.
  std::int64_t load(std::uint32_t port, std::int64_t now) const;
  // Packets that have left by any port, or crossed all links between a leaf and its spines at once.
  std::uint64_t hops() const;
  // Whether a switch knows that nothing leaves by a port of its own.
  bool avoids(std::uint32_t port, std::int64_t now) const {
    const std::uint32_t special = ports[port].special;
    return special != 0 && known_down(specials[special - 1].conditions, now);
  }
  // What is written down about a port; null: nobody wants anything.
  Samples* samples_of(std::uint32_t port) {
    const std::uint32_t number = ports[port].special;
    return number == 0 || !specials[number - 1].samples.on() ? nullptr : &specials[number - 1].samples;
  }
};

// What a shard has counted.
struct Tally {
  std::uint64_t events = 0;
  std::uint64_t injected = 0;  // packets that hosts sent
  std::uint64_t arrived = 0;   // at hosts
  std::uint64_t dropped = 0;   // a queue was full
  std::uint64_t lost = 0;      // to a fault
  std::uint64_t corrupted = 0;
};

}  // namespace weft::sim
