#include "dst/world.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::dst {
namespace {

using transport::Header;
using transport::Op;
using transport::PacketType;
using transport::Transmit;

constexpr Instant kSecond = 1'000'000 * kMicrosecond;
constexpr std::uint32_t kEverybody = 0xFFFFFFFFu;
constexpr std::uint32_t kPaths = 4;             // through the network; a path's entropy chooses one
constexpr std::uint64_t kMostEvents = 600'000;  // of one seed: an honest one needs a tenth
constexpr std::uint64_t kLookEvery = 5;         // events; a look costs more than an event
constexpr std::uint32_t kCanaryEvery = 4;       // acknowledgements

PacketType ack_of(Protocol transport) { return transport::describe(transport).ack.value(); }

}  // namespace

World::World(const Scenario& scenario, std::uint64_t seed, bool canary)
    : scenario_(scenario),
      canary_(canary),
      random_(seed, 0xd57, 1),
      ledger_(scenario.payload),
      nodes_(scenario.nodes),
      restarts_(scenario.nodes) {
  for (Node& node : nodes_) {
    node.generation = scenario_.srd.generation;
    start(node);
  }
}

Outcome World::run() {
  draw_faults();
  draw_operations();
  run_until_idle(scenario_.faulty);

  // Healing. What still waits must end. Who has not yet heard of restarts may fail once more for each of them: a word
  // of a life in between, which was long under way, tells of that life only.
  healed_ = true;
  troubles_.clear();
  now_ = std::max(now_, scenario_.faulty);
  const Instant patience = 5 * scenario_.give_up + kSecond;
  const std::uint32_t last = std::max(1u, *std::max_element(restarts_.begin(), restarts_.end()));
  for (rounds_healed_ = 0; rounds_healed_ <= last; ++rounds_healed_) {
    for (std::uint32_t a = 0; a < partners(); ++a)
      for (std::uint32_t b = 0; b < partners(); ++b)
        if (a != b) post(a, b);
    run_until_idle(now_ + patience);
    if (ledger_.open() > 0)
      for (std::uint32_t tag = 0; tag < ledger_.entries().size(); ++tag)
        if (!ledger_.entries()[tag].done)
          ledger_.complain(fmt::format("operation {} (node {} to {}) still waits {} us after healing", tag,
                                       ledger_.entries()[tag].poster, ledger_.entries()[tag].peer,
                                       (now_ - scenario_.faulty) / kMicrosecond));
  }
  look_for_leaks();
  return {ledger_.problem(), digest_.value(), handled_, ledger_.entries().size(), ledger_.failed_operations()};
}

// ---- what happens, and when

Instant World::some_time() {
  return static_cast<Instant>(random_.next() % static_cast<std::uint64_t>(scenario_.faulty));
}

void World::draw_faults() {
  const auto trouble = [&](Trouble::Kind kind, std::uint32_t a, std::uint32_t b) {
    const Instant from = some_time();
    troubles_.push_back({kind, a, b, from, from + some_time()});
  };
  const auto pairs = [&](Trouble::Kind kind, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
      trouble(kind, random_.below(scenario_.nodes), random_.below(scenario_.nodes));
  };
  pairs(Trouble::Kind::clog, scenario_.clogs);
  pairs(Trouble::Kind::partition, scenario_.partitions);
  if (scenario_.dead_paths > 0) trouble(Trouble::Kind::dead_paths, kEverybody, kEverybody);
  for (std::uint32_t i = 0; i < scenario_.restarts; ++i) {
    const std::uint32_t node = random_.below(partners());
    ++restarts_[node];
    push({.time = some_time(), .number = 0, .kind = Kind::restart, .node = node});
  }
  for (std::uint32_t i = 0; i < scenario_.pauses; ++i)
    push({.time = some_time(), .number = 0, .kind = Kind::pause, .node = random_.below(partners())});
  for (std::uint32_t i = 0; i < scenario_.jumps; ++i)
    push({.time = some_time(), .number = 0, .kind = Kind::jump, .node = random_.below(partners())});
  pairs(Trouble::Kind::slow, scenario_.slow);
  for (Trouble& each : troubles_)
    if (each.kind == Trouble::Kind::slow) each.slower = 10 + random_.below(190);
  if (scenario_.hostile)
    for (std::uint32_t i = 0; i < 400; ++i)
      push({.time = some_time(), .number = 0, .kind = Kind::noise, .node = scenario_.nodes - 1});
}

