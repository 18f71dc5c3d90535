#include "sim/packet/tagged.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace weft::sim {

using transport::rdm::kOwnMemory;
using transport::rdm::Place;

// Only what the layer writes itself is there; the bytes of messages are numbers.
struct Tagged::End final : transport::rdm::Memory {
  explicit End(const transport::rdm::RdmConfig& config) : rdm(config, *this) {
    for (std::uint32_t i = 0; i < kReceives; ++i) post();
  }
  void post() {
    rdm.receive({.tagged = true, .ignore = ~std::uint64_t{0}, .bytes = std::numeric_limits<std::uint64_t>::max() / 2});
  }
  void get(Place, std::span<std::byte> to) override { std::ranges::fill(to, std::byte{0}); }
  void put(Place, std::span<const std::byte>) override {}

  transport::rdm::Rdm rdm;
};

Tagged::Tagged(std::uint32_t ranks, std::uint32_t streams, Network& carrier, Runner& runner, Call call)
    : carrier_(carrier), runner_(runner), call_(std::move(call)), streams_(streams), ranks_(ranks), logs_(ranks) {}

Tagged::~Tagged() = default;

Tagged::End& Tagged::end_of(std::uint32_t rank, std::uint32_t stream) {
  std::vector<std::unique_ptr<End>>& ends = ranks_[rank].ends;
  if (ends.empty()) ends.resize(streams_);
  if (!ends[stream]) {
    transport::rdm::RdmConfig config;
    config.queue = std::numeric_limits<std::uint32_t>::max();  // a schedule is not told to come again
    config.seed = rank + std::uint64_t{1};
    ends[stream] = std::make_unique<End>(config);
  }
  return *ends[stream];
}

// What it completes is told later: answers never come from within the call.
void Tagged::send(Instant now, const Transfer& transfer, std::uint32_t stream) {
  if (is_carried(transfer.message)) throw std::logic_error("one GPU sent more messages than can be told apart");
  End& end = end_of(transfer.from, stream);
  end.rdm.send({.peer = transfer.to,
                .tagged = true,
                .tag = transfer.message,
                .bytes = transfer.bytes,
                .context = transfer.message});
  carry(now, transfer.from, stream, end);
}

void Tagged::carry(Instant now, std::uint32_t rank, std::uint32_t stream, End& end) {
  transport::rdm::Outgoing out;
  while (end.rdm.next_outgoing(out)) {
    Carried carried{out.peer, stream, out.context, out.bytes, out.envelope, nullptr, 0, 0};
    if (out.payload.memory & kOwnMemory) {
      carried.own = std::make_unique_for_overwrite<std::byte[]>(out.bytes);
      std::memcpy(carried.own.get(), end.rdm.own(out.payload.memory).data() + out.payload.offset, out.bytes);
    }
    const std::uint32_t number = logs_[rank].add(std::move(carried));
    if ((number & mark_) != 0) throw std::logic_error("one GPU carried more messages than can be told apart");
    const auto parts = static_cast<std::int32_t>(
        carrier_.send(now, {.from = rank, .to = out.peer, .bytes = out.bytes, .message = number | mark_}));
    Carried& mine = logs_[rank][number];
    mine.sent = mine.received = -parts;
  }
}

void Tagged::sent(Instant now, std::uint32_t from, std::uint32_t message) {
  Carried& each = entry(from, message);
  if (++each.sent < 0) return;
  End& end = end_of(from, each.stream);
  end.rdm.sent(now, each.context);
  settle(now, from, each.stream, end);
}

// Its first packet came earlier; with a receive for every message nothing hangs on that.
void Tagged::received(Instant now, std::uint32_t to, std::uint32_t from, std::uint32_t message) {
  Carried& each = entry(from, message);
  if (++each.received < 0) return;
  End& end = end_of(to, each.stream);
  const transport::rdm::Sink sink = end.rdm.arrived(now, from, each.envelope.view(), each.bytes);
  if (sink.kind == transport::rdm::Sink::Kind::refused) throw std::logic_error("a rank refuses what another sent");
  if (each.own && (sink.place.memory & kOwnMemory))
    std::memcpy(end.rdm.own(sink.place.memory).data() + sink.place.offset, each.own.get(),
                std::min(sink.room, each.bytes));
  each.own.reset();
  end.rdm.landed(now, from, sink.context);
  settle(now, to, each.stream, end);
}

void Tagged::called(Instant now, std::uint32_t rank) {
  if (ranks_[rank].armed != now) return;  // superseded
  ranks_[rank].armed = transport::kNever;
  for (std::uint32_t stream = 0; stream < streams_; ++stream) {
    End* const end = ranks_[rank].ends[stream].get();
    if (end == nullptr) continue;
    end->rdm.tick(now);
    settle(now, rank, stream, *end);
  }
}

// Hands on what the layer has to send, and tells what is done, which may begin more.
void Tagged::settle(Instant now, std::uint32_t rank, std::uint32_t stream, End& end) {
  carry(now, rank, stream, end);
  using transport::rdm::Completion;
  std::vector<Completion>& done = end.rdm.completions();
  for (std::size_t i = 0; i < done.size(); ++i) {
    const Completion each = done[i];
    if (each.error != transport::rdm::Error::none) throw std::logic_error("a message between ranks failed");
    if (each.kind == Completion::Kind::sent) {
      runner_.sent(now, rank, static_cast<std::uint32_t>(each.context));
    } else if (each.kind == Completion::Kind::received) {
      end.post();
      runner_.received(now, rank, each.peer, static_cast<std::uint32_t>(each.tag));
    }
  }
  done.clear();
  carry(now, rank, stream, end);  // what new receives ask for
  const Instant wake = std::max(end.rdm.next_wake(), now + 1);
  if (wake == transport::kNever || wake >= ranks_[rank].armed) return;
  ranks_[rank].armed = wake;
  call_(wake, rank);
}

}  // namespace weft::sim
