#pragma once
// RoCEv2: reliable connections over UDP with DCQCN, sans I/O; driven as operation.hpp says.
//
// How it works, and why:
// - A peer has `qps` queue pairs. Each is one flow: its own number of packets, its own rate, one path through the
//   network, for its UDP source port is all that ECMP has to tell flows apart. `Header::path` is that port and names
//   the queue pair; its acknowledgements and CNPs bear it, too. Messages take the queue pairs in turn; with `split`
//   each takes all of them, and is there when the last part is.
// - Within a queue pair all is in order. A packet says its place in the message, so that one that came early can be
//   placed; a message is received when all before it on its queue pair has been.
// - Go-back-N, as the specification has it: the receiver drops what comes out of order and says so once per gap
//   (NAK); the sender starts again from there. When the packet that closes the gap is lost again, or the last of
//   all, only the timeout helps. Selective repeat, after IRN: the receiver keeps what overtakes and answers each
//   such packet with a bitmap; what is missing below the highest that came is sent again, once; then the timeout.
//   Both are one mechanism: `scan` goes over what may be lost up to `lost`, and skips what is known to have arrived;
//   with go-back-N nothing is, and a NAK puts `scan` back.
// - DCQCN (dcqcn.hpp): a receiver of marked packets sends a CNP at most every 50 us and queue pair, before all
//   else; the sender's queue pair then paces its packets. It starts at line rate. A CNP counts whoever made it: a
//   switch that wants to be faster sends one with source and destination of the data exchanged and its path.
// - Silence: after `give_up` without a word on a queue pair all messages to the peer fail, on all its queue pairs, as
//   a job's communicator would; the next message begins a new connection (`Header::stream`), and the receiver follows.
// - Memory that others can make us hold: per queue pair a bitmap and the ends of messages within it, per peer
//   kMostHalves split messages that wait for parts.

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "transport/bit_ring.hpp"
#include "transport/operation.hpp"
#include "transport/peers.hpp"
#include "transport/roce/config.hpp"
#include "transport/roce/dcqcn.hpp"
#include "transport/slab.hpp"
#include "transport/turns.hpp"

namespace weft::transport {

struct RoceCounters : Counters {
  std::uint64_t naks_sent = 0;
  std::uint64_t out_of_order = 0;  // packets beyond a gap, kept or not
  std::uint64_t cnps_sent = 0;
  std::uint64_t cnps_handled = 0;  // that cut a rate
  std::uint64_t connections_failed = 0;
};

class Roce {
 public:
  explicit Roce(const RoceConfig& config);

  // Sends and writes. False for anything else, for a message longer than 2^30 packets, and when 2^30 packets
  // already wait on a queue pair.
  bool post(Instant now, std::uint32_t endpoint, const Operation& operation);
  Placement handle(Instant now, std::uint32_t endpoint, PacketType type, std::uint8_t flags, const Header& header);
  // CNPs, then acknowledgements: small, and never behind data.
  bool poll_ack(std::uint32_t endpoint, Transmit& out);
  bool poll(Instant now, std::uint32_t endpoint, Transmit& out);
  Instant next_wake(std::uint32_t endpoint) const;

  std::vector<Completion>& completions() { return completions_; }
  const RoceCounters& counters() const { return counters_; }
  const RoceConfig& config() const { return config_; }  // with what was derived
  const DcqcnLaw& law() const { return law_; }
  // Bits per second that a queue pair may send now; line rate when nothing was ever sent to the peer.
  std::uint64_t rate(std::uint32_t endpoint, std::uint32_t peer, std::uint32_t qp) const;

  // Bytes that are there of messages of which others are missing. Looks at every receiver: for whoever watches a run.
  std::uint64_t underway_bytes() const;
  // What is wrong inside, or nothing. Looks at everything: for tests.
  std::string_view check_invariants() const;
  std::size_t messages_held() const { return messages_.used() + ends_.used() + halves_.used(); }

  static constexpr std::uint32_t kMostQps = 16;

