// Paths that are few: numbers of a bounded set, as where each is a port of a socket.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "transport/srd/testing_lab.hpp"

namespace weft::transport {
namespace {

using testing::Lab;
using testing::LabConfig;

constexpr Instant kMillisecond = 1'000'000'000;
constexpr std::uint64_t kMessage = 64 << 10;

// What a stream of messages from host 0 to host 1 carries.
class Stream {
 public:
  explicit Stream(const LabConfig& lab, const SrdConfig& srd) : net(lab, srd) {
    net.checking = false;
    count_bytes();
    net.each = [this] { fill(); };
  }

  void count_bytes() {
    net.placed = [this](std::uint32_t to, const Header&, const Placement& placement) {
      if (to == 1 && placement.kind == Placement::Kind::place) bytes_ += placement.length;
    };
  }

  // Mb/s of payload.
  double run_for(Instant time) {
    fill();
    const Instant from = net.now();
    const std::uint64_t before = bytes_;
    net.run(from + time);
    return 8e6 * static_cast<double>(bytes_ - before) / static_cast<double>(time);
  }

  Lab net;

 private:
  void fill() {
    for (; told_ < net.done().size(); ++told_) open_ -= net.done()[told_].kind != Completion::Kind::received;
    for (; open_ < 64; ++open_) net[0].post(net.now(), 0, {Op::send, 1, kMessage, 0, 0});
  }
  std::uint64_t bytes_ = 0;
  std::size_t open_ = 0;
  std::size_t told_ = 0;
};

// ---- paths

TEST(SrdEntropies, StayBelowTheirBoundAndADeadOneIsLeft) {
  LabConfig lab;
  SrdConfig srd = Lab::srd_of(lab);
  srd.entropies = 24;
  srd.paths = 16;
  Stream stream(lab, srd);
  std::set<std::uint16_t> used;
  stream.net.placed = [&](std::uint32_t, const Header& header, const Placement&) { used.insert(header.path); };
  stream.run_for(50 * kMillisecond);
  for (auto* links : {&stream.net.up[0], &stream.net.up[1], &stream.net.down[0], &stream.net.down[1]})
    (*links)[0].dies = stream.net.now();
  stream.run_for(100 * kMillisecond);
  stream.count_bytes();
  EXPECT_GE(stream.run_for(100 * kMillisecond), 0.9 * 3 * lab.spine_mbps * lab.payload() / lab.mtu);
  EXPECT_LT(*used.rbegin(), 24u);
  EXPECT_GT(used.size(), 16u);
  EXPECT_EQ(stream.net[0].check_invariants(), "");
}

}  // namespace
}  // namespace weft::transport
