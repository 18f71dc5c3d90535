// Whatever happens: what must hold for RoCE under any loss, order and nonsense.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "transport/roce/testing_net.hpp"

namespace weft::transport {
namespace {

using Recovery = RoceConfig::Recovery;

// Loss, reordering and duplication for a while, then none: everything is placed exactly once and completes.
RC_GTEST_PROP(RoceProperty, EverythingArrivesExactlyOnce, ()) {
  RoceConfig config = roce_config();
  config.recovery = *rc::gen::element(Recovery::go_back_n, Recovery::selective);
  config.qps = *rc::gen::inRange(1u, 5u);
  config.split = *rc::gen::arbitrary<bool>();
  config.ack_every = *rc::gen::inRange(1u, 20u);
  config.window = *rc::gen::element(0u, 3u, 50u);
  config.first_psn = *rc::gen::element(0u, (1u << 24) - 40);
  config.ack_timeout = microseconds(50);
  RoceNet net(2, config);
  Random random(*rc::gen::arbitrary<std::uint64_t>(), 1, 1);
  const auto loss = *rc::gen::inRange(0u, 200u);
  const auto duplication = *rc::gen::inRange(0u, 100u);
  const auto reordering = *rc::gen::inRange(0u, 300u);
  const Instant healed = 1000 * kMicrosecond;
  net.deliver = [&](Transmit& packet) {
    if (net.now() > healed) return true;
    if (packet.type == PacketType::roce_data && random.below(20) == 0) packet.flags |= kMarked;
    if (random.below(1000) < duplication)
      net.book(net.now() + static_cast<Instant>(random.below(200)) * kMicrosecond, packet);
    return random.below(1000) >= loss;
  };
  net.extra = [&] {
    const bool late = net.now() < healed && random.below(1000) < reordering;
    return late ? static_cast<Instant>(random.below(10 * kMicrosecond)) : 0;
  };
  std::vector<std::uint64_t> sizes;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::uint64_t, std::uint32_t>> pieces;  // (to, tag)
  net.placed = [&](std::uint32_t endpoint, auto&, const Placement& each) {
    if (each.kind != Placement::Kind::place) return;
    auto& have = pieces[std::make_pair(endpoint, each.tag)];
    RC_ASSERT(have.emplace(each.offset, each.length).second);
    const std::uint64_t packets = std::max<std::uint64_t>(1, (sizes[each.tag] + 1023) / 1024);
    RC_ASSERT(each.complete == (have.size() == packets));
  };
  const std::uint32_t messages = *rc::gen::inRange(1u, 40u);
  for (std::uint32_t tag = 0; tag < messages; ++tag) {
    sizes.push_back(random.below(3) == 0 ? random.below(100) : random.below(60'000));
    RC_ASSERT(net.post(tag % 2, {random.below(2) == 0 ? Op::send : Op::write, 1 - tag % 2, sizes.back(), tag, tag}));
  }
  net.run();
  RC_ASSERT(net.count(Completion::Kind::sent) == messages);
  RC_ASSERT(net.count(Completion::Kind::failed) == 0u);
  for (std::uint32_t tag = 0; tag < messages; ++tag) {
    std::uint64_t at = 0;
    for (const auto& [offset, length] : pieces[std::make_pair(1 - tag % 2, tag)]) {
      RC_ASSERT(offset == at);
      at += length;
    }
    RC_ASSERT(at == sizes[tag]);
  }
  std::set<std::uint32_t> received;
  for (const Completion& each : net.done())
    if (each.kind == Completion::Kind::received) RC_ASSERT(received.insert(each.tag).second);
  for (std::uint32_t endpoint = 0; endpoint < 2; ++endpoint) {
    RC_ASSERT(net[endpoint].check_invariants() == "");
    RC_ASSERT(net[endpoint].messages_held() == 0u);
  }
}

// A peer that says anything may hurt itself, but not us: no crash, no growth.
RC_GTEST_PROP(RoceProperty, NonsenseIsHarmless, ()) {
  RoceConfig config = roce_config();
  config.recovery = *rc::gen::element(Recovery::go_back_n, Recovery::selective);
  config.qps = *rc::gen::inRange(1u, 5u);
  config.split = *rc::gen::arbitrary<bool>();
  config.ack_timeout = microseconds(50);
  config.give_up = microseconds(200);
  Roce roce(config);
  Random random(*rc::gen::arbitrary<std::uint64_t>(), 1, 1);
  for (std::uint32_t i = 0; i < 20; ++i) roce.post(0, 0, {Op::send, 1, 5000, i, i});
  Transmit out;
  const auto near = [&](std::uint32_t range) { return random.below(range) - range / 4; };
  for (Instant now = 0; now < 300 * kMicrosecond; now += kMicrosecond) {
    for (int i = 0; i < 10 && roce.poll(now, 0, out); ++i) {
    }
    Header header;
    header.source = 1;
    header.path = static_cast<std::uint16_t>(random.below(random.below(8) == 0 ? 0xFFFF : 4));
    header.sequence = near(random.below(8) == 0 ? 0xFFFFFFFF : 80);
    header.stream = static_cast<std::uint16_t>(random.below(8) == 0 ? random.below(0xFFFF) : 1);
    header.echo = static_cast<std::uint16_t>(near(200));
    const auto flags = static_cast<std::uint8_t>(random.below(16));
    const std::uint32_t kind = random.below(8);
    if (kind == 0) {
      roce.handle(now, 0, PacketType::roce_cnp, flags, header);
    } else if (kind < 4) {
      header.ack = {random.next(), random.next()};
      roce.handle(now, 0, PacketType::roce_ack, flags, header);
    } else {
      header.op = static_cast<Op>(random.below(5));
      header.roce = {near(20), random.below(20), random.below(8) == 0 ? random.next() : random.below(30'000)};
      const Placement placement = roce.handle(now, 0, PacketType::roce_data, flags, header);
      if (placement.kind == Placement::Kind::place) RC_ASSERT(placement.offset + placement.length <= header.roce.size);
    }
    while (roce.poll_ack(0, out)) RC_ASSERT(out.header.destination == 1u);
    RC_ASSERT(roce.check_invariants() == "");
    RC_ASSERT(roce.messages_held() <= 20u + 300u);
  }
}

}  // namespace
}  // namespace weft::transport
