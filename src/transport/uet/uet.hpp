#pragma once
// UET, the Ultra Ethernet transport: reliable, unordered delivery (RUD) over many paths, sans I/O. Driven as
// operation.hpp says; one object serves all endpoints of a driver's partition and draws every byte of memory from
// its own slabs. The driver lets in only packets of peers it knows; beyond that, a header may say anything.
//
// How it works (the parts of the specification, and what stands for them here):
// - Packets to one peer are numbered (PSN) and a message is a run of numbers. A packet delivery context is a
//   `stream`: one that failed is followed by the next, and what belongs to an older one is ignored.
// - The receiver acknowledges after so many bytes, and at once when a packet was marked or asks for it: a number
//   below which all has arrived, a bitmap above it, and the entropy of the packet that caused it.
// - Switches cut packets for which they have no room. The header arrives and is answered by a NACK, and the
//   packet goes out again at once on another entropy.
// - The window is NSCC's (window.hpp), entropies are recycled (paths.hpp). A packet counts as a full one.
// - What is lost without a trace: where nothing is trimmed, a packet that too many others have overtaken is sent
//   again. After some round trips without news a probe, a packet without payload, asks what has arrived; what was
//   sent well before a probe that came back quickly is lost. Last, each packet has a timer.
// - Whoever fills the window asks for news at once. Where the window shrinks before it is full, a probe does.
// - Not here: reads, receiver credits (RCCC), ordered delivery (ROD), and congestion contexts shared by several
//   delivery contexts.
//
// Fields of the header: `sequence`, `path`, `data`, `echo` and `stream` as in SRD, of `ack` the bitmap `arrived`, and
// in `marked` whether the echoed packet had been sent again: where much is trimmed, it is those that tell of queues. A
// probe is data of Op::read, its number in data.tag, `sequence` behind all that was sent; the acknowledgement that
// answers it has the number in `fan_in`. `generation` and `peer_generation` as in SRD: who hears of a newer one begins
// anew, and what was under way to the older one fails.

#include <cstdint>
#include <string_view>
#include <vector>

#include "transport/bit_ring.hpp"
#include "transport/in_flight.hpp"
#include "transport/messages.hpp"
#include "transport/operation.hpp"
#include "transport/peers.hpp"
#include "transport/slab.hpp"
#include "transport/turns.hpp"
#include "transport/uet/config.hpp"
#include "transport/uet/paths.hpp"
#include "transport/uet/window.hpp"

namespace weft::transport {

// The two flags beside kMarked and kTrimmed that are each type's own.
enum UetFlags : std::uint8_t {
  kUetAckNow = 4,  // data: the sender wants to hear at once
  kUetResent = 8,  // data: not the first transmission; for who reads captures
  kUetMarked = 4,  // ack: the echoed packet was marked. Not kMarked, which a switch may set on the ack itself
  kUetNack = 8,    // ack: the echoed packet came without its payload
};

struct UetCounters : Counters {
  std::uint64_t nacks = 0;      // sent
  std::uint64_t probes = 0;     // sent
  std::uint64_t overtaken = 0;  // packets taken for lost because others overtook them
  std::uint64_t recycled = 0;   // packets whose entropy had just come back unmarked
};

class Uet {
 public:
  explicit Uet(const UetConfig& config);

  // False for a read, for a message longer than 2^30 packets, and with 2^31 packets waiting for the peer.
  bool post(Instant now, std::uint32_t endpoint, const Operation& operation);
  Placement handle(Instant now, std::uint32_t endpoint, PacketType type, std::uint8_t flags, const Header& header);
  bool poll_ack(std::uint32_t endpoint, Transmit& out);
  bool poll(Instant now, std::uint32_t endpoint, Transmit& out);
  Instant next_wake(std::uint32_t endpoint) const;

  std::vector<Completion>& completions() { return completions_; }
  const UetCounters& counters() const { return counters_; }
  const UetConfig& config() const { return config_; }  // with what was derived

  // Bytes that are there of messages of which others are missing. Looks at every receiver: for whoever watches a run.
  std::uint64_t underway_bytes() const;
  // What is wrong inside, or nothing. Looks at everything: for tests.
  std::string_view check_invariants() const;
  std::size_t messages_held() const { return send_messages_.used() + receive_messages_.used(); }

 private:
  static constexpr std::uint32_t kWindow = 256;  // packets in flight to one peer

  using State = Slot::State;

  struct alignas(64) Sender {
    // Looked at for every packet: one cache line.
    std::uint32_t next_active;  // ring of peers with something to do
    std::uint32_t una;          // oldest sequence not acknowledged
    std::uint32_t next;         // next fresh sequence
    std::uint32_t end;          // sequence behind the last posted packet
    std::uint32_t flying;       // packets in flight
    std::uint32_t allowed;      // that may be
    std::uint32_t lost;         // packets to send again
    std::uint32_t lost_scan;    // no lost packet below it
    std::uint32_t sending;      // message that `next` belongs to
    std::uint32_t first_message;
    Instant expire_at;  // some packet may have been without an answer for too long
    Instant probe_at;   // nothing new was heard for too long
    std::uint32_t endpoint;
    std::uint32_t peer;

