#include "dst/message_world.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.hpp"
#include "transport/srd/drawing.hpp"

namespace weft::dst {

using transport::Header;
using transport::PacketType;
using transport::Placement;
using transport::Srd;
using transport::Transmit;
using transport::rdm::Exercise;
using transport::rdm::Outgoing;
using transport::rdm::RdmConfig;
using transport::rdm::Sink;

namespace {

constexpr std::uint64_t kMostSteps = 400'000;
constexpr Instant kGreetAgain = 300 * kMicrosecond;
constexpr Instant kHealing = 60'000'000 * kMicrosecond;  // more than any patience that is drawn
constexpr std::uint32_t kOverstatedEvery = 10;

// The network of SRD's worlds, where nobody is hostile: what a message layer does with nonsense is a test of its own.
Scenario message_scenario(std::uint64_t seed) {
  Scenario scenario = draw(Protocol::srd, seed);
  scenario.hostile = false;
  scenario.codec = false;
  scenario.srd.payload = std::max<std::uint32_t>(scenario.srd.payload, 16);
  scenario.faulty = std::min<Instant>(scenario.faulty, 2000 * kMicrosecond);
  return scenario;
}

bool later(const auto& a, const auto& b) { return a.time != b.time ? a.time > b.time : a.number > b.number; }

}  // namespace

RdmConfig MessageWorld::drawn_config(Random& random) {
  RdmConfig config;
  config.ordered = random.below(4) > 0;
  config.bundle = 128 + random.below(2000);
  config.eager = random.below(3) == 0 ? random.below(300) : 500 + random.below(16000);
  config.window = 4u << random.below(8);
  config.unexpected = 4096 + random.below(100000);
  config.reads = 1 + random.below(16);
  config.requests = 1 + random.below(32);
  return config;
}

MessageWorld::MessageWorld(std::uint64_t seed, bool canary)
    : scenario_(message_scenario(seed)),
      canary_(canary),
      random_(seed, 0xd57, 1000),
      config_(drawn_config(random_)),
      longest_(100 + std::min<std::uint64_t>(40 * scenario_.srd.payload, 30000)),
      exercise_(seed, scenario_.nodes, config_, longest_),
      connections_(scenario_.nodes * scenario_.nodes) {
  const Scenario& s = scenario_;
  faultless_ = s.loss + s.corrupt + s.dead_paths + s.clogs + s.partitions + s.restarts == 0;
  for (std::uint32_t node = 0; node < s.nodes; ++node)
    for (std::uint32_t peer = 0; peer < s.nodes; ++peer) begin(node, peer);
}

std::string MessageWorld::text() const {
  return fmt::format(
      "messages{}: bundle {}, eager {}, window {}, unexpected {}, reads {}, requests {}, up to {} bytes; over {}",
      config_.ordered ? "" : " (unordered)", config_.bundle, config_.eager, config_.window, config_.unexpected,
      config_.reads, config_.requests, longest_, scenario_.text());
}

Outcome MessageWorld::run() {
  draw_events();
  run_until(scenario_.faulty);
  healed_ = true;
  const Instant healed_at = std::max(now_, scenario_.faulty);
  now_ = healed_at;
  while (exercise_.problem().empty()) {
    exercise_.drain();
    for (std::uint32_t node = 0; node < scenario_.nodes; ++node) pump(node);
    if (exercise_.open() == 0 || events_.empty() || now_ > healed_at + kHealing) break;
    run_until(now_ + 1000 * kMicrosecond);
  }
  if (exercise_.open() > 0) exercise_.complain(fmt::format("{} operations never ended", exercise_.open()));
  exercise_.finish();
  return {exercise_.problem(), digest_.value(), handled_, exercise_.operations(), exercise_.failed_operations()};
}

void MessageWorld::draw_events() {
  const auto some_time = [&] {
    return static_cast<Instant>(random_.next() % static_cast<std::uint64_t>(scenario_.faulty));
  };
  for (std::uint32_t i = 0; i < 20 + 8 * scenario_.operations; ++i) {
    const Instant when = random_.below(2) == 0 ? 0 : some_time();
    push({.time = when, .number = 0, .kind = Kind::act, .node = random_.below(scenario_.nodes), .peer = 0});
  }
  for (std::uint32_t i = 0; i < scenario_.clogs + scenario_.partitions; ++i) {
    const Instant from = some_time();
    const Instant to = from + some_time();
    const std::uint32_t a = random_.below(scenario_.nodes);
    troubles_.push_back({i >= scenario_.clogs, a, random_.below(scenario_.nodes), from, to});
  }
  for (std::uint32_t i = 0; i < scenario_.restarts; ++i) {
    const Instant when = some_time();
    push({.time = when, .number = 0, .kind = Kind::restart, .node = random_.below(scenario_.nodes), .peer = 0});
  }
}

void MessageWorld::push(Event event) {
  event.number = made_++;
  events_.push_back(std::move(event));
  std::push_heap(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return later(a, b); });
}

