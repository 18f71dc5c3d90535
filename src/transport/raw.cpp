#include "transport/raw.hpp"

#include <algorithm>
#include <bit>

#include "base/wide.hpp"

namespace weft::transport {

std::uint64_t exponential(std::uint64_t bits) {
  if (bits == UINT64_MAX) return 0;
  const std::uint64_t u = bits + 1;
  // log2 by squaring: the whole part is the position of the highest bit; each squaring of the rest, kept
  // in [1, 2) with 63 bits behind the point, gives one more binary digit.
  const int whole = 63 - std::countl_zero(u);
  std::uint64_t rest = u << (63 - whole);
  std::uint64_t log2 = static_cast<std::uint64_t>(whole) << 32;
  for (int digit = 31; digit >= 0; --digit) {
    // 32 bits suffice for 32 digits, and leave the square in a word.
    const std::uint64_t square = (rest >> 32) * (rest >> 32);
    const bool one = square >> 63;
    rest = one ? square : square << 1;
    log2 |= std::uint64_t{one} << digit;
  }
  constexpr std::uint64_t kLn2 = 2977044472;  // ln 2, times 2^32
  const std::uint64_t below = (std::uint64_t{64} << 32) - log2;
  return static_cast<std::uint64_t>(static_cast<Wide>(below) * kLn2 >> 32);
}

std::int64_t Raw::gap(Running& running) const {
  if (!running.stream.poisson) return running.stream.interval;
  return static_cast<std::int64_t>(static_cast<Wide>(exponential(running.random.next())) * running.stream.interval >>
                                   32);
}

void Raw::start(Instant now, std::uint32_t endpoint, const RawStream& stream) {
  if (endpoint >= streams_.size()) streams_.resize(endpoint + 1);
  Running running{stream, now, 0, Random(seed_, endpoint, started_++)};
  running.stream.interval = std::max<std::int64_t>(1, stream.interval);
  running.stream.paths = std::max<std::uint16_t>(1, stream.paths);
  if (stream.poisson) running.due += gap(running);
  if (stream.packets > 0) streams_[endpoint].push_back(running);
}

bool Raw::poll(Instant now, std::uint32_t endpoint, Transmit& out) {
  if (endpoint >= streams_.size()) return false;
  std::vector<Running>& streams = streams_[endpoint];
  const auto first = std::min_element(streams.begin(), streams.end(),
                                      [](const Running& a, const Running& b) { return a.due < b.due; });
  if (first == streams.end() || first->due > now) return false;
  ++counters_.sent;
  out.type = PacketType::raw;
  out.flags = 0;
  out.wire_bytes = first->stream.bytes + header_;
  out.header = Header{};
  out.header.source = endpoint;
  out.header.destination = first->stream.peer;
  out.header.path = static_cast<std::uint16_t>(first->sequence % first->stream.paths);
  out.header.op = Op::send;
  out.header.sequence = first->sequence++;
  out.header.data = {out.header.sequence, 0, first->stream.bytes};
  first->due += gap(*first);
  if (--first->stream.packets == 0) streams.erase(first);
  return true;
}

Instant Raw::next_wake(std::uint32_t endpoint) const {
  Instant wake = kNever;
  if (endpoint < streams_.size())
    for (const Running& running : streams_[endpoint]) wake = std::min(wake, running.due);
  return wake;
}

void Raw::handle(const Header& header) {
  ++counters_.received;
  counters_.bytes_received += header.data.size;
}

}  // namespace weft::transport