 private:
  static constexpr std::uint32_t kBitmap = 1024;          // packets that selective repeat can tell apart
  static constexpr std::uint32_t kMostWindow = 1u << 22;  // half of what 24 bits tell apart, and room for the old
  static constexpr std::uint32_t kMostHalves = 4096;      // split messages of one peer that wait for parts

  struct Message {
    std::uint64_t bytes;
    std::uint32_t tag;
    std::uint32_t context;
    std::uint16_t number;  // among the split ones to the peer
    std::uint16_t parts_left;
    Op op;
  };

  struct Part {  // of a message, on one queue pair; mostly the whole
    std::uint32_t message;
    std::uint32_t begin;  // its first packet's place in the message
    std::uint32_t first;  // sequence of that packet
    std::uint32_t packets;
    std::uint32_t next;  // later part on the queue pair
  };

  struct alignas(64) SendQp {
    // Looked at for every packet: one cache line.
    std::uint32_t next_active;  // ring of queue pairs with something to do
    std::uint32_t una;          // oldest sequence not acknowledged
    std::uint32_t scan;         // next to send again, if below `lost`
    std::uint32_t lost;         // what is below it and not known to have arrived is lost
    std::uint32_t sent;         // next fresh sequence
    std::uint32_t end;          // sequence behind the last posted packet
    std::uint32_t sending;      // part that `sent` belongs to
    std::uint32_t resending;    // part that `scan` belongs to
    Instant paced_until;
    Instant deadline;  // when silence counts as loss; never while nothing is under way
    std::uint32_t peer;
    std::uint32_t first_part;
    std::uint32_t last_part;
    std::uint8_t number;  // among those of the peer: the path
    std::uint8_t silent;  // times the deadline passed without a word
    bool limited;         // by DCQCN: the next line matters

    Dcqcn control;
    Instant heard;             // the last word from the peer, or when it was first asked for one
    BitRing<kBitmap> arrived;  // selective: of the sequences from una to sent
  };
  static_assert(sizeof(SendQp) == 256);

  struct SendPeer {
    std::uint32_t endpoint;
    std::uint32_t peer;
    std::uint32_t qps;              // the first one; the others follow it
    std::uint16_t stream;           // connection: begins anew after failure
    std::uint16_t splits;           // messages split so far
    std::uint16_t peer_generation;  // of the queue pairs' other end; 0: not known
    std::uint32_t next_qp;          // whose turn it is
  };

  // The end of a part that came before all before it had.
  struct End {
    std::uint64_t size;
    std::uint32_t sequence;
    std::uint32_t tag;
    std::uint32_t next;
    std::uint16_t number;
    Op op;
    bool covered;  // the whole part is there and waits for what is before it
  };

  // A split message of which some parts are there.
  struct Half {
    std::uint32_t next;
    std::uint16_t number;
    std::uint8_t uncovered;  // parts of which something is missing
    std::uint8_t left;       // parts that are missing something or wait for what is before them
  };

  struct ReceiveQp {
    std::uint32_t next_owing;      // list of those that owe an acknowledgement
    std::uint32_t next_owing_cnp;  // list of those that owe a CNP
    std::uint32_t peer;
    std::uint32_t expected;  // all below has arrived
    std::uint32_t begin;     // sequence at which the part began that `expected` belongs to
    std::uint32_t echo;      // sequence that caused the acknowledgement
    std::uint32_t ends;      // list, any order
    std::uint16_t unacked;   // packets since the last acknowledgement
    std::uint8_t number;
    std::uint8_t owe_flags;
    Instant next_cnp;
    bool owing;
    bool owing_cnp;
    bool nak_sent;             // go-back-N: for this gap
    BitRing<kBitmap> arrived;  // selective: beyond `expected`
  };
  static_assert(sizeof(ReceiveQp) <= 192);

  struct ReceivePeer {
    std::uint32_t endpoint;
    std::uint32_t peer;
    std::uint32_t qps;
    std::uint32_t halves;  // list, oldest first
    std::uint32_t half_count;
    std::uint16_t stream;      // 0: none yet
    std::uint16_t generation;  // 0: not known
  };

