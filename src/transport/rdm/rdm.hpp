#pragma once
// Messages with tags, and memory of others: what libfabric calls a reliable datagram endpoint, over any carrier
// (carrier.hpp). Sans I/O, one thread at a time.
//
//   send() receive() write() read() atomic()   ask; completions() tells what became of it
//   peek() claim() discard() cancel()          look at what has come and nobody waits for, and change one's mind
//   add_region()                               lets peers read and write memory
//
// How it works, and why:
// - Everything small, requests and replies among it, is a record; records for one peer share a bundle, which is one
//   packet. Nothing waits for company: a bundle holds what gathered until the carrier asked. It is asked no more while
//   kMostCarried messages are on their way, so that records gather exactly when the wire is behind.
// - A longer message goes by itself up to `eager`; the first of its packets finds its receive, and payload goes where
// it
//   belongs. Longer ones are offered: the receiver reads them, whole, when somebody waits for them, so that nothing
//   long is ever copied or in the way. An offer carries an address and a key that is drawn for it.
// - Order: messages are numbered, and matched by number. One that comes early is kept; at most `window` may be.
// - A sender never sends what finds no room. It has credit for `window` messages and `unexpected` bytes that nobody has
//   taken; the receiver gives it back as they are taken. Refusing instead would hold up the acknowledgements of a
//   carrier that numbers packets, and so replies on which those who are to take the messages may wait. What can be
//   refused is a read, for who answers it holds memory: it is tried again, ever more rarely.
// - Writes and atomics are answered by the layer, not by the carrier: only it knows that the key was wrong.
// - Whatever a peer says, it can waste only what it was given: everything held for it has a limit, and what an honest
//   peer would not say is counted (`nonsense`) and dropped.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "transport/rdm/atomics.hpp"
#include "transport/rdm/buffers.hpp"
#include "transport/rdm/carrier.hpp"
#include "transport/rdm/config.hpp"
#include "transport/rdm/list.hpp"
#include "transport/rdm/requests.hpp"
#include "transport/rdm/wire.hpp"
#include "transport/slab.hpp"

namespace weft::transport::rdm {

struct RdmCounters {
  std::uint64_t bundles = 0;     // sent
  std::uint64_t records = 0;     // in them
  std::uint64_t eager = 0;       // messages sent by themselves
  std::uint64_t offers = 0;      // messages that the peer was to read
  std::uint64_t early = 0;       // came before one sent earlier
  std::uint64_t unexpected = 0;  // came before anybody waited
  std::uint64_t not_ready = 0;   // reads to be tried again
  std::uint64_t nonsense = 0;    // what no honest peer says
};

class Rdm final : public Layer {
 public:
  Rdm(const RdmConfig& config, Memory& memory);

  // False: too many operations wait for the peer; try again when one has completed.
  bool send(const Send& send);
  bool write(const Write& write);
  bool read(const Read& read);
  bool atomic(const Atomic& atomic);
  void receive(const Receive& receive);
  // A receive that no message has found yet: it completes as canceled. False: there is none.
  bool cancel(bool tagged, std::uint64_t context);

  // The first message that such a receive would get now.
  std::optional<Waiting> peek(const Receive& like) const;
  // The same, and keeps it for receive_claimed() or discard(), which are false where it is gone with its peer.
  std::optional<Waiting> claim(const Receive& like);
  bool receive_claimed(std::uint64_t number, const Receive& receive);
  bool discard(std::uint64_t number);

  // False: the key is taken, or has the highest bit, which marks those of rendezvous.
  bool add_region(std::uint64_t key, const Region& region);
  // False: what was read of it is on its way; try again.
  bool remove_region(std::uint64_t key);

  // Bytes that can be injected, and of an atomic's operand.
  std::uint64_t inject_limit() const { return config_.bundle - kWriteRecord; }
  std::uint64_t atomic_limit() const { return (config_.bundle - kAtomicRecord) / 2; }

  std::vector<Completion>& completions() { return completions_; }
  const RdmCounters& counters() const { return counters_; }
  const RdmConfig& config() const { return config_; }

