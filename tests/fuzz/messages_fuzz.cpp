// A peer that says anything: envelopes and bundles of the message layer (src/transport/rdm). Each message of the input
// is a length of the envelope, the envelope, a length of the payload, and that; between them the victim sends and
// receives.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "transport/rdm/rdm.hpp"

namespace {

using weft::transport::rdm::kOwnMemory;
using weft::transport::rdm::Place;

struct Victim final : weft::transport::rdm::Memory {
  void get(Place from, std::span<std::byte> to) override {
    if (from.memory != 1 || from.offset + to.size() > memory.size()) std::abort();
    if (!to.empty()) std::memcpy(to.data(), memory.data() + from.offset, to.size());
  }
  void put(Place to, std::span<const std::byte> from) override {
    if (to.memory != 1 || to.offset + from.size() > memory.size()) std::abort();
    if (!from.empty()) std::memcpy(memory.data() + to.offset, from.data(), from.size());
  }
  std::vector<std::byte> memory = std::vector<std::byte>(8192);
  weft::transport::rdm::Rdm rdm{{.eager = 512, .window = 8, .unexpected = 4096}, *this};
};

void take(Victim& victim, std::span<const std::byte> envelope, std::span<const std::byte> payload) {
  using weft::transport::rdm::Sink;
  const Sink sink = victim.rdm.arrived(0, 0, envelope, payload.size());
  if (sink.kind != Sink::Kind::place) return;
  const auto bytes = payload.first(std::min<std::size_t>(payload.size(), sink.room));
  if (sink.place.memory & kOwnMemory)
    std::ranges::copy(bytes, victim.rdm.own(sink.place.memory).begin());
  else if (!bytes.empty())
    victim.put(sink.place, bytes);
  victim.rdm.landed(0, 0, sink.context);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Victim victim;
  victim.rdm.add_region(1, {0, 2048, {1, 0}, true, true});
  for (int i = 0; i < 4; ++i) {
    victim.rdm.receive({.tagged = i % 2 == 0, .ignore = ~0ull, .to = {1, 2048}, .bytes = 2048});
    victim.rdm.send({.peer = 0, .from = {1, 4096}, .bytes = i * 400u, .delivery = true});
    victim.rdm.read({.peer = 0, .to = {1, 4096}, .bytes = 100, .from = {0, 1}});
  }
  std::span left(reinterpret_cast<const std::byte*>(data), size);
  while (left.size() >= 2) {
    const std::size_t envelope = std::min<std::size_t>(std::to_integer<std::size_t>(left[0]) % 49, left.size() - 2);
    const std::size_t payload =
        std::min<std::size_t>(std::to_integer<std::size_t>(left[1]) * 4, left.size() - 2 - envelope);
    take(victim, left.subspan(2, envelope), left.subspan(2 + envelope, payload));
    left = left.subspan(2 + envelope + payload);
    weft::transport::rdm::Outgoing out;
    while (victim.rdm.next_outgoing(out)) victim.rdm.sent(0, out.context);
    victim.rdm.completions().clear();
  }
  if (!victim.rdm.check_invariants().empty()) std::abort();
  return 0;
}
