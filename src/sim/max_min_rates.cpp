#include "sim/max_min_rates.hpp"

#include <algorithm>
#include <cassert>

namespace weft::sim {
namespace {

constexpr auto later = [](const auto& a, const auto& b) { return a.key > b.key; };

}  // namespace

std::uint32_t MaxMinRates::add_link(std::int64_t capacity) {
  links_.emplace_back().left = Wide{capacity} * kWhole;
  users_.emplace_back();
  return links() - 1;
}

std::uint32_t MaxMinRates::add_flow(std::span<const Share> shares, std::uint32_t count) {
  assert(!shares.empty());
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(flows_.size()));
    flows_.emplace_back();
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  Flow& flow = flows_[number];
  flow.rate = 0;
  flow.count = count;
  flow.uses.clear();
  for (const Share& share : shares) {
    std::vector<User>& users = users_[share.link];
    flow.uses.push_back({share.link, static_cast<std::uint32_t>(users.size()), share.weight});
    users.push_back({number, static_cast<std::uint32_t>(flow.uses.size() - 1), share.weight});
  }
  open(number);
  return number;
}

void MaxMinRates::set_count(std::uint32_t number, std::uint32_t count) {
  Flow& flow = flows_[number];
  if (!flow.open) open(number);
  for (const Use& use : flow.uses) links_[use.link].open += Wide{use.weight} * count - flow.weight(use.weight);
  flow.count = count;
}

void MaxMinRates::remove_flow(std::uint32_t number) {
  Flow& flow = flows_[number];
  if (!flow.open) open(number);
  flow.open = false;
  --open_;
  for (const Use& use : flow.uses) {
    links_[use.link].open -= flow.weight(use.weight);
    std::vector<User>& users = users_[use.link];
    const User last = users.back();
    users[use.position] = last;
    flows_[last.flow].uses[last.use].position = use.position;
    users.pop_back();
  }
  free_.push_back(number);
}

std::span<const std::uint32_t> MaxMinRates::settle() {
  changed_.clear();
  queue_stale();
  while (open_ + in_doubt_ > 0) {
    const std::int64_t level = queue_.front().key;
    round_.clear();
    full_.clear();
    take_round(level);
    // First who fills up, with nobody's rate fixed in between, then the rates: the order is nothing.
    for (std::size_t i = 0; i < round_.size(); ++i) {
      const std::uint32_t number = round_[i];
      if (key(links_[number]) != level) {
        touch(number);  // has risen since it was queued
      } else if (fills_up(number, level)) {
        full_.push_back(number);
      }
      queue_stale();
      take_round(level);
    }
    for (const std::uint32_t number : full_) {
      links_[number].level = level;
      for (const User& user : users_[number])
        if (flows_[user.flow].open) fix(user.flow, level);
    }
    queue_stale();
  }
  queue_.clear();  // links that would fill up at levels that nobody reaches
  for (const std::uint32_t number : touched_) {
    Link& link = links_[number];
    assert(link.open == 0 && (link.settled || link.level == kUnbound));
    link.touched = link.settled = false;
    link.queued = kUnbound;
  }
  touched_.clear();
  return changed_;
}

void MaxMinRates::touch(std::uint32_t number) {
  Link& link = links_[number];
  if (!link.touched) {
    touched_.push_back(number);
    in_doubt_ += link.level != kUnbound;
  }
  if (!link.stale) stale_.push_back(number);
  link.touched = link.stale = true;
}

void MaxMinRates::open(std::uint32_t number) {
  Flow& flow = flows_[number];
  flow.open = true;
  ++open_;
  flow.before = flow.rate;
  for (const Use& use : flow.uses) {
    touch(use.link);
    Link& link = links_[use.link];
    link.left += flow.rate * flow.weight(use.weight);
    link.open += flow.weight(use.weight);
  }
}

template <class Predicate>
void MaxMinRates::open_users(std::uint32_t number, Predicate predicate) {
  for (const User& user : users_[number])
    if (const Flow& flow = flows_[user.flow]; !flow.open && predicate(flow.rate)) open(user.flow);
}

void MaxMinRates::fix(std::uint32_t number, std::int64_t rate) {
  Flow& flow = flows_[number];
  flow.open = false;
  --open_;
  flow.rate = rate;
  if (rate != flow.before) changed_.push_back(number);
  for (const Use& use : flow.uses) {
    touch(use.link);
    Link& link = links_[use.link];
    link.left -= rate * flow.weight(use.weight);
    link.open -= flow.weight(use.weight);
  }
}

// The level at which something happens to a link: open flows fill it, or it was full until now.
std::int64_t MaxMinRates::key(const Link& link) const {
  if (link.settled) return kUnbound;
  if (link.open == 0) return link.level;
  const Wide share = link.left / link.open;
  return share < link.level ? static_cast<std::int64_t>(share) : link.level;
}

void MaxMinRates::queue_stale() {
  for (const std::uint32_t number : stale_) {
    Link& link = links_[number];
    link.stale = false;
    const std::int64_t now = key(link);
    if (now >= link.queued) continue;  // comes up early, and is then put back
    link.queued = now;
    queue_.push_back({now, number});
    std::push_heap(queue_.begin(), queue_.end(), later);
  }
  stale_.clear();
}

// Takes out of the queue what has its turn at this level.
void MaxMinRates::take_round(std::int64_t level) {
  while (!queue_.empty() && queue_.front().key == level) {
    std::pop_heap(queue_.begin(), queue_.end(), later);
    const std::uint32_t number = queue_.back().link;
    queue_.pop_back();
    if (links_[number].queued != level) continue;  // has sunk since, and come before
    links_[number].queued = kUnbound;
    round_.push_back(number);
  }
}

// Whether all flows that have reached the level so far fill the link. Opens those that have to do with it: the
// ones above, if it does, and the ones it held, if it no longer does.
bool MaxMinRates::fills_up(std::uint32_t number, std::int64_t level) {
  Link& link = links_[number];
  if (link.level > level) {
    open_users(number, [&](std::int64_t rate) { return rate > level; });
    link.settled = key(link) == level;
    in_doubt_ -= link.settled && link.level != kUnbound;
  } else {
    Wide held = 0;
    for (const User& user : users_[number])
      if (const Flow& flow = flows_[user.flow]; !flow.open && flow.rate == level) held += flow.weight(user.weight);
    link.settled = link.open + held > 0 && (link.left + held * level) / (link.open + held) == level;
    --in_doubt_;
    if (!link.settled) {
      link.level = kUnbound;
      open_users(number, [&](std::int64_t rate) { return rate == level; });
    }
  }
  if (!link.settled) touch(number);
  return link.settled;
}

}  // namespace weft::sim
