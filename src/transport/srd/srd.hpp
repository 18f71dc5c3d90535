#pragma once
// SRD: reliable, unordered datagrams over many paths, sans I/O.
//
// The driver (simulator or socket loop) owns the clock and the wire:
//   post()            hands in an operation; completions() tells what became of it
//   handle()          takes every packet that arrives and says where its payload goes
//   poll_ack()        gives the acknowledgements due; to be asked after every handle()
//   poll()            gives the next packet to send, or nothing until next_wake()
// Late and repeated calls are harmless. One Srd object serves all endpoints of a driver's partition
// and draws every byte of memory from its own slabs; an endpoint that is idle costs 32 bytes. The driver
// lets in only packets of peers it knows; beyond that, a header may say anything.
//
// How it works, and why:
// - Packets of one peer are numbered; a message is a run of numbers, so nothing per packet is kept
//   but when and where it was sent. The receiver acknowledges a number below which all has arrived
//   and a bitmap above it; messages complete in any order.
// - A path is an entropy. Each has a lag: how far its packets came behind the mean of all paths of the peer.
//   The next packet goes where lag and packets in flight together are least, so that queues of equal length
//   take equal shares and a slow path gets its next packet late; the lag of a path that is left alone fades,
//   and it is tried again. Near the end of what there is to send, no path is taken whose lag would outlast
//   it. One that stays behind is given up for another entropy (compare: entropy recycling in REPS, bitmap
//   balancing in Ultra Ethernet). Marks do not condemn a path, for at full load every second packet bears
//   one, but a marked packet does not redeem it. Paths in turn, with pauses for bad ones, left some links
//   with an eighth more to carry than others. Judged by their own round-trip time, and not by what it is
//   above the mean, paths are left and taken again by all senders together, and queues swing.
//   Where packets vanish, windows may be small, and no more paths are in use than trains are in flight: of more, each
//   would be looked at so rarely that what is known of it is old, and one that lagged once would lag for long. A path
//   that stays behind changes places with one that rests.
//   Where a packet vanished, another entropy is tried with one packet at a time until one comes through;
//   the pauses between trials grow. Acknowledgements come back by the path that they answer, until one has
//   vanished; from then on a packet says which path its answer is to take: the one that brought the last.
// - The window follows the typical path: once per round trip it is scaled by target / mean round-trip
//   time where that is above the target, and grows by a step. Flows that share a queue see the same
//   delay, so they settle at equal windows within tens of round trips (the law of FAST TCP, Jin et al.,
//   INFOCOM 2004, with Swift's tolerated delay). A sample counts as twice the target at most: what lies
//   beyond tells of one slow path, which is to be left, and not of all. Judged by marks alone, windows
//   shared a 4:1 oversubscribed uplink so unevenly that the last flow took 1.2 times the ideal.
// - Incast: the receiver counts the senders it is listening to and says so in every acknowledgement;
//   a sender keeps 1/n of the window and paces to 1/n of the rate. Nobody has to ask for credits, and
//   one round trip after the burst the receiver's link is shared evenly.
// - Loss is seen by trimming (the header arrives and is answered at once), or by time: a packet is
//   lost when one sent five round trips later has been acknowledged, or two when nothing else is left to
//   send. After two round trips of silence the two oldest packets are sent again to ask; then all count as
//   lost, and up to eight ask, ever more rarely, each by another way, until something is heard: a packet may
//   have arrived and its answers died, and then it has to ask by several ways. What is lost goes out again
//   on another path.
// - Where nothing is trimmed nobody says what finds no room; then all of this is measured (window.cpp).
// - Acknowledgements are few (one for `ack_every` packets) because the sender says when it waits: the
//   packet that fills the window and the last of a message ask for one. Those that it overtook are
//   acknowledged when the gap closes.
// - A read is a request of one packet; the peer posts the response, whose tag names the request.
// - Restarts: each process has a generation and each run of numbers a stream. What belongs to an older
//   one is ignored; a newer generation or a stream that the receiver has forgotten fails what is
//   outstanding, and the next message begins a new stream.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "transport/bit_ring.hpp"
#include "transport/in_flight.hpp"
#include "transport/messages.hpp"
#include "transport/operation.hpp"
#include "transport/peers.hpp"
#include "transport/slab.hpp"
#include "transport/srd/config.hpp"
#include "transport/turn_tree.hpp"
#include "transport/turns.hpp"

