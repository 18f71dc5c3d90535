#pragma once
// UDP sockets as SRD wants them: many datagrams in one system call, both ways.
//
// A system call and a pass through the stack cost about 1.7 us whatever they carry, so a train of datagrams to one
// address goes down as one (UDP_SEGMENT), and what came one behind another on a path comes up as one (UDP_GRO).
// Fragmentation by IP is off: a datagram that is too long is refused here or vanishes, and is never cut.

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "net/address.hpp"

namespace weft::net {

// What UDP can carry: 65,535 less the headers of IPv4 and UDP.
inline constexpr std::size_t kMostDatagram = 65507;
inline constexpr std::size_t kLeastDatagram = 1232;  // every path of IPv6 takes it
inline constexpr std::size_t kMostSegments = 64;     // of a train; kernels before 6.9 take no more

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }

 private:
  int fd_;
};

class UdpSocket {
 public:
  // Bound to `local`; port 0: any. One that `receives` has as large a buffer as it may.
  static Result<UdpSocket, std::string> open(const Address& local, bool receives);

  int fd() const { return descriptor_.get(); }
  const Address& local() const { return local_; }
  std::size_t receive_buffer() const { return receive_buffer_; }
  bool segments() const { return segments_; }    // trains go down as one
  bool coalesces() const { return coalesces_; }  // and come up as one

  // Datagrams of `segment` bytes each, the last as long as is left. 0, or errno: EAGAIN when the kernel has no room
  // now.
  int send(const Address& to, std::span<iovec> parts, std::size_t segment);

  // For one that receives nothing: routers that a datagram did not get past are heard of from now on.
  void hear_routers();
  // Datagrams from now on get past so many routers less one; 0: as many as is usual.
  void set_hops(std::uint8_t hops);
  // A router that said that a datagram's hops were used up there, one at each call.
  std::optional<Address> turned_back();

 private:
  Descriptor descriptor_;
  Address local_;
  bool hears_routers_ = false;
  // Of one that only sends, and from a certain address: to whom the last datagrams went. After some in a row it is
  // connected, and the kernel looks for the way no more; others are reached as before.
  bool may_connect_ = false;
  Address last_;
  std::uint32_t in_a_row_ = 0;
  bool connected_ = false;
  void follow(const Address& to);
  std::size_t receive_buffer_ = 0;
  bool segments_ = false;
  bool coalesces_ = false;
};

// Memory for what arrives, and the way from one system call to single datagrams.
//
// Long messages come as datagrams that follow each other, so that where the next payload belongs is known before it is
// here: the kernel puts it there, and nobody copies it again. What was put there and belongs elsewhere is taken away
// before anything is looked at, and zeros are left.
class Inbox {
 public:
  Inbox();
  ~Inbox();
  struct Datagram {
    std::span<const std::uint8_t> bytes;
    std::span<const std::uint8_t> in_place;  // those behind them, where they are in their place already
    const Address& from;
    std::int64_t at;   // when the kernel had it: an Instant of CLOCK_MONOTONIC
    std::int64_t now;  // when it was taken out, likewise
    bool marked;       // ECN: congestion experienced
  };
  // What the next datagrams are if all goes on as it did.
  struct Expected {
    std::size_t head = 0;      // bytes before the payload of each, at most kMostHead; 0: nobody knows
    std::size_t fragment = 0;  // payload of each but the last
    std::byte* to = nullptr;
    std::size_t room = 0;  // bytes from there on that nothing is in yet
    // Whether a datagram that begins so is the i-th of them.
    std::function<bool(std::span<const std::uint8_t> head, std::size_t i)> is;
  };
  static constexpr std::size_t kMostHead = 128;
  struct Taken {
    std::size_t datagrams = 0;
    bool all_slots = false;  // were filled: there may be more
  };
  // What is there, at most a few hundred datagrams. Where one came at a time, it asks for one: the kernel looks in vain
  // for another in about the time that it takes to hand one out.
  Taken take(const UdpSocket& socket, const Expected& expected, const std::function<void(const Datagram&)>& each);

 private:
  struct Slot;
  struct Messages;
  void prepare(std::size_t slot);
  void expect(const Expected& expected);
  bool is_in_place(const Slot& slot, std::size_t length, std::size_t segment, const Expected& expected) const;
  static void take_away(Slot& slot, std::size_t length);

  std::vector<std::unique_ptr<Slot>> slots_;
  std::unique_ptr<Messages> messages_;
  std::size_t asked_ = 1;    // slots
  std::size_t filled_ = 0;   // times in a row that all of them were
  std::size_t train_ = 1;    // datagrams that came as one, last time
  std::size_t trusted_ = 1;  // slots that are expected to be filled as foreseen
  std::size_t failed_ = 0;   // times in a row that nothing was as foreseen
  std::size_t resting_ = 0;  // calls for which nothing is foreseen
};

// Bytes of UDP payload that fit the interface towards `to`.
std::size_t datagram_towards(const Address& to);

}  // namespace weft::net