void World::draw_operations() {
  if (partners() < 2) return;
  for (std::uint32_t i = 0; i < scenario_.operations; ++i) {
    // Half of them at once, for they shall meet.
    const Instant when = random_.below(2) == 0 ? 0 : some_time();
    push({.time = when, .number = 0, .kind = Kind::post, .node = random_.below(partners())});
  }
}

bool World::excused(std::uint32_t peer) const {
  const Scenario& s = scenario_;
  const bool troubled =
      s.clogs + s.partitions + s.dead_paths + s.loss + s.corrupt + s.pauses + s.jumps + s.slow + s.lossy_way > 0;
  return restarts_[peer] > 0 || (s.impatient() && troubled);
}

// The queue pairs or connections that a message takes: one after the other, or from the first on where it is split.
std::uint32_t World::lanes_of(const Ledger::Entry& entry) {
  if (!transport::describe(scenario_.transport).in_order) return 0;
  const transport::Connections connections = transport::connections_of(scenario_.transport, scenario_);
  const std::uint32_t lanes = connections.count;
  if (connections.split_above && entry.bytes > *connections.split_above) {
    const std::uint32_t packets = ledger_.packets_of(entry.bytes);
    const std::uint32_t each = (packets + lanes - 1) / lanes;
    const std::uint32_t parts = (packets + each - 1) / each;
    if (parts > 1) return (1u << parts) - 1;
  }
  return 1u << turns_[{entry.poster, entry.peer}]++ % lanes;
}

void World::post(std::uint32_t node, std::uint32_t peer) {
  Ledger::Entry entry{};
  constexpr std::array<Op, 4> kOps = {Op::send, Op::send, Op::write, Op::read};
  const bool reads = transport::describe(scenario_.transport).verbs.has(Op::read);
  entry.op = kOps[random_.below(reads ? kOps.size() : kOps.size() - 1)];
  entry.poster = node;
  entry.incarnation = nodes_[node].incarnation;
  entry.peer = peer;
  entry.bytes = random_.below(8) == 0 ? 0 : random_.next() % (std::uint64_t{scenario_.longest} * scenario_.payload + 1);
  entry.lanes = lanes_of(entry);
  entry.must_succeed = rounds_healed_ > 0 ? restarts_[peer] <= rounds_healed_ : !excused(peer);
  const std::uint32_t tag = ledger_.add(entry);
  const transport::Operation operation{entry.op, peer, entry.bytes, tag, Ledger::context_of(tag), scenario_.transport};
  if (!nodes_[node].engine->post(clock_of(node), node, operation) && !ledger_.withdraw(tag, scenario_.srd.reads))
    ledger_.complain(fmt::format("operation {} was refused", tag));
  pump(node);
}

void World::push(Event event) {
  event.number = made_++;
  events_.push_back(event);
  std::push_heap(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.number > b.number;
  });
}

// Until `limit`; after healing also no longer than somebody waits.
void World::run_until_idle(Instant limit) {
  while (!events_.empty() && ledger_.problem().empty() && events_.front().time <= limit) {
    if (healed_ && ledger_.open() == 0) return;
    std::pop_heap(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return a.time != b.time ? a.time > b.time : a.number > b.number;
    });
    const Event event = events_.back();
    events_.pop_back();
    now_ = std::max(now_, event.time);
    step(event);
    if (++handled_ > kMostEvents) ledger_.complain("it goes on and on");
  }
}

void World::step(const Event& event) {
  if (const Instant from = nodes_[event.node].runs_from; now_ < from && event.kind != Kind::restart) {
    Event later = event;  // and in the same order
    later.time = from;
    if (event.kind == Kind::wake && nodes_[event.node].armed == event.time) nodes_[event.node].armed = from;
    return push(later);
  }
  digest_.add(static_cast<std::uint64_t>(event.time));
  digest_.add((std::uint64_t{event.node} << 40) ^ (static_cast<std::uint64_t>(event.kind) << 32) ^
              event.header.sequence);
  switch (event.kind) {
    case Kind::packet:
      arrive(event);
      break;
    case Kind::wake:
      if (nodes_[event.node].armed != event.time) return;  // superseded
      nodes_[event.node].armed = transport::kNever;
      break;
    case Kind::post:
      post(event.node, (event.node + 1 + random_.below(partners() - 1)) % partners());
      break;
    case Kind::restart:
      restart(event.node);
      break;
    case Kind::noise:
      make_noise(event.node);
      break;
    case Kind::pause:
      nodes_[event.node].runs_from = std::min(scenario_.faulty, now_ + some_time());
      return;
    case Kind::jump:
      nodes_[event.node].ahead +=
          static_cast<Instant>(random_.next() % static_cast<std::uint64_t>(scenario_.give_up / 4));
      break;
  }
  pump(event.node);
  look(event.node);
}