  bool next_outgoing(Outgoing& out) override;
  void sent(Instant now, std::uint32_t context) override;
  Sink arrived(Instant now, std::uint32_t peer, std::span<const std::byte> envelope, std::uint64_t bytes) override;
  void landed(Instant now, std::uint32_t peer, std::uint32_t context) override;
  void peer_failed(Instant now, std::uint32_t peer) override;
  Instant next_wake() const override;
  void tick(Instant now) override;
  std::span<std::byte> own(std::uint64_t memory) override { return buffers_.of(memory); }

  // What is wrong inside, or nothing. Looks at everything: for tests.
  std::string_view check_invariants() const;
  // Things kept for operations and messages, posted receives aside: for tests.
  std::size_t held() const {
    return ops_.used() + carried_.used() + landings_.used() + messages_.used() + replies_.used() + buffers_.used();
  }

 private:
  static constexpr std::uint64_t kOfferKey = std::uint64_t{1} << 63;
  // Bytes of a record beside its payload, at most.
  static constexpr std::uint32_t kMessageRecord = 1 + MessageHead::kMost + 4;
  static constexpr std::uint32_t kOfferRecord = 1 + MessageHead::kMost + 24;
  static constexpr std::uint32_t kWriteRecord = 1 + WriteHead::kMost + 4;
  static constexpr std::uint32_t kReadRecord = 1 + 32;
  static constexpr std::uint32_t kAnswerRecord = 1 + 8 + 4;
  static constexpr std::uint32_t kAtomicRecord = 1 + AtomicHead::kMost + 8;
  static constexpr std::uint32_t kGrantRecord = 1 + 12;

  struct Op {  // that this side has to carry out
    // pull: reads what was offered. answer: sends what the peer reads.
    enum class Kind : std::uint8_t { send, write, read, pull, atomic, answer } kind = Kind::send;
    bool live = false;
    bool tagged = false;
    bool has_data = false;
    bool quiet = false;
    bool owned = false;        // `local` is a buffer of ours
    bool bundled = false;      // what was sent of it is a copy
    bool carried = false;      // the carrier has it
    bool awaits_done = false;  // the peer has to say how it went
    bool asked = false;        // and may say so now
    bool replied = false;      // and has
    bool answering = false;    // read: the bytes are coming
    bool reported = false;
    bool fetch = false;
    std::uint8_t tries = 0;
    Error error = Error::none;
    AtomicOp atomic_op{};
    AtomicType atomic_type{};
    std::uint32_t count = 0;
    std::uint32_t peer = 0;
    std::uint32_t generation = 0;  // of this place in the slab
    std::uint32_t before = kNone;
    std::uint32_t after = kNone;
    std::uint32_t subject = kNone;  // pull: the message; answer: the send that it reads
    std::uint32_t answers = 0;      // send: being read
    std::uint64_t context = 0;      // answer: the peer's id of its read
    std::uint64_t tag = 0;
    std::uint64_t data = 0;
    std::uint64_t bytes = 0;
    Place local;
    Place comparand;
    Place result;
    Remote remote;  // answer: of the region
  };

  struct Carried {  // what the carrier has
    bool live = false;
    std::uint32_t peer = 0;
    std::uint32_t ops = kNone;  // chain, by `after`
    std::uint64_t buffer = 0;   // of a bundle
  };

  struct Message {  // of a peer, to be matched
    enum class State : std::uint8_t { coming, whole, offered } state = State::coming;
    bool live = false;
    bool tagged = false;
    bool has_data = false;
    bool wants_done = false;
    bool early = false;      // one sent before it is missing
    bool waiting = false;    // in the list of those that nobody waited for
    bool discarded = false;  // coming, but nobody wants it
    bool consumed = false;   // its sender has its credit back
    std::uint32_t peer = 0;
    std::uint32_t run = 0;  // of the peer, when it came
    std::uint32_t generation = 0;
    std::uint32_t before = kNone;
    std::uint32_t after = kNone;
    std::uint32_t receive = kNone;
    std::uint32_t sequence = 0;
    std::uint64_t tag = 0;
    std::uint64_t data = 0;
    std::uint64_t id = 0;  // the sender's, where it wants to hear
    std::uint64_t bytes = 0;
    std::uint64_t buffer = 0;  // where it is kept, or 0
    Remote source;             // offered
    Place place;               // in its receive
    std::uint64_t room = 0;
  };

