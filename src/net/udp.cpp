#include "net/udp.hpp"

#include <fmt/format.h>
#include <linux/net_tstamp.h>
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
  int granted = 0;
  length = sizeof granted;
  getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &granted, &length);
  socket.receive_buffer_ = static_cast<std::size_t>(granted);
  int segment = 0;
  length = sizeof segment;
  socket.segments_ = getsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, &length) == 0;
  return socket;
}

int UdpSocket::send(const Address& to, std::span<iovec> parts, std::size_t segment) {
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(to.get());
  message.msg_namelen = to.length();
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  std::size_t bytes = 0;
  for (const iovec& part : parts) bytes += part.iov_len;
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
  while (sendmsg(fd(), &message, 0) < 0)
    if (errno != EINTR) return errno;
  return 0;
}

struct Inbox::Slot {
  std::array<std::uint8_t, 65536> bytes;
  alignas(cmsghdr) std::array<char, 256> control;
  sockaddr_storage from;
  iovec part;
};

Inbox::Inbox() {
  for (std::size_t i = 0; i < kSlots; ++i) slots_.push_back(std::make_unique<Slot>());
}

Inbox::~Inbox() = default;

Inbox::Taken Inbox::take(const UdpSocket& socket, const std::function<void(const Datagram&)>& each) {
  std::array<mmsghdr, kSlots> messages{};
  for (std::size_t i = 0; i < kSlots; ++i) {
    Slot& slot = *slots_[i];
    slot.part = {slot.bytes.data(), slot.bytes.size()};
    msghdr& message = messages[i].msg_hdr;
    message.msg_name = &slot.from;
    message.msg_namelen = sizeof slot.from;
    message.msg_iov = &slot.part;
    message.msg_iovlen = 1;
    message.msg_control = slot.control.data();
    message.msg_controllen = slot.control.size();
  }
  const int got = recvmmsg(socket.fd(), messages.data(), kSlots, MSG_DONTWAIT, nullptr);
  if (got <= 0) return {};
  // The kernel's stamps are times of day, which may be set: what counts is how long ago that was. A clock that was set
  // meanwhile must not make a packet ancient.
  const std::int64_t today = nanoseconds(CLOCK_REALTIME);
  const std::int64_t now = nanoseconds(CLOCK_MONOTONIC);
  Taken taken{0, got == static_cast<int>(kSlots)};
  for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
    msghdr& message = messages[i].msg_hdr;
    if (message.msg_flags & MSG_TRUNC) continue;
    std::size_t segment = 0;
    std::int64_t age = 0;
    bool marked = false;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level == SOL_UDP && header->cmsg_type == UDP_GRO) {
        int size = 0;
        std::memcpy(&size, CMSG_DATA(header), sizeof size);
        segment = static_cast<std::size_t>(std::max(0, size));
      } else if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_TIMESTAMPNS) {
        timespec time{};
        std::memcpy(&time, CMSG_DATA(header), sizeof time);
        age = std::clamp<std::int64_t>(today - (time.tv_sec * 1'000'000'000LL + time.tv_nsec), 0, kMostAge);
      } else if ((header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_TOS) ||
                 (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_TCLASS)) {
        marked = (*CMSG_DATA(header) & 3) == 3;
      }
    }
    const Address from(static_cast<const sockaddr*>(message.msg_name), message.msg_namelen);
    std::span<const std::uint8_t> rest(slots_[i]->bytes.data(), messages[i].msg_len);
    while (!rest.empty()) {
      const std::size_t length = segment == 0 ? rest.size() : std::min(segment, rest.size());
      each({rest.first(length), from, (now - age) * 1000, now * 1000, marked});
      rest = rest.subspan(length);
      ++taken.datagrams;
    }
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
