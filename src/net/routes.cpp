#include "net/routes.hpp"

#include <algorithm>

#include "transport/operation.hpp"

namespace weft::net {

void RouteTrace::begin_round(Instant now) {
  if (rounds_ > 0) {
    silent_ = answered_ ? 0 : silent_ + 1;
    next_ = std::max(now, began_ + kRound);
  } else {
    next_ = now;
  }
  ++rounds_;
  began_ = next_;
  answered_ = false;
  at_ = 0;
  round_.clear();
  for (std::uint8_t hops = 1; hops <= kMostHops && hops < end_; ++hops)
    for (std::uint32_t path = 1; path < routes_.size(); ++path)
      if (!routes_[path][hops - 1u]) round_.push_back({path, hops});
  if (round_.empty() || rounds_ > kMostRounds || silent_ >= kSilentRounds) next_ = transport::kNever;
}

std::optional<RouteTrace::Question> RouteTrace::ask(Instant now) {
  while (now >= next_) {
    if (at_ == round_.size()) {
      begin_round(now);
      continue;
    }
    const Question question = round_[at_];
    Asked& asked = asked_[question.path];
    if (question.hops < end_ && asked.hops > 0 && now < asked.at + kAnswerWithin) {
      next_ = asked.at + kAnswerWithin;
      break;
    }
    ++at_;
    if (question.hops >= end_) continue;
    asked = {question.hops, now};
    next_ = now + kBetween;
    return question;
  }
  return std::nullopt;
}

void RouteTrace::turned_back(std::uint32_t path, const Address& router) {
  const std::uint8_t hops = asked_[path].hops;
  if (hops == 0) return;
  routes_[path][hops - 1u] = router;
  answered_ = true;
}

void RouteTrace::arrived(std::uint8_t hops) {
  if (hops > 0) end_ = std::min(end_, hops);
}

Route RouteTrace::route(std::uint32_t path) const {
  Route route = routes_[path];
  route.resize(std::min<std::size_t>(route.size(), end_ - 1u));
  while (!route.empty() && !route.back()) route.pop_back();
  return route;
}

std::vector<Suspect> suspects(const std::vector<Way>& ways) {
  std::vector<Suspect> out;
  for (const PathState state : {PathState::dead, PathState::losing, PathState::slow}) {
    std::optional<Suspect> best;
    const auto consider = [&](std::size_t place, const Address& router) {
      Suspect found{state, router};
      for (const Way& way : ways) {
        if (way.route.size() <= place || !way.route[place]) continue;
        const bool crosses = *way.route[place] == router;
        if (way.state == state) {
          ++found.all_ill;
          found.ill += crosses;
        } else if (way.state == PathState::healthy) {
          ++found.all_healthy;
          found.healthy += crosses;
        }
      }
      const std::size_t others_ill = found.all_ill - found.ill;
      const std::size_t others = others_ill + found.all_healthy - found.healthy;
      const bool stands_out = others > 0 && found.ill * others >= 4 * others_ill * (found.ill + found.healthy);
      if (2 * found.ill < found.all_ill || found.healthy > found.ill || !stands_out) return;
      if (!best || found.ill > best->ill || (found.ill == best->ill && found.healthy < best->healthy)) best = found;
    };
    for (const Way& way : ways)
      for (std::size_t place = 0; way.state == state && place < way.route.size(); ++place)
        if (way.route[place]) consider(place, *way.route[place]);
    if (best) out.push_back(*best);
  }
  return out;
}

}  // namespace weft::net
