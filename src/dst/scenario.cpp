#include "dst/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.hpp"

namespace weft::dst {
namespace {

constexpr Instant kSecond = 1'000'000 * kMicrosecond;

Instant up_to_microseconds(Random& random, std::uint32_t most) {
  return Instant{1 + random.below(most)} * kMicrosecond;
}

// Some give up before the faults are over; never before the second attempt.
Instant some_patience(Random& random, Instant timeout) {
  return random.below(3) == 0 ? 3 * timeout + up_to_microseconds(random, 1000) : 5 * kSecond;
}

void draw_roce(Scenario& s, Random& random) {
  using Config = transport::RoceConfig;
  Config& roce = s.roce;
  roce.mtu = 256u << random.below(5);
  roce.ack_every = 1 + random.below(16);
  if (random.below(2) == 0) roce.first_psn = 0xFFFFFF - random.below(400);
  roce.qps = random.below(4) == 0 ? 1 + random.below(16) : 1 + random.below(3);
  roce.split = random.below(2) == 0;
  if (random.below(2) == 0) roce.split_above = random.below(20'000);
  roce.recovery = random.below(2) == 0 ? Config::Recovery::go_back_n : Config::Recovery::selective;
  roce.control = random.below(3) == 0 ? Config::Control::none : Config::Control::dcqcn;
  if (random.below(3) == 0) roce.window = 1 + random.below(255);
  roce.packet_time = s.packet_time;
  roce.base_rtt = s.srd.base_rtt;
  s.timeout = random.below(4) == 0 ? 67'109 * kMicrosecond : 4 * roce.base_rtt + up_to_microseconds(random, 200);
  roce.ack_timeout = s.timeout;
  roce.give_up = s.give_up = some_patience(random, s.timeout);
  s.payload = roce.mtu;
  s.first_sequence = roce.first_psn;
}

void draw_tcp(Scenario& s, Random& random) {
  using Config = transport::TcpConfig;
  Config& tcp = s.tcp;
  tcp.mtu = tcp.headers + s.payload;
  tcp.connections = random.below(2) == 0 ? 1 : 1 + random.below(8);
  if (random.below(2) == 0) tcp.first_sequence = 0u - random.below(400);
  tcp.control = random.below(2) == 0 ? Config::Control::cubic : Config::Control::dctcp;
  tcp.initial_window = 1 + random.below(20);
  if (random.below(3) == 0) tcp.receive_window = s.payload * (2 + random.below(60));
  tcp.idle_restart = random.below(2) == 0;
  tcp.pacing = random.below(3) == 0;
  tcp.ecn = random.below(2) == 0;
  tcp.ack_every = 1 + random.below(4);
  tcp.quick_acks = random.below(17);
  tcp.tail_probe = random.below(4) != 0;
  if (random.below(3) == 0) tcp.plb_rounds = 1 + random.below(12);
  tcp.repath_on_timeout = random.below(2) == 0;
  tcp.base_rtt = s.srd.base_rtt;
  if (random.below(3) != 0) {  // a network of microseconds with timers to match
    tcp.delayed_ack = up_to_microseconds(random, 200);
    tcp.timer_least = up_to_microseconds(random, 100);
    tcp.rto_min = tcp.delayed_ack + up_to_microseconds(random, 300);
  }
  s.timeout = tcp.rto_min;
  tcp.give_up = s.give_up = some_patience(random, s.timeout);
  s.first_sequence = tcp.first_sequence;
}

void draw_uet(Scenario& s, Random& random) {
  transport::UetConfig& uet = s.uet;
  uet.payload = s.payload;
  uet.ack_bytes = 1 + random.below(16 * s.payload);
  if (random.below(2) == 0) uet.first_sequence = 0u - random.below(400);
  uet.paths = random.below(4) == 0 ? 1 + random.below(4) : 1 + random.below(64);
  uet.recycle = random.below(9);
  uet.trimming = random.below(2) == 0;
  if (!uet.trimming) s.trim = 0;
  uet.overtaken = 50 + random.below(150);
  uet.least_overtaken = 1 + random.below(8);
  uet.packet_time = s.packet_time;
  uet.base_rtt = s.srd.base_rtt;
  uet.give_up = s.give_up = some_patience(random, 20 * uet.base_rtt);
  s.first_sequence = uet.first_sequence;
}

}  // namespace

std::string_view name_of(Protocol transport) {
  for (const Tested& each : kTested)
    if (each.transport == transport) return each.name;
  return "";
}

// The network and the work are drawn alike for all transports, with SRD's numbers among them.
Scenario draw(Protocol transport, std::uint64_t seed) {
  Random random(seed, 0xd57, 0);
  // Faults are rarer than their absence, so that each is also seen alone.
  const auto sometimes = [&](std::uint32_t one_in, std::uint32_t below) {
    return random.below(one_in) == 0 ? 1 + random.below(below) : 0;
  };
  Scenario s;
  s.transport = transport;
  s.nodes = 2 + random.below(4);
  s.hostile = s.nodes > 2 && random.below(6) == 0;
  s.codec = random.below(3) == 0;

  transport::SrdConfig& srd = s.srd;
  srd.payload = 1 + random.below(4096);
  srd.ack_every = 1 + random.below(16);
  srd.paths = random.below(4) == 0 ? 1 + random.below(4) : 1 + random.below(64);
  srd.burst = 1 + random.below(16);
  srd.bad_marks = 1 + random.below(6);
  srd.window = random.below(3) == 0 ? 1 + random.below(255) : 0;
  srd.increase = 1 + random.below(8);
  srd.packet_time = 50'000 + random.below(400'000);
  if (random.below(2) == 0) srd.first_sequence = 0u - random.below(400);
  srd.generation = static_cast<std::uint16_t>(random.below(2) == 0 ? 1 : 0xFFFA + random.below(6));

