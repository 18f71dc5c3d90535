#pragma once
// A process on the wire: SRD over UDP, below a layer of messages (transport/rdm/carrier.hpp).
//
// Packets are taken at one port and leave from many: the source port is the path, and switches hash it (ECMP). A
// connection is agreed on by four packets (control.hpp): hello, retry with a cookie, hello with it, accept. From then
// on every packet bears a random number of 64 bits that its receiver chose, so that nobody who is not on the path can
// say anything that counts. What a packet says is checked before the transport hears of it: its checksums, its length
// against what its numbers say, its fragment size against the peer's.
//
// A node has no thread. Whoever calls progress() moves what can be moved; wait() sleeps until there is something to do.
// Calls come from one thread at a time; programs that compute for long have a thread that calls meanwhile (api,
// provider, nccl).

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "net/address.hpp"
#include "net/control.hpp"
#include "net/path_watch.hpp"
#include "net/seal.hpp"
#include "net/udp.hpp"
#include "transport/rdm/carrier.hpp"
#include "transport/slab.hpp"
#include "transport/srd/codec.hpp"
#include "transport/srd/srd.hpp"

namespace weft::net {

using transport::Instant;

inline constexpr std::size_t kAroundPayload = transport::kWireHeader + transport::kMostEnvelope;
inline constexpr Instant kMillisecond = 1'000'000'000;
inline constexpr Instant kSecond = 1000 * kMillisecond;

struct NodeConfig {
  Address local = Address::any(AF_INET);  // where packets are taken; port 0: any
  std::vector<Address> more{};            // other NICs of this host: paths are spread over all of them (nics.cpp)
  std::uint32_t paths = 64;               // source ports
  std::size_t datagram = 0;               // longest, in bytes of UDP payload; 0: as the interface allows
  Duration connect_within = microseconds(10'000'000);
  Duration dead_after = microseconds(8'000'000);  // without a word, though asked
  std::optional<Key> key{};                       // of the job: only those who have it, too, are let in (seal.hpp)
  bool watches_paths = false;                     // keeps what became of each path's packets, for path_health()
};

// What a handle of the layer's driver stands for.
class Pointers {
 public:
  virtual std::byte* at(transport::rdm::Place place) = 0;

 protected:
  ~Pointers() = default;
};

struct NodeCounters {
  std::uint64_t datagrams_in = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t datagrams_out = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t trains_out = 0;         // system calls that sent something
  std::uint64_t system_calls = 0;       // to send, take or wait, also those in vain
  std::uint64_t not_ours = 0;           // no packet of a connection that is open
  std::uint64_t damaged = 0;            // of one, but its contents do not fit its checksum, its numbers or the key
  std::uint64_t refused_by_kernel = 0;  // could not be sent: counts as lost
};

struct PathReport {
  std::uint16_t port = 0;  // source port
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

class Node {
 public:
  static Result<std::unique_ptr<Node>, std::string> open(const NodeConfig& config, transport::rdm::Layer& layer,
                                                         Pointers& pointers);
  ~Node();  // says goodbye to those who are connected

  const Address& address() const { return sockets_.front().local(); }
  // The number of whoever takes packets at an address; the same one every time. Nothing is sent yet.
  std::uint32_t peer_at(const Address& address);
  const Address& address_of(std::uint32_t peer) const { return peers_[peer].address; }
  // Begins to connect; what the layer sends to a peer does so by itself.
  void connect(std::uint32_t peer);
  bool connected(std::uint32_t peer) const;
  // Ends the connection, if there is one: nothing of it is read, placed or told from here on.
  void drop(std::uint32_t peer, std::string why);
  const std::string& why_failed(std::uint32_t peer) const { return peers_[peer].failure; }

  // What has come may be answered by the program at once, and then its acknowledgement leaves with that answer: where
  // the program did so before, it is kept back until the next call of any kind. next_wake() says so.
  void progress() { progress(now()); }
  void progress(Instant now);
  // Sends what the layer has meanwhile and what was kept back, and looks at nothing else.
  void push();
  // Until something arrives, a timer is due, or `until` has come.
  void wait(Instant until);
  Instant next_wake() const;
  bool owes() const { return owes_; }  // somebody waits for an acknowledgement that was kept back
  int fd() const { return nics_ > 1 ? all_.get() : sockets_.front().fd(); }  // readable: progress() has something to do
  static Instant now();

  const NodeCounters& counters() const { return counters_; }
  const transport::SrdCounters& srd_counters() const { return srd_.counters(); }
  const transport::SrdConfig& transport_config() const { return srd_.config(); }
  const std::vector<PathReport>& paths() const { return paths_; }
  // What became of packets to a peer, path by path as in paths(); empty where nobody watches, or nothing was sent.
  std::vector<PathHealth> path_health(std::uint32_t peer);

