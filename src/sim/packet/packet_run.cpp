#include "sim/packet/packet_run.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sim/host/local_work.hpp"
#include "sim/host/route_out.hpp"
#include "sim/packet/unloaded_times.hpp"

namespace weft::sim {
namespace {

constexpr std::uint64_t kHostLinks = std::uint64_t{1} << 63;  // a call about the links of a host, not of a rank
constexpr std::uint64_t kTagged = std::uint64_t{1} << 62;     // about a rank's messages with tags
// Beside four times what is on the way at full rate: more than any transport keeps in flight, so that none runs dry.
constexpr std::uint64_t kMostPosted = 16 << 20;
constexpr std::uint32_t kStartsBetweenQuestions = 1024;
constexpr std::uint32_t kCallsBetweenQuestions = 4096;

}  // namespace

PacketRun::PacketRun(schedule::Schedule& schedule, PacketSim& engine, bool hosts, const HostRates& rates)
    : engine_(engine),
      fabric_(engine.layout().fabric()),
      model_hosts_(hosts),
      runner_(schedule, *this),
      tagged_(engine.config().any_tagged() ? schedule.ranks() : 0,
              std::max<std::uint32_t>(1, static_cast<std::uint32_t>(engine.config().streams.size())), *this, runner_,
              [this](std::int64_t when, std::uint32_t rank) {
                engine_.call(when, host_of(rank), kTagged | std::uint64_t{rank} << 32);
              }),
      ranks_(schedule.ranks()) {
  const HostRoutes routes(fabric_);
  armed_.assign(routes.domains(), HostLinks::kNever);
  const std::uint32_t gpus = fabric_.cluster().gpus;
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) domain_of_.push_back(routes.domain_of(fabric_.gpu(gpu)));
  names_ = MessageNames(domain_of_, routes.domains());
  if (engine_.config().any_tagged()) tagged_.mark_carried_by(names_.highest_bit());
  for (std::uint32_t domain = 0; domain < routes.domains(); ++domain) domain_of_.push_back(domain);  // its switches
  for (std::uint32_t i = 0; i < engine_.shards(); ++i)
    hosts_.push_back(std::make_unique<Hosts>(engine_.layout(), rates, engine_.config()));
  bool answered = false;  // of raw messages, nobody hears of a fault
  for (std::uint32_t stream = 0; stream < std::max<std::size_t>(1, engine_.config().streams.size()); ++stream)
    answered = answered || !is_raw(stream);
  fails_over_ = answered && engine_.config().failover.count() > 0 && !engine_.outages().empty();
  if (!fails_over_) return;
  parts_.resize(ranks_);
  for (const auto& each : hosts_) each->failures = schedule::Failures(engine_.outages());
}

PacketRun::~PacketRun() = default;

bool PacketRun::joined(std::uint32_t from, std::uint32_t to) {
  if (model_hosts_ && domain_of(from) == domain_of(to)) return hosts_[0]->routes.find(part(from), part(to)) != nullptr;
  find_pairs(engine_.layout(), from, to, hosts_[0]->pairs);
  return !hosts_[0]->pairs.empty();
}

// ---- messages

void PacketRun::post(std::int64_t now, const NicPair& pair, std::uint32_t from, std::uint32_t message,
                     std::uint64_t bytes, std::uint32_t queue) {
  if (!fails_over_) return launch(now, pair, from, message, message, bytes, queue);
  const std::uint32_t part =
      parts_[from].add({static_cast<std::uint32_t>(bytes), queue, Part::kNotFailed, pair, pair, message, 0});
  // The NIC may have been given up while the message was on its way to it.
  if (may_move(stream_of(from, message)) && hosts_of(domain_of(from)).failover.avoids(now, pair) &&
      move(now, from, part))
    return;
  launch(now, from, part);
}

void PacketRun::launch(std::int64_t now, std::uint32_t from, std::uint32_t part) {
  const Part& each = parts_[from][part];
  launch(now, each.pair, from, each.message, part, each.bytes, each.queue);
}

