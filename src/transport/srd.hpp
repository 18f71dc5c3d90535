#pragma once
// SRD: reliable, unordered datagrams over many paths, sans I/O.
//
// The driver (simulator or socket loop) owns the clock and the wire:
//   post()            hands in a message; completed() tells when the last acknowledgement is in
//   handle()          takes every packet that arrives
//   poll()            gives the next packet to send, or nothing until next_wake()
// Late and repeated calls are harmless. One Srd object serves all endpoints of a driver's partition
// and draws every byte of memory from its own slabs; an endpoint that is idle costs 16 bytes.
//
// How it works, and why:
// - Packets of one peer are numbered; a message is a run of numbers, so nothing per packet is kept
//   but when and where it was sent. The receiver acknowledges a number below which all has arrived
//   and a bitmap above it; messages complete in any order.
// - A path is an entropy. Paths are taken in turn; one whose packets come back marked is skipped for
//   a while, twice as long each time, and half as long after each clean packet; one that stays bad is
//   given up for another entropy (compare: entropy recycling in REPS, bitmap balancing in Ultra
//   Ethernet).
// - The window follows the typical path: it shrinks when more than half of a round trip's packets
//   were marked, for then no choice of path helps, and grows otherwise.
// - Incast: the receiver counts the senders it is listening to and says so in every acknowledgement;
//   a sender keeps 1/n of the window and paces to 1/n of the rate. Nobody has to ask for credits, and
//   one round trip after the burst the receiver's link is shared evenly.
// - Loss is seen by trimming (the header arrives and is answered at once), or by time: a packet is
//   lost when one sent two round trips later has been acknowledged. After two round trips of silence
//   the oldest packet is sent again to ask; after a few more all are. What is lost goes out again on
//   another path.
// - Acknowledgements are few (one for `ack_every` packets) because the sender says when it waits: the
//   packet that fills the window and the last of a message ask for one. Those that it overtook are
//   acknowledged when the gap closes.

#include <cstdint>
#include <vector>

#include "base/flat_map.hpp"
#include "base/units.hpp"
#include "transport/packet.hpp"

namespace weft::transport {

using Instant = std::int64_t;  // picoseconds
inline constexpr Instant kNever = INT64_MAX;

struct SrdConfig {
  std::uint32_t payload = 4086;      // bytes of a message in one packet
  std::uint32_t header = 64;         // bytes on the wire beside it
  std::uint32_t paths = 64;          // at most 64
  std::uint32_t burst = 1;           // packets per choice of path
  std::uint32_t ack_every = 8;       // packets per acknowledgement
  std::int64_t packet_time = 0;      // ps that a full packet takes on the sender's wire
  std::int64_t base_rtt = 0;         // ps, unloaded, longest path
  std::int64_t rto = 0;              // ps without news before a packet counts as lost
};

struct Completion {
  std::uint32_t endpoint;
  std::uint32_t peer;
  std::uint32_t tag;
  std::uint64_t bytes;
  bool sent;  // true: the sender has the last acknowledgement; false: the receiver has the last byte
};

struct Transmit {
  Header header;
  PacketType type;
  std::uint8_t flags;
  std::uint32_t wire_bytes;
};

struct SrdCounters {
  std::uint64_t data_sent = 0;
  std::uint64_t data_resent = 0;
  std::uint64_t acks_sent = 0;
  std::uint64_t trimmed_seen = 0;
  std::uint64_t marked_seen = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t payload_delivered = 0;
};

class Srd {
 public:
  explicit Srd(const SrdConfig& config);

  void post(Instant now, std::uint32_t endpoint, std::uint32_t peer, std::uint64_t bytes, std::uint32_t tag);
  void handle(Instant now, std::uint32_t endpoint, PacketType type, std::uint8_t flags, const Header& header);
  // The next acknowledgement of an endpoint; they are small, never wait behind data, and are not
  // merged, for each may carry the only news of a trimmed packet.
  bool poll_ack(std::uint32_t endpoint, Transmit& out);
  // The next data packet; false when there is none until next_wake().
  bool poll(Instant now, std::uint32_t endpoint, Transmit& out);
  Instant next_wake(std::uint32_t endpoint) const;

  std::vector<Completion>& completions() { return completions_; }
  const SrdCounters& counters() const { return counters_; }

 private:
  static constexpr std::uint32_t kWindow = 256;  // packets in flight to one peer
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  static constexpr std::uint32_t kMaxPaths = 64;

  enum class State : std::uint8_t { empty, flying, arrived, lost };

  struct SendMessage {
    std::uint64_t bytes;
    std::uint32_t tag;
    std::uint32_t first;    // sequence of its first packet
    std::uint32_t packets;
    std::uint32_t left;     // not yet acknowledged
    std::uint32_t number;
    std::uint32_t next;     // later message of the peer
  };

