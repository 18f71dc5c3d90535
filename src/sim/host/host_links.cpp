#include "sim/host/host_links.hpp"

#include <algorithm>
#include <utility>

#include "base/hash.hpp"

namespace weft::sim {
namespace {

// The time `after` a moment, or never where it does not fit.
std::int64_t later(std::int64_t moment, Wide after) {
  return after < HostLinks::kNever - moment ? moment + static_cast<std::int64_t>(after) : HostLinks::kNever;
}

// Of heaps with the least on top.
constexpr auto begins_later = [](const auto& a, const auto& b) { return a.time > b.time; };
constexpr auto is_farther = [](const auto& a, const auto& b) { return a.work > b.work; };

}  // namespace

HostLinks::Domain* HostLinks::find_domain(std::uint32_t number) {
  const std::uint32_t index = domain_index_.find(number);
  return index == FlatMap::kNone ? nullptr : &domains_[index];
}

HostLinks::Domain& HostLinks::make_domain(std::uint32_t number) {
  if (Domain* known = find_domain(number)) return *known;
  const std::size_t links = routes_.links(number).size();
  domain_index_.insert(number, static_cast<std::uint32_t>(domains_.size()));
  Domain& domain = domains_.emplace_back();
  domain.number = number;
  domain.rated.resize(links, kNowhere);
  domain.carried.resize(links);
  return domain;
}

HostLinks::Transfer* HostLinks::alive(TransferId id) {
  Transfer& transfer = transfers_[id.slot];
  return transfer.generation == id.generation ? &transfer : nullptr;
}

HostLinks::TransferId HostLinks::start(std::int64_t now, std::uint32_t number, const HostRoute& route,
                                       std::uint64_t bytes, std::uint64_t context, std::optional<TransferId> after) {
  Domain& domain = make_domain(number);
  run_until(domain, now);
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(transfers_.size()));
    transfers_.emplace_back();
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  Transfer& transfer = transfers_[slot];
  transfer.context = context;
  transfer.bytes = bytes;
  transfer.wake = 0;
  transfer.order = domain.started++;
  transfer.begins = later(domain.time, route.latency.count());
  transfer.domain = static_cast<std::uint32_t>(&domain - domains_.data());
  transfer.before = transfer.follower = kNowhere;
  transfer.finished = 0;
  transfer.begun = false;
  transfer.done = false;
  if (Transfer* first = after ? alive(*after) : nullptr; first != nullptr && !first->done) {
    first->follower = slot;
    transfer.before = after->slot;
  }
  transfer.route = route;
  transfer.legs.fill({});
  add_begin(domain, transfer.begins, slot);
  return {slot, transfer.generation};
}

std::int64_t HostLinks::next_event(std::uint32_t number) {
  Domain* domain = find_domain(number);
  if (domain == nullptr) return kNever;
  if (!domain->reports.empty()) return domain->reports.front().ready.time;
  share(*domain);
  return domain->next;
}

void HostLinks::advance(std::int64_t now, std::uint32_t number, std::vector<Ready>& out) {
  Domain* domain = find_domain(number);
  if (domain == nullptr) return;
  run_until(*domain, now);
  for (const Report& report : domain->reports) {
    out.push_back(report.ready);
    if (!report.ready.done) continue;
    ++transfers_[report.slot].generation;
    free_.push_back(report.slot);
  }
  domain->reports.clear();
}

std::optional<std::uint64_t> HostLinks::ready(std::int64_t now, TransferId id) {
  Transfer* transfer = alive(id);
  if (transfer == nullptr) return std::nullopt;
  Domain& domain = domains_[transfer->domain];
  run_until(domain, now);
  if (transfer->done) return transfer->bytes;
  if (!transfer->begun) return 0;
  const Leg& last = transfer->legs[transfer->route.legs - 1];
  const Wide moved = last.moving() ? domain.convoys[last.convoy].work_at(domain.time) - last.began : last.moved;
  return std::min(static_cast<std::uint64_t>(moved / kWorkPerByte), last.available);
}

