#include "traffic/all_reduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>

#include "endpoint/wire.hpp"
#include "net/control.hpp"
#include "traffic/pool.hpp"

namespace weft::traffic {
namespace {

using net::kMillisecond;
using net::kSecond;
using net::Node;
using transport::rdm::Completion;

// A slice goes round the ring by itself, so that one is added up while others travel.
constexpr std::size_t kSlice = std::size_t{512} << 10;
constexpr Instant kSilence = 60 * kSecond;  // without any progress

// What a message is, in its tag.
enum class Kind : std::uint64_t { slice, signal };
std::uint64_t tag_of(Kind kind, std::uint64_t round, std::uint64_t step, std::uint64_t slice) {
  return static_cast<std::uint64_t>(kind) << 62 | round << 40 | step << 24 | slice;
}
constexpr std::uint64_t kMostRounds = std::uint64_t{1} << 22;  // that a tag can tell apart

using Word = std::uint32_t;  // sums wrap, so that they do not depend on the order

class Ring {
 public:
  Ring(const AllReduceOptions& options, AllReduceResult& result)
      : options_(options),
        result_(result),
        ranks_(static_cast<std::uint32_t>(options.ranks.size())),
        words_((options.size + sizeof(Word) - 1) / sizeof(Word)),
        pool_(words_ * sizeof(Word)),
        data_(words_) {}

  bool open();
  // All ranks are here; one that is not yet is waited for.
  bool meet();
  void fill();
  bool reduce(std::uint64_t round);
  std::uint64_t wrong() const;
  bool barrier(std::uint64_t round);
  // So that the last word of each is heard by those that wait for it.
  void leave();
  transport::SrdCounters counters() const { return wire_->node().srd_counters(); }

 private:
  // A part of what one chunk of a ring has: goes round as it is received and added up.
  struct Slice {
    std::size_t first = 0;  // word within each chunk
    std::size_t words = 0;
    std::uint32_t step = 0;  // received so far
    std::vector<Word> room;  // for what is added
  };

  std::uint32_t steps() const { return 2 * (ranks_ - 1); }
  // Words of a chunk: of the last ones, there may be fewer or none.
  std::size_t chunk_words() const { return (words_ + ranks_ - 1) / ranks_; }
  std::span<Word> part(std::uint32_t chunk, const Slice& slice);
  std::uint32_t chunk_sent(std::uint32_t step) const { return (options_.rank + 2 * ranks_ - step) % ranks_; }
  std::uint32_t chunk_received(std::uint32_t step) const { return chunk_sent(step + 1); }
  bool adds(std::uint32_t step) const { return step + 1 < ranks_; }
  void advance(std::uint64_t round, std::uint32_t slice);
  void took(std::uint64_t round, std::uint32_t slice);

  bool send(std::uint32_t peer, std::uint64_t tag, std::span<const Word> words, std::uint64_t context);
  void receive(std::uint32_t peer, std::uint64_t tag, std::span<Word> room, std::uint64_t context);
  // Until `done`; each completion goes to `take`, which says false where it ends the run.
  bool turn(const std::function<bool()>& done, const std::function<bool(const Completion&)>& take, Instant until);
  bool fail(const std::string& why) {
    if (result_.failure.empty()) result_.failure = why;
    return false;
  }
  bool lost(const Completion& each) {
    return fail(fmt::format("rank {} at {}: {}", rank_of(each.peer), wire_->node().address_of(each.peer).text(),
                            wire_->why_lost(each.peer)));
  }
  std::size_t rank_of(std::uint32_t peer) const {
    return static_cast<std::size_t>(std::ranges::find(peers_, peer) - peers_.begin());
  }

