#pragma once
// Two binary trees over the same members, so that every member but one is a leaf of one of them: each tree carries
// half of the bytes and both directions of everybody's link are busy (Sanders, Speck, Träff 2009; NCCL since 2.4).
//
//   0 ------------------------------ 8        the first, of 14: even members are leaves
//                    4                        the second: the same with all members moved by one (odd number)
//            2               6                or mirrored (even number)
//        1       3       5       7   ...

#include <array>
#include <cstdint>

namespace weft::collective {

inline constexpr std::uint32_t kNobody = 0xFFFFFFFFu;

struct TreePlace {
  std::uint32_t parent = kNobody;
  std::array<std::uint32_t, 2> children = {kNobody, kNobody};
};

TreePlace binary_tree(std::uint32_t members, std::uint32_t member);
// `which` is 0 or 1.
TreePlace double_tree(std::uint32_t members, std::uint32_t member, std::uint32_t which);

}  // namespace weft::collective