// ---- nodes

void World::start(Node& node) { node.engine = std::make_unique<Engine>(scenario_, node.generation); }

void World::restart(std::uint32_t index) {
  Node& node = nodes_[index];
  ledger_.abandon(life(index));
  if (++node.generation == 0) node.generation = 1;
  ++node.incarnation;
  std::erase_if(turns_, [&](const auto& turn) { return turn.first.first == index; });
  node.armed = transport::kNever;
  node.runs_from = now_;
  start(node);
}

void World::arrive(const Event& event) {
  PacketType type = event.type;
  std::uint8_t flags = event.flags;
  Header header = event.header;
  if (scenario_.codec) {
    const auto decoded = transport::decode(event.bytes);
    if (!decoded) return;
    type = decoded->type;
    header = decoded->header;
    // Switches speak through IP, not through our header.
    flags = static_cast<std::uint8_t>(
        decoded->flags | (type == PacketType::data ? event.flags & (transport::kMarked | transport::kTrimmed) : 0));
  }
  if (scenario_.hostile && event.node == scenario_.nodes - 1) return;  // it does not listen
  const transport::Placement placement =
      nodes_[event.node].engine->handle(clock_of(event.node), event.node, type, flags, header);
  if (scenario_.hostile && header.source == scenario_.nodes - 1) return;  // it may claim what it likes
  ledger_.placed(life(event.node), header.source, placement);
}

void World::pump(std::uint32_t index) {
  Node& node = nodes_[index];
  Transmit out;
  while (node.engine->poll_ack(index, out)) transmit(index, out, now_);
  const Instant ahead = 4 * scenario_.packet_time;
  Instant wake = transport::kNever;
  while (true) {
    if (node.busy - now_ >= ahead) {
      wake = node.busy - ahead + 1;
      break;
    }
    if (!node.engine->poll(clock_of(index), index, out)) {
      wake = node.engine->next_wake(index);
      if (wake != transport::kNever) wake -= node.ahead;
      break;
    }
    node.busy = std::max(node.busy, now_) + scenario_.packet_time;
    transmit(index, out, node.busy);
  }
  for (const transport::Completion& completion : node.engine->completions())
    if (!scenario_.hostile || completion.peer != scenario_.nodes - 1) ledger_.completed(life(index), completion);
  node.engine->completions().clear();
  wake = std::max(wake, now_ + 1);
  if (wake == transport::kNever || wake >= node.armed) return;
  node.armed = wake;
  push({.time = wake, .number = 0, .kind = Kind::wake, .node = index});
}

void World::look(std::uint32_t index) {
  if (handled_ % kLookEvery != 0) return;
  const Engine& engine = *nodes_[index].engine;
  if (const std::string_view wrong = engine.check_invariants(); !wrong.empty())
    ledger_.complain(fmt::format("node {} violates: {}", index, wrong));
  if (engine.held() > most_held()) ledger_.complain(fmt::format("node {} holds {} messages", index, engine.held()));
}

// What the node asked for and what others may make it hold.
std::size_t World::most_held() const {
  const transport::DrawnLoad load = {ledger_.entries().size(), scenario_.nodes, scenario_.hostile};
  std::size_t most = 0;
  with_transport([&]<class Each>() { most = Each::Drawing::most_held(Each::config_in(scenario_), load); });
  return most;
}

// Where every message has arrived, nothing is left of any. Not so with reads: the answer to one, which has done its
// duty, may still wait for an acknowledgement.
void World::look_for_leaks() {
  if (transport::describe(scenario_.transport).verbs.has(Op::read)) return;
  if (scenario_.hostile || scenario_.restarts > 0 || ledger_.failed_operations() > 0) return;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (const std::size_t held = nodes_[i].engine->held(); held > 0)
      ledger_.complain(fmt::format("node {} still holds {} messages", i, held));
}

