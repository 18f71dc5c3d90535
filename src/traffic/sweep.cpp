#include "traffic/sweep.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "traffic/messages.hpp"

namespace weft::traffic {
namespace {

using net::kMillisecond;
using net::kSecond;
using net::Node;

constexpr Instant kBetween = 100'000'000;  // ps: 10,000 probes in a second, a few ten Mb/s
constexpr Instant kLastAnswers = 500 * kMillisecond;
constexpr std::uint32_t kWholeRounds = 8;  // of the longest packets; those after it are short
constexpr Duration kMuchLonger = microseconds(100);

// Nobody but the server's socket loop is asked anything.
class Silent : public Exchange {
 public:
  using Exchange::Exchange;
  bool failed = false;

 private:
  void on_sent(Instant, const Message&) override {}
  void on_message(Instant, const Message&, std::span<const std::byte>) override {}
  void on_failed(Instant, std::uint32_t) override { failed = true; }
};

double share_of(const SweptPath& path) {
  return path.probes == 0 ? 0 : static_cast<double>(path.lost) / static_cast<double>(path.probes);
}

template <class T>
T median_of(std::vector<T> values) {
  if (values.empty()) return T{};
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// Counts the probes of each way, by those of the other direction that `counts` lets in.
std::vector<SweptPath> count(std::uint32_t paths, const std::vector<Probe>& probes, bool there,
                             const std::vector<bool>& counts) {
  std::vector<SweptPath> out(paths);
  std::vector<std::vector<Duration>> trips(paths);
  for (const Probe& probe : probes) {
    if (!counts[there ? probe.back : probe.there]) continue;
    const std::uint32_t which = there ? probe.there : probe.back;
    ++out[which].probes;
    if (probe.trip == Duration(0)) {
      ++out[which].lost;
    } else {
      trips[which].push_back(probe.trip);
      out[which].longest = std::max(out[which].longest, probe.trip);
    }
  }
  for (std::uint32_t i = 0; i < paths; ++i) out[i].median = median_of(trips[i]);
  return out;
}

// Those that lose no more than the better half does.
std::vector<bool> better_half(const std::vector<SweptPath>& paths) {
  std::vector<double> shares;
  for (const SweptPath& path : paths) shares.push_back(share_of(path));
  const double most = median_of(shares) + 0.02;
  std::vector<bool> out;
  for (const double share : shares) out.push_back(share <= most);
  return out;
}

void judge(std::vector<SweptPath>& paths) {
  std::vector<double> shares;
  std::vector<Duration> trips;
  for (const SweptPath& path : paths) {
    shares.push_back(share_of(path));
    if (path.median > Duration(0)) trips.push_back(path.median);
  }
  const double usual = median_of(shares);
  const Duration trip = median_of(trips);
  for (SweptPath& path : paths) {
    const double share = share_of(path);
    if (path.probes > 0 && path.lost == path.probes) {
      path.verdict = Verdict::dead;
    } else if (path.lost >= 3 && share >= 0.005 && share >= 4 * usual) {
      path.verdict = Verdict::loses;
    } else if (path.median > trip * 2 && path.median > trip + kMuchLonger) {
      path.verdict = Verdict::lags;
    }
  }
}

class Sweep {
 public:
  explicit Sweep(const SweepOptions& options) : options_(options), pool_(0), layer_(pool_) {}
  SweepResult run(const std::function<bool()>& go_on);

 private:
  bool open();
  void send_due();
  void listen(Instant until);
  void take();

  const SweepOptions& options_;
  Pool pool_;
  Silent layer_;
  std::unique_ptr<Node> node_;
  std::uint32_t server_ = 0;
  std::uint32_t paths_ = 0;
  Instant began_ = 0;
  std::vector<Probe> probes_;
  std::vector<Instant> sent_;
  std::vector<std::uint16_t> back_ports_;
  SweepResult result_;
};

bool Sweep::open() {
  net::NodeConfig config;
  config.local = net::Address::any(options_.server.family());
  config.paths = options_.paths;
  config.datagram = options_.datagram;
  config.key = options_.key;
  auto node = Node::open(config, layer_, layer_);
  if (!node) {
    result_.failure = node.error();
    return false;
  }
  node_ = std::move(*node);
  server_ = node_->peer_at(options_.server);
  node_->connect(server_);
  while (!node_->connected(server_) && !layer_.failed) {
    node_->progress();
    node_->wait(Node::now() + 100 * kMillisecond);
  }
  if (layer_.failed) result_.failure = node_->why_failed(server_);
  return !layer_.failed;
}

void Sweep::send_due() {
  const Instant now = Node::now();
  // What is late is not made up for in one burst.
  for (int burst = 0; burst < 8 && began_ + static_cast<Instant>(probes_.size()) * kBetween <= now; ++burst) {
    const auto number = static_cast<std::uint32_t>(probes_.size());
    const std::uint32_t there = number % paths_;
    const std::uint32_t round = number / paths_;
    const std::uint32_t back = (there + round) % paths_;
    probes_.push_back({there, back, {}});
    sent_.push_back(Node::now());
    node_->probe(server_, there, back, number, round < kWholeRounds);
  }
}

void Sweep::take() {
  for (const Node::Pong& pong : node_->pongs()) {
    if (pong.nonce >= probes_.size()) continue;
    Probe& probe = probes_[pong.nonce];
    probe.trip = Duration(std::max<Instant>(1, pong.at - sent_[pong.nonce]));
    back_ports_[probe.back] = pong.port;
  }
  node_->pongs().clear();
}

void Sweep::listen(Instant until) {
  node_->progress();
  take();
  node_->wait(until);
}

SweepResult Sweep::run(const std::function<bool()>& go_on) {
  if (!open()) return std::move(result_);
  paths_ = static_cast<std::uint32_t>(node_->paths().size());
  back_ports_.resize(paths_);
  began_ = Node::now();
  while (Node::now() < began_ + options_.duration.count() && !layer_.failed && go_on()) {
    send_due();
    listen(began_ + static_cast<Instant>(probes_.size()) * kBetween);
  }
  for (const Instant until = Node::now() + kLastAnswers; Node::now() < until && !layer_.failed;) listen(until);
  if (layer_.failed) {
    result_.failure = node_->why_failed(server_);
    return std::move(result_);
  }
  result_ = judge_probes(paths_, probes_);
  for (std::uint32_t i = 0; i < paths_; ++i) {
    result_.there[i].port = node_->paths()[i].port;
    result_.back[i].port = back_ports_[i];
  }
  return std::move(result_);
}

}  // namespace

const char* name_of(Verdict verdict) {
  constexpr std::array<const char*, 4> kNames = {"fine", "lags", "loses", "dead"};
  return kNames[static_cast<std::size_t>(verdict)];
}

SweepResult judge_probes(std::uint32_t paths, const std::vector<Probe>& probes) {
  SweepResult result;
  // Whatever a way loses beyond the better ones is its own; with those, the other direction is judged.
  const std::vector<bool> all(paths, true);
  const auto good_there = better_half(count(paths, probes, true, all));
  result.back = count(paths, probes, false, good_there);
  result.there = count(paths, probes, true, better_half(result.back));
  judge(result.there);
  judge(result.back);
  return result;
}

SweepResult sweep_paths(const SweepOptions& options, const std::function<bool()>& go_on) {
  return Sweep(options).run(go_on);
}

}  // namespace weft::traffic
