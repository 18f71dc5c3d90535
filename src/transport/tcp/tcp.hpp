#pragma once
// TCP as a modern Linux speaks it, sans I/O; driven like the other transports (operation.hpp).
//
// What is modelled, and how:
// - Connections are persistent and exist beforehand: `connections` per pair of endpoints and direction, messages
//   in turn. A message is one write with TCP_NODELAY: its segments are its own and the last one is pushed. So
//   sequence numbers count segments, as Linux's windows do, and a message is a run of numbers.
// - The receiver hands messages over in the order they were posted on their connection, however their segments
//   arrive. The reader always reads, so the advertised window is constant and both ends know it.
// - Acknowledgements go alone, never on data: every second segment, at once where something is out of order,
//   repeated or pushed, otherwise after the delayed-ACK timer. Each carries the newest three ranges beyond a
//   gap, the repeated segment if one caused it, and how many came marked so far (exact echo, as DCTCP and
//   AccECN need it).
// - Loss is RACK-TLP's business (RFC 8985): a segment is lost when one sent later by a reordering window has
//   arrived, be it the first transmission or a later one; the window widens when repeats turn out needless. A
//   tail is probed before the retransmission timeout (RFC 6298, with Linux's floor) takes everything for lost.
// - While losses are repaired, proportional rate reduction (RFC 6937) meters what goes out. Where every repeat
//   proves needless, the window is as it was before (RFC 3708, as Linux undoes).
// - The window grows only while it is the limit (RFC 7661); window.hpp says how.
// - A restarted process answers segments of connections that it does not know with a reset: an acknowledgement that
//   names its generation. What was outstanding fails, and the next message begins a new connection. So it does after
//   `give_up` of silence. A new connection, as by a handshake, is with whichever process is there.
// - A path is the entropy of a connection: constant, unless the configuration lets it change.
//
// Not modelled: handshakes, reads, TSO and GRO, zero windows, F-RTO.
//
// Memory: a connection is a few cache lines; 64 segments in flight take a Flight from a slab, a gap at the
// receiver a Gap. Nothing else grows but with messages posted, or whose end arrived beyond a gap.

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "transport/bit_ring.hpp"
#include "transport/messages.hpp"
#include "transport/operation.hpp"
#include "transport/peers.hpp"
#include "transport/slab.hpp"
#include "transport/tcp/config.hpp"
#include "transport/tcp/window.hpp"
#include "transport/turns.hpp"

namespace weft::transport {

struct TcpCounters : Counters {
  std::uint64_t recoveries = 0;  // fast ones
  std::uint64_t probes = 0;      // of tails
  std::uint64_t needless = 0;    // repeats whose original had arrived
  std::uint64_t undone = 0;      // reductions taken back
  std::uint64_t repaths = 0;
};

class Tcp {
 public:
  explicit Tcp(const TcpConfig& config);

  // False for a read, a message longer than 2^30 segments, or 2^31 segments waiting.
  bool post(Instant now, std::uint32_t endpoint, const Operation& operation);
  Placement handle(Instant now, std::uint32_t endpoint, PacketType type, std::uint8_t flags, const Header& header);
  bool poll_ack(std::uint32_t endpoint, Transmit& out);
  // The next segment, or an acknowledgement that was delayed long enough; false when there is none until
  // next_wake().
  bool poll(Instant now, std::uint32_t endpoint, Transmit& out);
  Instant next_wake(std::uint32_t endpoint) const;

  std::vector<Completion>& completions() { return completions_; }
  const TcpCounters& counters() const { return counters_; }
  const TcpConfig& config() const { return config_; }  // within its bounds
  std::uint32_t segment() const { return segment_; }   // bytes of payload

  // What is wrong inside, or nothing. Looks at everything: for tests.
  std::string_view check_invariants() const;
  // Of the first connection to a peer; for tests and reports.
  const TcpWindow* window_to(std::uint32_t endpoint, std::uint32_t peer) const;
  // Messages, and what is kept of segments in flight and beyond gaps.
  std::size_t messages_held() const {
    return send_messages_.used() + receive_messages_.used() + flights_.used() + gaps_.used();
  }

