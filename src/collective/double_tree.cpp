#include "collective/double_tree.hpp"

#include <bit>

namespace weft::collective {

// A member's height is the number of zeros its number ends with: its children are half its lowest bit away, its parent
// one lowest bit, towards the side on which a member of the next height stands. Member 0 is above all.
TreePlace binary_tree(std::uint32_t members, std::uint32_t member) {
  TreePlace place;
  if (member == 0) {
    if (members > 1) place.children[0] = std::bit_ceil(members) / 2;
    return place;
  }
  const std::uint32_t low = member & (~member + 1);
  const std::uint32_t above = (member ^ low) | (low << 1);
  place.parent = above < members ? above : member ^ low;
  if (low == 1) return place;
  place.children[0] = member - low / 2;
  // On the far side members may end early: the highest that is there stands in.
  for (std::uint32_t step = low / 2; step > 0; step /= 2) {
    if (member + step >= members) continue;
    place.children[1] = member + step;
    break;
  }
  return place;
}

TreePlace double_tree(std::uint32_t members, std::uint32_t member, std::uint32_t which) {
  if (which == 0) return binary_tree(members, member);
  const bool odd = members % 2 == 1;
  const auto there = [&](std::uint32_t m) { return odd ? (m + members - 1) % members : members - 1 - m; };
  const auto back = [&](std::uint32_t m) { return m == kNobody ? m : odd ? (m + 1) % members : members - 1 - m; };
  TreePlace place = binary_tree(members, there(member));
  place.parent = back(place.parent);
  for (std::uint32_t& child : place.children) child = back(child);
  return place;
}

}  // namespace weft::collective
