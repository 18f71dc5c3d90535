#include "sim/packet/packet_sim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "sim/packet/barrier.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t kFewestSamples = 16;  // that every link may have

}  // namespace

PacketSim::PacketSim(const fabric::Fabric& fabric, const SimConfig& config)
    : world_(fabric, config), config_(world_.config), layout_(world_.layout) {
  config_.stack.for_each([&](const transport::Description& each, auto& own) {
    if constexpr (requires { own.longest_wait; }) own.longest_wait = Duration(longest_wait(each.data));
    if constexpr (requires { own.drops; })
      own.drops = own.longest_wait.count() == 0 && (config_.fifo || !config_.trimming);
  });
  config_.stack.set_network(Duration(layout_.base_rtt()), Duration(layout_.slowest_packet()), config_.full_packet);
  config_.stack.seed = config_.seed;
  if (config_.exact.on) prepare_exact();
  if (config_.exact.is_scheduled()) prepare_scheduled();
  if (config_.fast_cnp.count() > 0) world_.told.resize(layout_.switches());
  if (config_.balance == Balance::flowlet || config_.balance == Balance::flowlet_global)
    world_.flowlets.resize(layout_.switches());
  if (config_.balance == Balance::flowlet_global) world_.published.resize(layout_.ports());
  // Effects without delay between hosts leave no look-ahead to share out.
  const std::uint32_t shards =
      config_.in_time_order ? 1 : std::clamp<std::uint32_t>(config_.threads, 1, layout_.entities());
  if (shards > 1) world_.shard_of = layout_.partition(shards);
  for (std::uint32_t i = 0; i < shards; ++i) shards_.push_back(std::make_unique<Shard>(world_, i, shards));
  for (std::uint32_t port = 0; port < layout_.ports(); ++port) {
    const model::Shaper& shaper = layout_.shaper(layout_.far(port).link);
    if (shaper.rate.count() > 0)
      shape(port, {(8'000'000'000'000 + shaper.rate.count() - 1) / shaper.rate.count(), shaper.burst.count(),
                   shaper.queue.count(), 0});
  }
  if (config_.sample.count() > 0)
    for (std::uint32_t port = 0; port < layout_.ports(); ++port)
      special(port).samples = special(port).refused = Samples(config_.sample.count(), most_samples());
}

PacketSim::~PacketSim() = default;

Software& PacketSim::software_of(std::uint32_t endpoint) {
  world_.plain = false;
  world_.software.resize(layout_.endpoints());
  return world_.software[endpoint];
}

std::uint32_t PacketSim::most_samples() const {
  return std::max(kFewestSamples, config_.most_samples / layout_.ports());
}

Special& PacketSim::special(std::uint32_t port) {
  std::uint32_t& number = world_.ports[port].special;
  if (number == 0) {
    world_.specials.emplace_back();
    number = static_cast<std::uint32_t>(world_.specials.size());
  }
  return world_.specials[number - 1];
}

void PacketSim::add_condition(std::uint32_t port, const Condition& condition) {
  special(port).conditions.push_back(condition);
}

void PacketSim::add_to_link(std::uint32_t port, const Condition& condition) {
  add_condition(port, condition);
  add_condition(layout_.reverse(port), condition);
}

void PacketSim::add_to_switch(std::uint32_t network_switch, const Condition& condition) {
  for (std::uint32_t port = 0; port < layout_.fabric().ports(network_switch); ++port) {
    const std::uint32_t index = layout_.port_of(network_switch, port);
    if (layout_.connected(index)) add_to_link(index, condition);
  }
}

std::vector<schedule::Outage> PacketSim::outages() const {
  std::vector<schedule::Outage> found;
  for (const Special& special : world_.specials)
    for (const Condition& each : special.conditions)
      if (each.kind == Condition::Kind::down || each.kind == Condition::Kind::blackhole)
        found.push_back({Duration(each.from), Duration(each.to)});
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.from != b.from ? a.from < b.from : a.to < b.to; });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void PacketSim::shape(std::uint32_t port, const Bucket& bucket) { special(port).bucket = bucket; }

void PacketSim::capture(std::uint32_t port) { special(port).capture = ++captures_; }

std::int64_t PacketSim::unloaded(const Flow& flow, const Cut& cut) const {
  const std::int64_t arrived = unloaded_arrival(flow, cut);
  const auto back =
      config_.exact.is_scheduled()
          ? layout_.one_way(flow.destination, flow.source, cut.header, answers_ask())
          : layout_.one_way(flow.destination, flow.source, Layout::Train{.last = cut.header, .detours = cut.detours});
  return arrived == 0 || !back ? 0 : arrived + *back;
}

