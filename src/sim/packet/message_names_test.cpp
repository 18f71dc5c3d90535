#include "sim/packet/message_names.hpp"

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

TEST(MessageNames, SayWhichGpuOfItsServerSentWhichMessage) {
  const MessageNames names({0, 0, 0, 1, 1, 1, 1, 1}, 2);  // the widest has five
  const std::uint32_t most = (1u << 29) - 1;
  for (const std::uint32_t message : {0u, 7u, most})
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
      const std::uint32_t domain = rank < 3 ? 0 : 1;
      const std::uint32_t name = names.name(domain, rank, message);
      EXPECT_EQ(names.rank_of(domain, name), rank);
      EXPECT_EQ(names.message_of(name), message);
    }
  EXPECT_EQ(names.highest_bit(), 1u << 28);
  EXPECT_THROW(names.name(1, 7, most + 1), std::logic_error);
}

TEST(MessageNames, OfAServerWithOneGpuAreTheMessagesThemselves) {
  const MessageNames names({0, 1}, 2);
  EXPECT_EQ(names.name(1, 1, 0xFFFFFFFEu), 0xFFFFFFFEu);
  EXPECT_EQ(names.rank_of(1, 0xFFFFFFFEu), 1u);
  EXPECT_EQ(names.message_of(0xFFFFFFFEu), 0xFFFFFFFEu);
  EXPECT_EQ(names.highest_bit(), 1u << 31);
}

}  // namespace
}  // namespace weft::sim