void HostLinks::wake_at(std::int64_t now, TransferId id, std::uint64_t bytes) {
  const auto there = ready(now, id);
  Transfer& transfer = transfers_[id.slot];
  if (!there || transfer.done) return;
  Domain& domain = domains_[transfer.domain];
  transfer.wake = 0;
  if (bytes > 0 && bytes < transfer.bytes) {  // else the last report says it
    if (*there >= bytes) {
      domain.reports.push_back({{domain.time, transfer.context, bytes, false}, id.slot});
    } else {
      transfer.wake = bytes;
    }
  }
  if (transfer.begun) aim(domain, id.slot, transfer.route.legs - 1);
}

std::span<const std::uint64_t> HostLinks::carried(std::uint32_t number) const {
  const std::uint32_t index = domain_index_.find(number);
  if (index == FlatMap::kNone) return {};
  return domains_[index].carried;
}

std::int64_t HostLinks::rate(std::int64_t now, TransferId id) {
  Transfer* transfer = alive(id);
  if (transfer == nullptr) return 0;
  const Domain& domain = domains_[transfer->domain];
  run_until(domains_[transfer->domain], now);
  if (!transfer->begun || transfer->done) return 0;
  const Leg& last = transfer->legs[transfer->route.legs - 1];
  return last.moving() ? domain.convoys[last.convoy].rate / kParts : 0;
}

// ---- what happens in the course of time

void HostLinks::run_until(Domain& domain, std::int64_t now) {
  for (share(domain); domain.next <= std::max(now, domain.time); share(domain)) {
    domain.time = std::max(domain.time, domain.next);
    happen(domain);
  }
  domain.time = std::max(domain.time, now);
}

// Everything that is due by the domain's time, in order of start.
void HostLinks::happen(Domain& domain) {
  due_.clear();
  while (!domain.begins.empty() && domain.begins.front().time <= domain.time) {
    due_.push_back(domain.begins.front().slot);
    std::pop_heap(domain.begins.begin(), domain.begins.end(), begins_later);
    domain.begins.pop_back();
  }
  while (!domain.reached.empty() && domain.reached.time() <= domain.time) {
    const std::uint32_t number = domain.reached.number();
    domain.reached.set(number, kNever);
    change(domain, number);
    take_due(domain.convoys[number], domain.time);
  }
  // One of which several legs are due is handled once.
  const auto order = [&](std::uint32_t slot) { return transfers_[slot].order; };
  std::sort(due_.begin(), due_.end(), [&](std::uint32_t a, std::uint32_t b) { return order(a) < order(b); });
  due_.erase(std::unique(due_.begin(), due_.end()), due_.end());
  for (const std::uint32_t slot : due_) handle(domain, slot);
}

void HostLinks::take_due(Convoy& convoy, std::int64_t now) {
  for (const Wide work = convoy.work_at(now); !convoy.goals.empty() && convoy.goals.front().work <= work;) {
    const Goal goal = convoy.goals.front();
    std::pop_heap(convoy.goals.begin(), convoy.goals.end(), is_farther);
    convoy.goals.pop_back();
    if (transfers_[goal.slot].legs[goal.leg].aim == goal.aim) due_.push_back(goal.slot);
  }
}

void HostLinks::add_begin(Domain& domain, std::int64_t time, std::uint32_t slot) {
  domain.begins.push_back({time, slot});
  std::push_heap(domain.begins.begin(), domain.begins.end(), begins_later);
  domain.next = std::min(domain.next, time);
}

bool HostLinks::has_reached(const Domain& domain, const Leg& leg) {
  return leg.moving() && domain.convoys[leg.convoy].work_at(domain.time) - leg.began >= Wide{leg.goal} * kWorkPerByte;
}

void HostLinks::handle(Domain& domain, std::uint32_t slot) {
  Transfer& transfer = transfers_[slot];
  if (!transfer.begun && transfer.begins <= domain.time) {
    transfer.begun = true;
    if (transfer.before == kNowhere && (transfer.bytes == 0 || transfer.route.legs == 0)) return finish(domain, slot);
    transfer.legs[0].available = transfer.bytes;
    if (transfer.bytes > 0 && transfer.route.legs > 0 && may_begin(transfer, 0)) begin_leg(domain, slot, 0);
  }
  for (std::uint32_t i = 0; i < transfer.route.legs; ++i)
    while (has_reached(domain, transfer.legs[i]))
      i + 1 < transfer.route.legs ? hand_over(domain, slot, i) : arrive(domain, slot);
}

