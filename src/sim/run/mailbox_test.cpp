#include "sim/run/mailbox.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <map>

namespace weft::sim {
namespace {

TEST(Mailbox, AMessageThatComesEarlyIsKept) {
  Mailbox box;
  EXPECT_EQ(box.arrive(3, 7), Mailbox::kNobody);
  EXPECT_FALSE(box.post(3, 8, 1)) << "another tag";
  EXPECT_FALSE(box.post(4, 7, 2)) << "another source";
  EXPECT_TRUE(box.post(3, 7, 3));
  EXPECT_FALSE(box.post(3, 7, 4)) << "it was taken";
}

TEST(Mailbox, RecvsOfOneKeyAreServedInTheirOrder) {
  Mailbox box;
  for (const std::uint32_t context : {5u, 6u, 7u}) EXPECT_FALSE(box.post(1, 1, context));
  for (const std::uint32_t context : {5u, 6u, 7u}) EXPECT_EQ(box.arrive(1, 1), context);
  EXPECT_EQ(box.arrive(1, 1), Mailbox::kNobody);
}

// Against queues in a std::map, with few keys so that they collide and leave gaps again and again.
RC_GTEST_PROP(Mailbox, BehavesLikeAMapOfQueues, ()) {
  struct Model {
    std::deque<std::uint32_t> recvs;
    std::uint32_t early = 0;
  };
  Mailbox box;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Model> model;
  const auto steps = *rc::gen::container<std::vector<std::tuple<std::uint32_t, std::uint64_t, bool>>>(
      rc::gen::tuple(rc::gen::inRange(0u, 6u), rc::gen::inRange<std::uint64_t>(0, 6), rc::gen::arbitrary<bool>()));
  std::uint32_t context = 0;
  for (const auto& [source, tag, is_recv] : steps) {
    Model& expected = model[{source, tag}];
    if (is_recv) {
      RC_ASSERT(box.post(source, tag, context) == (expected.early > 0));
      if (expected.early > 0) {
        --expected.early;
      } else {
        expected.recvs.push_back(context);
      }
      ++context;
    } else if (expected.recvs.empty()) {
      RC_ASSERT(box.arrive(source, tag) == Mailbox::kNobody);
      ++expected.early;
    } else {
      RC_ASSERT(box.arrive(source, tag) == expected.recvs.front());
      expected.recvs.pop_front();
    }
  }
}

}  // namespace
}  // namespace weft::sim
