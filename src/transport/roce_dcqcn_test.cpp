#include "transport/roce_dcqcn.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "transport/roce_testing.hpp"

namespace weft::transport {
namespace {

using Control = RoceConfig::Control;

constexpr std::uint64_t kMega = 1'000'000;

// A link of 40 Gb/s, the paper's.
RoceConfig paper_config() {
  RoceConfig config;
  config.mtu = 1024;
  config.packet_time = packet_time_at(config, 40'000 * kMega);
  config.base_rtt = 2 * (kDelay + config.packet_time);
  return config;
}

double fraction(std::uint32_t alpha) { return static_cast<double>(alpha) / Dcqcn::kOne; }

// ---- the law, alone

TEST(Dcqcn, StepsGrowWithTheLinkFromThePapers) {
  const DcqcnLaw law(paper_config());
  EXPECT_NEAR(static_cast<double>(law.line_rate), 40e9, 1e6);
  EXPECT_EQ(law.additive_rate, law.line_rate / 1000);
  EXPECT_EQ(law.hyper_rate, law.line_rate / 100);
}

TEST(Dcqcn, TheFirstCnpHalvesTheRate) {
  const DcqcnLaw law(paper_config());
  Dcqcn control;
  control.reset(law);
  EXPECT_FALSE(control.limited(law));
  EXPECT_TRUE(control.on_cnp(law, 10 * kMicrosecond));
  EXPECT_EQ(control.rate(), law.line_rate - law.line_rate / 2);
  EXPECT_EQ(control.target(), law.line_rate);
  EXPECT_EQ(control.alpha(), Dcqcn::kOne);
  EXPECT_TRUE(control.limited(law));
}

TEST(Dcqcn, AlphaShrinksByGWithEveryTimerAndGrowsWithEveryCnp) {
  const DcqcnLaw law(paper_config());
  Dcqcn control;
  control.reset(law);
  control.on_cnp(law, kMicrosecond);
  // 100 timers without a CNP; the next one first counts them.
  control.on_cnp(law, kMicrosecond + 100 * 55 * kMicrosecond);
  const double g = 1.0 / 256;
  const double quiet = std::pow(1 - g, 100);
  EXPECT_NEAR(fraction(control.alpha()), (1 - g) * quiet + g, 1e-6);
}

TEST(Dcqcn, CutsComeNoFasterThanTheyMay) {
  const DcqcnLaw law(paper_config());
  Dcqcn control;
  control.reset(law);
  EXPECT_TRUE(control.on_cnp(law, 10 * kMicrosecond));
  EXPECT_FALSE(control.on_cnp(law, 13 * kMicrosecond));
  EXPECT_EQ(control.rate(), law.line_rate - law.line_rate / 2);
  EXPECT_TRUE(control.on_cnp(law, 14 * kMicrosecond));
}

TEST(Dcqcn, FastRecoveryHalvesTheWayThenTheTargetGrows) {
  RoceConfig config = paper_config();
  config.additive_rate = 40 * kMega;
  const DcqcnLaw law(config);
  Dcqcn control;
  control.reset(law);
  for (int i = 0; i < 6; ++i) control.on_cnp(law, (1 + 50 * i) * kMicrosecond);
  const Instant cut = 251 * kMicrosecond;
  const std::uint64_t low = control.rate();
  const std::uint64_t target = control.target();
  for (int event = 1; event <= 4; ++event) {
    control.catch_up(law, cut + event * 55 * kMicrosecond);
    EXPECT_EQ(control.target(), target);
    EXPECT_NEAR(static_cast<double>(control.rate()), static_cast<double>(target - ((target - low) >> event)), 2);
  }
  // The paper's figure 7: fast recovery while fewer than F events, F included no more.
  for (std::uint64_t event = 5; event <= 20; ++event) {
    control.catch_up(law, cut + static_cast<Instant>(event) * 55 * kMicrosecond);
    EXPECT_EQ(control.target(), target + (event - 4) * 40 * kMega);
  }
}

TEST(Dcqcn, HyperIncreaseNeedsTimerAndBytes) {
  RoceConfig config = paper_config();
  config.additive_rate = 40 * kMega;
  config.hyper_rate = 400 * kMega;
  config.increase_bytes = 1000;
  const DcqcnLaw law(config);
  Dcqcn control;
  control.reset(law);
  for (int i = 0; i < 6; ++i) control.on_cnp(law, (1 + 50 * i) * kMicrosecond);
  const Instant cut = 251 * kMicrosecond;
  const std::uint64_t target = control.target();
  for (int event = 0; event < 6; ++event) control.on_sent(law, 1000);
  EXPECT_EQ(control.target(), target + 2 * 40 * kMega);  // the 5th and the 6th
  control.catch_up(law, cut + 5 * 55 * kMicrosecond);
  EXPECT_EQ(control.target(), target + 7 * 40 * kMega);
  control.catch_up(law, cut + 6 * 55 * kMicrosecond);
  EXPECT_EQ(control.target(), target + 7 * 40 * kMega + 400 * kMega);
}

TEST(Dcqcn, ARateThatIsLeftAloneReturnsToLineRate) {
  const DcqcnLaw law(paper_config());
  Dcqcn control;
  control.reset(law);
  for (int i = 0; i < 100; ++i) control.on_cnp(law, (1 + 50 * i) * kMicrosecond);
  EXPECT_EQ(control.rate(), law.least_rate);
  control.catch_up(law, kNever / 2);
  EXPECT_EQ(control.rate(), law.line_rate);
}

RC_GTEST_PROP(Dcqcn, RatesStayWithinTheirBounds, ()) {
  RoceConfig config = paper_config();
  config.increase_bytes = 20'000;
  const DcqcnLaw law(config);
  Dcqcn control;
  control.reset(law);
  Instant now = 0;
  for (int i = 0; i < 300; ++i) {
    now += *rc::gen::inRange<Instant>(0, 100 * kMicrosecond);
    const int what = *rc::gen::inRange(0, 3);
    if (what == 0) control.on_cnp(law, now);
    if (what == 1) control.on_sent(law, 1086);
    if (what == 2) control.catch_up(law, now);
    RC_ASSERT(control.rate() >= law.least_rate);
    RC_ASSERT(control.rate() <= law.line_rate);
    RC_ASSERT(control.target() >= control.rate());
    RC_ASSERT(control.alpha() <= Dcqcn::kOne);
  }
}

// ---- CNPs and pacing

TEST(RoceCnp, AQueuePairIsToldAtMostEvery50Microseconds) {
  RoceConfig config = roce_config();
  config.qps = 2;
  RoceNet net(2, config);
  std::map<std::uint16_t, std::vector<Instant>> told;
  net.deliver = [&](Transmit& packet) {
    if (packet.type == PacketType::roce_data) packet.flags |= kMarked;
    if (packet.type == PacketType::roce_cnp) told[packet.header.path].push_back(net.now);
    return packet.type != PacketType::roce_cnp;  // it goes on at full rate
  };
  for (std::uint32_t i = 0; i < 2; ++i) net.post(0, {Op::send, 1, 2'000'000, i, i});
  net.run();
  const Instant took = net.done_at;
  ASSERT_EQ(told.size(), 2u);
  for (const auto& [path, times] : told) {
    EXPECT_EQ(times.size(), static_cast<std::size_t>(took / (50 * kMicrosecond)) + 1);
    for (std::size_t i = 1; i < times.size(); ++i) EXPECT_GE(times[i] - times[i - 1], 50 * kMicrosecond);
  }
}

TEST(RoceCnp, ItGoesBeforeAcknowledgements) {
  Roce roce(roce_config());
  Header header;
  header.source = 1;
  header.op = Op::send;
  header.roce = {0, 7, 100};
  header.stream = 1;
  roce.handle(0, 0, PacketType::roce_data, kMarked | kAckNow, header);
  Transmit out;
  ASSERT_TRUE(roce.poll_ack(0, out));
  EXPECT_EQ(out.type, PacketType::roce_cnp);
  ASSERT_TRUE(roce.poll_ack(0, out));
  EXPECT_EQ(out.type, PacketType::roce_ack);
  EXPECT_FALSE(roce.poll_ack(0, out));
}

TEST(RoceCnp, OneThatASwitchMadeCutsTheRateOfItsQueuePairOnly) {
  RoceConfig config = roce_config();
  config.qps = 2;
  RoceNet net(2, config);
  for (std::uint32_t i = 0; i < 2; ++i) net.post(0, {Op::send, 1, 500'000, i, i});
  net.run(10 * kMicrosecond);
  // What a switch knows of the data: source, destination, path.
  Header header;
  header.source = 1;
  header.destination = 0;
  header.path = 1;
  net.roce[0].handle(net.now, 0, PacketType::roce_cnp, 0, header);
  const std::uint64_t line = net.roce[0].law().line_rate;
  EXPECT_EQ(net.roce[0].rate(0, 1, 0), line);
  EXPECT_EQ(net.roce[0].rate(0, 1, 1), line - line / 2);
}

TEST(RoceCnp, WithoutControlNobodySendsOrHeedsThem) {
  RoceConfig config = roce_config();
  config.control = Control::none;
  RoceNet net(2, config);
  net.deliver = [](Transmit& packet) {
    packet.flags |= packet.type == PacketType::roce_data ? kMarked : 0;
    return true;
  };
  net.post(0, {Op::send, 1, 500'000, 0, 0});
  Header header;
  header.source = 1;
  net.roce[0].handle(net.now, 0, PacketType::roce_cnp, 0, header);
  net.run();
  EXPECT_EQ(net.roce[1].counters().cnps_sent, 0u);
  EXPECT_EQ(net.roce[0].rate(0, 1, 0), net.roce[0].law().line_rate);
  EXPECT_EQ(net.count[Completion::Kind::sent], 1);
}

TEST(RoceCnp, AfterACutPacketsArePacedToTheRate) {
  RoceConfig config = roce_config();
  config.increase_timer = 1'000'000 * kMicrosecond;
  RoceNet net(2, config);
  std::vector<Instant> left;
  net.deliver = [&](Transmit& packet) {
    if (packet.type == PacketType::roce_data) left.push_back(net.now);
    return true;
  };
  net.post(0, {Op::send, 1, 2000 * 1024, 0, 0});
  net.run(20 * kMicrosecond);
  Header header;
  header.source = 1;
  for (int i = 0; i < 3; ++i)
    net.roce[0].handle(net.now + i * 5 * kMicrosecond, 0, PacketType::roce_cnp, 0, header);
  const std::size_t before = left.size();
  net.run();
  // 1/2 three times, for alpha stays 1: an eighth of line rate.
  const Instant expected = 8 * config.packet_time * static_cast<Instant>(left.size() - before - 1);
  EXPECT_NEAR(static_cast<double>(left.back() - left[before]), static_cast<double>(expected),
              static_cast<double>(3 * 8 * config.packet_time));
}

// ---- many flows on one port

// The fixed point of the fluid model (Zhu et al., "ECN or Delay", CoNEXT 2016, section 3: from the equations of
// figure 1 with all flows at C / N). Rates in packets per second, B in packets, p found by halving: the left side, what
// a flow gains, falls with p, and what it loses grows.
struct FluidModel {
  double line;      // packets/s
  double flows;
  double step;      // R_AI, packets/s
  double bytes;     // B, packets
  double timer;     // T, s
  double cnp;       // tau, s
  double alpha_timer;
  double recovery;  // F

  double surplus(double p) const {
    const double rate = line / flows;
    const auto some_of = [&](double packets) { return 1 - std::pow(1 - p, packets); };
    const auto per_packet = [&](double packets) { return p / (std::pow(1 - p, -packets) - 1); };
    const double cut = some_of(cnp * rate);  // probability of a CNP per tau
    const double alpha = some_of(alpha_timer * rate);
    const double a = per_packet(bytes);
    const double b = per_packet(timer * rate);
    const double growth = step * rate *
                          (std::pow(1 - p, recovery * bytes) * a + std::pow(1 - p, recovery * timer * rate) * b);
    const double above = cnp * growth / cut;  // target - rate, from the target's balance
    return above / 2 * rate * (a + b) - rate * alpha / (2 * cnp) * cut;
  }
  double p() const {
    double low = 1e-9;
    double high = 0.9;
    for (int i = 0; i < 200; ++i) {
      const double middle = std::sqrt(low * high);
      (surplus(middle) > 0 ? low : high) = middle;
    }
    return low;
  }
};

struct Shared {
  double jain;
  double queue;   // bytes, mean
  double use;     // of the port
  double marked;  // share of packets
};

// So many long flows to one receiver, all at once; measured for 50 ms after the first 50.
Shared share(std::uint32_t flows, const RoceConfig& config, const RoceNet::Marking& marking) {
  RoceNet net(flows + 1, config);
  net.checking = false;
  net.marking = marking;
  for (std::uint32_t i = 0; i < flows; ++i) net.post(i, {Op::write, flows, 1ull << 34, i, i});
  const Instant half = 50'000 * kMicrosecond;
  net.run(half);
  std::vector<std::uint64_t> before;
  for (std::uint32_t i = 0; i < flows; ++i) before.push_back(net.roce[i].counters().data_sent);
  const std::uint64_t marked = net.roce[flows].counters().marked_seen;
  net.look(net.ports[flows]);
  net.ports[flows].area = 0;
  net.run(2 * half);
  double sum = 0;
  double squares = 0;
  for (std::uint32_t i = 0; i < flows; ++i) {
    const auto sent = static_cast<double>(net.roce[i].counters().data_sent - before[i]);
    sum += sent;
    squares += sent * sent;
  }
  EXPECT_EQ(net.roce[flows].check_invariants(), "");
  return {sum * sum / (flows * squares), net.mean_queue(flows, half),
          sum * static_cast<double>(config.packet_time) / static_cast<double>(half),
          static_cast<double>(net.roce[flows].counters().marked_seen - marked) / sum};
}

TEST(RoceDcqcn, LongFlowsShareAPortAndItsQueueIsWhereTheFluidModelPutsIt) {
  const RoceConfig config = paper_config();
  for (const double most : {1.0, 10.0, 20.0}) for (const std::int64_t kmin : {5'000, 40'000}) {
  const RoceNet::Marking marking{kmin, 200'000, most};
  for (const std::uint32_t flows : {2u, 8u, 32u}) {
    const double packet = config.mtu + config.header;
    const double line = 1e12 / static_cast<double>(config.packet_time);
    const FluidModel model{line, static_cast<double>(flows), line / 1000, 1e7 / packet, 55e-6, 50e-6, 55e-6, 5};
    const double p = model.p();
    const double expected = 5'000 + std::min(1.0, p / (marking.most / 100)) * 195'000;
    const Shared got = share(flows, config, marking);
    std::printf("pmax %.0f kmin %d %2u flows: Jain %.4f, use %.3f, marked %.4f (fluid %.4f), queue %.0f B (fluid %.0f B)\n", most, (int)kmin, flows, got.jain,
                got.use, got.marked, p, got.queue, expected);
    EXPECT_GE(got.jain, 0.95);
  }}
}

}  // namespace
}  // namespace weft::transport
