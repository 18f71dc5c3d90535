#include "sim/host/host_links.hpp"

#include <algorithm>

namespace weft::sim {
namespace {

// The time `after` a moment, or never where it does not fit.
std::int64_t later(std::int64_t moment, Wide after) {
  return after < HostLinks::kNever - moment ? moment + static_cast<std::int64_t>(after) : HostLinks::kNever;
}

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
  domain.users.resize(links);
  domain.carried.resize(links);
  filling_.resize(std::max(filling_.size(), links));
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
  transfer.entry = static_cast<std::uint32_t>(domain.going.size());
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
  transfer.uses.resize(route.links.size());
  domain.going.push_back({transfer.begins, slot});
  domain.next = std::min(domain.next, transfer.begins);
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
  const Wide moved = last.moved + Wide{last.rate} * (domain.time - last.since);
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
  if (!transfer.begun) return;
  aim(transfer, transfer.route.legs - 1);
  set_due(domain, transfer);
  find_next(domain);
}

std::span<const std::uint64_t> HostLinks::carried(std::uint32_t number) const {
  const std::uint32_t index = domain_index_.find(number);
  if (index == FlatMap::kNone) return {};
  return domains_[index].carried;
}

std::int64_t HostLinks::rate(std::int64_t now, TransferId id) {
  Transfer* transfer = alive(id);
  if (transfer == nullptr) return 0;
  run_until(domains_[transfer->domain], now);
  return transfer->begun && !transfer->done ? transfer->legs[transfer->route.legs - 1].rate / kParts : 0;
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
  for (const Going& going : domain.going)
    if (going.due <= domain.time) due_.push_back(going.slot);
  std::sort(due_.begin(), due_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return transfers_[a].order < transfers_[b].order; });
  for (const std::uint32_t slot : due_) {
    handle(domain, slot);
    const Transfer& transfer = transfers_[slot];
    if (!transfer.done) {
      set_due(domain, transfer);
      continue;
    }
    domain.going[transfer.entry] = domain.going.back();
    transfers_[domain.going.back().slot].entry = transfer.entry;
    domain.going.pop_back();
  }
  find_next(domain);
}

void HostLinks::find_next(Domain& domain) const {
  domain.next = kNever;
  for (const Going& going : domain.going) domain.next = std::min(domain.next, going.due);
}

void HostLinks::set_due(Domain& domain, const Transfer& transfer) const {
  std::int64_t due = transfer.begun ? kNever : transfer.begins;
  for (std::uint32_t i = 0; i < transfer.route.legs; ++i) due = std::min(due, transfer.legs[i].goal_at);
  domain.going[transfer.entry].due = due;
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
    while (transfer.legs[i].goal_at <= domain.time)
      i + 1 < transfer.route.legs ? hand_over(domain, slot, i) : arrive(domain, slot);
}

// A chunk stands in memory whole and may go on.
void HostLinks::hand_over(Domain& domain, std::uint32_t slot, std::uint32_t index) {
  Transfer& transfer = transfers_[slot];
  const Leg& leg = transfer.legs[index];
  Leg& next = transfer.legs[index + 1];
  next.available = leg.goal;
  if (next.moving) {
    aim(transfer, index + 1);
  } else if (may_begin(transfer, index + 1)) {
    begin_leg(domain, slot, index + 1);
  }
  if (leg.goal != leg.available) return aim(transfer, index);
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
  leg.goal == leg.available ? stop_leg(domain, slot, index) : aim(transfer, index);
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
      set_due(domain, next);
    }
    return;
  }
  for (std::uint32_t i = next.finished; i < next.route.legs; ++i) {
    const Leg& leg = next.legs[i];
    if (!leg.moving && leg.moved < Wide{leg.available} * kWorkPerByte && may_begin(next, i))
      begin_leg(domain, follower, i);
  }
}

void HostLinks::begin_leg(Domain& domain, std::uint32_t slot, std::uint32_t index) {
  Transfer& transfer = transfers_[slot];
  Leg& leg = transfer.legs[index];
  leg.moving = true;
  leg.since = domain.time;
  aim(transfer, index);
  for (std::uint32_t i = transfer.route.leg_begin(index); i < transfer.route.leg_end[index]; ++i) {
    Place& first = domain.users[transfer.route.links[i]];
    transfer.uses[i] = {first, {}};
    if (first.slot != kNowhere) use(first).before = {slot, i};
    first = {slot, i};
    domain.changed.push_back(transfer.route.links[i]);
  }
}

