// What an acknowledgement costs where many peers are being sent to: so many peers with full windows, so many
// acknowledgements, each with what it lets out. For tests/perf/peers_cost.sh, which counts instructions.
//   peers_cost PEERS ACKNOWLEDGEMENTS

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "transport/srd/srd.hpp"

using namespace weft;
using namespace weft::transport;

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto peers = static_cast<std::uint32_t>(std::atoi(argv[1]));
  const auto acks = static_cast<std::uint32_t>(std::atoi(argv[2]));
  SrdConfig config;
  config.packet_time = nanoseconds(100);
  config.base_rtt = microseconds(10'000);  // so long that nobody's silence is over
  config.window = 64;
  Srd srd(config);
  for (std::uint32_t i = 0; i < peers; ++i)
    if (!srd.post(0, 0, {Op::send, i + 1, 1'000'000'000, 0, 0})) return 1;
  std::uint64_t sent = 0;
  Transmit out{};
  while (srd.poll(0, 0, out)) ++sent;
  std::vector<std::uint32_t> arrived(peers);
  Instant now = 5'000'000'000;
  for (std::uint32_t i = 0; i < acks; ++i, now += 1000) {
    const std::uint32_t peer = static_cast<std::uint32_t>(std::uint64_t{i} * 37 % peers);
    Header header;
    header.source = peer + 1;
    header.stream = header.generation = header.peer_generation = 1;
    header.sequence = ++arrived[peer];
    header.echo = static_cast<std::uint16_t>(header.sequence - 1);
    header.fan_in = 1;
    srd.handle(now, 0, PacketType::ack, 0, header);
    while (srd.poll(now, 0, out)) ++sent;
    if (srd.next_wake(0) <= now) return 1;  // all have what they may have
  }
  std::printf("%llu packets\n", static_cast<unsigned long long>(sent));
  return srd.counters().timeouts == 0 ? 0 : 1;
}