// A chunk stands in memory whole and may go on.
void HostLinks::hand_over(Domain& domain, std::uint32_t slot, std::uint32_t index) {
  Transfer& transfer = transfers_[slot];
  const Leg& leg = transfer.legs[index];
  Leg& next = transfer.legs[index + 1];
  next.available = leg.goal;
  if (next.moving()) {
    aim(domain, slot, index + 1);
  } else if (may_begin(transfer, index + 1)) {
    begin_leg(domain, slot, index + 1);
  }
  if (leg.goal != leg.available) return aim(domain, slot, index);
  const bool whole = leg.goal == transfer.bytes;
  stop_leg(domain, slot, index);
  if (!whole) return;
  transfer.finished = index + 1;
  let_follow(domain, slot);
}

// The last leg has brought what was waited for, or all that there was to bring.
void HostLinks::arrive(Domain& domain, std::uint32_t slot) {
  Transfer& transfer = transfers_[slot];
  const std::uint32_t index = transfer.route.legs - 1;
  const Leg& leg = transfer.legs[index];
  if (leg.goal == transfer.bytes) {
    stop_leg(domain, slot, index);
    return finish(domain, slot);
  }
  if (leg.goal == transfer.wake) {
    domain.reports.push_back({{domain.time, transfer.context, leg.goal, false}, slot});
    transfer.wake = 0;
  }
  leg.goal == leg.available ? stop_leg(domain, slot, index) : aim(domain, slot, index);
}

void HostLinks::finish(Domain& domain, std::uint32_t slot) {
  Transfer& transfer = transfers_[slot];
  transfer.done = true;
  transfer.finished = transfer.route.legs;
  for (const std::uint32_t link : transfer.route.links) domain.carried[link] += transfer.bytes;
  domain.reports.push_back({{domain.time, transfer.context, transfer.bytes, true}, slot});
  let_follow(domain, slot);
}

bool HostLinks::may_begin(const Transfer& transfer, std::uint32_t index) const {
  if (transfer.before == kNowhere) return true;
  const Transfer& first = transfers_[transfer.before];
  return first.finished > std::min(index, first.route.legs - 1);
}

// A leg of a transfer is done, or all of it: what follows may take its place.
void HostLinks::let_follow(Domain& domain, std::uint32_t slot) {
  if (transfers_[slot].follower == kNowhere) return;
  const std::uint32_t follower = transfers_[slot].follower;
  Transfer& next = transfers_[follower];
  if (transfers_[slot].done) next.before = kNowhere;
  if (!next.begun || next.done) return;
  if (next.bytes == 0 || next.route.legs == 0) {
    // It ends when it is looked at.
    if (next.before == kNowhere) {
      next.begun = false;
      add_begin(domain, next.begins, follower);
    }
    return;
  }
  for (std::uint32_t i = next.finished; i < next.route.legs; ++i) {
    const Leg& leg = next.legs[i];
    if (!leg.moving() && leg.moved < Wide{leg.available} * kWorkPerByte && may_begin(next, i))
      begin_leg(domain, follower, i);
  }
}

void HostLinks::begin_leg(Domain& domain, std::uint32_t slot, std::uint32_t index) {
  const std::uint32_t number = convoy_of(domain, transfers_[slot].route.leg(index));
  Convoy& convoy = domain.convoys[number];
  Leg& leg = transfers_[slot].legs[index];
  leg.convoy = number;
  leg.began = convoy.work_at(domain.time) - leg.moved;
  leg.aim = ++aims_;
  ++convoy.size;
  aim(domain, slot, index);
}

void HostLinks::stop_leg(Domain& domain, std::uint32_t slot, std::uint32_t index) {
  Leg& leg = transfers_[slot].legs[index];
  // Whole picoseconds may have moved a fraction too much; the leg stands where its data end.
  leg.moved = Wide{leg.goal} * kWorkPerByte;
  leg.aim = 0;
  --domain.convoys[leg.convoy].size;
  change(domain, leg.convoy);
}

void HostLinks::aim(Domain& domain, std::uint32_t slot, std::uint32_t index) {
  Transfer& transfer = transfers_[slot];
  Leg& leg = transfer.legs[index];
  if (index + 1 < transfer.route.legs) {
    leg.goal = std::min(transfer.legs[index + 1].available + chunk_, transfer.bytes);
  } else {
    leg.goal = transfer.wake > 0 ? std::min(leg.available, transfer.wake) : leg.available;
  }
  if (!leg.moving()) return;
  leg.aim = ++aims_;
  std::vector<Goal>& goals = domain.convoys[leg.convoy].goals;
  goals.push_back({leg.began + Wide{leg.goal} * kWorkPerByte, leg.aim, slot, index});
  std::push_heap(goals.begin(), goals.end(), is_farther);
  change(domain, leg.convoy);
}

