#include "traffic/client.hpp"

#include <poll.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "traffic/messages.hpp"
#include "traffic/tcp.hpp"

namespace weft::traffic {

std::int64_t realtime_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

void wait_until(std::int64_t realtime) {
  const std::int64_t left = realtime == 0 ? 0 : realtime - realtime_ns();
  if (left <= 0) return;
  const timespec time{static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
  nanosleep(&time, nullptr);
}

Instant due_at(Instant began, std::uint64_t message, const ClientOptions& options) {
  return began +
         static_cast<Instant>(static_cast<double>(message * options.size) * 8e12 / static_cast<double>(options.rate));
}

namespace {

using net::kMillisecond;
using net::kSecond;
using net::Node;

constexpr std::int64_t kLongestWait = 3'600'000'000'000;  // ns, for the time to begin
constexpr Instant kReportWithin = 10 * kSecond;
constexpr Instant kHearEvery = 50 * kMillisecond;

// One endpoint of a client.
class Sender : public Exchange {
 public:
  Sender(Pool& pool, const ClientOptions& options) : Exchange(pool), options_(options) {}

  bool open(std::string& failure) {
    net::NodeConfig config;
    config.local = options_.local.value_or(net::Address::any(options_.server.family()));
    if (!options_.nics.empty()) {
      config.local = options_.nics[0];
      config.more.assign(options_.nics.begin() + 1, options_.nics.end());
    }
    config.paths = options_.paths;
    config.datagram = options_.datagram;
    config.key = options_.key;
    config.watches_paths = true;
    auto node = Node::open(config, *this, *this);
    if (!node) {
      failure = node.error();
      return false;
    }
    node_ = std::move(*node);
    server_ = node_->peer_at(options_.server);
    node_->connect(server_);
    trace_.emplace(node_->paths().size());
    return true;
  }

  Node& node() { return *node_; }
  // Hears from routers which way paths go, and asks the next. Returns when to come back.
  Instant trace(Instant now) {
    if (now < trace_->due()) return trace_->due();
    if (now >= heard_ + kHearEvery) {
      heard_ = now;
      for (const Node::Pong& pong : node_->pongs()) trace_->arrived(static_cast<std::uint8_t>(pong.nonce));
      node_->pongs().clear();
      for (std::uint32_t path = 1; path < node_->paths().size(); ++path)
        while (const auto router = node_->turned_back(path)) trace_->turned_back(path, *router);
    }
    if (const auto next = trace_->ask(now))
      node_->probe(server_, next->path, next->path, next->hops, false, next->hops);
    return trace_->due();
  }
  void add_paths(Instant began, std::vector<PathRow>& rows) {
    const auto health = node_->path_health(server_);
    for (std::size_t i = 0; i < health.size(); ++i) {
      PathRow row{node_->paths()[i].port, health[i], trace_->route(static_cast<std::uint32_t>(i))};
      if (row.health.state != net::PathState::healthy)
        row.health.since = std::max<Instant>(0, row.health.since - began);
      row.health.heard = std::max<Instant>(0, row.health.heard - began);
      rows.push_back(row);
    }
  }
  bool connected() const { return node_->connected(server_); }
  bool failed() const { return failed_; }
  const std::string& why() const { return why_; }
  std::uint64_t acknowledged() const { return acknowledged_; }
  std::vector<Duration>& round_trips() { return round_trips_; }
  bool idle() const { return in_flight_ == 0; }
  bool reported() const { return reported_; }
  const Measured& received() const { return received_; }

  // Hands in what may go out by now. Returns when to come back.
  Instant offer(Instant began, Instant now) {
    if (options_.pattern == Pattern::requests) {
      if (in_flight_ > 0 || done()) return transport::kNever;
      asked_at_ = now;
      post(Kind::request);
      return transport::kNever;
    }
    while (in_flight_ == 0 || in_flight_ + options_.size <= options_.window) {
      if (done()) return transport::kNever;
      if (options_.rate > 0) {
        const Instant due = due_at(began, next_, options_);
        if (due > now) return due;
      }
      post(Kind::data);
    }
    return transport::kNever;
  }
  bool done() const { return options_.messages > 0 && next_ >= options_.messages; }
  void ask() { send({Kind::ask, server_, 0, 0, {}}); }

 private:
  void post(Kind kind) {
    in_flight_ += options_.size;
    send({kind, server_, next_++, options_.size, {}});
  }
  void on_sent(Instant, const Message& message) override {
    if (message.kind != Kind::data) return;
    acknowledged_ += message.bytes;
    in_flight_ -= message.bytes;
  }
  void on_message(Instant now, const Message& message, std::span<const std::byte> payload) override {
    if (message.kind == Kind::response && in_flight_ > 0 && message.number + 1 == next_) {
      wrong_ += !pool_.is(message.number, payload);
      round_trips_.emplace_back(now - asked_at_);
      acknowledged_ += message.bytes;
      in_flight_ = 0;
    }
    if (message.kind == Kind::report) {
      reported_ = from_json(std::string(reinterpret_cast<const char*>(payload.data()), payload.size()), received_);
      received_.wrong += wrong_;
    }
  }
  // What is sent from now on would connect anew, and the reason be forgotten.
  void on_failed(Instant, std::uint32_t peer) override {
    failed_ = true;
    why_ = node_->why_failed(peer);
  }

  const ClientOptions& options_;
  std::unique_ptr<Node> node_;
  std::optional<net::RouteTrace> trace_;
  Instant heard_ = 0;  // from routers
  std::uint32_t server_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t in_flight_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t wrong_ = 0;
  Instant asked_at_ = 0;
  std::vector<Duration> round_trips_;
  bool failed_ = false;
  std::string why_;
  bool reported_ = false;
  Measured received_;
};

class Clients {
 public:
  explicit Clients(const ClientOptions& options) : options_(options), pool_(options.size) {}

  ClientResult run(const std::function<bool(const Progress&)>& each_second);

 private:
  // Until `finished` says so of all of them, or `until` has come. `offering`: they hand in messages meanwhile.
  bool turn(Instant until, bool offering, const std::function<bool(const Sender&)>& finished);
  bool open();
  void collect();
  std::uint64_t acknowledged() const;
  std::vector<PathRow> paths();

  const ClientOptions& options_;
  Pool pool_;
  std::vector<std::unique_ptr<Sender>> senders_;
  Instant began_ = 0;
  ClientResult result_;
};

std::uint64_t Clients::acknowledged() const {
  std::uint64_t bytes = 0;
  for (const auto& sender : senders_) bytes += sender->acknowledged();
  return bytes;
}

std::vector<PathRow> Clients::paths() {
  std::vector<PathRow> rows;
  for (const auto& sender : senders_) sender->add_paths(began_, rows);
  return rows;
}

bool Clients::turn(Instant until, bool offering, const std::function<bool(const Sender&)>& finished) {
  std::vector<pollfd> polls;
  for (const auto& sender : senders_) polls.push_back({sender->node().fd(), POLLIN, 0});
  for (;;) {
    Instant now = Node::now();
    if (now >= until) return false;
    Instant wake = until;
    bool all = true;
    for (const auto& sender : senders_) {
      sender->node().progress();
      if (offering && !sender->failed()) {
        wake = std::min(wake, sender->offer(began_, Node::now()));
        sender->node().push();
        // One endpoint is enough: routers answer seldom.
        if (sender == senders_.front()) wake = std::min(wake, sender->trace(now));
      }
      if (sender->failed()) {
        result_.failure = sender->why();
        return false;
      }
      all = all && finished(*sender);
    }
    if (all) return true;
    for (const auto& sender : senders_) wake = std::min(wake, sender->node().next_wake());
    if (senders_.size() == 1) {
      senders_.front()->node().wait(wake);
      continue;
    }
    now = Node::now();
    if (wake <= now) continue;
    const timespec time{static_cast<time_t>((wake - now) / kSecond), static_cast<long>((wake - now) % kSecond / 1000)};
    ppoll(polls.data(), polls.size(), &time, nullptr);
  }
}

bool Clients::open() {
  for (std::uint32_t i = 0; i < options_.endpoints; ++i) {
    senders_.push_back(std::make_unique<Sender>(pool_, options_));
    if (!senders_.back()->open(result_.failure)) return false;
  }
  if (turn(Node::now() + 30 * kSecond, false, [](const Sender& sender) { return sender.connected(); })) return true;
  if (result_.failure.empty()) result_.failure = "nobody answered";
  return false;
}

ClientResult Clients::run(const std::function<bool(const Progress&)>& each_second) {
  if (!open()) return std::move(result_);
  if (options_.start_at > 0)
    turn(Node::now() + std::clamp<Instant>(options_.start_at - realtime_ns(), 0, kLongestWait) * 1000, false,
         [](const Sender&) { return false; });
  result_.began = realtime_ns();
  began_ = Node::now();
  const Instant until = options_.messages > 0 ? transport::kNever : began_ + options_.duration.count();
  bool going = true;
  while (going && result_.failure.empty()) {
    const Instant slice = std::min(until, Node::now() + kSecond);
    going = !turn(slice, true, [](const Sender& sender) { return sender.done() && sender.idle(); }) &&
            Node::now() < until && result_.failure.empty() &&
            each_second({Duration(Node::now() - began_), acknowledged(), paths()});
  }
  if (result_.failure.empty() &&
      !turn(Node::now() + kReportWithin, false, [](const Sender& sender) { return sender.idle(); }) &&
      result_.failure.empty())
    result_.failure = "what was sent last was not acknowledged in time";
  result_.ended = realtime_ns();
  if (result_.failure.empty()) {
    for (const auto& sender : senders_) sender->ask();
    if (!turn(Node::now() + kReportWithin, false, [](const Sender& sender) { return sender.reported(); }) &&
        result_.failure.empty())
      result_.failure = "the server did not say what it received";
  }
  collect();
  return std::move(result_);
}

void Clients::collect() {
  result_.acknowledged = acknowledged();
  for (const auto& sender : senders_) {
    result_.round_trips.insert(result_.round_trips.end(), sender->round_trips().begin(), sender->round_trips().end());
    result_.received.merge(sender->received(), senders_.size() == 1);
    const transport::SrdCounters& srd = sender->node().srd_counters();
    result_.srd.data_sent += srd.data_sent;
    result_.srd.data_resent += srd.data_resent;
    result_.srd.acks_sent += srd.acks_sent;
    result_.srd.duplicates += srd.duplicates;
    result_.srd.timeouts += srd.timeouts;
    result_.srd.paths_left += srd.paths_left;
    const net::NodeCounters& node = sender->node().counters();
    result_.node.datagrams_in += node.datagrams_in;
    result_.node.datagrams_out += node.datagrams_out;
    result_.node.bytes_in += node.bytes_in;
    result_.node.bytes_out += node.bytes_out;
    result_.node.system_calls += node.system_calls;
    result_.node.not_ours += node.not_ours;
    result_.node.damaged += node.damaged;
    result_.node.refused_by_kernel += node.refused_by_kernel;
  }
  result_.paths = paths();
}

}  // namespace

ClientResult run_client(const ClientOptions& options, const std::function<bool(const Progress&)>& each_second) {
  if (options.transport != Transport::srd) return run_tcp_client(options, each_second);
  return Clients(options).run(each_second);
}

}  // namespace weft::traffic
