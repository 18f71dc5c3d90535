// A stranger at a node's port: packets of the handshake, and of connections that came of it, over real sockets on
// loopback. An input is a run of packets, each a byte that says how it is made, a length, and that many bytes; so that
// the fuzzer gets anywhere, checksums are completed, and numbers and cookies that the node said can be brought back.
// Who has not brought back a cookie must not get more than it sent.

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "base/big_endian.hpp"
#include "base/crc32c.hpp"
#include "net/node.hpp"
#include "transport/rdm/carrier.hpp"

namespace {

using namespace weft;
using transport::rdm::Place;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

// Takes messages of up to 4 KiB, and has one to send.
struct Victim final : transport::rdm::Layer, net::Pointers {
  bool next_outgoing(transport::rdm::Outgoing& out) override {
    if (asked) return false;
    asked = true;
    out = {};
    out.bytes = 3000;
    return true;
  }
  void sent(transport::Instant, std::uint32_t) override {}
  transport::rdm::Sink arrived(transport::Instant, std::uint32_t, std::span<const std::byte>,
                               std::uint64_t bytes) override {
    if (bytes > memory.size()) return {};
    return {transport::rdm::Sink::Kind::place, 0, {0, 0}, bytes};
  }
  void landed(transport::Instant, std::uint32_t, std::uint32_t) override {}
  void peer_failed(transport::Instant, std::uint32_t) override {}
  transport::Instant next_wake() const override { return transport::kNever; }
  void tick(transport::Instant) override {}
  std::span<std::byte> own(std::uint64_t) override { return {}; }
  std::byte* at(Place place) override {
    require(place.memory == 0 && place.offset <= memory.size(), "places are those that were given");
    return memory.data() + place.offset;
  }
  std::array<std::byte, 4096> memory{};
  bool asked = false;
};

enum How : std::uint8_t {
  kComplete = 1,    // version and checksum
  kConnection = 2,  // the number that the node gave
  kOwn = 4,         // the one that we gave
  kCookie = 8,      // the cookie
  kLong = 16,       // as long as a packet may be
  kFromUs = 32,     // the port that we take packets at
  kNonce = 64,      // of its greeting
};

struct Stranger {
  net::UdpSocket socket = *net::UdpSocket::open(*net::Address::parse("127.0.0.1", 0), true);
  net::Inbox inbox;
  std::uint64_t theirs = 0;
  std::uint64_t nonce = 0;
  net::Cookie cookie{};
  bool shown = false;  // has sent a cookie that it was given
  // Bytes: an answer may come behind the next packet.
  std::size_t sent = 0;
  std::size_t heard = 0;
};

std::vector<std::uint8_t> make(const Stranger& stranger, std::uint8_t how, std::span<const std::uint8_t> said) {
  std::vector<std::uint8_t> packet(said.begin(), said.end());
  const bool control = packet.size() > 1 && packet[1] >= static_cast<std::uint8_t>(net::Control::hello);
  if (how & kComplete) packet.resize(std::max(packet.size(), control ? net::kControlBytes : transport::kWireHeader));
  if (packet.size() < net::kControlBytes && control) return packet;
  if (packet.size() < transport::kWireHeader) return packet;
  if (how & kConnection) put(std::span(packet), 8, stranger.theirs);
  if (control) {
    if (how & kOwn) put(std::span(packet), 16, std::uint64_t{7});
    if (how & kNonce) put(std::span(packet), 24, stranger.nonce);
    if (how & kCookie) std::ranges::copy(stranger.cookie, packet.begin() + 32);
    if (how & kFromUs) put(std::span(packet), 48, stranger.socket.local().port());
    if (how & kLong) {
      packet.resize(1400);
      put(std::span(packet), 50, std::uint16_t{1400});
      put(std::span(packet), 52, std::uint16_t{1400});
    }
  }
  if (!(how & kComplete)) return packet;
  packet[0] = transport::kWireVersion;
  put(std::span(packet), 4, std::uint32_t{0});
  const std::size_t text = control ? get<std::uint16_t>(std::span<const std::uint8_t>(packet), 54) : 0;
  const std::size_t covered = control ? std::min(packet.size(), net::kControlBytes + text) : transport::kWireHeader;
  put(std::span(packet), 4, crc32c(std::span<const std::uint8_t>(packet).first(covered)));
  return packet;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Victim victim;
  Stranger stranger;
  net::NodeConfig config;
  config.local = *net::Address::parse("127.0.0.1", 0);
  config.paths = 1;
  config.datagram = 1400;
  auto opened = net::Node::open(config, victim, victim);
  require(opened.has_value(), "a node opens");
  net::Node& node = **opened;
  const bool greets = size > 0 && (data[0] & 1);
  if (greets) node.connect(node.peer_at(stranger.socket.local()));
  victim.asked = !greets;  // it has nobody to send to
  std::span<const std::uint8_t> left(data, size);
  while (left.size() >= 2) {
    const std::uint8_t how = left[0];
    const std::size_t length = std::min<std::size_t>(left[1], left.size() - 2);
    std::vector<std::uint8_t> packet = make(stranger, how, left.subspan(2, length));
    left = left.subspan(2 + length);
    if (packet.empty()) continue;
    iovec part{packet.data(), packet.size()};
    stranger.socket.send(node.address(), {&part, 1}, packet.size());
    stranger.sent += packet.size();
    if (packet.size() > 1 && packet[1] == 16 && (how & kCookie) && stranger.cookie != net::Cookie{})
      stranger.shown = true;
    node.progress();
    stranger.inbox.take(stranger.socket, {}, [&](const net::Inbox::Datagram& answer) {
      const auto said = net::decode_control(answer.bytes);
      if (!said) return;
      if (said->type == net::Control::retry) stranger.cookie = said->cookie;
      if (said->type == net::Control::retry || said->type == net::Control::refused) {
        stranger.heard += answer.bytes.size();
        require(stranger.heard <= stranger.sent, "who is not known gets no more than it sent");
      }
      if (said->type == net::Control::accept)
        require(stranger.shown, "nobody is accepted who has not shown where it is");
      if (said->type == net::Control::hello) stranger.nonce = said->nonce;
      if (said->own_connection != 0) stranger.theirs = said->own_connection;
    });
  }
  return 0;
}
