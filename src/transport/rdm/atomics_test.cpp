#include "transport/rdm/atomics.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace weft::transport::rdm {
namespace {

template <class T>
T applied(AtomicOp op, AtomicType type, T target, T operand, T comparand = {}) {
  std::byte bytes[3][sizeof(T)];
  std::memcpy(bytes[0], &target, sizeof(T));
  std::memcpy(bytes[1], &operand, sizeof(T));
  std::memcpy(bytes[2], &comparand, sizeof(T));
  apply(op, type, bytes[0], bytes[1], bytes[2]);
  std::memcpy(&target, bytes[0], sizeof(T));
  return target;
}

TEST(Atomics, IntegersWrapAndKeepTheirSign) {
  EXPECT_EQ(applied<std::int8_t>(AtomicOp::sum, AtomicType::i8, 127, 1), -128);
  EXPECT_EQ(applied<std::int8_t>(AtomicOp::min, AtomicType::i8, 3, -4), -4);
  EXPECT_EQ(applied<std::uint8_t>(AtomicOp::min, AtomicType::u8, 3, 252), 3);
  EXPECT_EQ(applied<std::int16_t>(AtomicOp::max, AtomicType::i16, -3, -4), -3);
  EXPECT_EQ(applied<std::uint32_t>(AtomicOp::product, AtomicType::u32, 1u << 31, 2), 0u);
  EXPECT_EQ(applied<std::int64_t>(AtomicOp::sum, AtomicType::i64, INT64_MAX, 1), INT64_MIN);
}

TEST(Atomics, LogicAndBits) {
  EXPECT_EQ(applied<std::uint16_t>(AtomicOp::logical_or, AtomicType::u16, 0, 8), 1);
  EXPECT_EQ(applied<std::uint16_t>(AtomicOp::logical_and, AtomicType::u16, 2, 8), 1);
  EXPECT_EQ(applied<std::uint16_t>(AtomicOp::logical_xor, AtomicType::u16, 2, 8), 0);
  EXPECT_EQ(applied<std::uint16_t>(AtomicOp::bit_or, AtomicType::u16, 2, 8), 10);
  EXPECT_EQ(applied<std::uint16_t>(AtomicOp::bit_and, AtomicType::u16, 10, 8), 8);
  EXPECT_EQ(applied<std::uint16_t>(AtomicOp::bit_xor, AtomicType::u16, 10, 8), 2);
  EXPECT_EQ(applied<std::uint16_t>(AtomicOp::swap_masked, AtomicType::u16, 0x1234, 0xFFFF, 0x0F00), 0x1F34);
}

TEST(Atomics, SwapsCompareTheComparandWithTheTarget) {
  EXPECT_EQ(applied<std::uint64_t>(AtomicOp::read, AtomicType::u64, 1, 2), 1u);
  EXPECT_EQ(applied<std::uint64_t>(AtomicOp::write, AtomicType::u64, 1, 2), 2u);
  EXPECT_EQ(applied<std::uint64_t>(AtomicOp::swap_equal, AtomicType::u64, 1, 2, 1), 2u);
  EXPECT_EQ(applied<std::uint64_t>(AtomicOp::swap_equal, AtomicType::u64, 1, 2, 3), 1u);
  EXPECT_EQ(applied<std::uint64_t>(AtomicOp::swap_unequal, AtomicType::u64, 1, 2, 3), 2u);
  EXPECT_EQ(applied<std::uint64_t>(AtomicOp::swap_less, AtomicType::u64, 1, 2, 0), 2u);
  EXPECT_EQ(applied<std::uint64_t>(AtomicOp::swap_less, AtomicType::u64, 1, 2, 1), 1u);
  EXPECT_EQ(applied<std::uint64_t>(AtomicOp::swap_less_equal, AtomicType::u64, 1, 2, 1), 2u);
  EXPECT_EQ(applied<std::uint64_t>(AtomicOp::swap_greater, AtomicType::u64, 1, 2, 1), 1u);
  EXPECT_EQ(applied<std::uint64_t>(AtomicOp::swap_greater_equal, AtomicType::u64, 1, 2, 1), 2u);
}

TEST(Atomics, FloatingPoint) {
  EXPECT_EQ(applied<float>(AtomicOp::sum, AtomicType::f32, 1.5f, 2.25f), 3.75f);
  EXPECT_EQ(applied<double>(AtomicOp::product, AtomicType::f64, -2, 0.5), -1.0);
  EXPECT_FALSE(known(static_cast<std::uint8_t>(AtomicOp::bit_or), static_cast<std::uint8_t>(AtomicType::f32)));
  EXPECT_TRUE(known(static_cast<std::uint8_t>(AtomicOp::bit_or), static_cast<std::uint8_t>(AtomicType::u64)));
  EXPECT_FALSE(known(19, 0));
  EXPECT_FALSE(known(0, 10));
}

}  // namespace
}  // namespace weft::transport::rdm