void MessageWorld::run_until(Instant limit) {
  while (!events_.empty() && exercise_.problem().empty() && events_.front().time <= limit) {
    if (healed_ && exercise_.open() == 0) return;
    std::pop_heap(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return later(a, b); });
    Event event = std::move(events_.back());
    events_.pop_back();
    now_ = std::max(now_, event.time);
    step(event);
    if (++handled_ > kMostSteps) exercise_.complain("it goes on and on");
  }
  now_ = std::max(now_, limit);
}

void MessageWorld::step(Event& event) {
  digest_.add(static_cast<std::uint64_t>(event.time));
  digest_.add(std::uint64_t{event.node} << 40 ^ static_cast<std::uint64_t>(event.kind) << 32 ^ event.header.sequence);
  switch (event.kind) {
    case Kind::packet:
    case Kind::hello:
      take(event);
      break;
    case Kind::wake:
      connection(event.node, event.peer).armed = transport::kNever;
      break;
    case Kind::greet:
      connection(event.node, event.peer).greets = false;
      greet(event.node, event.peer);
      break;
    case Kind::act:
      exercise_.act(event.node);
      break;
    case Kind::restart:
      restart(event.node);
      break;
  }
  pump(event.node);
  if (handled_ % 64 == 0)
    if (const auto wrong = exercise_.rdm(event.node).check_invariants(); !wrong.empty())
      exercise_.complain(fmt::format("node {} violates: {}", event.node, wrong));
}

// ---- what goes out

void MessageWorld::pump(std::uint32_t node) {
  transport::rdm::Rdm& rdm = exercise_.rdm(node);
  rdm.tick(now_);
  Outgoing out;
  while (rdm.next_outgoing(out)) carry(node, out);
  for (std::uint32_t peer = 0; peer < scenario_.nodes; ++peer) pump(node, peer);
  exercise_.collect(node);
  arm(node, node, rdm.next_wake());  // SRD has nothing to do there
}

void MessageWorld::carry(std::uint32_t node, const Outgoing& out) {
  if (out.peer == node) return carry_home(node, out);
  if (connection(node, out.peer).theirs != 0) return post(node, out);
  connection(node, out.peer).waiting.push_back(out);
  greet(node, out.peer);
}

void MessageWorld::carry_home(std::uint32_t node, const Outgoing& out) {
  transport::rdm::Rdm& rdm = exercise_.rdm(node);
  const Sink sink = rdm.arrived(now_, node, out.envelope.view(), out.bytes);
  if (sink.kind == Sink::Kind::refused) return exercise_.complain(fmt::format("node {} refused itself", node));
  std::vector<std::byte> bytes(std::min(out.bytes, sink.room));
  exercise_.get(node, out.payload, bytes);
  if (!bytes.empty()) exercise_.put(node, sink.place, bytes);
  rdm.landed(now_, node, sink.context);
  rdm.sent(now_, out.context);
}

