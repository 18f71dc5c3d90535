#include "dst/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.hpp"

namespace weft::dst {
namespace {

constexpr Instant kSecond = 1'000'000 * kMicrosecond;

// SRD's numbers are drawn with the world; the others have a stream of their own, so that it is the same for all.
template <class Transport>
void draw_own(Scenario& s, std::uint64_t seed) {
  if constexpr (requires(Random & own) { Transport::Drawing::draw(Transport::config_in(s), s, own); }) {
    Random own(seed, 0xd57, 1 + static_cast<std::uint64_t>(Transport::kDescription.protocol));
    Transport::Drawing::draw(Transport::config_in(s), s, own);
    if (!s.impatient()) return;
    // A reason to give up, and copies late enough to meet those who begin anew.
    s.partitions += 2 + own.below(6);
    s.duplicate = std::max(s.duplicate, own.below(200));
  }
}

}  // namespace

const std::vector<Protocol>& tested() {
  static const std::vector<Protocol> all = [] {
    std::vector<Protocol> those;
    for (const transport::Description& each : transport::kDescriptions)
      if (each.delivers) those.push_back(each.protocol);
    return those;
  }();
  return all;
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
  srd.packet_time = Duration(50'000 + random.below(400'000));
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
  s.dead_paths = sometimes(4, 4);
  s.clogs = sometimes(3, 3);
  s.partitions = sometimes(3, 3);
  s.restarts = sometimes(3, 4);
  srd.base_rtt = Duration(2 * (s.delay + s.spread + srd.packet_time.count()));

  s.operations = 1 + random.below(24);
  s.longest = random.below(3) == 0 ? 1 + random.below(4) : 1 + random.below(300);
  s.faulty = Instant{1 + random.below(40)} * 100 * kMicrosecond;

  // Scarce room for incomplete messages waits for the dead only as long as their peers do.
  const bool scarce = !s.hostile && random.below(4) == 0;
  if (scarce) srd.receive_messages = 1 + random.below(6);
  if (random.below(4) == 0) srd.reads = 1 + random.below(4);
  srd.give_up =
      Duration(scarce || random.below(3) == 0 ? Instant{2 + random.below(8)} * 1000 * kMicrosecond : 5 * kSecond);

  srd.drops = random.below(2) == 0;

  s.payload = srd.payload;
  s.packet_time = srd.packet_time.count();
  s.give_up = srd.give_up.count();
  s.first_sequence = srd.first_sequence;
  s.base_rtt = srd.base_rtt.count();
  s.tcp_over_srd = srd;
  s.codec = s.codec && transport::describe(transport).encoded;
  transport::Transports::with(transport, [&]<class Each>() { draw_own<Each>(s, seed); });

  // Drawn apart from the rest, which is what it was before these were thought of.
  Random more(seed, 0xd57, 0x100);
  const auto rarely = [&](std::uint32_t below) { return more.below(4) == 0 ? 1 + more.below(below) : 0; };
  s.pauses = rarely(4);
  s.jumps = rarely(2);
  s.slow = rarely(2);
  s.lossy_way = rarely(400);
  return s;
}

namespace {

std::string numbers_of(const Scenario& s) {
  std::string text;
  transport::Transports::with(s.transport, [&]<class Each>() {
    if constexpr (Each::kDescription.delivers) text = Each::Drawing::text(Each::config_in(s), s);
  });
  return text;
}

}  // namespace

std::string Scenario::text() const {
  return fmt::format(
      "{}: {} nodes{}{}, payload {}, first sequence {}, {}, give up {} us; delay {} ns + {} us spread + {} us jitter; "
      "per 1024: loss {}, of one way {} more, duplicate {}, corrupt {}, mark {}, trim {}; {} dead ways, {} clogs, {} "
      "partitions, {} restarts, {} pauses, {} clock jumps, {} slow links; {} operations up to {} packets in {} us",
      name_of(transport), nodes, hostile ? " (one hostile)" : "", codec ? ", encoded" : "", payload, first_sequence,
      numbers_of(*this), give_up / kMicrosecond, delay / 1000, spread / kMicrosecond, jitter / kMicrosecond, loss,
      lossy_way, duplicate, corrupt, mark, trim, dead_paths, clogs, partitions, restarts, pauses, jumps, slow,
      operations, longest, faulty / kMicrosecond);
}

}  // namespace weft::dst