void PacketRun::launch(std::int64_t now, const NicPair& pair, std::uint32_t from, std::uint32_t message,
                       std::uint32_t named, std::uint64_t bytes, std::uint32_t queue) {
  const std::uint32_t tag = names_.name(domain_of(from), from, named);
  const std::uint32_t stream = stream_of(from, message);
  const SimConfig& config = engine_.config();
  engine_.post(now, pair.source,
               {config.verb_of(stream), pair.destination, bytes, tag, tag, config.protocol_of(stream),
                config.lane_of(stream), queue});
}

// Messages take the queue pairs or connections of a peer in turn, and all parts of a message the same.
std::uint32_t PacketRun::next_queue(Hosts& hosts, const NicPair& pair, std::uint32_t stream) {
  const SimConfig& config = engine_.config();
  const transport::Connections queues = transport::connections_of(config.protocol_of(stream), config.stack);
  if (queues.count <= 1 || queues.split_above) return 0;
  return 1 + hosts.turns[{pair.source, pair.destination, stream}]++ % queues.count;
}

std::uint32_t PacketRun::send(std::int64_t now, const Transfer& transfer) {
  const auto [from, to, bytes, message, leaves, enters, handed, channel] = transfer;
  const std::uint32_t domain = domain_of(from);
  Hosts& hosts = hosts_of(domain);
  const std::uint32_t stream = stream_of(from, message);
  const bool stays = model_hosts_ && domain == domain_of(to);
  if (!stays && engine_.config().is_tagged(stream) && !tagged_.is_carried(message)) {
    tagged_.send(now, transfer, stream);
    return 1;
  }
  if (stays) {
    const HostRoute* route =
        is_read(stream) ? hosts.routes.find(part(to), part(from)) : hosts.routes.find(part(from), part(to));
    cross(now, domain, route, {Crossing::Kind::inside, from, to, message, {}, bytes, 0, 0, kNew, 0, {}});
    return 1;
  }
  find_pairs(engine_.layout(), transfer, hosts.pairs);
  if (may_move(stream)) leave_out_avoided(now, hosts);
  std::uint32_t parts = 0;
  const std::uint32_t payload = engine_.config().payload_of(stream);
  for_each_stripe(hosts.pairs, bytes, payload, message, [&](const NicPair& pair, std::uint64_t stripe) {
    // Where links fail, parts show what came when.
    const std::uint64_t part_bytes =
        model_hosts_ || fails_over_ ? part_size(stripe, payload) : std::max<std::uint64_t>(1, stripe);
    const std::uint64_t cut = std::max<std::uint64_t>(1, (stripe + part_bytes - 1) / part_bytes);
    const std::uint32_t queue = model_hosts_ || fails_over_ ? next_queue(hosts, pair, stream) : 0;
    // Of raw messages every packet is told.
    parts += static_cast<std::uint32_t>(is_raw(stream) ? transport::RawMessages::packets_of(stripe, payload) : cut);
    const Crossing out{Crossing::Kind::out, from, to, message, pair, stripe, part_bytes, 0, kNew, queue, {}};
    if (is_read(stream)) {
      const std::uint64_t first = std::min(part_bytes, stripe);
      read_in_parts(now, hosts, {pair, from, message, first, Read::kNoPart, stripe - first});
    } else if (model_hosts_) {
      cross(now, domain, route_out(hosts.routes, transfer, nic(pair.source)), out);
    } else {
      const std::uint32_t slot = keep(hosts, out);
      hosts.crossings[slot].ready = stripe;
      hosts.crossings[slot].crossed = true;
      hand_over(now, hosts, slot);
    }
  });
  return parts;
}

// To the schedule, or to the layer between it and what was carried.
void PacketRun::tell_sent(std::int64_t now, std::uint32_t from, std::uint32_t message) {
  tagged_.is_carried(message) ? tagged_.sent(now, from, message) : runner_.sent(now, from, message);
}

void PacketRun::tell_received(std::int64_t now, std::uint32_t to, std::uint32_t from, std::uint32_t message) {
  tagged_.is_carried(message) ? tagged_.received(now, to, from, message) : runner_.received(now, to, from, message);
}