// ---- convoys

std::uint32_t HostLinks::convoy_of(Domain& domain, std::span<const std::uint32_t> links) {
  shares_.clear();
  std::uint64_t hash = 0;
  for (const std::uint32_t link : links) {
    shares_.push_back({rated(domain, link), MaxMinRates::kWhole});
    hash = mix64(hash + link + 1);
  }
  const std::uint32_t first = domain.convoy_index.find(hash);
  for (std::uint32_t at = first; at != kNowhere; at = domain.convoys[at].next_alike)
    if (domain.convoys[at].shares == shares_) return at;
  const auto number = static_cast<std::uint32_t>(domain.convoys.size());
  Convoy& convoy = domain.convoys.emplace_back();
  convoy.shares = shares_;
  if (first == FlatMap::kNone) {
    domain.convoy_index.insert(hash, number);
  } else {
    convoy.next_alike = std::exchange(domain.convoys[first].next_alike, number);
  }
  return number;
}

std::uint32_t HostLinks::rated(Domain& domain, std::uint32_t link) const {
  std::uint32_t& number = domain.rated[link];
  if (number == kNowhere) {
    const std::int64_t rate = routes_.links(domain.number)[link].rate.count();
    number = domain.rates.add_link(std::clamp<std::int64_t>(rate, 1, kNever / kParts) * kParts);
  }
  return number;
}

void HostLinks::change(Domain& domain, std::uint32_t number) {
  if (std::exchange(domain.convoys[number].changed, true)) return;
  domain.changed.push_back(number);
}

// Brings rates up to date, and what happens next.
void HostLinks::share(Domain& domain) {
  for (const std::uint32_t number : domain.changed) {
    Convoy& convoy = domain.convoys[number];
    if (convoy.size == convoy.counted) continue;
    if (convoy.counted == 0) {
      convoy.flow = domain.rates.add_flow(convoy.shares, convoy.size);
      domain.convoy_by_flow.resize(std::max<std::size_t>(domain.convoy_by_flow.size(), convoy.flow + std::size_t{1}));
      domain.convoy_by_flow[convoy.flow] = number;
    } else if (convoy.size > 0) {
      domain.rates.set_count(convoy.flow, convoy.size);
    } else {
      domain.rates.remove_flow(convoy.flow);
      convoy.work = convoy.work_at(domain.time);
      convoy.since = domain.time;
      convoy.rate = 0;
    }
    convoy.counted = convoy.size;
  }
  for (const std::uint32_t flow : domain.rates.settle()) {
    Convoy& convoy = domain.convoys[domain.convoy_by_flow[flow]];
    convoy.work = convoy.work_at(domain.time);
    convoy.since = domain.time;
    // Rounded down, a share could be nothing only if more transfers than parts of a bit met on a link.
    convoy.rate = std::max<std::int64_t>(1, domain.rates.rate(flow));
    change(domain, domain.convoy_by_flow[flow]);
  }
  for (const std::uint32_t number : domain.changed) {
    domain.convoys[number].changed = false;
    domain.reached.set(number, next_goal(domain.convoys[number]));
  }
  domain.changed.clear();
  domain.next = std::min(domain.begins.empty() ? kNever : domain.begins.front().time,
                         domain.reached.empty() ? kNever : domain.reached.time());
}

// When a convoy reaches its nearest goal.
std::int64_t HostLinks::next_goal(Convoy& convoy) const {
  std::vector<Goal>& goals = convoy.goals;
  if (convoy.size == 0) goals.clear();
  while (!goals.empty() && transfers_[goals.front().slot].legs[goals.front().leg].aim != goals.front().aim) {
    std::pop_heap(goals.begin(), goals.end(), is_farther);
    goals.pop_back();
  }
  if (goals.empty()) return kNever;
  const Wide left = std::max<Wide>(0, goals.front().work - convoy.work);
  return later(convoy.since, (left + convoy.rate - 1) / convoy.rate);
}

}  // namespace weft::sim