  // Asks a connected peer to answer, by a path of ours there and one of its own back; `pongs` hears of the answer.
  // `whole`: as long as the longest packet. `hops`: it gets past so many routers less one; 0: past all of them.
  void probe(std::uint32_t peer, std::uint32_t path, std::uint32_t back, std::uint64_t nonce, bool whole,
             std::uint8_t hops = 0);
  // Which router a probe of a path did not get past, one at each call. From the first call on they are heard of; of
  // path 0, whose socket takes packets, they are not.
  std::optional<Address> turned_back(std::uint32_t path);
  struct Pong {
    std::uint64_t nonce;
    Instant at;
    std::uint16_t port;  // that it left from
  };
  std::vector<Pong>& pongs() { return pongs_; }
  const UdpSocket& socket() const { return sockets_.front(); }

 private:
  struct Peer {
    Address address;
    std::uint32_t connection = transport::kNone;
    std::string failure;
    std::unique_ptr<PathWatch> watch;  // of the last connection
  };
  enum class State : std::uint8_t { greeting, accepted, up, over };
  // A pair of NICs, ours and the peer's.
  struct Lane {
    Address to;
    std::uint64_t nonce = 0;  // of what asks whether it works
    bool up = false;
  };
  struct Connection {
    std::uint32_t peer = 0;
    State state = State::greeting;
    std::uint64_t ours = 0;    // number that the peer's packets bear
    std::uint64_t theirs = 0;  // and that ours bear; 0: not known yet
    std::uint64_t nonce = 0;
    Cookie cookie{};
    std::uint32_t tries = 0;
    std::size_t datagram = 0;    // that greetings are long, and then what is known to get there
    std::uint16_t fragment = 0;  // payload of a full packet, both ways; 0: not agreed on yet
    std::unique_ptr<Seal> seal;  // where the job has a key, once both numbers are known
    Instant began = 0;
    Instant heard = 0;
    Instant answered = 0;      // as heard, but for pings: that they come does not say that what we send arrives
    Instant arrived = 0;       // when the packet came that the next acknowledgement answers
    std::uint32_t unsaid = 0;  // packets of data since the last
    std::uint64_t asked = 0;   // look at the sockets that last brought data, unless data was sent since
    std::uint8_t prompt = 0;   // times in a row that data was answered by data at once
    bool takes_both = false;   // an acknowledgement and data behind it as one datagram
    bool certain_way = false;  // the last packet of data said which way its acknowledgement is to take
    std::uint32_t their_nics = 1;
    std::vector<Lane> lanes;          // by path modulo their number; empty: there is one
    std::uint32_t introductions = 0;  // of our NICs to the peer and of the lanes
    std::uint32_t tried_nics = 0;     // bits: of ours, those that the peer has reached
    Instant due = transport::kNever;
    std::uint32_t newest = 0;            // packet of data that has a place
    std::uint32_t under_way = 0;         // outgoing messages that the transport has
    std::vector<std::uint32_t> waiting;  // outgoing messages that wait for the connection
    std::set<std::uint32_t> arriving;    // first numbers of messages of which not all is here
  };
  struct Outgoing {
    transport::rdm::Outgoing message;
    std::uint32_t connection = transport::kNone;
  };
  // Packets that go down together: of one connection, by one path, of one length.
  struct Train {
    std::uint32_t connection = transport::kNone;
    std::uint32_t path = 0;
    std::size_t segment = 0;
    std::size_t bytes = 0;
    std::size_t count = 0;
    bool ended = false;  // the last is shorter
    std::vector<iovec> parts;
    std::array<std::array<std::uint8_t, transport::kWireHeader + transport::kMostEnvelope>, kMostSegments> headers;
    std::array<Seal::Trailer, kMostSegments> trailers;
  };

  Node(const NodeConfig& config, transport::rdm::Layer& layer, Pointers& pointers, std::vector<UdpSocket> sockets,
       const transport::SrdConfig& srd, Descriptor all);

  // node.cpp
  void pull();
  void post(std::uint32_t outgoing);
  void finish();
  std::byte* bytes_at(transport::rdm::Place place);

  // An acknowledgement that is to leave: behind data to the same peer, or with others by its path.
  struct Answer {
    std::uint32_t connection;
    Instant arrived;  // what it answers
    transport::Encoded packet;
    std::array<std::uint8_t, transport::kWireHeader + kSealBytes> bytes;
  };

