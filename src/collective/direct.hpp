#pragma once
// Everybody to everybody without detour (all-to-all), or each to the next (send/recv). NVLink and the network work side
// by side, so a rank has a lane that sends within its domain, one that sends to others, and one that takes everything.
//
// Ranks of a domain begin with different targets and go on in order: at no time have all the same one.

#include <utility>

#include "collective/names.hpp"
#include "collective/pairs.hpp"
#include "collective/program.hpp"

namespace weft::collective {

class Direct final : public Program {
 public:
  struct Shape {
    Operation operation = Operation::all_to_all;  // or send_recv
    Pairs pairs;
    Rounds rounds;  // from one rank to another
    std::uint64_t tag = 0;
  };
  // Peers that a rank sends to at once: NCCL has eight on each channel. Of small messages more are needed to fill a
  // NIC, and cost nothing.
  static constexpr std::uint32_t kInFlight = 30;
  static constexpr std::uint64_t kSmall = 32 << 10;  // bytes
  explicit Direct(Shape shape) : shape_(std::move(shape)), size_(shape_.pairs.ranks()) {}

  std::uint32_t lanes(std::uint32_t rank) const override { return rank < size_ ? kLanes : 0; }
  bool step(std::uint32_t rank, std::uint32_t lane, std::uint64_t at, Step& out) const override;
  // What a lane that sends does, all in all: nobody waits for what he receives, so that is all there is to know.
  struct Sends {
    std::uint64_t peers = 0;
    std::uint64_t rounds = 0;  // to each, the last of them
    std::int64_t round = 0;    // for how long one occupies the lane, ps,
    std::int64_t last = 0;     // and the last
  };
  static constexpr std::uint32_t kInside = 0;
  static constexpr std::uint32_t kOutside = 1;
  Sends sends(std::uint32_t rank, std::uint32_t lane) const;
  std::uint32_t blocks() const override { return size_; }
  std::uint64_t rounds() const override { return shape_.rounds.count(); }
  std::uint64_t messages() const override {
    return rounds() * size_ * (shape_.operation == Operation::all_to_all ? size_ - 1 : size_ > 1 ? 1 : 0);
  }

 private:
  static constexpr std::uint32_t kTaking = 2;
  static constexpr std::uint32_t kLanes = 3;
  // The i-th peer of a lane, or nobody.
  std::uint32_t peer(std::uint32_t rank, std::uint32_t lane, std::uint64_t index) const;

  Shape shape_;
  std::uint32_t size_;
};

}  // namespace weft::collective