Layout::Train PacketSim::train_of(const Flow& flow, const Cut& cut) {
  const std::int64_t payload = cut.full_packet - cut.header;
  const auto bytes = static_cast<std::int64_t>(flow.bytes);
  const std::int64_t before = std::max<std::int64_t>(1, (bytes + payload - 1) / payload) - 1;
  return {before, cut.full_packet, bytes - before * payload + cut.header, cut.paths, cut.trains, cut.detours};
}

std::int64_t PacketSim::unloaded_arrival(const Flow& flow, const Cut& cut) const {
  const Layout::Train train = train_of(flow, cut);
  if (!config_.exact.is_scheduled()) return layout_.one_way(flow.source, flow.destination, train).value_or(0);
  const auto full = layout_.one_way(flow.source, flow.destination, train.before > 0 ? train.full : train.last);
  if (!full || train.before == 0) return full.value_or(0);
  // Cells do not overtake: the last packet leaves when the one before it has.
  const Link& nic = layout_.link(layout_.far(layout_.port_of_endpoint(flow.source)).link);
  const Link& end = layout_.link(layout_.far(layout_.port_of_endpoint(flow.destination)).link);
  const std::int64_t idle = end.occupancy(train.full) - end.wire(train.full);
  const std::uint32_t leaf = layout_.leaf_of(flow.source);
  const std::int64_t cells =
      leaf == layout_.leaf_of(flow.destination) ? 0 : layout_.bundle_wire(leaf, train.full * train.trains);
  return (train.before - 1) * std::max(nic.occupancy(train.full), cells) + *full + idle + end.wire(train.last);
}

std::int64_t PacketSim::overtaking(const Flow& flow, const Cut& cut) const {
  const Layout::Train train = train_of(flow, cut);
  if (config_.exact.is_scheduled() || train.before == 0) return 0;
  Layout::Train others = train;
  others.before = train.before - 1;
  others.last = train.full;
  const auto behind = layout_.one_way(flow.source, flow.destination, train);
  const auto last =
      layout_.one_way(flow.source, flow.destination, Layout::Train{.last = train.last, .detours = cut.detours});
  const auto before_it = layout_.one_way(flow.source, flow.destination, others);
  if (!behind || !last || !before_it) return 0;
  const Link& nic = layout_.link(layout_.far(layout_.port_of_endpoint(flow.source)).link);
  return *behind - std::max(train.before * nic.occupancy(train.full) + *last, *before_it);
}

// ---- the run

// What is done between windows, when nobody is at work: everything before this window is known.
void PacketSim::look_around() {
  const std::int64_t now = window_ * layout_.look_ahead();
  if (config_.balance == Balance::flowlet_global && now >= next_publication_) {
    next_publication_ = now + config_.load_interval.count();
    for (std::uint32_t port = 0; port < layout_.ports(); ++port) world_.published[port] = world_.load(port, now);
  }
  if (!can_lock_up() || now < next_search_) return;
  next_search_ = now + config_.exact.deadlock_check.count();
  const Circle found = find_deadlock();
  if (!found.names.empty() && found == suspected_) {
    deadlock_ = found.names;
    stopped_ = true;
  }
  suspected_ = found;
}

void PacketSim::choose_window() {
  window_ = Wheel::kNothing;
  schedule::Progress progress;
  for (const auto& shard : shards_) {
    window_ = std::min(window_, shard->next_window());
    progress.now = Duration(std::max(progress.now.count(), shard->reached()));
    progress.events += shard->tally().events;
    for (const transport::Stack& stack : shard->hosts().stacks()) progress.delivered_bytes += stack.payload_delivered();
  }
  progress.underway_bytes = [this] {
    std::uint64_t bytes = 0;
    for (const auto& shard : shards_)
      for (const transport::Stack& stack : shard->hosts().stacks()) bytes += stack.underway_bytes();
    return bytes;
  };
  if (window_ != Wheel::kNothing) look_around();
  if (window_ != Wheel::kNothing && on_progress && !on_progress(progress)) stopped_ = true;
  for (const std::exception_ptr& failure : failures_) stopped_ = stopped_ || failure;
}