void HostLinks::stop_leg(Domain& domain, std::uint32_t slot, std::uint32_t index) {
  Transfer& transfer = transfers_[slot];
  Leg& leg = transfer.legs[index];
  // Whole picoseconds may have moved a fraction too much; the leg stands where its data end.
  leg.moved = Wide{leg.goal} * kWorkPerByte;
  leg.moving = false;
  leg.rate = 0;
  leg.goal_at = kNever;
  for (std::uint32_t i = transfer.route.leg_begin(index); i < transfer.route.leg_end[index]; ++i) {
    const auto [next, before] = transfer.uses[i];
    if (next.slot != kNowhere) use(next).before = before;
    (before.slot != kNowhere ? use(before).next : domain.users[transfer.route.links[i]]) = next;
    domain.changed.push_back(transfer.route.links[i]);
  }
}

void HostLinks::aim(Transfer& transfer, std::uint32_t index) const {
  Leg& leg = transfer.legs[index];
  if (index + 1 < transfer.route.legs) {
    leg.goal = std::min(transfer.legs[index + 1].available + chunk_, transfer.bytes);
  } else {
    leg.goal = transfer.wake > 0 ? std::min(leg.available, transfer.wake) : leg.available;
  }
  if (leg.rate == 0) return;
  const Wide left = std::max<Wide>(0, Wide{leg.goal} * kWorkPerByte - leg.moved);
  leg.goal_at = later(leg.since, (left + leg.rate - 1) / leg.rate);
}

// ---- rates

void HostLinks::share(Domain& domain) {
  if (domain.changed.empty()) return;
  gather(domain);
  domain.changed.clear();
  fill(domain);
  for (const std::uint32_t link : used_) filling_[link] = {};
  find_next(domain);
}

// The links that have changed, the legs that use them, the links of those, and so on.
void HostLinks::gather(const Domain& domain) {
  moving_.clear();
  used_.clear();
  for (const std::uint32_t link : domain.changed) see(domain, link);
  for (std::size_t i = 0; i < used_.size(); ++i)
    for (Place at = domain.users[used_[i]]; at.slot != kNowhere; at = use(at).next) {
      ++filling_[used_[i]].users;
      Transfer& transfer = transfers_[at.slot];
      const std::uint32_t leg = transfer.route.leg_of(at.position);
      if (transfer.legs[leg].seen) continue;
      transfer.legs[leg].seen = true;
      moving_.push_back({at.slot, leg});
      for (const std::uint32_t link : transfer.route.leg(leg)) see(domain, link);
    }
}

void HostLinks::see(const Domain& domain, std::uint32_t link) {
  Filling& filling = filling_[link];
  if (filling.seen) return;
  filling.seen = true;
  filling.left = std::clamp<std::int64_t>(routes_.links(domain.number)[link].rate.count(), 1, kNever / kParts) * kParts;
  used_.push_back(link);
}

// Progressive filling: each round gives the smallest fair share to everyone on the links that have no
// more than that. Shares are those at the start of the round, so the order of links and legs is nothing.
void HostLinks::fill(Domain& domain) {
  while (!moving_.empty()) {
    std::int64_t fair = kNever;
    for (const std::uint32_t link : used_) {
      Filling& filling = filling_[link];
      // Rounded down, a share could be nothing only if more transfers than parts of a bit met there.
      filling.share = filling.users > 0 ? std::max<std::int64_t>(1, filling.left / filling.users) : kNever;
      fair = std::min(fair, filling.share);
    }
    std::erase_if(moving_, [&](const Moving& moving) {
      const auto links = transfers_[moving.slot].route.leg(moving.leg);
      const bool full =
          std::any_of(links.begin(), links.end(), [&](std::uint32_t link) { return filling_[link].share == fair; });
      if (full) give(domain, moving, fair);
      return full;
    });
  }
}

void HostLinks::give(Domain& domain, const Moving& moving, std::int64_t rate) {
  Transfer& transfer = transfers_[moving.slot];
  for (const std::uint32_t link : transfer.route.leg(moving.leg)) {
    filling_[link].left -= rate;
    --filling_[link].users;
  }
  Leg& leg = transfer.legs[moving.leg];
  leg.seen = false;
  if (leg.rate == rate) return;
  leg.moved += Wide{leg.rate} * (domain.time - leg.since);
  leg.since = domain.time;
  leg.rate = rate;
  aim(transfer, moving.leg);
  set_due(domain, transfer);
}

}  // namespace weft::sim