void MessageWorld::post(std::uint32_t node, const Outgoing& out) {
  Connection& it = connection(node, out.peer);
  const std::uint32_t tag = it.tags++;
  it.outgoing.emplace(tag, out);
  if (!it.srd->post(now_, node, {transport::Op::send, out.peer, out.bytes, tag, tag}))
    exercise_.complain(fmt::format("node {}: SRD took no message", node));
}

void MessageWorld::greet(std::uint32_t node, std::uint32_t peer) {
  Connection& it = connection(node, peer);
  if (it.greets || (it.theirs == 0 && it.waiting.empty())) return;
  it.greets = true;
  send({.time = now_, .number = 0, .kind = Kind::hello, .node = peer, .peer = node, .from = it.ours, .to = it.theirs});
  push({.time = now_ + kGreetAgain, .number = 0, .kind = Kind::greet, .node = node, .peer = peer});
}

void MessageWorld::pump(std::uint32_t node, std::uint32_t peer) {
  Connection& it = connection(node, peer);
  Transmit out;
  while (it.srd->poll_ack(node, out)) transmit(node, peer, out);
  for (int sent = 0; sent < 64 && it.srd->poll(now_, node, out); ++sent) transmit(node, peer, out);
  std::vector<transport::Completion> told;
  told.swap(it.srd->completions());
  for (const transport::Completion& each : told) {
    if (each.kind == transport::Completion::Kind::failed) return fail(node, peer);
    if (each.kind != transport::Completion::Kind::sent) continue;
    const std::uint32_t context = it.outgoing.at(each.tag).context;
    it.outgoing.erase(each.tag);
    exercise_.rdm(node).sent(now_, context);
  }
  arm(node, peer, it.srd->next_wake(node));
}

void MessageWorld::arm(std::uint32_t node, std::uint32_t peer, Instant wake) {
  Connection& it = connection(node, peer);
  wake = std::max(wake, now_ + 1);
  if (wake == transport::kNever || wake >= it.armed) return;
  it.armed = wake;
  push({.time = wake, .number = 0, .kind = Kind::wake, .node = node, .peer = peer});
}

// ---- what comes in

// Whether the packet is of the connection that there is now.
bool MessageWorld::meet(const Event& event) {
  Connection& it = connection(event.node, event.peer);
  if (event.from < it.theirs) return false;
  if (event.from > it.theirs) {
    if (it.theirs != 0) {
      const std::uint32_t ours = it.ours;
      fail(event.node, event.peer);
      it.ours = ours;
    }
    it.theirs = event.from;
    std::vector<Outgoing> waiting;
    waiting.swap(it.waiting);
    for (const Outgoing& out : waiting) post(event.node, out);
    greet(event.node, event.peer);
  }
  if (event.to == it.ours) return true;
  send({.time = now_,
        .number = 0,
        .kind = Kind::hello,
        .node = event.peer,
        .peer = event.node,
        .from = it.ours,
        .to = it.theirs});
  return false;
}

void MessageWorld::take(const Event& event) {
  if (!meet(event) || event.kind == Kind::hello) return;
  Connection& it = connection(event.node, event.peer);
  transport::rdm::Rdm& rdm = exercise_.rdm(event.node);
  const Placement placement = it.srd->handle(now_, event.node, event.type, event.flags, event.header);
  if (placement.kind != Placement::Kind::place) return;
  auto at = it.arriving.find(placement.first);
  if (at == it.arriving.end()) {
    const Sink sink = rdm.arrived(now_, event.peer, event.envelope.view(), event.header.data.size);
    if (sink.kind == Sink::Kind::refused)
      return exercise_.complain(fmt::format("node {} refused a message of {}", event.node, event.peer));
    at = it.arriving.emplace(placement.first, sink).first;
  }
  const Sink sink = at->second;
  if (placement.offset < sink.room) {
    const std::uint64_t length = std::min<std::uint64_t>(event.payload.size(), sink.room - placement.offset);
    exercise_.put(event.node, {sink.place.memory, sink.place.offset + placement.offset},
                  std::span(event.payload).first(length));
  }
  if (!placement.complete) return;
  it.arriving.erase(at);
  rdm.landed(now_, event.peer, sink.context);
}