namespace weft::transport {

struct SrdCounters : Counters {
  std::uint64_t not_ready = 0;   // refused for want of room
  std::uint64_t restarts = 0;    // peers seen to have restarted, or streams given up
  std::uint64_t paths_left = 0;  // entropies exchanged for another
};

class Srd {
 public:
  explicit Srd(const SrdConfig& config);

  // False when there is no room: a message longer than 2^30 packets, 2^31 packets waiting for the peer, or
  // `reads` of it without an answer yet.
  bool post(Instant now, std::uint32_t endpoint, const Operation& operation);
  // `now`: when it came, less what its sender said that it waited there; both together are what hosts have `waited`,
  // who do not always run.
  Placement handle(Instant now, std::uint32_t endpoint, PacketType type, std::uint8_t flags, const Header& header,
                   Instant waited = 0) {
    if (type == PacketType::data) return handle_data(now, endpoint, flags, header);
    if (type == PacketType::ack) handle_ack(now, endpoint, flags, header, waited);
    return {};
  }
  // How many bytes of a message a packet to or from a peer has: both ends must say the same, before the first message.
  // False while one is under way.
  bool set_payload(std::uint32_t endpoint, std::uint32_t peer, std::uint32_t bytes);
  // Whether a data packet that was not trimmed has as many bytes behind its header as it must have. A driver that lets
  // in what others sent asks before handle(): who agreed on other packets would have bytes put in the wrong place.
  bool has_length(std::uint32_t endpoint, const Header& header, std::uint64_t length) const;
  // A sign of life of a peer, whatever it was: what waits for it is not failed for silence. Packets of its own are such
  // signs without this.
  void hear(Instant now, std::uint32_t endpoint, std::uint32_t peer);
  // Forgets a peer, or all of an endpoint's and the endpoint itself; what waits fails, and memory goes back. Both ends
  // are to forget each other, or who remains waits in vain for what was under way. Who comes again within 2^15
  // removals is taken for the one who begins anew that it is.
  void remove_peer(Instant now, std::uint32_t endpoint, std::uint32_t peer);
  void remove_endpoint(Instant now, std::uint32_t endpoint);
  // The next acknowledgement of an endpoint; they are small, never wait behind data, and are not
  // merged, for each may carry the only news of a trimmed packet.
  bool poll_ack(std::uint32_t endpoint, Transmit& out);
  // The next data packet; false when there is none until next_wake().
  bool poll(Instant now, std::uint32_t endpoint, Transmit& out);
  // When to ask again; 0: something has happened since, so at once.
  Instant next_wake(std::uint32_t endpoint) const;

  std::vector<Completion>& completions() { return completions_; }
  const SrdCounters& counters() const { return counters_; }
  const SrdConfig& config() const { return config_; }  // with what was derived

  // Bytes that are there of messages of which others are missing. Looks at every receiver: for whoever watches a run.
  std::uint64_t underway_bytes() const;
  // What is wrong inside, or nothing. Looks at everything: for tests.
  std::string_view check_invariants() const;
  // What peers and messages take, or took lately.
  std::size_t bytes_held() const {
    return senders_.bytes() + receivers_.bytes() + turns_.bytes() + wide_.bytes() + send_messages_.bytes() +
           receive_messages_.bytes() + reads_.bytes() + elsewhere_;
  }
  std::size_t messages_held() const { return send_messages_.used() + receive_messages_.used() + reads_.used(); }

