// Poll sets: which of several completion queues and counters have something to tell.

#include <algorithm>

#include "provider/objects.hpp"

namespace weft::provider {
namespace {

std::uint64_t told_by(Counter& counter) {
  const std::lock_guard guard(counter.lock);
  return counter.value + counter.errors;
}

// A queue tells as long as it has entries, a counter when it has changed.
bool has_news(PollSet::Member& member) {
  if (member.object->fclass == FI_CLASS_CQ) {
    Queue& queue = of<Queue>(member.object);
    for (Endpoint* each : queue.endpoints) each->progress();
    return queue.waiting.load(std::memory_order_acquire) > 0;
  }
  Counter& counter = of<Counter>(member.object);
  counter.progress();
  const std::uint64_t now = told_by(counter);
  return std::exchange(member.seen, now) != now;
}

int poll_all(fid_poll* fid, void** contexts, int most) {
  PollSet& set = of<PollSet>(fid);
  const std::lock_guard guard(set.lock);
  int found = 0;
  for (PollSet::Member& each : set.members) {
    if (found == most) break;
    if (has_news(each)) contexts[found++] = each.object->context;
  }
  return found;
}

int add(fid_poll* fid, struct fid* object, std::uint64_t flags) {
  if (flags != 0 || (object->fclass != FI_CLASS_CQ && object->fclass != FI_CLASS_CNTR)) return -FI_EINVAL;
  PollSet& set = of<PollSet>(fid);
  const std::lock_guard guard(set.lock);
  const std::uint64_t seen = object->fclass == FI_CLASS_CNTR ? told_by(of<Counter>(object)) : 0;
  set.members.push_back({object, seen});
  return 0;
}

int remove(fid_poll* fid, struct fid* object, std::uint64_t) {
  PollSet& set = of<PollSet>(fid);
  const std::lock_guard guard(set.lock);
  const auto gone = std::erase_if(set.members, [&](const PollSet::Member& each) { return each.object == object; });
  return gone > 0 ? 0 : -FI_EINVAL;
}

int close_set(fid* fid) {
  delete &of<PollSet>(fid);
  return 0;
}

fi_ops set_fid_ops = {sizeof(fi_ops), close_set, nullptr, nullptr, nullptr, nullptr, nullptr};
fi_ops_poll set_ops = {sizeof(fi_ops_poll), poll_all, add, remove};

}  // namespace

int open_poll_set(fid_domain*, fi_poll_attr* attr, fid_poll** out) {
  if (attr != nullptr && attr->flags != 0) return -FI_EINVAL;
  auto set = std::make_unique<PollSet>();
  set->self.fid = {FI_CLASS_POLL, nullptr, &set_fid_ops};
  set->self.ops = &set_ops;
  *out = &set.release()->self;
  return 0;
}

}  // namespace weft::provider