 private:
  static constexpr std::uint32_t kRing = 4096;  // sequences that can be told apart in rings of 64-bit words
  static constexpr std::uint32_t kWords = kRing / 64;
  static_assert(TcpWindow::kMost <= kRing - 64);       // a partly filled word at either end
  static constexpr std::uint32_t kConnectionBits = 3;  // of Header::stream; the rest counts its lives

  enum class State : std::uint8_t {
    open,
    recovery,  // repairing what RACK found
    loss,      // after a timeout
  };
  enum class Timer : std::uint8_t { none, reorder, probe, rto };

  struct SendMessage {
    std::uint64_t bytes;
    std::uint32_t tag;
    std::uint32_t context;
    std::uint32_t first = 0;     // sequence of its first segment
    std::uint32_t packets;       // segments
    std::uint32_t next = kNone;  // later message of the connection
    Op op;
  };

  struct Flight {          // 64 segments that are not acknowledged cumulatively
    std::uint64_t sacked;  // bit per segment: has arrived
    std::uint64_t lost;    // to be sent again
    std::uint64_t resent;  // more than once on the wire
    Instant sent[64];      // last transmission
  };

  struct alignas(64) Connection {
    // Looked at for every segment.
    std::uint32_t next_active;  // ring of connections with something to do
    std::uint32_t una;          // oldest sequence not acknowledged
    std::uint32_t next;         // next fresh sequence
    std::uint32_t end;          // sequence behind the last posted segment
    std::uint32_t flying;       // segments in flight: neither sacked nor lost
    std::uint32_t lost;         // to be sent again
    std::uint32_t lost_scan;    // no lost segment below it
    std::uint32_t sacked;
    std::uint32_t first_message;
    std::uint32_t sending;  // message that `next` belongs to
    std::uint16_t path;
    std::uint16_t stream;
    State state;
    Timer timer;
    bool probe;            // one segment more than the window allows
    std::uint8_t backoff;  // timeouts in a row
    Instant paced_until;
    Instant deadline;  // of the timer

    TcpWindow window;
    std::uint32_t last_message;
    std::uint32_t endpoint;
    std::uint32_t peer;
    std::uint32_t turn;  // first of a pair's: which one takes the next message

    // Time: what was measured, and what RACK knows of the newest delivered transmission.
    Instant srtt;
    Instant rttvar;
    Instant least_rtt;
    Instant heard;  // progress was made
    Instant last_sent;
    Instant rack_sent;
    Instant rack_rtt;
    Instant reorder_left;  // until the next segment counts as lost; 0: none is waited for
    std::uint32_t rack_sequence;
    std::uint32_t highest;         // behind the highest delivered sequence
    std::uint32_t round_end;       // the round ends when all below is acknowledged
    std::uint32_t train_end;       // the train ends with the acknowledgement of what is beyond
    std::uint32_t peak;            // most in flight in this round
    std::uint32_t last_peak;       // and in the one before
    std::uint8_t reorder_steps;    // quarters of the least RTT that reordering may take
    std::uint8_t reorder_persist;  // recoveries until they are forgotten
    bool reordering;               // seen
    bool widened;                  // in this round
    bool rack_resent;              // the newest delivered was sent more than once
    bool cutting;                  // reduced for a mark; not again below cut_end
    bool probing;                  // a tail probe is out; judged beyond probe_end
    bool probe_resent;             // it repeated a segment
    std::uint32_t cut_end;
    std::uint32_t probe_end;
    std::uint16_t marks;            // as last echoed
    std::uint16_t peer_generation;  // of whoever answered this life, the newest; 0: nobody yet
    std::uint16_t newest_peer;      // first of a pair's: the newest generation heard of, by any life; 0: none
    std::uint16_t congested_rounds;

