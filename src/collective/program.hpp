#pragma once
// A collective falls into programs: parts of its bytes that travel on ways of their own (a channel's ring, one of a
// channel's trees) and have nothing to do with each other but the links they share. A program says, for each rank and
// lane, which step is the i-th, by arithmetic alone: all that is kept for a lane is how far it is.
//
// Data of a program are blocks, and each block goes in rounds of at most a chunk, so that buffers stay small and
// steps overlap. A step moves one chunk of one block, or of several at even distances (PAT), to or from one peer.
//
// Ranks beyond the GPUs are switches that reduce and multicast: NVSwitches (NVLS) or network switches (SHARP).

#include <algorithm>
#include <cstdint>

#include "base/units.hpp"

namespace weft::collective {

// What a transfer between two ranks costs its sender.
struct Edge {
  Bandwidth rate;                      // of this program on the narrowest link; 0: takes no time
  Duration overhead;                   // per chunk: flags, fences, proxy
  std::int64_t wire_per_mille = 1000;  // bytes on the links for 1000 of data: flags, what is read twice
  // What a chunk itself needs to get through, where what goes on at the same time keeps the sender for longer than
  // that: links and threads that other levels of a tree keep busy, too, which have other chunks. 0: as above.
  Bandwidth own_rate{};
  Duration own_overhead{};
  auto operator<=>(const Edge&) const = default;
};

// How long a send keeps its lane, ps.
inline std::int64_t occupancy(const Edge& edge, std::uint64_t bytes) {
  const Duration wire =
      edge.rate.count() == 0 ? Duration(0) : transfer_time(Bytes(static_cast<std::int64_t>(bytes)), edge.rate);
  return (edge.overhead + wire).count();
}

// How long it takes until all of it has left, ps: never longer.
inline std::int64_t passage(const Edge& edge, std::uint64_t bytes) {
  const std::int64_t whole = occupancy(edge, bytes);
  if (edge.own_rate.count() == 0) return whole;
  return std::min(whole, occupancy({edge.own_rate, edge.own_overhead}, bytes));
}

inline std::uint64_t wire_bytes(const Edge& edge, std::uint64_t bytes) {
  if (edge.rate.count() == 0) return 0;
  return bytes / 1000 * static_cast<std::uint64_t>(edge.wire_per_mille) +
         (bytes % 1000 * static_cast<std::uint64_t>(edge.wire_per_mille) + 999) / 1000;
}

struct Step {
  enum class Kind : std::uint8_t { send, recv, reduce };  // reduce: recv, added to what is there

  Kind kind = Kind::send;
  bool joined = false;  // send: side by side with the send before it, as one operation to several peers
  std::uint32_t peer = 0;
  std::uint64_t tag = 0;  // what sends and recvs of one way have in common
  std::uint64_t bytes = 0;
  Edge edge;  // send: its own; in the first of joined ones with the times of the slowest
  std::uint64_t round = 0;
  std::uint32_t first = 0;  // blocks first, first + stride, ... modulo their number
  std::uint32_t stride = 0;
  std::uint32_t count = 1;
};

class Program {
 public:
  virtual ~Program() = default;

  virtual std::uint32_t lanes(std::uint32_t rank) const = 0;
  // The lane's step at that place; false behind its last one.
  virtual bool step(std::uint32_t rank, std::uint32_t lane, std::uint64_t at, Step& out) const = 0;
  virtual std::uint32_t blocks() const = 0;
  virtual std::uint64_t rounds() const = 0;
  virtual std::uint64_t messages() const = 0;  // that all ranks send
};

// How the bytes of one block are cut into rounds; the last may be shorter. A block of no bytes has one round all the
// same: its empty messages are what makes ranks wait for each other.
struct Rounds {
  std::uint64_t bytes = 0;  // of a block
  std::uint64_t chunk = 1;  // of a round, at most

  std::uint64_t count() const { return bytes == 0 ? 1 : (bytes + chunk - 1) / chunk; }
  std::uint64_t size(std::uint64_t round) const {
    return bytes - round * chunk < chunk ? bytes - round * chunk : chunk;
  }
};

}  // namespace weft::collective