void PacketSim::work(std::uint32_t number) {
  Shard& mine = *shards_[number];
  while (true) {
    barrier_->wait([&] { choose_window(); });
    if (window_ == Wheel::kNothing || stopped_) return;
    for (const auto& other : shards_)
      if (other.get() != &mine) mine.take_from(*other);
    barrier_->wait();  // what was taken is out of the way before anybody writes anew
    try {
      mine.run(window_);
    } catch (...) {
      failures_[number] = std::current_exception();  // the others must not wait for ever
    }
  }
}

// A thread per shard. Where one cannot be had (a container's limit, ulimit -u), those that there are go home.
void PacketSim::work_together() {
  enum : std::uint32_t { kWait, kWork, kGoHome };
  std::atomic<std::uint32_t> word = kWait;
  std::vector<std::jthread> threads;
  const auto say = [&](std::uint32_t what) {
    word = what;
    word.notify_all();
  };
  try {
    for (std::uint32_t i = 1; i < shards_.size(); ++i)
      threads.emplace_back([this, i, &word] {
        word.wait(kWait);
        if (word == kWork) work(i);
      });
  } catch (const std::system_error&) {
    say(kGoHome);
    throw;
  }
  say(kWork);
  work(0);
}

schedule::RunResult PacketSim::run(Client& client) {
  for (const auto& shard : shards_) shard->hosts().set_client(client);
  failures_.assign(shards_.size(), nullptr);
  barrier_ = std::make_unique<Barrier>(static_cast<std::uint32_t>(shards_.size()));
  work_together();
  for (const std::exception_ptr& failure : failures_)
    if (failure) std::rethrow_exception(failure);
  // Where all wait for each other, nothing happens any more.
  if (!stopped_ && can_lock_up()) deadlock_ = find_deadlock().names;
  stopped_ = stopped_ || !deadlock_.empty();
  check_conservation();

  schedule::RunResult result;
  result.fidelity = schedule::Fidelity::packet;
  result.seed = config_.seed;
  if (stopped_) result.stopped_by = deadlock_.empty() ? "stopped" : "deadlock";
  result.deadlock = deadlock_;
  schedule::Counters& counters = result.counters;
  for (const auto& shard : shards_) {
    const Tally& tally = shard->tally();
    result.end = Duration(std::max(result.end.count(), shard->reached()));
    counters.events += tally.events;
    counters.dropped += tally.dropped;
    counters.lost += tally.lost + tally.corrupted;
    for (const transport::Stack& stack : shard->hosts().stacks()) {
      const transport::Counters sent = stack.counters();
      counters.data_sent += sent.data_sent;
      counters.data_resent += sent.data_resent;
      counters.acks_sent += sent.acks_sent;
      counters.marked += sent.marked_seen;
      counters.trimmed += sent.trimmed_seen;
      counters.timeouts += sent.timeouts;
    }
  }
  counters.packet_hops = world_.hops();
  if (config_.exact.is_scheduled()) settle_scheduled(result.end.count());
  for (const GateDetails& gate : world_.exact.details) counters.pauses += gate.pauses;
  for (const ExactDrops& drops : world_.exact.drops) {
    counters.headroom_drops += drops.headroom;
    counters.watchdog_drops += drops.watchdog;
  }
  if (capture_end() != INT64_MAX) result.capture_end = Duration(capture_end());
  Digest all;
  for (const World::Entity& entity : world_.entities) all.add(entity.digest.value());
  result.digest = all.value();
  return result;
}

transport::Counters PacketSim::counters(transport::Protocol protocol, std::uint8_t lane) const {
  transport::Counters all;
  for (const auto& shard : shards_) {
    const transport::Counters each = shard->hosts().stacks()[lane].counters(protocol);
    all.data_sent += each.data_sent;
    all.data_resent += each.data_resent;
    all.timeouts += each.timeouts;
  }
  return all;
}

transport::RawCounters PacketSim::raw_counters() const {
  transport::RawCounters all;
  for (const auto& shard : shards_) {
    const transport::RawCounters& each = shard->hosts().stacks()[0].raw().counters();
    all.sent += each.sent;
    all.received += each.received;
    all.bytes_received += each.bytes_received;
  }
  return all;
}

// Every packet that a host sent has arrived, was dropped or lost, or is on its way.
void PacketSim::check_conservation() const {
  std::uint64_t injected = 0;
  std::uint64_t accounted = 0;
  for (const auto& shard : shards_) {
    const Tally& tally = shard->tally();
    injected += tally.injected;
    accounted += tally.arrived + tally.dropped + tally.lost + tally.corrupted +
                 (stopped_ ? shard->packets_in_flight() : shard->pool().used());
  }
  if (injected != accounted)
    throw std::logic_error(fmt::format("packets are not conserved: {} sent, {} accounted for (seed {})", injected,
                                       accounted, config_.seed));
}

