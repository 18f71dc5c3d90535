#include "net/udp.hpp"

#include <fmt/format.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace weft::net {
namespace {

constexpr int kOn = 1;
constexpr std::size_t kSlots = 16;        // datagrams, or trains of them, in one system call
constexpr int kWantedBuffer = 32 << 20;   // what is not granted is not missed: the kernel gives what it may
constexpr std::size_t kIpv4Headers = 28;  // IP's and UDP's
constexpr std::size_t kIpv6Headers = 48;
constexpr std::int64_t kMostAge = 1'000'000'000;  // ns
constexpr std::uint32_t kFamiliar = 16;  // datagrams or trains in a row, after which an address is connected to
constexpr int kErrorBuffer = 65536;      // for what routers say of one path
// Of a datagram this short the kernel takes longer to find its parts than we to lay them side by side.
constexpr std::size_t kShort = 256;

template <class T>
bool set(int fd, int level, int name, const T& value) {
  return setsockopt(fd, level, name, &value, sizeof value) == 0;
}

std::string problem(const char* what, const Address& address) {
  return fmt::format("cannot {} {}: {}", what, address.text(), std::strerror(errno));
}

std::int64_t nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Result<UdpSocket, std::string> UdpSocket::open(const Address& local, bool receives) {
  UdpSocket socket;
  socket.descriptor_ = Descriptor(::socket(local.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int fd = socket.fd();
  if (fd < 0) return Failure<std::string>(problem("open a socket for", local));
  const bool v6 = local.family() == AF_INET6;
  if (v6) set(fd, IPPROTO_IPV6, IPV6_V6ONLY, kOn);
  // Sizes are found by trying (PROBE): what ICMP says may be forged, and must not make datagrams shorter.
  set(fd, v6 ? static_cast<int>(IPPROTO_IPV6) : static_cast<int>(IPPROTO_IP), v6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER,
      v6 ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE);
  if (!set(fd, SOL_SOCKET, SO_SNDBUFFORCE, kWantedBuffer)) set(fd, SOL_SOCKET, SO_SNDBUF, kWantedBuffer);
  if (receives) {
    if (!set(fd, SOL_SOCKET, SO_RCVBUFFORCE, kWantedBuffer)) set(fd, SOL_SOCKET, SO_RCVBUF, kWantedBuffer);
    socket.coalesces_ = set(fd, SOL_UDP, UDP_GRO, kOn);
    set(fd, SOL_SOCKET, SO_TIMESTAMPNS, kOn);
    set(fd, v6 ? static_cast<int>(IPPROTO_IPV6) : static_cast<int>(IPPROTO_IP), v6 ? IPV6_RECVTCLASS : IP_RECVTOS, kOn);
  } else {
    set(fd, SOL_SOCKET, SO_RCVBUF, 1);  // nobody has reason to answer to it
  }
  if (bind(fd, local.get(), local.length()) != 0) return Failure<std::string>(problem("listen at", local));
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length);
  socket.local_ = Address(reinterpret_cast<const sockaddr*>(&bound), length);
  // One that is bound to all addresses would keep the one that fits the first peer.
  socket.may_connect_ = !receives && !std::ranges::all_of(local.ip(), [](std::uint8_t byte) { return byte == 0; });
  int granted = 0;
  length = sizeof granted;
  getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &granted, &length);
  socket.receive_buffer_ = static_cast<std::size_t>(granted);
  int segment = 0;
  length = sizeof segment;
  socket.segments_ = getsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, &length) == 0;
  return socket;
}

void UdpSocket::follow(const Address& to) {
  // What is not the same byte by byte is taken for another, at worst for nothing.
  constexpr std::size_t kIpv4 = sizeof(sockaddr_in);  // known when compiled: two words
  const bool same = to.length() == last_.length() && std::memcmp(to.get(), last_.get(), kIpv4) == 0 &&
                    (to.length() == kIpv4 || std::memcmp(to.get(), last_.get(), to.length()) == 0);
  if (same && in_a_row_ == kFamiliar) return;
  if (!same) {
    last_ = to;
    in_a_row_ = 0;
    connected_ = false;
  } else if (++in_a_row_ == kFamiliar) {
    connected_ = connect(fd(), to.get(), to.length()) == 0;
  }
}