 private:
  static constexpr std::uint32_t kWindow = kMostSrdWindow + 1;  // packets in flight to one peer
  // Numbers from the oldest not acknowledged to the newest. A lost packet holds them open for seven round trips,
  // each of up to a window: with 256, one in thirty lost to a silent spine halved what the other spines carried.
  static constexpr std::uint32_t kOpen = 1024;
  static constexpr std::uint32_t kFarOpen = 16384;   // where windows may be of kMostFarWindow
  static constexpr std::uint32_t kMostOnPath = 255;  // packets in flight
  static constexpr std::uint32_t kMaxPaths = 64;
  static constexpr std::uint32_t kLongestTrain = 65507;  // bytes: what goes down to the kernel as one
  static constexpr Instant kTrainTime = 32'000'000;      // ps that a host takes for one of them, with its checksums
  static constexpr std::uint32_t kFixed = 256;           // fixed point of windows
  static constexpr std::uint32_t kMeanOf = 64;           // packets that a mean round-trip time is taken over
  // Where packets are trimmed: round trips on a full network after which a window's step is half as long, and its least
  // half a packet; and the least of all.
  static constexpr std::uint32_t kUsedTo = 64;
  static constexpr std::uint32_t kLeastPart = kFixed / 32;
  // Packets whose time, at the rate reached, is the least that counts as a round trip: with fewer than one for every
  // eighth path, links that spread packets come to are idle by chance, and no path is told from another.
  static constexpr std::uint32_t kStanding = kMaxPaths / 8;
  // Times what the driver said: so long a first round trip is no queue; and as much shorter a one says that it was
  // wrong.
  static constexpr std::uint32_t kNotCredible = 8;
  // In use at least: one of four spines is missed by all of so many once in a hundred times.
  static constexpr std::uint32_t kFewPaths = kMaxPaths / 4;
  static constexpr std::uint32_t kLongWait = 16;  // base round trips that a host may be away: longer ones count as that
  static constexpr std::uint32_t kLeastShare = 4;                    // packets in flight, with however many peers
  static constexpr std::uint8_t kSeenBefore = kTrimmed | kNotReady;  // ack: the echoed packet has come once more
  // Lag of a path for each packet trimmed on it, about what a full queue delays.
  static constexpr std::uint32_t kTrimmedLag = 16;
  static constexpr int kHeardShift = 30;  // 1.07 ms: when a peer was last heard of, 53 days until it wraps

  using State = Slot::State;
  using Wide = std::vector<Slot>;  // kOpen or kFarOpen of them
  struct FarBits {
    std::vector<std::uint64_t> arrived;
    std::vector<std::uint64_t> marked;
  };

  // All paths are looked at for every packet: an array of each number, so that many are looked at at once.
  struct Paths {
    std::uint8_t lag[kMaxPaths];       // behind the mean, in packets of the sender; or kUnproven and times it failed
    std::uint8_t flying[kMaxPaths];    // packets on it
    std::uint16_t entropy[kMaxPaths];  // what it is on the wire
    std::uint16_t loss[kMaxPaths];     // of its last 128 packets, times 2^11, where it `drops`
    std::uint16_t ready[kMaxPaths];    // unproven: the turn from which it may be tried
  };
  static constexpr std::uint8_t kUnproven = 0x80;  // nothing came through since a packet vanished
  static constexpr std::uint8_t kUnused = 0xFF;    // more than `paths`
  static constexpr std::uint8_t kResting = 0x7F;   // so little is in flight that it could not be told from others
  static constexpr std::uint8_t kMostLag = 95;     // with 255 packets in flight the cost of a path fits 15 bits

  struct alignas(64) Sender {
    // Looked at for every packet: one cache line.
    std::uint32_t una;      // oldest sequence not acknowledged
    std::uint32_t next;     // next fresh sequence
    std::uint32_t end;      // sequence behind the last posted packet
    std::uint32_t flying;   // packets in flight
    std::uint32_t allowed;  // that may be: the window, the receiver's share, two in silence
    std::uint32_t lost;     // packets to send again
    std::uint32_t first_message;
    std::uint32_t sending;  // message that `next` belongs to
    std::uint16_t fan_in;
    std::uint8_t path;  // last used
    std::uint8_t burst_left;
    Instant paced_until;
    Instant deadline;  // next thing to do about silence
    std::uint32_t endpoint;
    std::uint32_t peer;

