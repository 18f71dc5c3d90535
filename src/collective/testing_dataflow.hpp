#pragma once
// Carries out programs without any clock and keeps, for every chunk that every rank holds, how often each rank's
// contribution is in it: a sum is right when it has everybody's exactly once.

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "collective/program.hpp"

namespace weft::collective::testing {

using Contributions = std::vector<std::uint8_t>;  // by rank

class Dataflow {
 public:
  // `holds(rank, block)`: what a rank has of a block before anything moves; `ranks` counts switches, `gpus` does not.
  Dataflow(const Program& program, std::uint32_t ranks, std::uint32_t gpus,
           const std::function<bool(std::uint32_t rank, std::uint32_t block)>& holds)
      : program_(program), gpus_(gpus), held_(ranks), sent_bytes_(ranks), sent_messages_(ranks) {
    for (std::uint32_t rank = 0; rank < gpus; ++rank)
      for (std::uint32_t block = 0; block < program.blocks(); ++block)
        for (std::uint64_t round = 0; round < program.rounds(); ++round)
          if (holds(rank, block)) at(rank, round, block)[rank] = 1;
  }

  // Until nothing moves; false when somebody waits for ever.
  bool run() {
    std::vector<std::vector<std::uint64_t>> done(held_.size());
    for (std::uint32_t rank = 0; rank < held_.size(); ++rank) done[rank].resize(program_.lanes(rank));
    bool moved = true;
    bool waits = false;
    while (moved) {
      moved = waits = false;
      for (std::uint32_t rank = 0; rank < held_.size(); ++rank)
        for (std::uint32_t lane = 0; lane < done[rank].size(); ++lane) {
          Step step;
          while (program_.step(rank, lane, done[rank][lane], step)) {
            if (!carry_out(rank, step)) {
              waits = true;
              break;
            }
            ++done[rank][lane];
            moved = true;
          }
        }
    }
    for (const auto& [path, messages] : on_the_way_) EXPECT_TRUE(messages.empty()) << "a message that nobody took";
    EXPECT_EQ(std::accumulate(sent_messages_.begin(), sent_messages_.end(), std::uint64_t{0}), program_.messages());
    return !waits;
  }

  bool has(std::uint32_t rank, std::uint32_t block, const std::function<std::uint8_t(std::uint32_t)>& expected) {
    for (std::uint64_t round = 0; round < program_.rounds(); ++round)
      for (std::uint32_t from = 0; from < gpus_; ++from)
        if (at(rank, round, block)[from] != expected(from)) return false;
    return true;
  }
  bool has_all(std::uint32_t rank, std::uint32_t block) {
    return has(rank, block, [](std::uint32_t) { return std::uint8_t{1}; });
  }
  bool has_only(std::uint32_t rank, std::uint32_t block, std::uint32_t of) {
    return has(rank, block, [of](std::uint32_t from) { return std::uint8_t{from == of}; });
  }
  std::uint64_t sent_bytes(std::uint32_t rank) const { return sent_bytes_[rank]; }
  std::uint64_t sent_messages(std::uint32_t rank) const { return sent_messages_[rank]; }

 private:
  struct Packet {
    Step step;
    std::vector<Contributions> blocks;
  };

  Contributions& at(std::uint32_t rank, std::uint64_t round, std::uint32_t block) {
    Contributions& found = held_[rank][{round, block}];
    found.resize(gpus_);
    return found;
  }

  bool carry_out(std::uint32_t rank, const Step& step) {
    const auto block = [&](std::uint32_t i) {
      return static_cast<std::uint32_t>((step.first + std::uint64_t{i} * step.stride) % program_.blocks());
    };
    if (step.kind == Step::Kind::send) {
      Packet packet{step, {}};
      for (std::uint32_t i = 0; i < step.count; ++i) packet.blocks.push_back(at(rank, step.round, block(i)));
      on_the_way_[{rank, step.peer, step.tag}].push_back(std::move(packet));
      sent_bytes_[rank] += step.bytes;
      ++sent_messages_[rank];
      return true;
    }
    auto& queue = on_the_way_[{step.peer, rank, step.tag}];
    if (queue.empty()) return false;
    const Packet packet = std::move(queue.front());
    queue.pop_front();
    EXPECT_EQ(packet.step.round, step.round);
    EXPECT_EQ(packet.step.first, step.first);
    EXPECT_EQ(packet.step.count, step.count);
    EXPECT_EQ(packet.step.stride, step.stride);
    EXPECT_EQ(packet.step.bytes, step.bytes);
    for (std::uint32_t i = 0; i < step.count; ++i) {
      Contributions& mine = at(rank, step.round, block(i));
      if (step.kind == Step::Kind::recv)
        mine = packet.blocks[i];
      else
        for (std::uint32_t from = 0; from < gpus_; ++from)
          mine[from] = static_cast<std::uint8_t>(mine[from] + packet.blocks[i][from]);
    }
    return true;
  }

  const Program& program_;
  std::uint32_t gpus_;
  std::vector<std::map<std::pair<std::uint64_t, std::uint32_t>, Contributions>> held_;  // by rank; (round, block)
  std::vector<std::uint64_t> sent_bytes_;
  std::vector<std::uint64_t> sent_messages_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::deque<Packet>> on_the_way_;
};

}  // namespace weft::collective::testing