    // This recovery.
    std::uint32_t recovery_end;
    std::uint32_t recovery_window;  // segments, before it
    std::uint32_t recovery_delivered;
    std::uint32_t recovery_sent;
    std::uint32_t undo_cwnd;  // 0: nothing to take back
    std::uint32_t undo_ssthresh;
    std::uint32_t undo_resent;  // repeats that have not proved needless; kNone: there was none
    std::uint32_t resent;       // ever, likewise

    std::uint32_t flight[kWords];  // by sequence / 64
  };
  static_assert(sizeof(Connection) <= 1024);
  static_assert(sizeof(Connection) + sizeof(Flight) <= 2048);  // up to 64 segments in flight

  struct ReceiveMessage {  // its last segment arrived beyond a gap
    std::uint64_t bytes;
    std::uint32_t end;  // sequence behind it
    std::uint32_t tag;
    std::uint32_t next;  // ascending
  };

  using Gap = BitRing<kRing>;  // sequences beyond `expected` that have arrived

  struct Receiver {
    std::uint32_t endpoint;
    std::uint32_t peer;
    std::uint32_t expected;  // all below has arrived
    std::uint32_t gap;       // kNone: nothing is missing
    std::uint32_t messages;  // list of those that wait for the gap to close
    std::uint32_t last_message;
    std::uint32_t next_owing;  // list of those that owe an acknowledgement
    std::uint32_t later;       // list of delayed ones, in order of time
    std::uint32_t earlier;
    std::uint32_t recent[3];  // newest arrivals beyond a gap, each of another range
    std::uint32_t repeated;
    std::uint16_t stream;      // 0: none yet
    std::uint16_t generation;  // of the peer; 0: not known
    std::uint16_t marks;
    std::uint16_t path;
    std::uint8_t unacked;  // segments
    std::uint8_t quick;    // segments still to be acknowledged one by one
    bool owing;
    bool delayed;
    bool repeats;          // `repeated` is to be told
    bool marked;           // the last segment was
    std::uint16_t beyond;  // segments beyond `expected`
    Instant heard;
    Instant ack_due;  // when delayed
  };
  static_assert(sizeof(Receiver) <= 128);

  struct EndpointState {
    Turns active;                                         // connections with work
    Owed<&Receiver::next_owing, &Receiver::owing> owing;  // receivers whose peers wait for an acknowledgement
    std::uint32_t first_delayed = kNone;                  // receivers whose acknowledgement waits
    std::uint32_t last_delayed = kNone;
  };

  // tcp.cpp: endpoints, connections, messages
  std::uint32_t connections_for(std::uint32_t endpoint, std::uint32_t peer);  // the first of them
  std::uint32_t receivers_for(std::uint32_t endpoint, std::uint32_t peer);
  bool meet(std::uint32_t receivers, std::uint16_t generation);
  void begin_life(Connection& connection);
  void finish_messages(Connection& connection);
  void give_up(Connection& silent);
  void fail(Connection& connection);
  void repath(Connection& connection);
  bool idle(const Connection& connection) const { return connection.first_message == kNone; }

  // send.cpp: segments and timers
  bool can_send(const Connection& connection) const {
    if (connection.probe) return true;
    if (connection.flying >= connection.window.segments()) return false;
    return connection.lost > 0 || fresh(connection);
  }
  bool fresh(const Connection& connection) const {
    return connection.next != connection.end && connection.next - connection.una < receive_segments_;
  }
  void fill_data(Instant now, Connection& connection, Transmit& out);
  std::uint32_t choose(Connection& connection);
  void fill_header(const Connection& connection, std::uint32_t sequence, bool resend, Transmit& out) const;
  Flight& flight_of(Connection& connection, std::uint32_t sequence) {
    return flights_[connection.flight[sequence / 64 % kWords]];
  }
  Instant rto(const Connection& connection) const;
  void arm(Instant now, Connection& connection, bool restart);
  void arm_rto(Instant from, Connection& connection);
  Instant oldest_sent(const Connection& connection) const {
    return flights_[connection.flight[connection.una / 64 % kWords]].sent[connection.una % 64];
  }
  void pace(Instant now, Connection& connection) const;
  void time_out(Instant now, Connection& connection);
  void lose_everything(Instant now, Connection& connection);
  // Calls visit(flight, number of its first segment, mask) for every 64 segments that [from, to) touches; the mask
  // says which.
  template <class Visit>
  void for_flights(Connection& connection, std::uint32_t from, std::uint32_t to, Visit visit) {
    while (from != to) {
      const std::uint32_t at = from % 64;
      const std::uint32_t count = std::min(64 - at, to - from);
      if (!visit(flight_of(connection, from), from - at, (~std::uint64_t{0} >> (64 - count)) << at)) return;
      from += count;
    }
  }