// ---- faults

void MessageWorld::begin(std::uint32_t node, std::uint32_t peer) {
  Connection& it = connection(node, peer);
  const bool greets = it.greets;
  it = {};
  it.greets = greets;
  it.srd = std::make_unique<Srd>(scenario_.srd);
  it.ours = ++numbers_;
}

void MessageWorld::fail(std::uint32_t node, std::uint32_t peer) {
  if (faultless_) exercise_.complain(fmt::format("node {} lost node {} and nothing explains it", node, peer));
  exercise_.lost(node, peer);
  begin(node, peer);
  exercise_.rdm(node).peer_failed(now_, peer);
  exercise_.collect(node);
}

void MessageWorld::restart(std::uint32_t node) {
  exercise_.restart(node);
  for (std::uint32_t peer = 0; peer < scenario_.nodes; ++peer) begin(node, peer);
}

// ---- the network

void MessageWorld::transmit(std::uint32_t node, std::uint32_t peer, const Transmit& out) {
  Connection& it = connection(node, peer);
  Event event{.time = now_, .number = 0, .kind = Kind::packet, .node = peer, .peer = node};
  event.from = it.ours;
  event.to = it.theirs;
  event.type = out.type;
  event.flags = out.flags;
  event.header = out.header;
  if (out.type == PacketType::data) {
    const Outgoing& message = it.outgoing.at(out.header.data.tag);
    const std::uint64_t offset = std::uint64_t{out.header.sequence - out.header.data.first} * scenario_.srd.payload;
    event.envelope = message.envelope;
    event.payload.resize(
        std::min<std::uint64_t>(scenario_.srd.payload, message.bytes - std::min(message.bytes, offset)));
    exercise_.get(node, {message.payload.memory, message.payload.offset + offset}, event.payload);
    if (chance(scenario_.mark)) event.flags |= transport::kMarked;
    if (chance(scenario_.trim)) event.flags |= transport::kTrimmed;
  } else if (canary_ && random_.below(kOverstatedEvery) == 0) {
    transport::SrdDrawing::overstate(event.header);
  }
  send(std::move(event));
}

void MessageWorld::send(Event event) {
  const auto between = [&](const Trouble& it) {
    return it.a == event.node && it.b == event.peer && now_ >= it.from && now_ < it.to;
  };
  const bool dead = scenario_.dead_paths > 0 && !healed_ &&
                    pick(mix64(event.header.path * 31u + event.peer), 4) < scenario_.dead_paths;
  const bool parted = std::ranges::any_of(troubles_, [&](const Trouble& it) { return it.parts && between(it); });
  if (dead || parted || chance(scenario_.loss) || chance(scenario_.corrupt)) return;
  Instant at = now_ + scenario_.delay;
  if (scenario_.spread > 0)
    at += static_cast<Instant>(mix64(event.header.path) % static_cast<std::uint64_t>(scenario_.spread));
  if (scenario_.jitter > 0 && !healed_)
    at += static_cast<Instant>(random_.next() % static_cast<std::uint64_t>(scenario_.jitter));
  for (const Trouble& it : troubles_)
    if (!it.parts && between(it)) at = std::max(at, it.to);
  event.time = at;
  if (chance(scenario_.duplicate)) {
    Event copy = event;
    copy.time += random_.below(8) == 0 ? scenario_.faulty : static_cast<Instant>(random_.below(100)) * kMicrosecond;
    push(std::move(copy));
  }
  push(std::move(event));
}

}  // namespace weft::dst