void PacketRun::completed(std::int64_t now, const transport::Completion& done) {
  using Kind = transport::Completion::Kind;
  const std::uint32_t sender = done.kind == Kind::received ? done.peer : done.endpoint;
  const std::uint32_t domain = engine_.layout().host_of(sender) - engine_.layout().switches();
  const std::uint32_t named = done.kind == Kind::received ? done.tag : done.context;
  const std::uint32_t from = names_.rank_of(domain, named);
  const std::uint32_t number = names_.message_of(named);
  const std::uint32_t message = fails_over_ ? parts_[from][number].message : number;
  if (done.kind == Kind::failed && fails_over_) return failed(now, from, number);
  if (done.kind == Kind::sent || done.kind == Kind::failed) {
    const NicPair home = fails_over_ ? parts_[from][number].home : NicPair{done.endpoint, done.peer};
    settle(now, from, stream_of(from, message), home, done.bytes);
  }
  if (done.kind == Kind::failed) return give_up(now, done.endpoint);
  const bool moves = fails_over_ && may_move(stream_of(from, message));
  if (moves && done.kind != Kind::received) {
    hosts_of(domain).failover.succeeded(parts_[from][number].pair);
    parts_[from].arrived(number);
  }
  if (done.kind == Kind::sent) return tell_sent(now, from, message);
  if (done.kind == Kind::read_done) return has_read(now, from, message, done);
  const std::uint32_t to = destination_of(from, message);
  const std::uint32_t target = domain_of(to);
  if (fails_over_) {
    // Its sender could not know. Of raw messages every packet is told.
    if (moves && std::exchange(parts_[from][number].delivered, 1) != 0) return;
    hosts_of(target).failures.delivered.add(Duration(now), done.bytes);
  }
  if (!model_hosts_) return tell_received(now, to, from, message);
  cross(now, target, hosts_of(target).routes.find(nic(done.endpoint), part(to)),
        {Crossing::Kind::in, from, to, message, {}, done.bytes, 0, 0, kNew, 0, {}});
}

// ---- what a NIC has to do

bool PacketRun::has_room(Hosts& hosts, const NicPair& pair) {
  Backlog& backlog = hosts.backlogs[pair];
  if (backlog.bytes < kMostPosted) return true;
  if (backlog.most == 0) {
    const Layout& layout = engine_.layout();
    const Link& link = layout.link(layout.far(layout.port_of_endpoint(pair.source)).link);
    const std::int64_t round_trip = engine_.unloaded({pair.source, pair.destination, 1, 0});
    backlog.most = kMostPosted + 4 * static_cast<std::uint64_t>(link.bytes_in(round_trip));
  }
  return backlog.bytes < backlog.most;
}

// Parts of a stripe that are ready, as far as there is room; false: not all of them.
bool PacketRun::post_ready(std::int64_t now, Hosts& hosts, std::uint32_t slot) {
  const Crossing each = hosts.crossings[slot];
  std::uint64_t posted = each.posted;
  bool room = true;
  if (each.bytes == 0) post(now, each.pair, each.from, each.message, 0, each.queue);
  while (posted < each.bytes && std::min(each.bytes, posted + each.part) <= each.ready) {
    room = has_room(hosts, each.pair);
    if (!room) break;
    const std::uint64_t size = std::min(each.part, each.bytes - posted);
    hosts.backlogs[each.pair].bytes += size;
    post(now, each.pair, each.from, each.message, size, each.queue);
    posted += size;
  }
  hosts.crossings[slot].posted = posted;
  if (each.crossed && posted == each.bytes) hosts.free.push_back(slot);
  return room;
}

// A stripe has come further. Nobody overtakes those that wait.
void PacketRun::hand_over(std::int64_t now, Hosts& hosts, std::uint32_t slot) {
  const Crossing& each = hosts.crossings[slot];
  if (each.waits) return;
  if (hosts.backlogs[each.pair].first == kNone && post_ready(now, hosts, slot)) return;
  Crossing& waiting = hosts.crossings[slot];
  Backlog& backlog = hosts.backlogs[waiting.pair];
  waiting.waits = true;
  waiting.next = kNone;
  (backlog.last == kNone ? backlog.first : hosts.crossings[backlog.last].next) = slot;
  backlog.last = slot;
}

