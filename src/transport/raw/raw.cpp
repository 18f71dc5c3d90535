#include "transport/raw/raw.hpp"

#include <algorithm>

#include "base/exponential.hpp"

namespace weft::transport {

std::int64_t Raw::gap(Running& running) const {
  if (!running.stream.poisson) return running.stream.interval.count();
  return draw_exponential(running.random, running.stream.interval.count());
}

void Raw::start(Instant now, std::uint32_t endpoint, const RawStream& stream) {
  if (endpoint >= streams_.size()) streams_.resize(endpoint + 1);
  Running running{stream, now, 0, Random(seed_, endpoint, streams_[endpoint].size())};
  running.stream.interval = Duration(std::max<std::int64_t>(1, stream.interval.count()));
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