  struct Posted {
    Receive what;
    bool live = false;
    bool listed = false;
    std::uint32_t before = kNone;
    std::uint32_t after = kNone;
    std::uint32_t filling = 0;  // messages on their way into it
    std::uint64_t used = 0;
  };

  struct Landing {  // what the carrier is bringing
    EnvelopeKind kind = EnvelopeKind::bundle;
    bool live = false;
    std::uint32_t peer = 0;
    std::uint32_t subject = kNone;  // message or operation
    std::uint64_t buffer = 0;
    std::uint64_t bytes = 0;
    WriteHead head{};
    Verdict verdict = Verdict::fine;
  };

  struct Reply {
    Done done;
    std::uint64_t buffer = 0;  // what an atomic fetched, or 0
    std::uint32_t before = kNone;
    std::uint32_t after = kNone;
  };

  struct Peer {
    std::uint32_t run = 0;  // connections that were lost
    bool listed = false;    // has something to send
    bool owes_grant = false;
    std::uint8_t turn = 0;
    std::uint32_t carried = 0;
    std::uint32_t landing = 0;
    std::uint32_t open_requests = 0;
    std::uint32_t open_reads = 0;
    List sends;
    List requests;
    List answers;
    List replies;
    std::uint32_t answering = 0;
    // As sender.
    std::uint32_t next_sequence = 0;
    std::uint32_t granted_messages = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t granted_bytes = 0;
    // As receiver.
    std::uint32_t expected = 0;
    std::uint32_t held_messages = 0;
    std::uint64_t held_bytes = 0;
    std::uint32_t consumed_messages = 0;
    std::uint64_t consumed_bytes = 0;
    std::uint32_t told_messages = 0;  // `consumed` at the last grant
    std::uint64_t told_bytes = 0;
    std::vector<std::uint32_t> early;  // messages by number, once one came early
  };

  struct RegionState {
    Region region;
    std::uint32_t answering = 0;
  };

  struct Sleeper {
    Instant until;
    std::uint32_t op;
  };

  // ask.cpp
  std::uint32_t new_op(Op::Kind kind, std::uint32_t peer);
  std::uint32_t queued(std::uint32_t peer);
  void keep_copy(Op& op);
  void release_op(std::uint32_t index);

  // matching.cpp
  Peer& peer_of(std::uint32_t peer);
  static bool suits(const Receive& receive, const Message& message);
  std::uint32_t waiting_for(const Receive& receive) const;
  std::uint32_t posted_for(const Message& message) const;
  Waiting describe(std::uint32_t message) const;
  std::uint32_t claimed(std::uint64_t number) const;
  std::uint32_t post(const Receive& receive);
  void attach(std::uint32_t message, std::uint32_t posted);
  void proceed(std::uint32_t message);
  void deliver(std::uint32_t message, Error error);
  void let_go(std::uint32_t posted);
  void drop(std::uint32_t message);
  void consume(Message& message);
  void release_message(std::uint32_t message);
  void match(std::uint32_t message);
  bool admissible(const Peer& peer, std::uint32_t sequence, std::uint64_t bytes) const;
  std::uint32_t new_message(std::uint32_t peer, const MessageHead& head, std::uint64_t bytes);
  void take_in(std::uint32_t message);