// A part is there, or given up: others find room.
void PacketRun::settle(std::int64_t now, std::uint32_t from, std::uint32_t stream, const NicPair& home,
                       std::uint64_t bytes) {
  if (is_read(stream)) return;
  Hosts& hosts = hosts_of(domain_of(from));
  hosts.backlogs[home].bytes -= bytes;
  while (true) {
    const std::uint32_t slot = hosts.backlogs[home].first;
    if (slot == kNone || !has_room(hosts, home)) return;
    if (!post_ready(now, hosts, slot)) return;
    hosts.crossings[slot].waits = false;
    const std::uint32_t next = hosts.crossings[slot].next;
    Backlog& backlog = hosts.backlogs[home];  // to post may begin others, and move this one
    backlog.first = next;
    if (next == kNone) backlog.last = kNone;
  }
}

// ---- parts that do not get through

// Shows as a flow without an end.
void PacketRun::give_up(std::int64_t now, std::uint32_t endpoint) {
  std::int64_t& last = hosts_[engine_.shard_of(engine_.layout().host_of(endpoint))]->gave_up;
  last = std::max(last, now);
}

void PacketRun::give_up_part(std::int64_t now, std::uint32_t from, std::uint32_t number) {
  const Part each = parts_[from][number];
  give_up(now, each.pair.source);
  settle(now, from, stream_of(from, each.message), each.home, each.bytes);
}

// A new message takes the NICs that are known to work, if there are any.
void PacketRun::leave_out_avoided(std::int64_t now, Hosts& hosts) {
  const auto avoided = [&](const NicPair& pair) { return hosts.failover.avoids(now, pair); };
  if (!std::all_of(hosts.pairs.begin(), hosts.pairs.end(), avoided)) std::erase_if(hosts.pairs, avoided);
}

// Lets a part go by another NIC; false: there is none.
bool PacketRun::move(std::int64_t now, std::uint32_t from, std::uint32_t number) {
  Part& each = parts_[from][number];
  const std::uint32_t domain = domain_of(from);
  Hosts& hosts = hosts_of(domain);
  const std::uint32_t to = destination_of(from, each.message);
  const auto usable = [&](const NicPair& pair) {
    return !model_hosts_ || (hosts.routes.find(part(from), nic(pair.source)) != nullptr &&
                             hosts.routes.find(nic(pair.destination), part(to)) != nullptr);
  };
  const auto other = hosts.failover.another(now, each.pair, number, usable);
  if (!other) return false;
  ++hosts.failures.moved;
  each.pair = *other;
  if (model_hosts_ && !is_read(stream_of(from, each.message)))
    cross(now, domain, hosts.routes.find(part(from), nic(other->source)),
          {Crossing::Kind::out, from, to, each.message, *other, each.bytes, each.bytes, 0, number, 0, {}});
  else
    try_again(now, hosts, from, number);
  return true;
}

// By the NIC that the part names now.
void PacketRun::try_again(std::int64_t now, Hosts& hosts, std::uint32_t from, std::uint32_t number) {
  const Part& each = parts_[from][number];
  if (!is_read(stream_of(from, each.message))) return launch(now, from, number);
  read(now, hosts, {each.pair, from, each.message, each.bytes, number});
}

void PacketRun::failed(std::int64_t now, std::uint32_t from, std::uint32_t number) {
  const SimConfig& config = engine_.config();
  Part& each = parts_[from][number];
  if (each.since == Part::kNotFailed) each.since = now;
  Hosts& hosts = hosts_of(domain_of(from));
  hosts.failover.failed(now, each.pair);
  if (is_read(stream_of(from, each.message))) read_next(now, hosts, each.pair);
  if (now - each.since >= config.give_up.count()) return give_up_part(now, from, number);
  if (move(now, from, number)) {
    hosts.failures.note_moved(Duration(now));
  } else if (config.failover < config.give_up) {
    try_again(now, hosts, from, number);  // perhaps it comes back
  } else {
    give_up_part(now, from, number);
  }
}

