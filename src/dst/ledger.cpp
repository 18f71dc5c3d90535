#include "dst/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::dst {

using transport::Completion;
using transport::Op;
using transport::Placement;

std::uint32_t Ledger::packets_of(std::uint64_t bytes) const {
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>((bytes + payload_ - 1) / payload_));
}

std::uint32_t Ledger::add(const Entry& entry) {
  entries_.push_back(entry);
  return static_cast<std::uint32_t>(entries_.size() - 1);
}

void Ledger::placed(const Life& at, std::uint32_t from, const Placement& placement) {
  if (placement.kind != Placement::Kind::place) return;
  const std::uint32_t tag = placement.tag;
  if (tag >= entries_.size()) return complain(fmt::format("payload of operation {}, which nobody posted", tag));
  Entry& entry = entries_[tag];
  const bool response = placement.op == Op::response;
  const std::uint32_t sender = response ? entry.peer : entry.poster;
  const std::uint32_t receiver = response ? entry.poster : entry.peer;
  if (sender != from || receiver != at.node || (response ? entry.op != Op::read : entry.op != placement.op))
    return complain(fmt::format("payload of operation {} from node {} at node {}", tag, from, at.node));
  if (response && (placement.context != context_of(tag) || entry.incarnation != at.incarnation || entry.done))
    return complain(fmt::format("payload of read {} for somebody else", tag));

  Coverage& coverage = coverage_[{tag, at.incarnation}];
  if (coverage.packets.empty()) {
    coverage.packets.resize(packets_of(entry.bytes));
    coverage.left = static_cast<std::uint32_t>(coverage.packets.size());
  }
  const std::uint64_t index = placement.offset / payload_;
  if (placement.offset % payload_ != 0 || index >= coverage.packets.size() ||
      placement.length != std::min<std::uint64_t>(payload_, entry.bytes - std::min(entry.bytes, placement.offset)))
    return complain(fmt::format("operation {}: {} bytes at {}", tag, placement.length, placement.offset));
  if (coverage.packets[index]) return complain(fmt::format("operation {}: packet {} placed twice", tag, index));
  coverage.packets[index] = true;
  --coverage.left;
  if (placement.complete != (coverage.left == 0))
    return complain(fmt::format("operation {}: complete with {} packets missing", tag, coverage.left));
  if (placement.complete) ++entry.deliveries;
}

void Ledger::completed(const Life& at, const Completion& completion) {
  const std::uint32_t tag = completion.tag;
  if (tag >= entries_.size()) return complain(fmt::format("completion of operation {}, which nobody posted", tag));
  Entry& entry = entries_[tag];
  if (completion.bytes != entry.bytes || completion.endpoint != at.node)
    return complain(fmt::format("operation {}: {} bytes instead of {}", tag, completion.bytes, entry.bytes));
  const auto covered = coverage_.find({tag, at.incarnation});
  const bool whole = covered != coverage_.end() && covered->second.left == 0;
  if (completion.kind == Completion::Kind::received) {
    if (entry.op != Op::send || entry.peer != at.node || entry.poster != completion.peer)
      return complain(fmt::format("operation {} received at node {}", tag, at.node));
    if (!whole) return complain(fmt::format("operation {} received before its bytes", tag));
    if (const std::uint32_t other = overtaken_by(tag, true); other != tag)
      complain(fmt::format("operation {} received before {}", tag, other));
    // A second time at the same life would have been a second placement.
    entry.received = true;
    return;
  }
  if (entry.poster != at.node || entry.incarnation != at.incarnation || entry.peer != completion.peer ||
      completion.context != context_of(tag))
    return complain(fmt::format("operation {} completed for somebody else", tag));
  if (entry.done) return complain(fmt::format("operation {} completed twice", tag));
  if (const std::uint32_t other = overtaken_by(tag, false); other != tag)
    complain(fmt::format("operation {} completed before {}", tag, other));
  entry.done = true;
  switch (completion.kind) {
    case Completion::Kind::sent:
      if (entry.op == Op::read) complain(fmt::format("read {} completed as sent", tag));
      if (entry.deliveries == 0) complain(fmt::format("operation {} completed, but it never arrived", tag));
      break;
    case Completion::Kind::read_done:
      if (entry.op != Op::read || !whole) complain(fmt::format("read {} completed without its bytes", tag));
      break;
    case Completion::Kind::failed:
      entry.failed = true;
      if (entry.must_succeed) complain(fmt::format("operation {} failed although nothing explains it", tag));
      break;
    case Completion::Kind::received:
      break;
  }
}

std::uint32_t Ledger::overtaken_by(std::uint32_t tag, bool at_receiver) const {
  const Entry& entry = entries_[tag];
  for (std::uint32_t i = 0; i < tag; ++i) {
    const Entry& other = entries_[i];
    // One that also takes another lane may be held up there.
    const bool in_order = other.lanes != 0 && (other.lanes & ~entry.lanes) == 0;
    if (!in_order || other.poster != entry.poster || other.peer != entry.peer) continue;
    if (other.incarnation != entry.incarnation) continue;  // an earlier life's ended with it
    const bool came_as_far = at_receiver ? other.received || other.failed || other.op != Op::send : other.done;
    if (!came_as_far) return i;
  }
  return tag;
}

bool Ledger::withdraw(std::uint32_t tag, std::uint32_t reads) {
  Entry& entry = entries_[tag];
  const auto open = std::count_if(entries_.begin(), entries_.end(), [&](const Entry& other) {
    return other.op == Op::read && !other.done && other.poster == entry.poster &&
           other.incarnation == entry.incarnation && other.peer == entry.peer;
  });
  entry.done = true;
  return entry.op == Op::read && open > reads;
}

void Ledger::abandon(const Life& gone) {
  for (Entry& entry : entries_)
    if (entry.poster == gone.node && entry.incarnation == gone.incarnation) entry.done = true;
}

std::uint32_t Ledger::open() const {
  return static_cast<std::uint32_t>(
      std::count_if(entries_.begin(), entries_.end(), [](const Entry& entry) { return !entry.done; }));
}

std::uint64_t Ledger::failed_operations() const {
  return static_cast<std::uint64_t>(
      std::count_if(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.failed; }));
}

}  // namespace weft::dst