int UdpSocket::send(const Address& to, std::span<iovec> parts, std::size_t segment) {
  if (may_connect_) follow(to);
  std::size_t bytes = 0;
  for (const iovec& part : parts) bytes += part.iov_len;
  // Where routers are heard of, or the socket is connected, what was said of one stands before the next datagram, once.
  bool told = !hears_routers_ && in_a_row_ < kFamiliar;
  const auto until_sent = [&](const auto& call) {
    while (call() < 0) {
      if (errno == EINTR) continue;
      if (told || errno == EAGAIN) return errno;
      told = true;
    }
    return 0;
  };
  if (connected_ && bytes <= std::min(segment, kShort)) {
    std::array<std::uint8_t, kShort> whole;
    std::size_t done = 0;
    for (const iovec& part : parts) {
      std::memcpy(whole.data() + done, part.iov_base, part.iov_len);
      done += part.iov_len;
    }
    return until_sent([&] { return ::send(fd(), whole.data(), bytes, 0); });
  }
  msghdr message{};
  if (!connected_) {
    message.msg_name = const_cast<sockaddr*>(to.get());
    message.msg_namelen = to.length();
  }
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint16_t))> control{};
  if (bytes > segment) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_UDP;
    header->cmsg_type = UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const auto size = static_cast<std::uint16_t>(segment);
    std::memcpy(CMSG_DATA(header), &size, sizeof size);
  }
  return until_sent([&] { return sendmsg(fd(), &message, 0); });
}

void UdpSocket::hear_routers() {
  const bool v6 = local_.family() == AF_INET6;
  set(fd(), SOL_SOCKET, SO_RCVBUF, kErrorBuffer);
  hears_routers_ = set(fd(), v6 ? static_cast<int>(IPPROTO_IPV6) : static_cast<int>(IPPROTO_IP),
                       v6 ? IPV6_RECVERR : IP_RECVERR, kOn);
}

void UdpSocket::set_hops(std::uint8_t hops) {
  const bool v6 = local_.family() == AF_INET6;
  set(fd(), v6 ? static_cast<int>(IPPROTO_IPV6) : static_cast<int>(IPPROTO_IP), v6 ? IPV6_UNICAST_HOPS : IP_TTL,
      hops == 0 ? -1 : int{hops});
}