schedule::Failures PacketRun::take_failures() {
  schedule::Failures all(engine_.outages());
  for (const auto& hosts : hosts_) {
    const schedule::Failures& each = hosts->failures;
    all.delivered.add(each.delivered);
    all.moved += each.moved;
    if (each.first_moved == schedule::kNotYet) continue;
    all.note_moved(each.first_moved);
    all.note_moved(each.last_moved);
  }
  return all;
}

// ---- reads

// The latencies inside both servers stand before the request: when it is sent does not change how long it takes.
void PacketRun::read(std::int64_t now, Hosts& hosts, const Read& each) {
  if (!hosts.reads.has_room(each.pair)) return hosts.reads.wait(each);
  hosts.reads.begins(each.pair);
  std::int64_t at = now;
  if (model_hosts_) {
    const std::uint32_t to = destination_of(each.from, each.message);
    // One after the other: a route that is found may move those found before.
    const auto latency = [&](fabric::NodeId gpu, fabric::NodeId nic_node) {
      const HostRoute* route = hosts.routes.find(gpu, nic_node);
      if (route == nullptr) throw std::logic_error("a GPU and its NIC are not joined");
      return route->latency.count();
    };
    at += latency(part(each.from), nic(each.pair.source)) + latency(part(to), nic(each.pair.destination));
  }
  if (each.part == Read::kNoPart) return launch(at, each.pair, each.from, each.message, each.message, each.bytes, 0);
  launch(at, each.from, each.part);
}

// Where parts may move, each has a number.
Read PacketRun::numbered(Read part) {
  if (fails_over_ && part.part == Read::kNoPart)
    part.part = parts_[part.from].add(
        {static_cast<std::uint32_t>(part.bytes), 0, Part::kNotFailed, part.pair, part.pair, part.message, 0});
  return part;
}

// As far as the transport takes them.
void PacketRun::read_in_parts(std::int64_t now, Hosts& hosts, Read whole) {
  for (bool more = true; more;) {
    if (!hosts.reads.has_room(whole.pair)) return hosts.reads.wait(whole);
    more = whole.rest > 0;
    read(now, hosts, numbered(whole.take_part()));
  }
}

// One was answered, or failed. Those that wait for NICs that do not get through go by others.
void PacketRun::read_next(std::int64_t now, Hosts& hosts, const NicPair& pair) {
  hosts.reads.ended(pair);
  while (const std::optional<Read> waiting = hosts.reads.next(pair)) {
    const Read next = numbered(*waiting);
    const bool avoided = next.part != Read::kNoPart && hosts.failover.avoids(now, pair);
    if (avoided && move(now, next.from, next.part)) continue;
    return read(now, hosts, next);
  }
}

void PacketRun::has_read(std::int64_t now, std::uint32_t from, std::uint32_t message,
                         const transport::Completion& done) {
  const std::uint32_t domain = domain_of(from);
  Hosts& hosts = hosts_of(domain);
  if (fails_over_) hosts.failures.delivered.add(Duration(now), done.bytes);
  read_next(now, hosts, {done.endpoint, done.peer});
  if (model_hosts_)
    return cross(now, domain, hosts.routes.find(nic(done.endpoint), part(from)),
                 {Crossing::Kind::inside, from, from, message, {}, done.bytes, 0, 0, kNew, 0, {}});
  tell_received(now, from, from, message);
  tell_sent(now, from, message);
}

// ---- inside the servers

// What goes again by another NIC goes when it can, and raw packets know no order.
bool PacketRun::keeps_order(const Crossing& crossing) {
  return crossing.kind == Crossing::Kind::out && crossing.again == kNew &&
         !is_raw(stream_of(crossing.from, crossing.message));
}

