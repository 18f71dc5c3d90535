#include "sim/run/mailbox.hpp"

#include <utility>

#include "base/hash.hpp"

namespace weft::sim {

std::uint64_t Mailbox::hash(std::uint32_t source, std::uint64_t tag) { return mix64(mix64(tag) ^ source); }

Mailbox::Entry& Mailbox::find(std::uint32_t source, std::uint64_t tag) {
  if ((used_ + 1) * 2 > entries_.size()) grow();
  const std::size_t mask = entries_.size() - 1;
  for (std::size_t at = hash(source, tag) & mask;; at = (at + 1) & mask) {
    Entry& entry = entries_[at];
    if (entry.empty()) {
      entry.source = source;
      entry.tag = tag;
      return entry;
    }
    if (entry.source == source && entry.tag == tag) return entry;
  }
}

void Mailbox::grow() {
  std::vector<Entry> old(entries_.empty() ? 16 : entries_.size() * 2);
  old.swap(entries_);
  const std::size_t mask = entries_.size() - 1;
  for (const Entry& entry : old) {
    if (entry.empty()) continue;
    std::size_t at = hash(entry.source, entry.tag) & mask;
    while (!entries_[at].empty()) at = (at + 1) & mask;
    entries_[at] = entry;
  }
}

// The gap is closed by what stands behind it, so that a search may still stop at the first empty entry.
void Mailbox::remove(Entry& entry) {
  const std::size_t mask = entries_.size() - 1;
  std::size_t gap = static_cast<std::size_t>(&entry - entries_.data());
  for (std::size_t at = (gap + 1) & mask; !entries_[at].empty(); at = (at + 1) & mask) {
    const std::size_t home = hash(entries_[at].source, entries_[at].tag) & mask;
    if (((at - home) & mask) < ((at - gap) & mask)) continue;  // it may not stand before its home
    std::swap(entries_[gap], entries_[at]);
    gap = at;
  }
  --used_;
}

bool Mailbox::post(std::uint32_t source, std::uint64_t tag, std::uint32_t context) {
  Entry& entry = find(source, tag);
  if (entry.early > 0) {
    if (--entry.early == 0) remove(entry);
    return true;
  }
  std::uint32_t index = free_;
  if (index == kNobody) {
    index = static_cast<std::uint32_t>(waiting_.size());
    waiting_.emplace_back();
  } else {
    free_ = waiting_[index].next;
  }
  waiting_[index] = {context, kNobody};
  if (entry.first == kNobody) {
    entry.first = index;
    ++used_;
  } else {
    waiting_[entry.last].next = index;
  }
  entry.last = index;
  return false;
}

std::uint32_t Mailbox::arrive(std::uint32_t source, std::uint64_t tag) {
  Entry& entry = find(source, tag);
  if (entry.first == kNobody) {
    if (entry.early++ == 0) ++used_;
    return kNobody;
  }
  const std::uint32_t index = entry.first;
  const std::uint32_t context = waiting_[index].context;
  entry.first = waiting_[index].next;
  waiting_[index].next = free_;
  free_ = index;
  if (entry.first == kNobody) remove(entry);
  return context;
}

}  // namespace weft::sim
