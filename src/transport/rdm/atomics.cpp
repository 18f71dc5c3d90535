#include "transport/rdm/atomics.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace weft::transport::rdm {
namespace {

// Calls call.template operator()<T>() with the C++ type.
template <class Call>
void with_type(AtomicType type, Call call) {
  switch (type) {
    case AtomicType::i8:
      return call.template operator()<std::int8_t>();
    case AtomicType::u8:
      return call.template operator()<std::uint8_t>();
    case AtomicType::i16:
      return call.template operator()<std::int16_t>();
    case AtomicType::u16:
      return call.template operator()<std::uint16_t>();
    case AtomicType::i32:
      return call.template operator()<std::int32_t>();
    case AtomicType::u32:
      return call.template operator()<std::uint32_t>();
    case AtomicType::i64:
      return call.template operator()<std::int64_t>();
    case AtomicType::u64:
      return call.template operator()<std::uint64_t>();
    case AtomicType::f32:
      return call.template operator()<float>();
    case AtomicType::f64:
      return call.template operator()<double>();
  }
}

// Sums and products wrap as the hardware's do.
template <class T>
T wrapping(AtomicOp op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<std::uint64_t>(a);
    const auto y = static_cast<std::uint64_t>(b);
    return static_cast<T>(op == AtomicOp::sum ? x + y : x * y);
  } else {
    return op == AtomicOp::sum ? a + b : a * b;
  }
}

template <class T>
T bitwise(AtomicOp op, T target, T operand, T comparand) {
  if constexpr (std::is_integral_v<T>) {
    if (op == AtomicOp::bit_or) return static_cast<T>(target | operand);
    if (op == AtomicOp::bit_and) return static_cast<T>(target & operand);
    if (op == AtomicOp::bit_xor) return static_cast<T>(target ^ operand);
    return static_cast<T>((operand & comparand) | (target & ~comparand));
  }
  return target;
}

template <class T>
T combined(AtomicOp op, T target, T operand, T comparand) {
  switch (op) {
    case AtomicOp::min:
      return std::min(target, operand);
    case AtomicOp::max:
      return std::max(target, operand);
    case AtomicOp::sum:
    case AtomicOp::product:
      return wrapping(op, target, operand);
    case AtomicOp::logical_or:
      return static_cast<T>(target != T{} || operand != T{});
    case AtomicOp::logical_and:
      return static_cast<T>(target != T{} && operand != T{});
    case AtomicOp::logical_xor:
      return static_cast<T>((target != T{}) != (operand != T{}));
    case AtomicOp::bit_or:
    case AtomicOp::bit_and:
    case AtomicOp::bit_xor:
    case AtomicOp::swap_masked:
      return bitwise(op, target, operand, comparand);
    case AtomicOp::read:
      return target;
    case AtomicOp::write:
      return operand;
    case AtomicOp::swap_equal:
      return comparand == target ? operand : target;
    case AtomicOp::swap_unequal:
      return comparand != target ? operand : target;
    case AtomicOp::swap_less_equal:
      return comparand <= target ? operand : target;
    case AtomicOp::swap_less:
      return comparand < target ? operand : target;
    case AtomicOp::swap_greater_equal:
      return comparand >= target ? operand : target;
    case AtomicOp::swap_greater:
      return comparand > target ? operand : target;
  }
  return target;
}

// Payloads are not aligned.
template <class T>
T number_at(std::span<const std::byte> from, std::size_t index) {
  T value{};
  if (from.size() >= (index + 1) * sizeof(T)) std::memcpy(&value, from.data() + index * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

std::size_t size_of(AtomicType type) {
  std::size_t size = 0;
  with_type(type, [&]<class T>() { size = sizeof(T); });
  return size;
}

bool has_comparand(AtomicOp op) { return op >= AtomicOp::swap_equal; }

bool known(std::uint8_t op, std::uint8_t type) {
  if (op > static_cast<std::uint8_t>(AtomicOp::swap_masked) || type > static_cast<std::uint8_t>(AtomicType::f64))
    return false;
  const auto which = static_cast<AtomicOp>(op);
  const bool bits = which == AtomicOp::bit_or || which == AtomicOp::bit_and || which == AtomicOp::bit_xor ||
                    which == AtomicOp::swap_masked;
  return !bits || type < static_cast<std::uint8_t>(AtomicType::f32);
}

void apply(AtomicOp op, AtomicType type, std::span<std::byte> target, std::span<const std::byte> operand,
           std::span<const std::byte> comparand) {
  with_type(type, [&]<class T>() {
    for (std::size_t i = 0; i < target.size() / sizeof(T); ++i) {
      const T value = combined(op, number_at<T>(target, i), number_at<T>(operand, i), number_at<T>(comparand, i));
      std::memcpy(target.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
}

}  // namespace weft::transport::rdm