PacketRun::Connection PacketRun::connection_of(const Crossing& crossing) {
  const std::uint32_t stream = stream_of(crossing.from, crossing.message);
  return {crossing.from, crossing.to, crossing.pair.source, crossing.pair.destination, stream << 8 | crossing.queue};
}

std::uint32_t PacketRun::keep(Hosts& hosts, const Crossing& crossing) {
  std::uint32_t slot = static_cast<std::uint32_t>(hosts.crossings.size());
  if (hosts.free.empty()) {
    hosts.crossings.push_back(crossing);
  } else {
    slot = hosts.free.back();
    hosts.free.pop_back();
    hosts.crossings[slot] = crossing;
  }
  return slot;
}

void PacketRun::cross(std::int64_t now, std::uint32_t domain, const HostRoute* route, const Crossing& crossing) {
  Hosts& hosts = hosts_of(domain);
  const std::uint32_t slot = keep(hosts, crossing);
  if (route == nullptr) throw std::logic_error("a GPU and its NIC are not joined");
  Crossing& mine = hosts.crossings[slot];
  if (keeps_order(crossing)) {
    const auto [last, is_first] = hosts.last_out.try_emplace(connection_of(crossing));
    mine.transfer = hosts.links.start(now, domain, *route, crossing.bytes, slot,
                                      is_first ? std::nullopt : std::optional(last->second));
    last->second = mine.transfer;
  } else {
    mine.transfer = hosts.links.start(now, domain, *route, crossing.bytes, slot);
  }
  if (crossing.kind == Crossing::Kind::out && crossing.bytes > crossing.part)
    hosts.links.wake_at(now, mine.transfer, crossing.part);
  arm(hosts, domain);
}

void PacketRun::moved(std::int64_t now, Hosts& hosts, const HostLinks::Ready& ready) {
  const auto slot = static_cast<std::uint32_t>(ready.context);
  const Crossing each = hosts.crossings[slot];
  if (!ready.done) {
    hosts.links.wake_at(now, each.transfer, std::min(each.bytes, ready.bytes / each.part * each.part + each.part));
  } else if (keeps_order(each)) {
    const auto last = hosts.last_out.find(connection_of(each));
    if (last != hosts.last_out.end() && last->second == each.transfer) hosts.last_out.erase(last);
  }
  if (each.kind == Crossing::Kind::out && each.again == kNew) {
    hosts.crossings[slot].ready = ready.done ? each.bytes : ready.bytes;
    hosts.crossings[slot].crossed = ready.done;
    return hand_over(now, hosts, slot);
  }
  if (ready.done) hosts.free.push_back(slot);
  switch (each.kind) {
    case Crossing::Kind::inside:
      if (each.from != each.to) hosts.inside_bytes += each.bytes;  // what was read was delivered by a NIC
      tell_received(now, each.to, each.from, each.message);
      return tell_sent(now, each.from, each.message);
    case Crossing::Kind::in:
      return tell_received(now, each.to, each.from, each.message);
    case Crossing::Kind::out:
      return launch(now, each.from, each.again);
  }
}

// Sees to it that the links of a domain are looked at when something happens on them.
void PacketRun::arm(Hosts& hosts, std::uint32_t domain) {
  const std::int64_t next = hosts.links.next_event(domain);
  if (next >= armed_[domain]) return;
  armed_[domain] = next;
  engine_.call(next, engine_.layout().switches() + domain, kHostLinks | domain);
}

// Behind long cables a window is long, and millions of messages begin and end in it: those who limit the run are asked
// within it, too. From their "no" on nothing new happens in servers, so that the window ends soon, and the run with it.
bool PacketRun::is_stopped(Hosts& hosts) {
  if (++hosts.calls < kCallsBetweenQuestions || !go_on_) return hosts.stopped;
  hosts.calls = 0;
  const std::scoped_lock alone(asking_);
  if (!go_on_(last_)) hosts.stopped = true;
  return hosts.stopped;
}