    // Looked at for every acknowledgement.
    std::uint32_t last_message;
    std::uint32_t highest;     // acknowledged
    std::uint32_t order_scan;  // packets below it were judged by who overtook them
    std::uint32_t unasked;     // packets sent since one asked to be acknowledged at once
    std::uint16_t stream;
    std::uint16_t peer_generation;  // of whoever answered this stream; 0: nobody yet
    std::uint16_t probe;            // number of the last one, never 0
    std::uint8_t silent;            // times something was tried since the last news
    bool probe_due;
    bool only_asks;  // that probe, which says nothing about loss
    Instant probed;  // when the last probe was sent; 0: it has been answered
    Instant heard;   // the peer's last sign of life
    UetWindow window;
    UetPaths paths;

    Slot slot[kWindow];
  };
  static_assert(sizeof(Sender) <= 2048);

  struct ReceiveMessage {
    std::uint64_t bytes;
    std::uint32_t first;
    std::uint32_t packets;
    std::uint32_t left;
    std::uint32_t tag;
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
    std::uint32_t unacked;  // bytes since the last acknowledgement
    std::uint32_t probed;   // sequence behind the last packet that a probe asked for
    std::uint16_t echo_path;
    std::uint16_t stream;      // 0: none yet
    std::uint16_t generation;  // of the peer; 0: not heard of yet
    std::uint16_t answers;     // number of the probe, 0: none
    std::uint16_t incomplete;  // messages in the list
    std::uint16_t beyond;      // packets that have arrived above `expected`
    std::uint8_t owe_flags;
    bool owing;
    bool echo_resent;  // what the echo answers was not the first transmission
    bool hurry;  // the sender waits; acknowledge again as soon as no gap is left and all is there that was asked for
    BitRing<kWindow> arrived;
  };
  static_assert(sizeof(Receiver) <= 128);

  struct EndpointState {
    Turns active;                                         // senders with work
    Owed<&Receiver::next_owing, &Receiver::owing> owing;  // receivers whose peers wait for an acknowledgement
  };

  // uet.cpp: endpoints, peers, streams
  std::uint32_t sender_for(std::uint32_t endpoint, std::uint32_t peer);
  std::uint32_t receiver_for(std::uint32_t endpoint, std::uint32_t peer);
  void begin_stream(Sender& sender);
  void hear_of(Sender& sender, std::uint16_t generation);
  void fail(Sender& sender);
  bool can_send(const Sender& sender) const {
    if (sender.probe_due) return true;
    if (sender.flying >= sender.allowed) return false;
    return sender.lost > 0 || (sender.next != sender.end && sender.next - sender.una < kWindow);
  }

  // receive.cpp
  Placement handle_data(std::uint32_t endpoint, std::uint8_t flags, const Header& header);
  bool admit(std::uint32_t receiver, const Header& header);
  bool is_of_now(Receiver& receiver, const Header& header);
  bool begin_message(Receiver& receiver, const Header& header);
  void deliver(Receiver& receiver, const Header& header, std::uint32_t* link, Placement& out);
  void forget(Receiver& receiver);
  // Whether some of what a probe asked for is missing; what is not of the window is old, or was never true.
  static bool awaits_probed(const Receiver& receiver) { return receiver.probed - receiver.expected - 1 < kWindow; }
  void owe(std::uint32_t receiver, std::uint8_t flags);

  // send.cpp: acknowledgements and what goes out
  void handle_ack(Instant now, std::uint32_t endpoint, std::uint8_t flags, const Header& header);
  std::uint32_t acknowledge(Sender& sender, const Header& header);
  static Slots slots_of(Sender& sender) { return {sender.slot, kWindow - 1}; }
  Instant delay_of(Instant now, Sender& sender, std::uint8_t flags, const Header& header);
  bool is_full(const Sender& sender, std::uint32_t sequence) const;
  void refuse(Instant now, Sender& sender, std::uint32_t sequence);
  void set_allowed(Sender& sender) const;
  void ask_if_stuck(Sender& sender) const;
  std::uint32_t flying_bytes(const Sender& sender) const { return sender.flying * rules_.packet; }
  std::uint32_t next_sequence(Sender& sender, std::uint32_t& message);
  void fill_data(Instant now, Sender& sender, Transmit& out);
  void fill_probe(Instant now, Sender& sender, Transmit& out);
  void fill_header(const Sender& sender, Transmit& out) const;

  // loss.cpp: loss and silence
  void lose(Sender& sender, std::uint32_t sequence);
  void vanish(Sender& sender, std::uint32_t sequence);
  void judge_order(Sender& sender);
  void judge_probe(Instant now, Sender& sender, const Header& header);
  void time_out(Instant now, Sender& sender);
  void expire(Instant now, Sender& sender);
  Instant patience(Instant wait, const Sender& sender) const;

  UetConfig config_;
  UetWindowRules rules_;
  Endpoints<EndpointState> endpoints_;
  Peers<Sender> senders_;
  Peers<Receiver> receivers_;
  Slab<SendMessage> send_messages_;
  Slab<ReceiveMessage> receive_messages_;
  std::vector<Completion> completions_;
  UetCounters counters_;
};

}  // namespace weft::transport