  const AllReduceOptions& options_;
  AllReduceResult& result_;
  const std::uint32_t ranks_;
  const std::size_t words_;
  Pool pool_;  // rank r's numbers are its message r
  std::vector<Word> data_;
  std::vector<Slice> slices_;
  std::uint32_t to_go_ = 0;               // slices that are not round yet
  std::uint64_t flying_ = 0;              // sends whose memory is not ours yet
  Instant heard_ = 0;                     // when something last completed
  std::vector<std::uint32_t> peers_;      // by rank
  std::unique_ptr<endpoint::Wire> wire_;  // gone before the memory that it reads
};

bool Ring::open() {
  transport::rdm::RdmConfig config;
  config.seed = net::random_number();
  net::NodeConfig sockets;
  sockets.local = options_.ranks[options_.rank];
  sockets.paths = options_.paths;
  sockets.datagram = options_.datagram;
  sockets.key = options_.key;
  auto wire = endpoint::Wire::open(sockets, config, endpoint::Sharing::none);
  if (!wire) return fail(wire.error());
  wire_ = std::move(*wire);
  for (const net::Address& each : options_.ranks) peers_.push_back(wire_->peer_at(each));
  for (std::size_t first = 0; first < chunk_words(); first += kSlice / sizeof(Word)) {
    Slice slice;
    slice.first = first;
    slice.words = std::min(kSlice / sizeof(Word), chunk_words() - first);
    slice.room.resize(slice.words);
    slices_.push_back(std::move(slice));
  }
  heard_ = Node::now();
  return true;
}

bool Ring::send(std::uint32_t peer, std::uint64_t tag, std::span<const Word> words, std::uint64_t context) {
  transport::rdm::Send send;
  send.peer = peer;
  send.tagged = true;
  send.tag = tag;
  send.from = endpoint::place_of(words.data());
  send.bytes = words.size_bytes();
  send.context = context;
  if (!wire_->rdm().send(send)) return fail("too much waits for one peer");
  ++flying_;
  return true;
}

void Ring::receive(std::uint32_t peer, std::uint64_t tag, std::span<Word> room, std::uint64_t context) {
  transport::rdm::Receive receive;
  receive.peer = peer;
  receive.tagged = true;
  receive.tag = tag;
  receive.to = endpoint::place_of(room.data());
  receive.bytes = room.size_bytes();
  receive.context = context;
  wire_->rdm().receive(receive);
}

bool Ring::turn(const std::function<bool()>& done, const std::function<bool(const Completion&)>& take, Instant until) {
  while (!done()) {
    wire_->progress();
    std::vector<Completion> completions;
    completions.swap(wire_->rdm().completions());
    for (const Completion& each : completions) {
      heard_ = Node::now();
      flying_ -= each.kind == Completion::Kind::sent;
      if (!take(each)) return false;
    }
    wire_->push();
    const Instant now = Node::now();
    if (now >= until) return fail("not all ranks came in time");
    if (now - heard_ > kSilence) return fail("nothing has moved for a minute");
    if (completions.empty()) wire_->wait(std::min(until, now + 100 * kMillisecond));
  }
  return true;
}

// A word to the next rank and one from the one before. Who is not there yet is asked again.
bool Ring::meet() {
  const Instant until = Node::now() + options_.together_within.count();
  const std::uint32_t next = peers_[(options_.rank + 1) % ranks_];
  const std::uint32_t before = peers_[(options_.rank + ranks_ - 1) % ranks_];
  bool heard = false, told = false;
  std::string why;
  receive(before, tag_of(Kind::signal, 0, 0, 0), {}, 0);
  if (!send(next, tag_of(Kind::signal, 0, 0, 0), {}, 0)) return false;
  const bool met = turn([&] { return heard && told; },
                        [&](const Completion& each) {
                          if (each.kind == Completion::Kind::received) return heard = true;
                          told = each.error == transport::rdm::Error::none;
                          if (told) return true;
                          why = wire_->why_lost(each.peer);
                          return send(next, tag_of(Kind::signal, 0, 0, 0), {}, 0);
                        },
                        until);
  if (!met && !why.empty()) result_.failure += fmt::format("; rank {}: {}", (options_.rank + 1) % ranks_, why);
  return met;
}

// Each rank hears of all others in log2(n) rounds: of one at twice the distance each time.
bool Ring::barrier(std::uint64_t round) {
  for (std::uint32_t step = 1, far = 1; far < ranks_; ++step, far *= 2) {
    bool heard = false, told = false;
    receive(peers_[(options_.rank + ranks_ - far) % ranks_], tag_of(Kind::signal, round, step, 0), {}, 0);
    if (!send(peers_[(options_.rank + far) % ranks_], tag_of(Kind::signal, round, step, 0), {}, 0)) return false;
    if (!turn([&] { return heard && told; },
              [&](const Completion& each) {
                if (each.error != transport::rdm::Error::none) return lost(each);
                (each.kind == Completion::Kind::received ? heard : told) = true;
                return true;
              },
              transport::kNever))
      return false;
  }
  return true;
}

void Ring::fill() {
  const auto mine = pool_.view(options_.rank, words_ * sizeof(Word));
  std::memcpy(data_.data(), mine.data(), mine.size());
}

std::uint64_t Ring::wrong() const {
  std::vector<Word> sums(words_);
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    const std::byte* theirs = pool_.view(rank, words_ * sizeof(Word)).data();
    for (std::size_t i = 0; i < words_; ++i) {
      Word word = 0;
      std::memcpy(&word, theirs + i * sizeof(Word), sizeof(Word));
      sums[i] += word;
    }
  }
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < words_; ++i) count += sums[i] != data_[i];
  return count;
}