void PacketRun::called(std::int64_t now, std::uint32_t, std::uint64_t context) {
  if ((context & kHostLinks) == 0) {
    const auto rank = static_cast<std::uint32_t>((context & ~kTagged) >> 32);
    if (is_stopped(hosts_of(domain_of(rank)))) return;
    if (context & kTagged) return tagged_.called(now, rank);
    return runner_.done(now, rank, static_cast<std::uint32_t>(context));
  }
  const auto domain = static_cast<std::uint32_t>(context);
  if (armed_[domain] != now) return;  // superseded
  armed_[domain] = HostLinks::kNever;
  Hosts& hosts = hosts_of(domain);
  if (is_stopped(hosts)) return;
  hosts.ready.clear();
  hosts.links.advance(now, domain, hosts.ready);
  // What is answered may start more, but never reports into this list.
  for (std::size_t i = 0; i < hosts.ready.size(); ++i) moved(now, hosts, hosts.ready[i]);
  arm(hosts, domain);
}

void PacketRun::wake(std::int64_t at, std::uint32_t rank, std::uint32_t context) {
  engine_.call(at, host_of(rank), std::uint64_t{rank} << 32 | context);
}

void PacketRun::local(std::int64_t now, std::uint32_t rank, schedule::Instruction::Kind kind, std::uint64_t bytes,
                      std::uint32_t context) {
  wake(now + local_time(fabric_, rank, kind, bytes).count(), rank, context);
}

// ---- the run

schedule::RunResult PacketRun::run(const LanesOf& counted) {
  std::uint32_t ended = 0;  // ranks
  go_on_ = engine_.on_progress;
  if (counted || go_on_) {
    engine_.on_progress = [this, &counted, &ended](schedule::Progress progress) {
      if (counted && runner_.have_ended(ended, counted)) return false;
      for (const auto& hosts : hosts_) progress.delivered_bytes += hosts->inside_bytes;
      progress.growth_bytes = [this] {
        std::uint64_t bytes = 0;
        for (const auto& hosts : hosts_) bytes += hosts->links.growth() + growth_of(hosts->crossings);
        return bytes;
      };
      last_.now = progress.now;
      last_.events = progress.events;
      last_.delivered_bytes = progress.delivered_bytes;
      return !go_on_ || go_on_(progress);
    };
  }
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    // Of a million ranks this takes a while. The engine asks again before its first window.
    if (rank > 0 && rank % kStartsBetweenQuestions == 0 && engine_.on_progress && !engine_.on_progress({})) break;
    runner_.start(0, rank);
  }
  schedule::RunResult result = engine_.run(*this);
  const bool all_that_count = counted && runner_.have_ended(ended, counted);
  if (all_that_count) result.stopped_by.clear();
  result.unfinished = all_that_count ? 0 : runner_.unfinished();
  const std::int64_t last = runner_.last();
  result.flows = runner_.take_flows();
  UnloadedTimes unloaded(engine_, model_hosts_ ? &hosts_[0]->routes : nullptr);
  for (schedule::FlowRecord& flow : result.flows) {
    flow.unanswered = is_raw(flow.stream);
    flow.unloaded = Duration(unloaded.of(flow));
  }
  for (std::uint32_t i = 0; i < engine_.config().streams.size(); ++i) {
    const transport::Counters counters = engine_.counters(engine_.config().streams[i], engine_.config().lane_of(i));
    schedule::StreamRecord& stream = result.streams.emplace_back();
    stream.data_sent = counters.data_sent;
    stream.data_resent = counters.data_resent;
    stream.timeouts = counters.timeouts;
  }
  if (fails_over_) result.failures = take_failures();
  if (!result.stopped_by.empty()) return result;
  const std::int64_t last_event = result.end.count();
  result.end = Duration(last);  // a transport's timers do not count
  // What is left of a raw message that has lost a packet arrives, too.
  for (const schedule::FlowRecord& flow : result.flows)
    if (flow.unanswered && flow.received == schedule::kNotYet) result.end = Duration(last_event);
  for (const auto& hosts : hosts_) result.end = Duration(std::max(result.end.count(), hosts->gave_up));
  return result;
}

}  // namespace weft::sim