    // Looked at for every acknowledgement.
    std::uint32_t window;       // packets, times kFixed
    std::uint32_t epoch_acked;  // since the window was last judged; a window's worth is a round trip
    std::uint32_t epoch_rtt;    // sum of the samples since then
    std::uint32_t epoch_samples;
    std::uint32_t least_rtt;     // in units of 2^time_shift_ ps
    std::uint32_t lately_least;  // since `least_rtt` was last looked at
    std::uint32_t mean_rtt;      // of the last packets over all paths, likewise, times kMeanOf
    std::uint32_t spread;        // mean distance from it, likewise
    std::uint32_t doubted;       // much less than that, and told once
    std::uint32_t host_wait;     // for how long hosts do not run, at worst and lately, where it `drops`
    std::uint32_t target;        // queueing that is fine: what the fabric has room for, as far as is known
    std::uint32_t most;          // greatest window, times kFixed
    std::uint32_t epoch_began;   // stamp
    std::uint32_t congested;     // round trips in which the network was full, less those in which it was not
    std::uint32_t loss;          // of 2^20 packets, lately
    std::uint32_t usual_loss;    // likewise, however little is in flight
    std::uint32_t gap;           // mean time from one arrival to the next; 0: not known yet
    std::uint16_t epoch_lost;    // vanished or trimmed
    std::uint16_t epochs;        // since `least_rtt` was last looked at
    std::uint8_t late;           // copies that were sent for nothing, lately
    bool full_seen;              // a full packet has told a round trip: shorter ones are quicker
    bool drops;                  // no trimmed header was seen: what finds no room vanishes
    bool starting;               // nothing has spoken against a greater window yet
    bool paced;                  // it may have to wait for its turn
    std::uint32_t latest_sent;   // send time of the newest packet known to have arrived
    std::uint32_t lost_scan;     // no lost packet below it
    std::uint32_t all_loss;      // sum over all paths
    std::uint32_t looked;        // when paths were last looked at for packets that others overtook
    std::uint32_t last_message;
    std::uint64_t unproven;  // bit per path: its lag says so
    std::uint64_t mixed;     // bit per path: it is another since some of what is in flight on it was sent
    std::uint64_t trying;    // bit per path: the one packet of an unproven path is in flight
    Instant heard;           // the peer's last sign of life
    std::uint16_t stream;
    std::uint16_t peer_generation;  // 0: not known
    std::uint16_t fresh_entropy;    // next one to try
    std::uint16_t turn;             // choices of a path so far
    std::uint16_t heard_path;       // that the last acknowledgement took
    std::uint8_t silent;            // times the deadline passed without news
    std::uint8_t questions;         // copies still to be sent after silence
    bool buried;                    // a path seemed dead: those that work are kept
    bool unheard;                   // an answer seemed to have vanished: the next take a path that brought one
    std::uint8_t works;             // path of the newest packet known to have arrived
    std::uint8_t in_use;            // paths that do not rest
    std::uint8_t next_awake;        // behind which one that rests is looked for
    std::uint32_t reads;            // list of those without an answer
    std::uint32_t responses;        // messages that answer reads
    std::uint32_t payload;          // bytes of a message in one packet

    std::uint32_t wide;  // where more than kWindow numbers are open: their slots, else kNone
    Slot near[kWindow];  // enough while little is lost
    Paths paths;
  };
  static_assert(sizeof(Sender) <= 2048);

  struct Read {
    std::uint64_t bytes;
    std::uint32_t id;  // what the response's tag says
    std::uint32_t tag;
    std::uint32_t context;
    std::uint32_t sender;
    std::uint32_t next;
  };

  struct ReceiveMessage {
    std::uint32_t first;
    std::uint32_t packets;
    std::uint64_t bytes;
    std::uint32_t left;
    std::uint32_t tag;
    std::uint32_t read;  // response: which read, or kNone when nobody asked
    std::uint32_t next;
    Op op;
  };

