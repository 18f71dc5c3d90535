#pragma once
// How a message is shared out to NICs: it leaves by all NICs near its GPU, a stripe on each, towards the NICs near
// the other GPU; on rails that are not joined, by the NIC of the destination's rail.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/flat_map.hpp"
#include "sim/layout.hpp"

namespace weft::sim {

struct NicPair {  // endpoints
  std::uint32_t source;
  std::uint32_t destination;
};

// Something for each pair that was ever asked for.
template <class Value>
class ByNicPair {
 public:
  // Good until another pair is asked for.
  Value& operator[](const NicPair& pair) {
    const std::uint64_t key = std::uint64_t{pair.source} << 32 | pair.destination;
    std::uint32_t index = index_.find(key);
    if (index == FlatMap::kNone) {
      index = static_cast<std::uint32_t>(values_.size());
      index_.insert(key, index);
      values_.emplace_back();
    }
    return values_[index];
  }

 private:
  FlatMap index_;
  std::vector<Value> values_;
};

// All pairs that a message from one GPU to another may take; none when no network joins them.
void find_pairs(const Layout& layout, std::uint32_t from, std::uint32_t to, std::vector<NicPair>& pairs);

// Calls visit(pair, bytes) for every stripe of a message. One of few packets takes one pair, in turn by the message's
// number; a larger one is striped over all of them. There is at least one pair.
template <class Visit>
void for_each_stripe(const std::vector<NicPair>& pairs, std::uint64_t bytes, std::uint64_t payload,
                     std::uint32_t message, Visit visit) {
  const std::size_t all = pairs.size();
  const std::size_t used = static_cast<std::size_t>(std::clamp<std::uint64_t>(bytes / payload, 1, all));
  for (std::size_t i = 0; i < used; ++i) visit(pairs[(message + i) % all], bytes * (i + 1) / used - bytes * i / used);
}

}  // namespace weft::sim
