#pragma once
// Messages between endpoints of one host, through memory that both have mapped: a carrier beside the sockets
// (transport/rdm/carrier.hpp).
//
//   endpoint A ──┬── ring ──> endpoint B      a link: A opened it, and only A writes
//                <── ring ──┘                 B's own link
//
// - Every endpoint listens at an abstract Unix socket that is named after its UDP address: whoever finds it there is in
//   the same network namespace, and so has the same address in mind. Nothing has a name in a file system: a process
//   that is killed leaves nothing behind, and the other end of its sockets hears of it at once.
// - Who has something to send connects, hands over the ring's memory, and writes at once. Processes of another user are
//   refused, and reached by UDP like any other.
// - Short payload is copied into the ring. Long payload stays where it is, and the reader fetches it from the
//   writer's memory by one system call (process_vm_readv), if the kernel lets it: it tries when the link begins.
//   Where it may not, long payload goes through the ring in parts.
// - A reader takes records one after another, so that its place in the ring says what has been taken: nothing else
//   is acknowledged.
// - Who is about to sleep says so in the ring's head; whoever then writes sends a byte by the socket.

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "endpoint/ring.hpp"
#include "net/address.hpp"
#include "net/udp.hpp"
#include "transport/rdm/carrier.hpp"
#include "transport/slab.hpp"

namespace weft::endpoint {

// How peers of one host are reached: by UDP, by bytes copied through a ring, or read by the receiver where the kernel
// lets it.
enum class Sharing : std::uint8_t { none, copied, direct };
// What a variable of the environment says: 0, copy or anything else.
Sharing sharing_of(const char* word);

struct LocalCounters {
  std::uint64_t messages_out = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t messages_in = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t direct = 0;  // messages in that were fetched from the writer's memory
};

class Local {
 public:
  // What it is part of: turns places into addresses, and knows peers by their addresses.
  class Owner {
   public:
    virtual std::byte* bytes_at(transport::rdm::Place place) = 0;
    virtual std::uint32_t peer_at(const net::Address& address) = 0;
    // A peer opens a link: whatever connection there was with it by other ways is over.
    virtual void local_begins(std::uint32_t peer) = 0;
    virtual void local_failed(std::uint32_t peer) = 0;

   protected:
    ~Owner() = default;
  };
  // Null where there can be none: an address that stands for all, or a name that somebody else has.
  static std::unique_ptr<Local> open(const net::Address& own, transport::rdm::Layer& layer, Owner& owner, bool direct);
  ~Local();

  // Whether messages for the peer go this way. Decided when first asked, and anew after it failed.
  bool reaches(std::uint32_t peer, const net::Address& address);
  bool goes_here(std::uint32_t peer) const { return peer < ways_.size() && ways_[peer] == Way::local; }
  void send(const transport::rdm::Outgoing& message);
  // Takes and gives what can be; false: there was nothing.
  bool progress(transport::Instant now);
  // Before sleeping on fd(): false, if there is something to do.
  bool rest();
  int fd() const { return epoll_.get(); }
  bool has(std::uint32_t peer) const;
  bool any() const { return !out_.empty() || !in_.empty(); }
  bool idle() const;
  // Ends what there is with the peer; nobody is told.
  void drop(std::uint32_t peer);
  // The peer is reached another way, which has failed: the next message asks again.
  void forget(std::uint32_t peer);
  const LocalCounters& counters() const { return counters_; }

 private:
  struct Waiting {
    transport::rdm::Outgoing message;
    std::uint64_t done = 0;  // bytes of it that went in parts
    bool begun = false;
  };
  struct Held {  // until the reader has passed it
    std::uint64_t end;
    std::uint32_t context;
    std::uint64_t bytes;
  };
  struct Out {
    net::Descriptor socket;
    Ring ring;
    std::uint32_t peer = 0;
    std::deque<Waiting> waiting;
    std::deque<Held> held;
  };
  struct In {
    net::Descriptor socket;
    Ring ring;
    std::uint32_t peer = transport::kNone;  // until it has said who it is
    pid_t process = 0;
    bool direct = false;
    bool ended = false;              // the other end is closed; what is in the ring still counts
    bool awaited = false;            // the writer may sleep until something of the ring has been taken
    std::uint64_t looked_after = 0;  // place in the ring where the writer was last rung for, were it asleep
    // A message that comes in parts.
    bool open = false;
    transport::rdm::Sink sink;
    std::byte* bytes = nullptr;
    std::uint64_t size = 0;
    std::uint64_t done = 0;
  };
  struct Record;

  Local(transport::rdm::Layer& layer, Owner& owner, net::Descriptor listener, const net::Address& own, bool direct);
  bool connect(std::uint32_t peer, const net::Address& address);
  void accept();
  bool greet(In& in);
  void look();
  bool hung_up(int fd);
  bool give(Out& out);
  bool put(Out& out, Waiting& what);
  void passed(Out& out);
  bool take(In& in);
  bool take_one(In& in, std::size_t available);
  bool begin(In& in, const Record& record, std::span<const std::byte> envelope);
  void finish(In& in);
  void ring_bell(std::atomic<std::uint32_t>& sleeps, int fd);
  void fail(std::uint32_t peer);

  transport::rdm::Layer& layer_;
  Owner& owner_;
  net::Address own_;
  net::Descriptor listener_;
  net::Descriptor epoll_;
  bool direct_;          // may read the memory of others
  std::uint64_t probe_;  // what a reader has to find in our memory
  transport::Instant now_ = 0;
  transport::Instant looked_ = 0;
  bool resting_ = false;
  enum class Way : std::uint8_t { unknown, local, other };
  std::vector<Way> ways_;
  std::unordered_map<std::uint32_t, std::unique_ptr<Out>> out_;
  std::vector<std::unique_ptr<In>> in_;
  std::vector<std::uint32_t> failed_;
  LocalCounters counters_;
};

}  // namespace weft::endpoint
