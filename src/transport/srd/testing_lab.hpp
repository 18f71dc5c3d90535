#pragma once
// A lab for tests of SRD: Ethernet that drops what finds no room and says nothing.
//
//   host --nic--> leaf 0 ==spines, by entropy==> leaf 1 --port--> host     all hosts but the last hang on leaf 0
//
// Links between leaves and spines are slow, hosts are fast; every port behind a switch has a queue. Acknowledgements
// wait in the same queues as data.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "transport/srd/srd.hpp"
#include "transport/testing_net.hpp"

namespace weft::transport::testing {

inline constexpr std::uint32_t kLabHeader = 100;

struct LabConfig {
  std::uint32_t hosts = 2;
  std::uint32_t spines = 4;
  std::uint32_t spine_mbps = 500;
  std::uint32_t host_mbps = 10'000;
  std::uint32_t receiver_mbps = 10'000;  // of the last host's link
  std::int64_t queue = 250'000;          // bytes
  std::int64_t bucket = 0;               // of tokens at links between leaves and spines, as a tbf has; 0: packets only
  Instant latency = 40'000'000;          // there and back
  std::uint32_t mtu = 9000;
  std::uint64_t seed = 1;
  std::uint64_t hash = 0;  // of switches: which spine a path takes
  // The first host is kept from running by others: so long at most, after running for as long as five times that.
  Instant nap = 0;

  static Instant per_byte(std::uint32_t mbps) { return 8'000'000 / mbps; }
  // Of a full packet and its acknowledgement.
  Instant round_trip() const { return latency + 2 * (mtu + kLabHeader) * (per_byte(host_mbps) + per_byte(spine_mbps)); }
  std::uint32_t payload() const { return mtu - kLabHeader; }
  double capacity() const {  // Mb/s of payload
    return std::min(1.0 * spines * spine_mbps, 1.0 * host_mbps) * payload() / mtu;
  }
};

struct LabLink {
  Instant per_byte;
  std::int64_t queue;
  std::int64_t bucket = 0;
  Instant busy = 0;
  std::uint64_t taken = 0;  // bytes
  std::uint32_t loss = 0;   // percent
  Instant dies = kNever;
};

class TwoLeaves : public TestingClock {
 public:
  explicit TwoLeaves(const LabConfig& lab) : lab_(lab), random_(lab.seed, 0, 0) {
    for (std::uint32_t i = 0; i < lab.hosts; ++i) {
      nics_.push_back({LabConfig::per_byte(lab.host_mbps), INT64_MAX / 2});
      const bool last = i + 1 == lab.hosts;
      ports_.push_back({LabConfig::per_byte(last ? lab.receiver_mbps : lab.host_mbps), lab.queue});
    }
    for (auto* links : {&up[0], &up[1], &down[0], &down[1]})
      links->assign(lab.spines, {LabConfig::per_byte(lab.spine_mbps), lab.queue, lab.bucket});
  }

  std::vector<LabLink> up[2];    // from a leaf to each spine
  std::vector<LabLink> down[2];  // from each spine to a leaf
  std::uint64_t lost = 0;        // data that died on a cable

 protected:
  Instant ready(std::uint32_t endpoint) const { return nics_[endpoint].busy; }
  void enter(const Transmit& packet, bool) { cross(nics_[packet.header.source], packet, kLeaf); }
  bool pass(Transmit& packet, int hop) {
    const Header& header = packet.header;
    const std::uint64_t pair = header.source * 31u + header.destination;
    const std::uint32_t spine = pick(mix64(lab_.hash << 32 ^ (pair << 16 | header.path)), lab_.spines);
    if (hop == kLeaf) {
      cross(up[leaf_of(header.source)][spine], packet, kSpine);
    } else if (hop == kSpine) {
      cross(down[leaf_of(header.destination)][spine], packet, kLastLeaf);
    } else {
      cross(ports_[header.destination], packet, kThere);
    }
    return false;
  }

 private:
  static constexpr int kLeaf = 1, kSpine = 2, kLastLeaf = 3;

  std::uint32_t leaf_of(std::uint32_t host) const { return host + 1 == lab_.hosts; }

  void cross(LabLink& link, const Transmit& packet, int next) {
    // A bucket that is not empty lets packets pass at once, which are then `busy` for longer than they take.
    const Instant tokens = link.bucket * link.per_byte;
    const Instant waits = std::max<Instant>(0, link.busy - tokens - now_);
    // What is on the wire is not in the queue.
    if (waits / link.per_byte + packet.wire_bytes > link.queue + lab_.mtu) return;
    const Instant begin = now_ + waits;
    link.busy = std::max(link.busy, now_) + packet.wire_bytes * link.per_byte;
    link.taken += packet.wire_bytes;
    if (begin >= link.dies || (link.loss > 0 && random_.below(100) < link.loss)) {
      lost += packet.type == PacketType::data;
      return;
    }
    book(std::max(begin, link.busy - tokens) + lab_.latency / 8, packet, next);
  }

  LabConfig lab_;
  Random random_;
  std::vector<LabLink> nics_;
  std::vector<LabLink> ports_;
};

// One Srd for each host, with nothing set but what a driver knows.
class Lab : public TestingNet<Srd, TwoLeaves> {
 public:
  static SrdConfig srd_of(const LabConfig& lab) {
    SrdConfig srd;
    srd.payload = lab.payload();
    srd.header = kLabHeader;
    srd.drops = true;
    srd.base_rtt = Duration(lab.round_trip());
    srd.packet_time = Duration(lab.mtu * LabConfig::per_byte(lab.host_mbps));
    return srd;
  }
  explicit Lab(const LabConfig& lab) : Lab(lab, srd_of(lab)) {}
  Lab(const LabConfig& lab, const SrdConfig& srd) : TestingNet(TwoLeaves(lab), lab.hosts, lab.hosts, srd) {}
};

}  // namespace weft::transport::testing
