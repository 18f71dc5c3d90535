#pragma once
// Quantities with a dimension, exact: integers in the smallest unit that makes every figure in a
// datasheet a whole number. Time is picoseconds because a byte at 800 Gb/s is exactly 10 ps.

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace weft {

// An integer with a dimension. Adding two of one kind and scaling by a number is all arithmetic
// that means anything; everything else is a named function.
template <class Dimension>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t count) : count_(count) {}

  constexpr std::int64_t count() const { return count_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity other) const { return Quantity(count_ + other.count_); }
  constexpr Quantity operator-(Quantity other) const { return Quantity(count_ - other.count_); }
  constexpr Quantity operator*(std::int64_t times) const { return Quantity(count_ * times); }
  constexpr Quantity operator/(std::int64_t parts) const { return Quantity(count_ / parts); }
  constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }

 private:
  std::int64_t count_ = 0;
};

using Duration = Quantity<struct DurationDimension>;      // picoseconds
using Bytes = Quantity<struct BytesDimension>;            // bytes
using Bandwidth = Quantity<struct BandwidthDimension>;    // bits per second, one way
using Length = Quantity<struct LengthDimension>;          // millimetres
using Power = Quantity<struct PowerDimension>;            // milliwatts
using Price = Quantity<struct PriceDimension>;            // micro-dollars per hour
using PacketRate = Quantity<struct PacketRateDimension>;  // packets per second
using Compute = Quantity<struct ComputeDimension>;        // floating-point operations per second
using Share = Quantity<struct ShareDimension>;            // parts per million of something

constexpr Duration nanoseconds(std::int64_t n) { return Duration(n * 1000); }
constexpr Duration microseconds(std::int64_t n) { return Duration(n * 1'000'000); }
constexpr Bandwidth gigabits_per_second(std::int64_t n) { return Bandwidth(n * 1'000'000'000); }
constexpr Length metres(std::int64_t n) { return Length(n * 1000); }

// Time to put `size` on a wire of `rate`, rounded up: a simulator must never be early.
Duration transfer_time(Bytes size, Bandwidth rate);

// Why a text is not a quantity.
enum class UnitFault { not_a_number, no_unit, unknown_unit, not_exact, out_of_range };

struct Unit {
  std::string_view suffix;
  std::int64_t scale;  // in the quantity's smallest unit
};

// What the text of one dimension looks like: the units it accepts, largest first within a family.
struct UnitFamily {
  std::string_view name;     // "rate", as it stands in an error text
  std::string_view example;  // "400Gbps"
  std::string_view prefix;   // "$" for prices, else empty
  std::span<const Unit> units;
  std::string_view print_order;  // suffixes that are used for printing, separated by spaces
};

template <class Q>
const UnitFamily& unit_family();

Result<std::int64_t, UnitFault> parse_quantity(std::string_view text, const UnitFamily& family);

// The shortest text that reads back as exactly `count`.
std::string print_exact(std::int64_t count, const UnitFamily& family);
// The largest unit in which the number is at least 1, three significant digits: for people.
std::string print_short(std::int64_t count, const UnitFamily& family);

template <class Dimension>
Result<Quantity<Dimension>, UnitFault> parse(std::string_view text) {
  return parse_quantity(text, unit_family<Quantity<Dimension>>()).map([](std::int64_t count) {
    return Quantity<Dimension>(count);
  });
}

template <class Dimension>
std::string exact(Quantity<Dimension> q) {
  return print_exact(q.count(), unit_family<Quantity<Dimension>>());
}

template <class Dimension>
std::string brief(Quantity<Dimension> q) {
  return print_short(q.count(), unit_family<Quantity<Dimension>>());
}

}  // namespace weft
