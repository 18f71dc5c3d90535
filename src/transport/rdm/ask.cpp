// What is asked for: from a request to an operation that waits for its turn.

#include <algorithm>
#include <bit>

#include "transport/rdm/rdm.hpp"

namespace weft::transport::rdm {

Rdm::Rdm(const RdmConfig& config, Memory& memory) : config_(config), memory_(memory) {
  config_.bundle = std::clamp<std::uint32_t>(config_.bundle, 128, kMostBundle);
  // Credit comes back by quarters: what three of them do not pay for would wait for ever.
  config_.window =
      std::bit_ceil(std::clamp<std::uint32_t>(config_.window, 4, 1u << 20));  // places by number survive its wrap
  config_.unexpected = std::max<std::uint64_t>(config_.unexpected, 2 * std::uint64_t{config_.bundle});
  config_.eager = std::min(config_.eager, config_.unexpected / 2);
}

std::uint32_t Rdm::queued(std::uint32_t peer) {
  const Peer& state = peer_of(peer);
  return state.sends.size + state.requests.size;
}

std::uint32_t Rdm::new_op(Op::Kind kind, std::uint32_t peer) {
  const std::uint32_t index = ops_.take();
  const std::uint32_t generation = ops_[index].generation + 1;
  ops_[index] = {};
  ops_[index].generation = generation;
  ops_[index].kind = kind;
  ops_[index].live = true;
  ops_[index].peer = peer;
  return index;
}

void Rdm::keep_copy(Op& op) {
  const std::uint64_t buffer = buffers_.take(op.bytes);
  memory_.get(op.local, buffers_.of(buffer));
  op.local = {buffer, 0};
  op.owned = true;
}

bool Rdm::send(const Send& send) {
  if (queued(send.peer) >= config_.queue || (send.inject && send.bytes > inject_limit())) return false;
  const std::uint32_t index = new_op(Op::Kind::send, send.peer);
  Op& op = ops_[index];
  op.tagged = send.tagged;
  op.tag = send.tag;
  op.has_data = send.has_data;
  op.data = send.data;
  op.local = send.from;
  op.bytes = send.bytes;
  op.context = send.context;
  op.quiet = send.quiet;
  op.awaits_done = send.delivery;
  if (send.inject) keep_copy(op);
  peer_of(send.peer).sends.push_back(ops_, index);
  list(send.peer);
  return true;
}

bool Rdm::write(const Write& write) {
  if (queued(write.peer) >= config_.queue || (write.inject && write.bytes > inject_limit())) return false;
  const std::uint32_t index = new_op(Op::Kind::write, write.peer);
  Op& op = ops_[index];
  op.has_data = write.has_data;
  op.data = write.data;
  op.local = write.from;
  op.bytes = write.bytes;
  op.remote = write.to;
  op.context = write.context;
  op.quiet = write.quiet;
  op.awaits_done = true;
  if (write.inject) keep_copy(op);
  peer_of(write.peer).requests.push_back(ops_, index);
  list(write.peer);
  return true;
}

bool Rdm::read(const Read& read) {
  if (queued(read.peer) >= config_.queue) return false;
  const std::uint32_t index = new_op(Op::Kind::read, read.peer);
  Op& op = ops_[index];
  op.local = read.to;
  op.bytes = read.bytes;
  op.remote = read.from;
  op.context = read.context;
  op.quiet = read.quiet;
  op.awaits_done = true;
  peer_of(read.peer).requests.push_back(ops_, index);
  list(read.peer);
  return true;
}

// Operand and comparand are copied here, one behind the other: they are small, and then only one place is to be kept.
bool Rdm::atomic(const Atomic& atomic) {
  const std::uint64_t bytes = atomic.count * std::uint64_t{size_of(atomic.type)};
  if (queued(atomic.peer) >= config_.queue || bytes > atomic_limit()) return false;
  const std::uint32_t index = new_op(Op::Kind::atomic, atomic.peer);
  Op& op = ops_[index];
  op.atomic_op = atomic.op;
  op.atomic_type = atomic.type;
  op.count = atomic.count;
  op.fetch = atomic.fetch;
  op.result = atomic.result;
  op.remote = atomic.target;
  op.context = atomic.context;
  op.quiet = atomic.quiet;
  op.awaits_done = true;
  const std::uint64_t operand = atomic.op == AtomicOp::read ? 0 : bytes;
  op.bytes = operand + (has_comparand(atomic.op) ? bytes : 0);
  op.local = {buffers_.take(op.bytes), 0};
  op.owned = true;
  const std::span<std::byte> copy = buffers_.of(op.local.memory);
  if (operand > 0) memory_.get(atomic.operand, copy.first(operand));
  if (op.bytes > operand) memory_.get(atomic.comparand, copy.subspan(operand));
  peer_of(atomic.peer).requests.push_back(ops_, index);
  list(atomic.peer);
  return true;
}

void Rdm::release_op(std::uint32_t index) {
  Op& op = ops_[index];
  if (op.owned) buffers_.give_back(op.local.memory);
  op.live = false;
  ops_.give_back(index);
}

bool Rdm::add_region(std::uint64_t key, const Region& region) {
  if (key & kOfferKey || region.address + region.bytes < region.address) return false;
  return regions_.emplace(key, RegionState{region}).second;
}

bool Rdm::remove_region(std::uint64_t key) {
  const auto at = regions_.find(key);
  if (at == regions_.end()) return true;
  if (at->second.answering > 0) return false;
  regions_.erase(at);
  return true;
}

}  // namespace weft::transport::rdm