  struct Receiver {
    std::uint32_t endpoint;
    std::uint32_t peer;
    std::uint32_t next_owing;  // list of peers that are owed an acknowledgement
    std::uint32_t expected;    // all below has arrived
    std::uint32_t messages;    // list of incomplete ones
    std::uint32_t echo;
    std::uint16_t unacked;  // packets since the last acknowledgement
    std::uint16_t echo_path;
    std::uint8_t owe_flags;
    bool owing;
    bool hurry;                 // the sender waits; acknowledge as soon as no gap is left
    bool broken;                // messages of this stream were dropped: it cannot go on
    std::uint16_t generation;   // of the peer; 0: not known
    std::uint16_t stream;       // 0: none yet
    std::uint32_t heard;        // when, in units of 2^kHeardShift ps
    std::uint32_t listen_next;  // ring of those with incomplete messages
    std::uint32_t listen_before;
    std::uint16_t incomplete;  // messages in the list
    std::uint16_t beyond;      // packets that have arrived above `expected`
    std::uint32_t payload;     // bytes of a message in one packet
    std::uint32_t far;         // where packets beyond kOpen numbers have come: bits for kFarOpen, else kNone
    BitRing<kOpen> arrived;    // while there are none
    BitRing<kOpen> marked;
  };
  static_assert(sizeof(Receiver) <= 320);

  struct alignas(32) EndpointState {  // found by a shift
    TurnTree::Ring active;            // senders with work
    std::uint32_t working = 0;        // how many have messages, and do not only wait for what they read
    std::uint32_t allowed = 0;        // packets that these may have in flight together
    Owed<&Receiver::next_owing, &Receiver::owing> owing;  // receivers whose peers wait for an acknowledgement
    std::uint32_t listeners = kNone;                      // a receiver in the ring of those with incomplete messages
    std::uint16_t listening = 0;                          // how many those are
    std::uint16_t incomplete = 0;                         // messages
  };
  static_assert(sizeof(EndpointState) == 32);

  // srd.cpp: endpoints, peers, restarts
  std::uint32_t sender_for(std::uint32_t endpoint, std::uint32_t peer);
  std::uint32_t receiver_for(std::uint32_t endpoint, std::uint32_t peer);
  static std::uint32_t packets_for(Op op, std::uint64_t bytes, std::uint32_t payload);  // 0: too long
  bool meet(Instant now, std::uint32_t endpoint, std::uint32_t peer, std::uint16_t generation);
  void begin_stream(Sender& sender);
  void fail(Instant now, std::uint32_t sender);
  void fail_reads(Sender& sender);
  bool poll_among(Instant now, EndpointState& state, Transmit& out);
  void share_more(EndpointState& state);
  void wait_longer(EndpointState& state);

  // receive.cpp
  Placement handle_data(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header);
  bool admit(Instant now, std::uint32_t receiver, const Header& header);
  bool begin_message(Instant now, Receiver& receiver, const Header& header, bool& not_ready);
  void deliver(Instant now, Receiver& receiver, const Header& header, std::uint32_t* link, Placement& out);
  void finish(Instant now, Receiver& receiver, std::uint32_t* link);
  void listen(Receiver& receiver);
  void stop_listening(Receiver& receiver);
  void forget(Receiver& receiver);
  void go_far(Receiver& receiver);
  void come_near(Receiver& receiver);
  BitSpan arrived_of(Receiver& receiver) {
    return receiver.far == kNone ? receiver.arrived.span() : BitSpan{far_[receiver.far].arrived.data(), kFarOpen};
  }
  BitSpan marked_of(Receiver& receiver) {
    return receiver.far == kNone ? receiver.marked.span() : BitSpan{far_[receiver.far].marked.data(), kFarOpen};
  }
  void drop_silent_listener(Instant now, EndpointState& state);
  void owe(std::uint32_t receiver, std::uint8_t flags);
  void fill_ack(const EndpointState& state, Receiver& receiver, Transmit& out);

