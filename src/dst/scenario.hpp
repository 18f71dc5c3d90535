#pragma once
// What a seed draws: sizes, parameters and faults of one world.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "transport/operation.hpp"
#include "transport/roce/config.hpp"
#include "transport/srd/config.hpp"
#include "transport/tcp/config.hpp"
#include "transport/uet/config.hpp"

namespace weft::dst {

using transport::Instant;
using transport::Protocol;

inline constexpr Instant kMicrosecond = 1'000'000;

// Those that promise delivery, with their names at the command line.
struct Tested {
  Protocol transport;
  std::string_view name;
};
inline constexpr std::array<Tested, 5> kTested = {{
    {Protocol::srd, "srd"},
    {Protocol::rocev2, "rocev2"},
    {Protocol::tcp, "tcp"},
    {Protocol::uet, "uet"},
    {Protocol::tcp_over_srd, "tcp-over-srd"},
}};
std::string_view name_of(Protocol transport);

struct Scenario {
  Protocol transport = Protocol::srd;
  std::uint32_t nodes = 2;
  bool hostile = false;  // the last node sends nonsense and takes part in nothing else
  bool codec = false;    // all packets go through encode and decode

  // Of the transport: its own numbers, and those that the world must know of any.
  transport::SrdConfig srd;
  transport::RoceConfig roce;
  transport::TcpConfig tcp;
  transport::UetConfig uet;
  std::uint32_t payload = 1;  // of a full packet
  Instant packet_time = 1;    // of a full packet on a node's wire
  Instant give_up = 0;        // silence after which what waits for a peer fails
  Instant timeout = 0;        // silence before anything is sent again; 0: short beside all else
  std::uint32_t first_sequence = 0;

  // The network. Probabilities in 1/1024 per packet.
  Instant delay = 2 * kMicrosecond;  // one way, shortest
  Instant spread = 0;                // a path is longer by up to this
  Instant jitter = 0;                // a packet is later by up to this
  std::uint32_t loss = 0;
  std::uint32_t duplicate = 0;  // second copies come soon or, one in eight, ages later
  std::uint32_t corrupt = 0;
  std::uint32_t mark = 0;
  std::uint32_t trim = 0;

  // Faults in the first phase; each of them at times drawn in the world.
  std::uint32_t dead_ways = 0;   // of 4 ways through the network, swallow everything for a while
  std::uint32_t clogs = 0;       // a pair's packets are held back, then come all at once
  std::uint32_t partitions = 0;  // a pair hears nothing of each other
  std::uint32_t restarts = 0;

  std::uint32_t operations = 0;
  std::uint32_t longest = 1;  // message, in packets
  Instant faulty = 0;         // how long the first phase lasts

  // Whether a partition of the first phase may outlast a peer's patience.
  bool impatient() const { return give_up < 2 * (faulty + timeout); }
  std::string text() const;
};

Scenario draw(Protocol transport, std::uint64_t seed);

}  // namespace weft::dst