// Headers that look like ours and say anything.
void World::make_noise(std::uint32_t index) {
  const auto some = [&](std::uint32_t range) { return random_.below(range); };
  Transmit out{};
  const bool acknowledges = some(2) != 0;
  out.type = acknowledges ? ack_of(scenario_.transport) : transport::data_of(scenario_.transport);
  out.flags = static_cast<std::uint8_t>(some(16));
  Header& header = out.header;
  header.source = index;
  header.destination = some(partners());
  header.path = static_cast<std::uint16_t>(some(64));
  header.sequence = scenario_.first_sequence + (some(8) == 0 ? static_cast<std::uint32_t>(random_.next()) : some(300));
  header.stream = static_cast<std::uint16_t>(some(8) == 0 ? random_.next() : 1 + some(2));
  header.generation = static_cast<std::uint16_t>(scenario_.srd.generation + (some(16) == 0 ? random_.next() : 0));
  header.peer_generation =
      static_cast<std::uint16_t>(some(4) == 0 ? random_.next() : nodes_[header.destination].generation);
  if (acknowledges) {
    header.fan_in = static_cast<std::uint16_t>(random_.next());
    header.echo = static_cast<std::uint16_t>(header.sequence + some(300));
    header.ack = {random_.next(), random_.next()};
  } else {
    header.op = static_cast<Op>(some(4));
    header.data = {header.sequence - some(some(4) == 0 ? 0xFFFFFFFF : 40), some(1000),
                   some(8) == 0 ? random_.next() : some(50 * scenario_.payload)};
  }
  with_transport([&]<class Each>() {
    if constexpr (requires { Each::Drawing::distort(Each::config_in(scenario_), random_, acknowledges, out); })
      Each::Drawing::distort(Each::config_in(scenario_), random_, acknowledges, out);
  });
  transmit(index, out, now_);
}

// ---- the network

std::uint32_t World::way_of(const Header& header) { return pick(mix64(header.path * 31u + header.source), kPaths); }

void World::transmit(std::uint32_t node, const Transmit& packet, Instant when) {
  Event event{.time = 0, .number = 0, .kind = Kind::packet, .node = packet.header.destination};
  event.type = packet.type;
  event.flags = packet.flags;
  event.header = packet.header;
  if (canary_ && event.type == ack_of(scenario_.transport) && random_.below(kCanaryEvery) == 0)
    with_transport([&]<class Each>() { Each::Drawing::overstate(event.header); });
  if (packet.header.source != node) ledger_.complain(fmt::format("node {} sends in another's name", node));
  if (scenario_.codec)
    transport::encode({.type = event.type, .flags = event.flags, .header = event.header}, event.bytes);
  if (event.type == transport::data_of(scenario_.transport)) {
    if (chance(scenario_.mark)) event.flags |= transport::kMarked;
    if (transport::can_be_trimmed(event.type) && chance(scenario_.trim)) event.flags |= transport::kTrimmed;
  }
  const bool lossy = scenario_.lossy_way > 0 && way_of(event.header) == 0;
  if (swallowed(event.header, when) || chance(scenario_.loss) || (lossy && chance(scenario_.lossy_way))) return;
  if (chance(scenario_.corrupt)) {
    if (!scenario_.codec) return;  // found by a checksum there, by assumption here
    const std::uint32_t bit = random_.below(8 * static_cast<std::uint32_t>(event.bytes.size()));
    event.bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    if (transport::decode(event.bytes)) ledger_.complain("a wrong bit went unnoticed");
  }
  event.time = arrival(event.header, when);
  push(event);
  if (!chance(scenario_.duplicate)) return;
  event.time += random_.below(8) == 0 ? scenario_.faulty : static_cast<Instant>(random_.below(100)) * kMicrosecond;
  push(event);
}

bool World::swallowed(const Header& header, Instant when) const {
  return std::any_of(troubles_.begin(), troubles_.end(), [&](const Trouble& trouble) {
    if (when < trouble.from || when >= trouble.to) return false;
    if (trouble.kind == Trouble::Kind::dead_paths) return way_of(header) < scenario_.dead_paths;
    return trouble.kind == Trouble::Kind::partition &&
           ((trouble.a == header.source && trouble.b == header.destination) ||
            (trouble.b == header.source && trouble.a == header.destination));
  });
}

Instant World::arrival(const Header& header, Instant when) {
  Instant at = when + scenario_.delay;
  if (scenario_.spread > 0)
    at += static_cast<Instant>(mix64(header.path) % static_cast<std::uint64_t>(scenario_.spread));
  if (scenario_.jitter > 0 && !healed_)
    at += static_cast<Instant>(random_.next() % static_cast<std::uint64_t>(scenario_.jitter));
  for (Trouble& trouble : troubles_) {
    if (trouble.a != header.source || trouble.b != header.destination || when < trouble.from || when >= trouble.to)
      continue;
    if (trouble.kind == Trouble::Kind::clog) at = std::max(at, trouble.to);
    if (trouble.kind == Trouble::Kind::slow) {
      trouble.free = std::max(trouble.free, at) + scenario_.packet_time * trouble.slower;
      at = trouble.free;
    }
  }
  return at;
}

}  // namespace weft::dst