  // send.cpp
  bool enqueue(Instant now, std::uint32_t sender, const Operation& operation);
  bool idle(const Sender& sender) const { return sender.first_message == kNone && sender.reads == kNone; }
  void handle_ack(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header, Instant waited);
  void acknowledge(Sender& sender, Slot& slot, std::uint32_t sequence, bool marked, std::uint32_t now,
                   std::uint32_t& message);
  void refuse(Instant now, Sender& sender, std::uint32_t sequence, std::uint8_t flags);
  Slots slots_of(Sender& sender) {
    if (sender.wide == kNone) return {sender.near, kWindow - 1};
    Wide& wide = wide_[sender.wide];
    return {wide.data(), static_cast<std::uint32_t>(wide.size() - 1)};
  }
  void widen(Sender& sender);
  void narrow(Sender& sender);
  void land(Sender& sender, std::uint32_t path);
  void judge(Sender& sender, std::uint32_t path, bool marked, std::uint32_t rtt);
  void set_lag(Sender& sender, std::uint32_t path, std::uint32_t lag);
  void leave(Sender& sender, std::uint32_t path, std::uint32_t lag);
  bool take_other_entropy(Sender& sender, std::uint32_t path);
  static std::uint32_t mean_of(const Sender& sender) { return std::max(1u, sender.mean_rtt / kMeanOf); }
  static std::uint32_t lag_of(std::uint32_t late, std::uint32_t mean);
  void finish_messages(Sender& sender);
  // Several peers share what fills the sender's own wire: more in flight would only queue, and first
  // windows of many short messages would fall together on some receiver. What some may not use, because their
  // receiver serves many or is silent, the others may; but only what keeps the wire full, or the last parts of short
  // messages in all-to-alls meet at their receivers.
  std::uint32_t share_of(const EndpointState& state, const Sender& sender) const {
    if (state.working <= 1) return kFarOpen;
    const std::uint32_t enough = enough_of_all();
    const std::uint32_t others = state.allowed - std::min(state.allowed, sender.allowed);
    return std::max({kLeastShare, full_window_ / kFixed / state.working, enough - std::min(enough, others)});
  }
  std::uint32_t enough_of_all() const { return full_window_ / kFixed * 3 / 4; }
  bool can_send(const Sender& sender, std::uint32_t share) const {
    const std::uint32_t limit = std::min(sender.allowed, share);
    return sender.flying < limit && has_more(sender, limit) && (sender.flying < kMostOnPath || has_path(sender));
  }
  // Packets that go together on one path: at most an eighth of what is in flight, for more would be a queue of its own,
  // and no more than are sent in half the time that a host takes for a whole train: who sends more slowly has time for
  // each of them, and a train of four is half a millisecond of a link of 500 Mb/s while others are idle.
  std::uint32_t train_of(const Sender& sender) const {
    if (config_.burst == 1) return 1;
    const std::uint32_t longest = std::min(config_.burst, kLongestTrain / (sender.payload + config_.header));
    const std::uint64_t sent = (std::uint64_t{sender.allowed} * kTrainTime / 2 >> time_shift_) / mean_of(sender);
    const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(sender.allowed / 8, sent));
    return std::clamp(part, 1u, std::max(1u, longest));
  }
  // Whose window opens by a packet waits until a train fits: there is something in flight whose answer it will hear.
  bool has_room_for_train(const Sender& sender, std::uint32_t limit) const {
    return config_.burst == 1 || has_room_for_whole(sender, limit);
  }
  bool has_room_for_whole(const Sender& sender, std::uint32_t limit) const;
  // With less than that in flight, one of the proven paths, or of all, can take another.
  bool has_path(const Sender& sender) const {
    const auto proven = sender.in_use - static_cast<std::uint32_t>(std::popcount(sender.unproven));
    return sender.flying < kMostOnPath * std::max(1u, proven);
  }
  bool has_more(const Sender& sender, std::uint32_t limit) const {
    const std::uint32_t open = sender.next - sender.una;
    return sender.lost > 0 || (sender.next != sender.end && (open < kOpen || (open < kFarOpen && sender.drops)) &&
                               has_room_for_train(sender, limit));
  }
  // Something has changed for one that may be waiting: it is asked when its turn comes.
  void ask_again(std::uint32_t index) {
    if (turns_.has(index)) turns_.wait(index, 0);
  }
  // When one has to be asked that has something to do.
  Instant wake_of(const Sender& sender, std::uint32_t share) const {
    return can_send(sender, share) ? std::min(sender.deadline, sender.paced_until) : sender.deadline;
  }
  void wait(std::uint32_t index, std::uint32_t share);
  std::uint32_t choose_path(Sender& sender, bool resend, std::uint32_t avoid);
  static bool goes_where_it_works(const Sender& sender, std::uint32_t avoid);
  // A packet that is tried on a path of which nothing is known is missed when one behind it arrives. With none behind
  // it, all would wait until silence has lasted: with a window of one packet, as after a spine has died, for most of
  // the time.
  static bool may_try(const Sender& sender) {
    return !sender.drops || (sender.allowed > 1 && sender.next != sender.end);
  }
  std::uint32_t take_quickest(const Sender& sender, std::uint8_t most_lag, std::uint32_t avoid) const;
  std::uint32_t take_any(const Sender& sender, std::uint32_t avoid) const;
  std::uint32_t take_emptiest(const Sender& sender) const;
  void fill_data(Instant now, Sender& sender, std::uint32_t share, Transmit& out);