std::optional<Address> UdpSocket::turned_back() {
  // Bounded: whoever sends more of them than are taken out here is heard of later.
  for (int i = 0; hears_routers_ && i < 8; ++i) {
    alignas(cmsghdr) std::array<char, 512> control{};
    msghdr message{};
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (recvmsg(fd(), &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return std::nullopt;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
      const bool v4 = header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_RECVERR;
      const bool v6 = header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_RECVERR;
      const std::size_t address = v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
      if ((!v4 && !v6) || header->cmsg_len < CMSG_LEN(sizeof(sock_extended_err) + address)) continue;
      sock_extended_err error{};
      std::memcpy(&error, CMSG_DATA(header), sizeof error);
      sockaddr_storage router{};
      std::memcpy(&router, CMSG_DATA(header) + sizeof error, address);
      if ((v4 && error.ee_origin == SO_EE_ORIGIN_ICMP && error.ee_type == ICMP_TIME_EXCEEDED) ||
          (v6 && error.ee_origin == SO_EE_ORIGIN_ICMP6 && error.ee_type == ICMP6_TIME_EXCEEDED))
        return Address(reinterpret_cast<const sockaddr*>(&router), static_cast<socklen_t>(address));
    }
  }
  return std::nullopt;
}

struct Inbox::Slot {
  std::array<std::uint8_t, 65536> bytes;
  alignas(cmsghdr) std::array<char, 256> control;
  sockaddr_storage from;
  // What is foreseen: heads here, payload elsewhere; whatever is more goes to `bytes`.
  std::array<std::array<std::uint8_t, kMostHead>, kMostSegments> heads;
  std::array<iovec, 2 * kMostSegments + 1> parts;
  std::size_t foreseen = 0;  // datagrams
  std::size_t first = 0;     // the number of the first among all that are expected
  // What came.
  std::size_t segment = 0;
  std::int64_t age = 0;
  bool marked = false;
};

struct Inbox::Messages {
  std::array<mmsghdr, kSlots> headers{};
};

namespace {

// How many were filled. A single one is asked for by the call that does without counting.
std::size_t take_from_kernel(int fd, std::span<mmsghdr> messages) {
  if (messages.size() > 1) {
    const int came = recvmmsg(fd, messages.data(), static_cast<unsigned>(messages.size()), MSG_DONTWAIT, nullptr);
    return came > 0 ? static_cast<std::size_t>(came) : 0;
  }
  const ssize_t length = recvmsg(fd, &messages.front().msg_hdr, MSG_DONTWAIT);
  if (length < 0) return 0;
  messages.front().msg_len = static_cast<unsigned>(length);
  return 1;
}

}  // namespace

Inbox::Inbox() : messages_(std::make_unique<Messages>()) {
  for (std::size_t i = 0; i < kSlots; ++i) {
    slots_.push_back(std::make_unique<Slot>());
    prepare(i);
  }
}

Inbox::~Inbox() = default;

// For the kernel to fill in, which changes some of it.
void Inbox::prepare(std::size_t i) {
  Slot& slot = *slots_[i];
  slot.foreseen = 0;
  slot.parts[0] = {slot.bytes.data(), slot.bytes.size()};
  msghdr& message = messages_->headers[i].msg_hdr;
  message = {};
  message.msg_name = &slot.from;
  message.msg_namelen = sizeof slot.from;
  message.msg_iov = slot.parts.data();
  message.msg_iovlen = 1;
  message.msg_control = slot.control.data();
  message.msg_controllen = slot.control.size();
}

// Lays out the first slots for what follows.
void Inbox::expect(const Expected& expected) {
  if (expected.head == 0 || expected.head > kMostHead || resting_ > 0) return;
  std::byte* to = expected.to;
  std::size_t room = expected.room;
  std::size_t number = 0;
  for (std::size_t i = 0; i < std::min(trusted_, asked_) && room > 0; ++i) {
    Slot& slot = *slots_[i];
    slot.first = number;
    std::size_t part = 0;
    for (; slot.foreseen < train_ && room > 0; ++slot.foreseen, ++number) {
      const std::size_t bytes = std::min(room, expected.fragment);
      slot.parts[part++] = {slot.heads[slot.foreseen].data(), expected.head};
      slot.parts[part++] = {to, bytes};
      to += bytes;
      room -= bytes;
    }
    slot.parts[part++] = {slot.bytes.data(), slot.bytes.size()};
    messages_->headers[i].msg_hdr.msg_iovlen = part;
  }
}

bool Inbox::is_in_place(const Slot& slot, std::size_t length, std::size_t segment, const Expected& expected) const {
  const std::size_t whole = expected.head + expected.fragment;
  // Of several datagrams the first are as long as a whole one, or all lie elsewhere than was foreseen.
  if (length > segment && segment != whole) return false;
  for (std::size_t i = 0; i < slot.foreseen && i * segment < length; ++i) {
    const std::size_t bytes = std::min(segment, length - i * segment);
    if (bytes <= expected.head) continue;  // an acknowledgement, say
    if (bytes - expected.head > slot.parts[2 * i + 1].iov_len || !expected.is(slot.heads[i], slot.first + i))
      return false;
  }
  return true;
}

// All that came, one behind another, to where nothing was foreseen.
void Inbox::take_away(Slot& slot, std::size_t length) {
  std::size_t foreseen = 0;
  for (std::size_t i = 0; i < 2 * slot.foreseen; ++i) foreseen += slot.parts[i].iov_len;
  if (length > foreseen) std::memmove(slot.bytes.data() + foreseen, slot.bytes.data(), length - foreseen);
  std::size_t done = 0;
  for (std::size_t i = 0; i < 2 * slot.foreseen && done < length; ++i) {
    const std::size_t bytes = std::min(slot.parts[i].iov_len, length - done);
    std::memcpy(slot.bytes.data() + done, slot.parts[i].iov_base, bytes);
    std::memset(slot.parts[i].iov_base, 0, bytes);
    done += bytes;
  }
  slot.foreseen = 0;
}

Inbox::Taken Inbox::take(const UdpSocket& socket, const Expected& expected,
                         const std::function<void(const Datagram&)>& each) {
  auto& messages = messages_->headers;
  expect(expected);
  const std::size_t came = take_from_kernel(socket.fd(), std::span(messages).first(asked_));
  const bool all = came == asked_;
  // The kernel's stamps are times of day, which may be set: what counts is how long ago that was. A clock that was set
  // meanwhile must not make a packet ancient.
  const std::int64_t today = came > 0 ? nanoseconds(CLOCK_REALTIME) : 0;
  const std::int64_t now = came > 0 ? nanoseconds(CLOCK_MONOTONIC) : 0;
  std::size_t right = 0;
  std::size_t wrong = 0;
  // Before anything is put anywhere, all that lies in a wrong place is taken away.
  for (std::size_t i = 0; i < came; ++i) {
    Slot& slot = *slots_[i];
    msghdr& message = messages[i].msg_hdr;
    const std::size_t length = messages[i].msg_len;
    slot.segment = length;
    slot.age = 0;
    slot.marked = false;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level == SOL_UDP && header->cmsg_type == UDP_GRO) {
        int size = 0;
        std::memcpy(&size, CMSG_DATA(header), sizeof size);
        if (size > 0) slot.segment = std::min(length, static_cast<std::size_t>(size));
      } else if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_TIMESTAMPNS) {
        timespec time{};
        std::memcpy(&time, CMSG_DATA(header), sizeof time);
        slot.age = std::clamp<std::int64_t>(today - (time.tv_sec * 1'000'000'000LL + time.tv_nsec), 0, kMostAge);
      } else if ((header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_TOS) ||
                 (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_TCLASS)) {
        slot.marked = (*CMSG_DATA(header) & 3) == 3;
      }
    }
    if (slot.foreseen == 0) continue;
    if (is_in_place(slot, length, slot.segment, expected)) {
      ++right;
    } else {
      ++wrong;
      take_away(slot, length);
    }
  }
  Taken taken{0, all && came > 1};
  for (std::size_t i = 0; i < came; ++i) {
    Slot& slot = *slots_[i];
    const msghdr& message = messages[i].msg_hdr;
    const std::size_t length = message.msg_flags & MSG_TRUNC ? 0 : messages[i].msg_len;
    const Address from(static_cast<const sockaddr*>(message.msg_name), message.msg_namelen);
    const std::int64_t at = (now - slot.age) * 1000;
    std::size_t number = 0;
    const std::uint8_t* next = slot.bytes.data();
    for (std::size_t done = 0; done < length; ++number) {
      const std::size_t bytes = std::min(slot.segment, length - done);
      done += bytes;
      ++taken.datagrams;
      if (number < slot.foreseen) {
        const std::size_t head = std::min(bytes, expected.head);
        const auto* const payload = static_cast<const std::uint8_t*>(slot.parts[2 * number + 1].iov_base);
        each({{slot.heads[number].data(), head}, {payload, bytes - head}, from, at, now * 1000, slot.marked});
      } else {
        each({{next, bytes}, {}, from, at, now * 1000, slot.marked});
        next += bytes;
      }
    }
    if (number > 0) train_ = std::min(number, kMostSegments);
  }
  for (std::size_t i = 0; i < std::max(came, std::min(trusted_, asked_)); ++i) prepare(i);

  if (came > 0 && resting_ > 0) --resting_;
  filled_ = all ? filled_ + 1 : 0;
  if (came == 0) asked_ = (asked_ + 1) / 2;
  if (filled_ > 1) asked_ = std::min(2 * asked_, kSlots);
  if (wrong > 0) {
    failed_ = right == 0 ? failed_ + 1 : 0;
    trusted_ = std::max<std::size_t>(right, 1);
    if (failed_ > 0) resting_ = std::size_t{1} << std::min<std::size_t>(failed_, 6);
  } else if (right > 0) {
    failed_ = 0;
    if (right == trusted_) trusted_ = std::min(2 * trusted_, kSlots);
  }
  return taken;
}

std::size_t datagram_towards(const Address& to) {
  const Descriptor probe(::socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const bool v6 = to.family() == AF_INET6;
  int mtu = 0;
  socklen_t length = sizeof mtu;
  if (probe.get() < 0 || connect(probe.get(), to.get(), to.length()) != 0 ||
      getsockopt(probe.get(), v6 ? static_cast<int>(IPPROTO_IPV6) : static_cast<int>(IPPROTO_IP),
                 v6 ? IPV6_MTU : IP_MTU, &mtu, &length) != 0)
    return kLeastDatagram;
  return std::clamp(static_cast<std::size_t>(mtu) - (v6 ? kIpv6Headers : kIpv4Headers), kLeastDatagram, kMostDatagram);
}

}  // namespace weft::net