std::span<Word> Ring::part(std::uint32_t chunk, const Slice& slice) {
  const std::size_t first = std::min(words_, chunk * chunk_words() + slice.first);
  return std::span(data_).subspan(first, std::min(slice.words, words_ - first));
}

// Sends what the slice has for its next step, and waits for what comes in it.
void Ring::advance(std::uint64_t round, std::uint32_t number) {
  Slice& slice = slices_[number];
  const std::uint32_t step = slice.step;
  const std::span<Word> into = part(chunk_received(step), slice);
  const std::uint64_t tag = tag_of(Kind::slice, round, step, number);
  receive(peers_[(options_.rank + ranks_ - 1) % ranks_], tag,
          adds(step) ? std::span(slice.room).first(into.size()) : into, number);
  send(peers_[(options_.rank + 1) % ranks_], tag, part(chunk_sent(step), slice), number);
}

void Ring::took(std::uint64_t round, std::uint32_t number) {
  Slice& slice = slices_[number];
  if (adds(slice.step)) {
    const std::span<Word> into = part(chunk_received(slice.step), slice);
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += slice.room[i];
  }
  if (++slice.step == steps())
    --to_go_;
  else
    advance(round, number);
}

bool Ring::reduce(std::uint64_t round) {
  to_go_ = static_cast<std::uint32_t>(slices_.size());
  for (std::uint32_t i = 0; i < slices_.size(); ++i) {
    slices_[i].step = 0;
    advance(round, i);
  }
  // What was sent must be there before its memory is filled anew.
  return turn([&] { return to_go_ == 0 && flying_ == 0; },
              [&](const Completion& each) {
                if (each.error != transport::rdm::Error::none) return lost(each);
                if (each.kind == Completion::Kind::received) took(round, static_cast<std::uint32_t>(each.context));
                return result_.failure.empty();
              },
              transport::kNever);
}

void Ring::leave() {
  const Instant until = Node::now() + kSecond;
  while (!wire_->idle() && Node::now() < until) {
    wire_->progress();
    wire_->rdm().completions().clear();
    wire_->wait(Node::now() + kMillisecond);
  }
}

}  // namespace

double AllReduceResult::bus_bandwidth(const AllReduceOptions& options) const {
  if (times.empty()) return 0;
  const double mean = static_cast<double>(std::accumulate(times.begin(), times.end(), Duration(0)).count()) /
                      static_cast<double>(times.size());
  const auto ranks = static_cast<double>(options.ranks.size());
  return static_cast<double>(options.size) / (mean * 1e-3) * 2 * (ranks - 1) / ranks;
}

AllReduceResult run_all_reduce(const AllReduceOptions& options, const std::function<bool(std::uint32_t)>& before_each) {
  AllReduceResult result;
  Ring ring(options, result);
  if (!ring.open() || !ring.meet()) return result;
  const std::uint64_t rounds = std::min<std::uint64_t>(options.warm_up + std::uint64_t{options.times}, kMostRounds - 1);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    ring.fill();
    // Who is late is waited for before the clock runs.
    if (!ring.barrier(round)) break;
    const std::uint32_t timed = round > options.warm_up ? static_cast<std::uint32_t>(round - options.warm_up) : 0;
    if (timed > 0 && !before_each(timed - 1)) {
      result.failure = "interrupted";
      break;
    }
    const Instant began = Node::now();
    if (!ring.reduce(round)) break;
    if (timed > 0) result.times.emplace_back(Node::now() - began);
    result.wrong += ring.wrong();
  }
  if (result.failure.empty() && ring.barrier(0)) ring.leave();
  result.packets = ring.counters().data_sent;
  result.retransmitted = ring.counters().data_resent;
  return result;
}

}  // namespace weft::traffic