  // paths_in_use.cpp
  void look_at_paths(Sender& sender);
  std::uint32_t paths_for(const Sender& sender) const;
  void use_paths(Sender& sender, std::uint32_t wanted);
  std::uint32_t last_path(const Sender& sender) const;
  static void wake_path(Sender& sender, std::uint32_t path);
  static void rest_path(Sender& sender, std::uint32_t path);

  // window.cpp
  void know_of_trimming(Sender& sender);
  void sample_packet(Sender& sender, std::uint32_t sequence, std::int32_t flight);
  void sample(Sender& sender, std::uint32_t rtt);
  void begin_with(Sender& sender, std::uint32_t rtt);
  void hear_of_copy(Sender& sender);
  void hear_of_wait(Sender& sender, Instant waited) const;
  void be_less_eager(Sender& sender, bool vanished);
  void end_epoch(Sender& sender, std::uint32_t now);
  static void note_congestion(Sender& sender, std::uint32_t rtt);
  void note_arrivals(Sender& sender, std::uint32_t arrived, std::uint32_t now);
  std::uint32_t delivered_window(const Sender& sender) const;
  std::uint32_t trips_of(const Sender& sender, std::uint32_t now) const;
  std::uint32_t step_of(const Sender& sender, std::uint32_t rtt, std::uint32_t now) const;
  std::uint32_t step_where_trimmed(const Sender& sender, std::uint32_t rtt) const;
  bool too_much_lost(Sender& sender, std::uint32_t rtt);
  void learn_room(Sender& sender, std::uint32_t rtt, std::uint32_t now);
  void look_at_least(Sender& sender);
  // The unloaded round trip: what the driver said, where that is credible.
  std::uint32_t base_of(const Sender& sender) const {
    if (!sender.drops) return std::max(base_, sender.least_rtt);
    const std::uint32_t told = base_ <= 4 * sender.least_rtt ? std::max(base_, sender.least_rtt) : sender.least_rtt;
    // On slow links a packet may take longer than the round trip of an idle network, which is no measure then.
    const std::uint32_t mean = mean_of(sender);
    const std::uint64_t packets = std::uint64_t{mean} * kStanding * kFixed / std::max(1u, sender.window);
    return std::max(told, static_cast<std::uint32_t>(std::min<std::uint64_t>(packets, mean)));
  }
  // Most queueing that is fine. Over many paths queues differ; where they do, none runs dry only if all are longer.
  std::uint32_t room_of(const Sender& sender) const {
    if (!sender.drops || config_.delay_target.count() > 0) return target_;
    // Who sends trains cannot tell a shorter queue from what it took to hand one down.
    const std::uint32_t train = config_.burst > 1 ? static_cast<std::uint32_t>(kTrainTime >> time_shift_) : 0;
    return std::max({base_of(sender) * 4 / 5, std::min(4 * base_of(sender), sender.spread / kMeanOf * 3), train,
                     bridged_of(sender)});
  }
  // While a host does not run, links live on what is queued; of several senders', each has a part.
  static std::uint32_t bridged_of(const Sender& sender) { return sender.host_wait / sender.fan_in; }
  std::uint32_t least_room_of(const Sender& sender) const {
    return std::min(room_of(sender), std::max(base_of(sender) / 8, sender.spread / kMeanOf));
  }
  // What the driver said of the network is bytes: of shorter packets more are in flight. Not fewer of longer ones,
  // whose host takes long to turn around.
  std::uint32_t full_window_of(const Sender& sender) const {
    if (!config_.drops || sender.payload >= config_.payload) return full_window_;
    const std::uint64_t packets = std::uint64_t{full_window_} * config_.payload / sender.payload;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(packets, kMostFarWindow * kFixed));
  }
  // Less than a packet in a round trip where many share a link; of an incast's window everybody has a part. Short flows
  // would end late if they had to wait for round trips because a packet was trimmed three times.
  static std::uint32_t least_window(const Sender& sender) {
    if (!sender.drops) return std::max(kFixed * kUsedTo / (kUsedTo + sender.congested), kLeastPart);
    return std::clamp(sender.fan_in * (kFixed / 16), kFixed, sender.most);
  }
  void change_fan_in(Instant now, Sender& sender, std::uint16_t fan_in);
  // How long it takes until it is our turn again. Asked for every packet: alone at a receiver, there is nothing to
  // reckon.
  Instant turn_of(const Sender& sender) const { return sender.paced ? shared_turn_of(sender) : 0; }
  Instant shared_turn_of(const Sender& sender) const;
  Instant turn_of_part(const Sender& sender, std::uint32_t part) const;
  void begin_work(Sender& sender);
  void end_work(Sender& sender);
  void set_allowed(Sender& sender);

  // loss.cpp
  void lose(Sender& sender, std::uint32_t sequence);
  void give_up_on(Sender& sender, std::uint32_t sequence);
  Instant quiet_for(Instant now, const Sender& sender) const;
  void find_lost(Sender& sender);
  void find_overtaken(Sender& sender, std::uint32_t now);
  bool blame_path(Sender& sender, std::uint32_t path);
  // Packets that ask after silence, each on another path. The waits between questions double, and at first so do the
  // questions: where half of the ways are dead, three of four questions die or their answers do. They begin with two:
  // with four, the silence of a receiver that serves many costs short all-to-alls 3 %.
  static constexpr std::uint32_t questions_after(std::uint32_t silent) { return 2u << std::min(silent - 1, 2u); }
  static std::uint32_t questions_of(const Sender& sender) {
    const bool shared = sender.drops && sender.fan_in > 1;
    const std::uint32_t most = shared ? std::max(1u, sender.window / kFixed) : kWindow;
    return std::min(questions_after(sender.silent), most);
  }
  void time_out(Instant now, std::uint32_t sender);
  Instant credible_base(const Sender& sender) const;
  Instant patience(const Sender& sender) const;
  Instant next_patience(const Sender& sender) const;
  Instant look_after(Instant now, Instant wait, const Sender& sender) const;
  void be_more_patient(Sender& sender);
  void miss(Sender& sender, std::uint32_t sequence);
  std::int32_t tolerance(const Sender& sender) const;
  void bury(Sender& sender, std::uint32_t path);
  void prove(Sender& sender, std::uint32_t path);

  std::uint32_t stamp_of(Instant now) const { return static_cast<std::uint32_t>(now >> time_shift_) & kTimeMask; }

  SrdConfig config_;
  int time_shift_;              // of the units that round trips are kept in, in bits of picoseconds
  Instant longest_flight_;      // no packet counts for longer: far from where its time wraps
  bool rto_derived_;            // from base_rtt, which may not be credible
  std::uint32_t full_window_;   // packets, times kFixed
  std::uint32_t first_window_;  // likewise
  std::uint32_t target_;        // of queueing delay, in units of 2^time_shift_ ps
  std::uint32_t base_;          // base_rtt, likewise
  std::uint32_t reorder_;       // likewise; 0: as measured
  std::uint32_t longest_wait_;  // likewise
  std::uint32_t leave_lag_;     // of a path that is left for another entropy
  Endpoints<EndpointState> endpoints_;
  Peers<Sender> senders_;
  TurnTree turns_;
  Peers<Receiver> receivers_;
  Slab<Wide> wide_;
  Slab<FarBits> far_;
  std::size_t elsewhere_ = 0;  // bytes of what these two point to
  Slab<SendMessage> send_messages_;
  Slab<ReceiveMessage> receive_messages_;
  Slab<Read> reads_;
  std::uint16_t retired_stream_ = 0;  // newest of those of peers that were removed
  std::vector<Completion> completions_;
  SrdCounters counters_;
};

}  // namespace weft::transport