  // outgoing.cpp
  void list(std::uint32_t peer);
  static bool has_any(const Peer& peer);  // to send
  bool give(std::uint32_t peer, Outgoing& out);
  bool give_bundle(std::uint32_t peer, Outgoing& out);
  bool give_answer(std::uint32_t peer, Outgoing& out);
  bool give_write(std::uint32_t peer, Outgoing& out);
  bool give_message(std::uint32_t peer, Outgoing& out);
  void give_one(std::uint32_t peer, std::uint32_t op, Outgoing& out);
  std::uint32_t carry(std::uint32_t peer, Outgoing& out);
  void add_replies(Peer& peer, Writer& to);
  void add_answers(Peer& peer, Writer& to, std::uint32_t& chain);
  void add_requests(Peer& peer, Writer& to, std::uint32_t& chain);
  void add_sends(Peer& peer, Writer& to, std::uint32_t& chain);
  void add_payload(Writer& to, Place from, std::uint64_t bytes);
  bool may_ask(const Peer& peer, const Op& op) const;
  std::uint32_t record_size(const Op& op) const;
  void open(Peer& peer, Op& op);
  void close(Op& op);
  bool has_credit(const Peer& peer, const Op& op) const;
  MessageHead head_of(Peer& peer, std::uint32_t op);
  void chain_up(std::uint32_t op, std::uint32_t& chain);
  void settle(std::uint32_t op);
  void report(Op& op);
  std::uint64_t id_of(std::uint32_t op) const { return std::uint64_t{ops_[op].generation} << 32 | op; }

  // arriving.cpp
  std::uint32_t new_landing(EnvelopeKind kind, std::uint32_t peer, std::uint64_t bytes);
  Sink bundle_arrives(std::uint32_t peer, std::uint64_t bytes);
  Sink message_arrives(std::uint32_t peer, Reader& envelope, std::uint64_t bytes);
  Sink write_arrives(std::uint32_t peer, Reader& envelope, std::uint64_t bytes);
  Sink answer_arrives(std::uint32_t peer, Reader& envelope, std::uint64_t bytes);
  void message_landed(std::uint32_t message);
  void answered(std::uint32_t op);
  void tell(std::uint32_t peer, const WriteHead& head, std::uint64_t bytes);
  void tell_access(std::uint32_t peer, std::uint64_t key, bool fetched, bool changed);
  std::uint32_t op_of(std::uint32_t peer, std::uint64_t id) const;
  void reply(std::uint32_t peer, std::uint64_t id, Verdict verdict, std::uint64_t buffer = 0);
  std::optional<Place> target(const Remote& remote, std::uint64_t bytes, bool reads, bool writes);
  Sink nonsense();
  void fail_ops(std::uint32_t peer);
  void fail_messages(std::uint32_t peer);

  // records.cpp
  void take_records(Instant now, std::uint32_t peer, std::span<const std::byte> records);
  bool take_record(Instant now, std::uint32_t peer, Reader& from);
  bool message_record(std::uint32_t peer, Reader& from);
  bool offer_record(std::uint32_t peer, Reader& from);
  bool write_record(std::uint32_t peer, Reader& from);
  bool read_record(std::uint32_t peer, Reader& from);
  bool answer_record(std::uint32_t peer, Reader& from);
  bool atomic_record(std::uint32_t peer, Reader& from);
  bool done_record(Instant now, std::uint32_t peer, Reader& from);
  bool grant_record(std::uint32_t peer, Reader& from);
  std::uint64_t carry_out(const AtomicHead& head, Place at, std::span<const std::byte> operand,
                          std::span<const std::byte> comparand);

  RdmConfig config_;
  Memory& memory_;
  std::uint64_t drawn_ = 0;  // keys
  std::vector<Peer> peers_;
  std::deque<std::uint32_t> active_;  // peers with something to send, in turn
  Slab<Op> ops_;
  Slab<Carried> carried_;
  Slab<Message> messages_;
  Slab<Posted> posted_;
  Slab<Landing> landings_;
  Slab<Reply> replies_;
  Buffers buffers_;
  List receives_[2];  // without and with tags
  List waiting_[2];
  std::vector<Sleeper> sleepers_;
  std::map<std::uint64_t, RegionState> regions_;
  std::vector<Completion> completions_;
  RdmCounters counters_;
};

}  // namespace weft::transport::rdm