  // ack.cpp: what acknowledgements say
  struct News {
    std::uint32_t delivered = 0;  // segments
    std::uint32_t lost = 0;
    std::uint32_t marked = 0;
    Instant rtt = 0;            // 0: no sample
    std::uint32_t highest = 0;  // delivered before
    bool advanced = false;      // una moved
    bool repeated = false;      // a repeat proved needless
  };
  void handle_ack(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header);
  void deliver_below(Instant now, Connection& connection, std::uint32_t sequence, News& news);
  void deliver_range(Instant now, Connection& connection, std::uint32_t from, std::uint32_t to, News& news);
  void deliver(Instant now, Connection& connection, Flight& flight, std::uint32_t sequence, News& news);
  void judge_marks(Connection& connection, const Header& header, News& news);
  void judge_repeat(Connection& connection, std::uint32_t sequence, News& news);
  void judge_probe(Connection& connection);
  void judge_window(Instant now, Connection& connection, const News& news);
  void measure(Connection& connection, Instant rtt);
  void end_round(Connection& connection);
  void see_train(Instant now, Connection& connection);

  // recovery.cpp: what counts as lost, and how much goes out meanwhile
  void find_lost(Instant now, Connection& connection, News& news);
  Instant reorder_window(const Connection& connection) const;
  void remember(Connection& connection);
  void reduce(Connection& connection);
  void recover(Connection& connection);
  void leave_recovery(Connection& connection);
  void meter(Connection& connection, const News& news);
  void undo(Connection& connection);

  // receive.cpp
  Placement handle_data(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header);
  void begin_life(Receiver& receiver, std::uint16_t stream);
  bool whole(const Receiver& receiver, std::uint32_t first, std::uint32_t end) const;
  void keep(Receiver& receiver, const Header& header, std::uint32_t end);
  void place_beyond(Receiver& receiver, std::uint32_t sequence);
  void advance(Receiver& receiver);
  void hand_over(Receiver& receiver);
  void judge_ack(Instant now, std::uint32_t receiver, std::uint8_t flags, bool at_once);
  void owe(std::uint32_t receiver);
  void delay(Instant now, std::uint32_t receiver);
  void stop_delay(std::uint32_t receiver);
  void fill_ack(Receiver& receiver, Transmit& out);
  std::uint32_t fill_ranges(const Receiver& receiver, Header& header) const;  // how many
  std::uint32_t range_begin(const Gap& gap, const Receiver& receiver, std::uint32_t sequence) const;
  std::uint32_t range_end(const Gap& gap, const Receiver& receiver, std::uint32_t sequence) const;

  TcpConfig config_;
  std::uint32_t segment_;           // bytes of payload
  std::uint32_t receive_segments_;  // that the receiver has room for
  Endpoints<EndpointState> endpoints_;
  Peers<Connection> connections_;  // those of a pair side by side
  Peers<Receiver> receivers_;      // likewise
  Slab<Flight> flights_;
  Slab<Gap> gaps_;
  Slab<SendMessage> send_messages_;
  Slab<ReceiveMessage> receive_messages_;
  std::vector<Completion> completions_;
  TcpCounters counters_;
};

}  // namespace weft::transport