  // send.cpp
  void push(bool may_keep);
  void take_acks();
  std::span<std::uint8_t> write(Answer& answer, std::uint32_t path);
  void send_acks();
  enum class Company : std::uint8_t { none, before, behind };
  Company take_along();
  void send_data();
  void add_to_train(const transport::Transmit& out);
  bool flush();
  void send_raw(std::uint32_t path, const Address& to, std::span<const std::uint8_t> bytes);
  void send_raw(std::uint32_t path, const Address& to, std::span<iovec> parts, std::size_t segment);

  // receive.cpp
  bool receive();
  void take(const Inbox::Datagram& datagram);
  void take_packet(const Inbox::Datagram& datagram);
  std::size_t ack_bytes() const { return transport::kWireHeader + (config_.key ? kSealBytes : 0); }
  Inbox::Expected expected();
  bool fits(const transport::Encoded& packet, std::uint16_t fragment, std::span<const std::uint8_t> rest,
            std::span<const std::uint8_t> in_place) const;
  void place(std::uint32_t connection, const transport::Encoded& packet, const transport::Placement& placement,
             std::span<const std::uint8_t> rest, std::span<const std::uint8_t> in_place, Instant at);

  // connect.cpp
  void take_control(const Inbox::Datagram& datagram);
  void answer(Connection& connection, const ControlPacket& ping, const Inbox::Datagram& datagram);
  void take_hello(const Inbox::Datagram& datagram, const ControlPacket& hello);
  std::uint32_t open_connection(std::uint32_t peer, State state);
  void greet(std::uint32_t connection);
  void say(const Connection& connection, Control type, std::uint32_t path);
  std::size_t longest_towards(const Address& address) const;
  // What is no payload in a full packet.
  std::size_t around_payload() const { return kAroundPayload + (config_.key ? kSealBytes : 0); }
  void send_control(std::uint32_t path, const Address& to, const ControlPacket& packet);
  void know(Connection& connection, std::uint64_t theirs);
  void come_up(std::uint32_t connection, std::size_t datagram);
  void fail(std::uint32_t connection, std::string why);
  void set_due(std::uint32_t connection, Instant due);
  void run_timers();

  // nics.cpp
  std::uint32_t way(const Connection& connection, std::uint32_t path) const;
  const Address& towards(const Connection& connection, std::uint32_t path) const;
  void lay_lanes(Connection& connection);
  bool introduce(Connection& connection);
  void look(const Connection& connection, std::uint32_t lane);
  void take_nic(Connection& connection, const Inbox::Datagram& datagram, const ControlPacket& packet);
  std::uint32_t features() const { return kTakesBoth | (nics_ - 1) << kNicsShift; }
  static std::uint32_t nics_in(std::uint32_t features) { return 1 + (features >> kNicsShift) % kMostNics; }

  NodeConfig config_;
  transport::rdm::Layer& layer_;
  Pointers& pointers_;
  std::uint32_t nics_;
  std::vector<UdpSocket>
      sockets_;     // each sends those of a path, by NIC path modulo nics_; the first of each NIC takes packets
  Descriptor all_;  // epoll, where there are several NICs
  std::uint32_t taking_ = 0;  // NIC that packets are being taken from
  bool hears_routers_ = false;
  transport::Srd srd_;
  Cookies cookies_;
  Inbox inbox_;
  Train train_;
  std::vector<Answer> answers_;
  std::size_t ahead_ = 0;      // trains that went before `answers_`
  std::uint64_t looks_ = 0;    // at the sockets
  bool owes_ = false;          // acknowledgements may be due
  bool owes_now_ = false;      // and are not to be kept back
  std::uint32_t greeted_ = 0;  // answers to greetings: each by another path, for one may be dead
  bool blocked_ = false;       // the kernel has no room for the train
  bool stale_ = false;         // something was sent since `now_`
  Instant now_ = 0;
  std::vector<Peer> peers_;
  std::unordered_map<Address, std::uint32_t, AddressHash> by_address_;
  std::deque<Connection> connections_;  // by the number that the transport has for the peer
  std::unordered_map<std::uint64_t, std::uint32_t> by_number_;
  transport::Slab<Outgoing> outgoing_;
  struct Arriving {
    transport::rdm::Sink sink;
    std::byte* bytes;
  };
  std::unordered_map<std::uint64_t, Arriving> arriving_;  // by connection and first number
  struct Next {                                           // the packet behind the last that found its place
    std::uint32_t connection = transport::kNone;
    std::uint32_t first = 0;
    std::uint32_t sequence = 0;
    std::uint64_t size = 0;  // of its message
    std::uint8_t envelope = 0;
  };
  Next next_;
  std::set<std::pair<Instant, std::uint32_t>> timers_;
  std::vector<PathReport> paths_;
  NodeCounters counters_;
  std::vector<Pong> pongs_;
};

}  // namespace weft::net