  struct EndpointState {
    Turns active;  // queue pairs with work
    Owed<&ReceiveQp::next_owing, &ReceiveQp::owing> owing;
    Owed<&ReceiveQp::next_owing_cnp, &ReceiveQp::owing_cnp> owing_cnp;
  };

  // Where the packets of a message go: equal parts in the order of the queue pairs, or all to one.
  struct Shares {
    std::uint32_t packets;  // of the message
    std::uint32_t each;     // of a part, but maybe the last
    std::uint32_t parts;

    std::uint32_t begin_on(std::uint32_t qp) const { return parts > 1 ? qp * each : 0; }
    std::uint32_t packets_on(std::uint32_t qp) const { return std::min(each, packets - begin_on(qp)); }
    bool ends_part(std::uint32_t packet) const {
      return packet + 1 == packets || (parts > 1 && (packet + 1) % each == 0);
    }
  };

  // roce.cpp: peers, posting, turns
  std::uint32_t send_peer_for(std::uint32_t endpoint, std::uint32_t peer);
  std::uint32_t receive_peer_for(std::uint32_t endpoint, std::uint32_t peer);
  Shares shares_of(std::uint64_t bytes) const;  // 0 packets: too long
  void enqueue(std::uint32_t qp, std::uint32_t message, std::uint32_t begin, std::uint32_t packets);
  void connect(SendPeer& peer);
  void fail(SendPeer& peer);

  // send.cpp
  void handle_ack(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header);
  void handle_cnp(Instant now, std::uint32_t endpoint, const Header& header);
  void note_arrivals(SendQp& qp, const Header& header);
  void acknowledge(SendQp& qp, std::uint32_t up_to);
  void step(SendQp& qp);
  void skip_arrived(SendQp& qp);
  void time_out(Instant now, SendQp& qp);
  void follow_rate(Instant now, SendQp& qp);
  bool can_send(const SendQp& qp) const {
    return qp.scan != qp.lost || (qp.sent != qp.end && qp.sent - qp.una < config_.window);
  }
  void fill_data(Instant now, SendQp& qp, Transmit& out);

  // receive.cpp
  Placement handle_data(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header);
  bool admit(ReceivePeer& peer, const Header& header);
  void forget(ReceivePeer& peer);
  void notice_mark(Instant now, std::uint32_t qp);
  static bool fits(const ReceiveQp& qp, std::uint32_t sequence, const Shares& shares, std::uint32_t packet);
  bool has_room(const ReceivePeer& peer, const Shares& shares, const Header& header) const;
  Placement keep_early(std::uint32_t qp, std::uint32_t sequence, const Shares& shares, const Header& header);
  Placement place(const ReceiveQp& qp, std::uint32_t sequence, const Shares& shares, const Header& header) const;
  bool cover_early(ReceiveQp& qp, std::uint32_t sequence, const Shares& shares, std::uint32_t packet);
  bool cover(ReceivePeer& peer, std::uint16_t number, std::uint32_t parts);
  void finish_part(ReceivePeer& peer, ReceiveQp& qp, const End& end);
  bool finish_share(ReceivePeer& peer, std::uint16_t number, std::uint32_t parts);
  bool advance(ReceivePeer& peer, ReceiveQp& qp);
  std::uint32_t* half_of(ReceivePeer& peer, std::uint16_t number, std::uint32_t parts);
  void owe(std::uint32_t qp, std::uint8_t flags);
  void fill_ack(ReceiveQp& qp, Transmit& out);
  void fill_cnp(const ReceiveQp& qp, Transmit& out);

  RoceConfig config_;
  DcqcnLaw law_;
  std::int64_t longest_timeout_;
  int mtu_shift_;
  Endpoints<EndpointState> endpoints_;
  Peers<SendPeer> send_peers_;
  Peers<ReceivePeer> receive_peers_;
  Slab<SendQp> send_qps_;
  Slab<ReceiveQp> receive_qps_;
  Slab<Message> messages_;
  Slab<Part> parts_;
  Slab<End> ends_;
  Slab<Half> halves_;
  std::vector<Completion> completions_;
  RoceCounters counters_;
};

}  // namespace weft::transport