  struct Sender {
    std::uint32_t endpoint;
    std::uint32_t peer;
    std::uint32_t next_active;    // ring of peers with something to do
    std::uint32_t una;            // oldest sequence not acknowledged
    std::uint32_t next;           // next fresh sequence
    std::uint32_t end;            // sequence behind the last posted packet
    std::uint32_t flying;         // packets in flight
    std::uint32_t lost;           // packets to send again
    std::uint32_t lost_scan;      // no lost packet below it
    std::uint32_t window;         // packets, times 256
    std::uint32_t epoch_acked;    // since the window was last judged; a window's worth is a round trip
    std::uint32_t epoch_marked;
    std::uint32_t first_message;
    std::uint32_t last_message;
    std::uint32_t sending;        // message that `next` belongs to
    std::uint32_t messages;       // posted so far
    std::uint16_t fan_in;
    std::uint8_t path;            // last used
    std::uint8_t burst_left;
    bool probed;                  // silence was answered by a probe already
    std::uint16_t fresh_entropy;  // next one to try
    Instant paced_until;
    Instant deadline;             // of the RTO
    std::uint32_t latest_sent;    // send time of the newest packet known to have arrived
    std::uint32_t sent_at[kWindow];  // in units of 2^kTimeShift ps
    std::uint8_t path_of[kWindow];
    State state[kWindow];
    std::uint8_t level[kMaxPaths];  // how many turns a path is skipped each time round
    std::uint8_t skip[kMaxPaths];   // turns left to skip
    std::uint16_t entropy[kMaxPaths];  // what the path is on the wire
  };
  static_assert(sizeof(Sender) <= 2048);

  struct ReceiveMessage {
    std::uint32_t number;
    std::uint32_t left;
    std::uint64_t bytes;
    std::uint32_t tag;
    std::uint32_t next;
  };

  struct Receiver {
    std::uint32_t endpoint;
    std::uint32_t peer;
    std::uint32_t next_owing;     // list of peers that are owed an acknowledgement
    std::uint32_t expected;       // all below has arrived
    std::uint32_t messages;       // list of incomplete ones
    std::uint32_t echo;
    std::uint16_t unacked;        // packets since the last acknowledgement
    std::uint16_t echo_path;
    std::uint8_t owe_flags;
    bool owing;
    bool hurry;                   // the sender waits; acknowledge as soon as no gap is left
    std::uint64_t arrived[kWindow / 64];
    std::uint64_t marked[kWindow / 64];
  };
  static_assert(sizeof(Receiver) <= 128);

  struct EndpointState {
    std::uint32_t active = kNone;   // a sender in the ring of those with work, the last one served
    std::uint32_t owing = kNone;    // first receiver owed an acknowledgement
    std::uint32_t listening = 0;    // senders with unfinished messages
    std::uint32_t reserved = 0;
  };

  template <class T>
  class Slab {
   public:
    std::uint32_t take() {
      if (!free_.empty()) {
        const std::uint32_t index = free_.back();
        free_.pop_back();
        return index;
      }
      items_.emplace_back();
      return static_cast<std::uint32_t>(items_.size() - 1);
    }
    void give_back(std::uint32_t index) { free_.push_back(index); }
    T& operator[](std::uint32_t index) { return items_[index]; }
    const T& operator[](std::uint32_t index) const { return items_[index]; }

   private:
    std::vector<T> items_;
    std::vector<std::uint32_t> free_;
  };

  EndpointState& state_of(std::uint32_t endpoint);
  std::uint32_t sender_for(std::uint32_t endpoint, std::uint32_t peer);
  std::uint32_t receiver_for(std::uint32_t endpoint, std::uint32_t peer);
  void activate(std::uint32_t sender);

  void handle_data(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header);
  bool deliver(Receiver& receiver, const Header& header);  // true: its message is complete
  void owe(std::uint32_t receiver, std::uint8_t flags);
  void handle_ack(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header);
  void acknowledge(Sender& sender, std::uint32_t sequence, bool marked);
  void blame(Sender& sender, std::uint8_t path, bool dead);
  void end_epoch(Sender& sender);
  void finish_messages(Sender& sender);
  void find_lost(Instant now, Sender& sender);
  bool time_out(Instant now, Sender& sender);

  std::uint32_t window_of(const Sender& sender) const;
  bool can_send(Instant now, const Sender& sender) const;
  std::uint8_t choose_path(Sender& sender, std::uint8_t avoid);
  void fill_data(Instant now, Sender& sender, Transmit& out);
  void fill_ack(EndpointState& state, Transmit& out);

  SrdConfig config_;
  std::uint32_t full_window_;  // packets, times 256
  std::vector<EndpointState> endpoints_;
  Slab<Sender> senders_;
  Slab<Receiver> receivers_;
  Slab<SendMessage> send_messages_;
  Slab<ReceiveMessage> receive_messages_;
  FlatMap sender_index_;  // (endpoint, peer) to slab
  FlatMap receiver_index_;
  std::vector<Completion> completions_;
  SrdCounters counters_;
};

}  // namespace weft::transport