// ---- what was seen

void PacketSim::collect_links(schedule::RunResult& result, std::size_t most) const {
  std::vector<std::uint32_t> used;
  for (std::uint32_t port = 0; port < layout_.ports(); ++port)
    if (world_.ports[port].packets > 0 || world_.ports[port].dropped + world_.ports[port].lost > 0)
      used.push_back(port);
  const auto load = [&](std::uint32_t port) {
    return world_.ports[port].bytes * static_cast<std::uint64_t>(layout_.link(layout_.far(port).link).per_byte);
  };
  const std::size_t kept = config_.sample.count() > 0 ? used.size() : std::min(most, used.size());
  std::partial_sort(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(kept), used.end(),
                    [&](std::uint32_t a, std::uint32_t b) { return load(a) != load(b) ? load(a) > load(b) : a < b; });
  used.resize(kept);
  result.sample_asked = config_.sample;
  // One interval for all, that of the link with most to tell.
  for (const Special& each : world_.specials)
    result.sample_interval = Duration(std::max(result.sample_interval.count(), each.samples.interval()));
  for (const std::uint32_t index : used) {
    const Port& port = world_.ports[index];
    const Link& link = layout_.link(layout_.far(index).link);
    const auto number = static_cast<std::uint32_t>(result.links.size());
    schedule::LinkRecord& record = result.links.emplace_back();
    record.from = layout_.name_of_end(index);
    record.to = layout_.name_of_end(layout_.reverse(index));
    record.rate = (INT64_C(8'000'000'000'000) << 10) / link.per_byte;
    record.bytes = port.bytes;
    record.until = Duration(std::max(port.busy, port.busy_high));
    if (stopped_ && record.until > result.end) {  // what waits was counted when it came
      record.bytes -=
          std::min(record.bytes, static_cast<std::uint64_t>(link.bytes_in((record.until - result.end).count())));
      record.until = result.end;
    }
    record.packets = port.packets;
    record.waited = Duration(port.waited);
    record.peak_bytes = link.bytes_in(port.peak);
    record.marked = port.marked;
    record.trimmed = port.trimmed;
    record.dropped = port.dropped;
    record.lost = port.lost;
    const std::uint32_t back = layout_.reverse(index);
    if (config_.exact.on) {
      if (layout_.is_host(layout_.owner(back))) record.dropped += world_.exact.drops[back].headroom;
      const bool pauses = config_.exact.flow_control != FlowControl::credits;
      for (std::uint32_t cls = 0; pauses && cls < config_.exact.classes; ++cls) {
        const GateDetails& details = world_.exact.details_of(index, cls);
        const std::int64_t since = world_.exact.gate(index, cls).paused_since;
        record.pauses += details.pauses;
        const std::int64_t at_the_end = since > 0 ? std::max<std::int64_t>(0, result.end.count() - since) : 0;
        record.paused = Duration(std::max(record.paused.count(), details.paused_for + at_the_end));
      }
    }
    if (port.special == 0) continue;
    Samples samples = world_.specials[port.special - 1].samples;
    if (!samples.on()) continue;
    samples.coarsen(result.sample_interval.count());
    Samples refused = world_.specials[world_.ports[back].special - 1].refused;
    for (const schedule::LinkSample& each : refused.finish(result.end.count()))
      samples.at(each.time.count()).dropped += each.dropped;
    for (schedule::LinkSample sample : samples.finish(result.end.count())) {
      sample.link = number;
      result.samples.push_back(sample);
    }
  }
  std::sort(result.samples.begin(), result.samples.end(),
            [](const auto& a, const auto& b) { return a.time != b.time ? a.time < b.time : a.link < b.link; });
}

std::int64_t PacketSim::capture_end() const {
  std::int64_t end = INT64_MAX;
  for (const auto& shard : shards_) end = std::min(end, shard->captures().end());
  return end;
}

std::vector<transport::Captured> PacketSim::captured() const {
  std::vector<transport::Captured> all;
  for (const auto& shard : shards_)
    std::copy_if(shard->captures().packets().begin(), shard->captures().packets().end(), std::back_inserter(all),
                 [end = capture_end()](const transport::Captured& packet) { return packet.time < end; });
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.time != b.time ? a.time < b.time : a.link < b.link; });
  return all;
}

}  // namespace weft::sim
