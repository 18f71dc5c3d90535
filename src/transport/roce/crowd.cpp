#include "transport/roce/crowd.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "base/random.hpp"

namespace weft::transport {
namespace {

constexpr double kSecond = 1e12;                   // ps
constexpr double kStepsOfTrip = 8;                 // a round trip has so many
constexpr double kChunksBehind = 8;                // NCCL's steps in flight
constexpr std::int64_t kLongest = 20'000'000'000;  // ps; beyond, all goes on as in the last half of it

class Flow {
 public:
  Flow(const RoceConfig& config, const DcqcnLaw& law, const Crowd::Flow& flow, double ahead, Random random)
      : config_(config),
        law_(law),
        random_(random),
        left_(static_cast<double>(flow.bytes) * 8),
        most_(std::min(static_cast<double>(flow.most), static_cast<double>(law.line_rate))),
        chunk_(std::min(static_cast<double>(flow.chunk) * 8, left_)) {
    control_.reset(law);
    marked_at_ = next_mark();
    const double first = std::max(chunk_, static_cast<double>(flow.first) * 8);
    to_send_ = chunk_ > 0 ? chunk_ + (first - chunk_) * ahead : left_;
    back_ = (1 + uniform()) / 2;  // the link is anywhere between the ends
  }

  bool done() const { return left_ <= 0; }
  double waiting = 0;  // before the link, bits
  double sent() const { return all_sent_; }

  // Of a step, in bits.
  double send(double now, double step, double trip) {
    const auto time = static_cast<Instant>(now);
    while (!cuts_.empty() && cuts_.front() <= now) {
      control_.on_cnp(law_, time);
      cuts_.pop_front();
    }
    control_.catch_up(law_, time);
    if (chunk_ > 0) {
      to_come_ += most_ * step / kSecond;
      while (to_come_ >= chunk_) {
        to_come_ -= chunk_;
        to_send_ = std::min(to_send_ + chunk_, kChunksBehind * chunk_);
      }
    }
    const double rate = static_cast<double>(control_.rate());
    const double window = static_cast<double>(config_.window) * 8 * (config_.mtu + config_.header);
    const double open = std::max(0.0, window - waiting - rate * trip / kSecond);
    const double bits = std::min({rate * step / kSecond, left_, to_send_, open});
    left_ -= bits;
    all_sent_ += bits;
    to_send_ -= bits;
    if (control_.limited(law_)) control_.on_sent(law_, static_cast<std::uint32_t>(bits / 8));
    return bits;
  }

  // Its bits came to a link at which a packet waits so long, and such a part of them was marked.
  void mark(double now, double bits, double part, double wait, double trip) {
    if (now + wait < next_cnp_) return;
    marks_ += part * bits / (8 * (config_.mtu + config_.header));
    if (marks_ < marked_at_) return;
    marks_ = 0;
    marked_at_ = next_mark();
    next_cnp_ = now + wait + static_cast<double>(config_.cnp_interval.count());
    cuts_.push_back(now + wait + trip * back_);
  }

 private:
  double uniform() { return (static_cast<double>(random_.next() >> 11) + 1) / 9007199254740992.0; }
  // Packets are marked each for itself: expected marks until one is.
  double next_mark() { return -std::log(uniform()); }

  const RoceConfig& config_;
  const DcqcnLaw& law_;
  Random random_;
  Dcqcn control_;
  double left_;
  double most_;
  double chunk_;
  double back_;  // part of a round trip from the link to the receiver and back to the sender
  double to_come_ = 0;
  double to_send_ = 0;
  double all_sent_ = 0;
  double marks_ = 0;
  double marked_at_ = 0;
  double next_cnp_ = 0;
  std::deque<double> cuts_;
};

std::vector<double> once(const RoceConfig& config, const DcqcnLaw& law, const Crowd& crowd, std::uint64_t draw) {
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < crowd.flows.size(); ++i)
    flows.emplace_back(config, law, crowd.flows[i], static_cast<double>(draw) / (kCrowdDraws - 1), Random(draw, i, 0));
  const double trip = static_cast<double>(std::max<std::int64_t>(1, config.base_rtt.count()));
  const double step = trip / kStepsOfTrip;
  const double rate = static_cast<double>(crowd.rate);
  const double from = static_cast<double>(crowd.mark_from.count()), to = static_cast<double>(crowd.mark_to.count());
  std::vector<double> ends(flows.size(), -1), bits(flows.size()), half(flows.size());
  std::size_t open = flows.size();
  bool past_half = false;
  double now = 0;
  while (open > 0) {
    double queue = 0, comes = 0;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      queue += flows[i].waiting;
      bits[i] = flows[i].done() ? 0 : flows[i].send(now, step, trip);
      comes += bits[i];
    }
    const double all = queue + comes;
    const double stays = std::max(0.0, all - rate * step / kSecond);
    const double wait = stays / rate * kSecond;
    const double part = wait <= from ? 0 : wait >= to ? 1 : (wait - from) / (to - from) * crowd.mark_most;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (bits[i] > 0 && config.control == RoceConfig::Control::dcqcn) flows[i].mark(now, bits[i], part, wait, trip);
      flows[i].waiting = all > 0 ? (flows[i].waiting + bits[i]) * stays / all : 0;
      if (ends[i] >= 0 || !flows[i].done()) continue;
      ends[i] = now + step + wait;
      --open;
    }
    now += step;
    if (!past_half && now * 2 >= static_cast<double>(kLongest)) {
      past_half = true;
      for (std::size_t i = 0; i < flows.size(); ++i) half[i] = flows[i].sent();
    }
    if (now < static_cast<double>(kLongest)) continue;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (ends[i] >= 0) continue;
      const double whole = static_cast<double>(crowd.flows[i].bytes) * 8;
      const double pace = (flows[i].sent() - half[i]) * 2 / now;
      ends[i] = now + (whole - flows[i].sent()) / std::max(pace, 1e-9);
    }
    break;
  }
  return ends;
}

}  // namespace

std::vector<std::vector<Duration>> ends_of(const Roce& like, const Crowd& crowd) {
  const bool controlled = like.config().control == RoceConfig::Control::dcqcn;
  std::vector<std::vector<Duration>> made(controlled ? kCrowdDraws : 1);
  for (std::size_t draw = 0; draw < made.size(); ++draw)
    for (const double end : once(like.config(), like.law(), crowd, draw))
      made[draw].push_back(Duration(static_cast<std::int64_t>(end)));
  return made;
}

}  // namespace weft::transport