  s.delay = kMicrosecond / 2 + random.below(5 * kMicrosecond);
  s.spread = sometimes(2, 4) * kMicrosecond;
  s.jitter = sometimes(2, 30) * kMicrosecond;
  s.loss = sometimes(2, 200);
  s.duplicate = sometimes(3, 200);
  s.corrupt = sometimes(3, 100);
  s.mark = sometimes(2, 700);
  s.trim = sometimes(3, 300);
  s.dead_ways = sometimes(4, 4);
  s.clogs = sometimes(3, 3);
  s.partitions = sometimes(3, 3);
  s.restarts = sometimes(3, 4);
  srd.base_rtt = 2 * (s.delay + s.spread + srd.packet_time);

  s.operations = 1 + random.below(24);
  s.longest = random.below(3) == 0 ? 1 + random.below(4) : 1 + random.below(300);
  s.faulty = Instant{1 + random.below(40)} * 100 * kMicrosecond;

  // Scarce room for incomplete messages waits for the dead only as long as their peers do.
  const bool scarce = !s.hostile && random.below(4) == 0;
  if (scarce) srd.receive_messages = 1 + random.below(6);
  if (random.below(4) == 0) srd.reads = 1 + random.below(4);
  srd.give_up = scarce || random.below(3) == 0 ? Instant{2 + random.below(8)} * 1000 * kMicrosecond : 5 * kSecond;

  s.payload = srd.payload;
  s.packet_time = srd.packet_time;
  s.give_up = srd.give_up;
  s.first_sequence = srd.first_sequence;
  if (transport == Protocol::srd) return s;
  s.codec = false;  // only SRD has one
  if (transport == Protocol::tcp_over_srd) return s;
  Random own(seed, 0xd57, 1 + static_cast<std::uint64_t>(transport));
  if (transport == Protocol::rocev2) draw_roce(s, own);
  if (transport == Protocol::tcp) draw_tcp(s, own);
  if (transport == Protocol::uet) draw_uet(s, own);
  if (s.impatient()) {
    // A reason to give up, and copies late enough to meet those who begin anew.
    s.partitions += 2 + own.below(6);
    s.duplicate = std::max(s.duplicate, own.below(200));
  }
  return s;
}

namespace {

std::string numbers_of(const Scenario& s) {
  switch (s.transport) {
    case Protocol::rocev2:
      return fmt::format(
          "{} queue pairs{}, {}, ack every {}, window {}, dcqcn {}, timeout {} us", s.roce.qps,
          s.roce.split ? fmt::format(", split above {}", s.roce.split_above) : "",
          s.roce.recovery == transport::RoceConfig::Recovery::selective ? "selective repeat" : "go-back-n",
          s.roce.ack_every, s.roce.window, s.roce.control == transport::RoceConfig::Control::dcqcn,
          s.timeout / kMicrosecond);
    case Protocol::tcp:
      return fmt::format(
          "{} connections, {}, ack every {}, first window {}, receive window {}, pacing {}, tail probe {}, "
          "plb rounds {}, repath {}, delayed ack {} us, timeout {} us",
          s.tcp.connections, s.tcp.control == transport::TcpConfig::Control::dctcp ? "dctcp" : "cubic", s.tcp.ack_every,
          s.tcp.initial_window, s.tcp.receive_window, s.tcp.pacing, s.tcp.tail_probe, s.tcp.plb_rounds,
          s.tcp.repath_on_timeout, s.tcp.delayed_ack / kMicrosecond, s.timeout / kMicrosecond);
    case Protocol::uet:
      return fmt::format("ack every {} bytes, {} paths, recycle {}, trimming {}, overtaken {}", s.uet.ack_bytes,
                         s.uet.paths, s.uet.recycle, s.uet.trimming, s.uet.overtaken);
    case Protocol::srd:
    case Protocol::tcp_over_srd:
    case Protocol::raw:
      break;
  }
  return fmt::format("ack every {}, {} paths, burst {}, window {}, generation {}, receive {}, reads {}",
                     s.srd.ack_every, s.srd.paths, s.srd.burst, s.srd.window, s.srd.generation, s.srd.receive_messages,
                     s.srd.reads);
}

}  // namespace

std::string Scenario::text() const {
  return fmt::format(
      "{}: {} nodes{}{}, payload {}, first sequence {}, {}, give up {} us; delay {} ns + {} us spread + {} us jitter; "
      "per 1024: loss {}, duplicate {}, corrupt {}, mark {}, trim {}; {} dead ways, {} clogs, {} partitions, "
      "{} restarts; {} operations up to {} packets in {} us",
      name_of(transport), nodes, hostile ? " (one hostile)" : "", codec ? ", encoded" : "", payload, first_sequence,
      numbers_of(*this), give_up / kMicrosecond, delay / 1000, spread / kMicrosecond, jitter / kMicrosecond, loss,
      duplicate, corrupt, mark, trim, dead_ways, clogs, partitions, restarts, operations, longest,
      faulty / kMicrosecond);
}

}  // namespace weft::dst
