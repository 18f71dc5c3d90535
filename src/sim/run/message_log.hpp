#pragma once
// The messages a rank has sent, by number, for as long as the run lasts: they become its flow records.
//
// Chunks of a log double in size and never move, so an entry stays where it is while more are added. That is what
// lets the receiver's thread read a message's tag and note when it was received while the sender's thread
// adds others: each word has one writer, and a message that has come was sent at least a look-ahead, and
// so a synchronisation, earlier.

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

namespace weft::sim {

inline constexpr std::uint32_t kMostRanks = 1u << 24;  // that a message can name

// No initialisers: room for messages that are not there yet is not touched.
struct Message {
  std::uint64_t bytes;
  std::uint64_t tag;
  std::int64_t start;
  // When, or less than 0 while parts of it are on their way: how many.
  std::int64_t sent;
  std::int64_t received;  // the only word that the receiver writes
  std::uint32_t destination : 24;
  std::uint32_t stream : 8;
  std::uint32_t context;  // of the operation at the sender
  // In a run that has signals, those; in any other how much later than its bytes it is there, and how long it takes
  // at least.
  union {
    std::uint32_t when_sent;
    std::uint32_t least_ns;
  };
  union {
    std::uint32_t when_received;
    std::uint32_t lag_ps;
  };
};
static_assert(sizeof(Message) <= 56);

template <class Entry>
class SentLog {
 public:
  std::uint32_t size() const { return size_; }

  template <class Given>
  std::uint32_t add(Given&& entry) {
    const std::uint32_t number = size_++;
    if (number == 0) first_ = std::make_unique_for_overwrite<Entry[]>(kFirst);
    if (number >= kFirst && std::has_single_bit(number)) {
      if (!more_) more_ = std::make_unique<More>();
      (*more_)[chunk(number)] = std::make_unique_for_overwrite<Entry[]>(number);
    }
    (*this)[number] = std::forward<Given>(entry);
    return number;
  }

  Entry& operator[](std::uint32_t number) const {
    if (number < kFirst) return first_[number];
    return (*more_)[chunk(number)][number - std::bit_floor(number)];
  }

 private:
  // Most ranks of a large run send once or twice; they need no table of chunks.
  static constexpr std::uint32_t kFirst = 2;
  using More = std::array<std::unique_ptr<Entry[]>, 31>;  // chunk i holds numbers 2^(i+1) to 2^(i+2)-1
  static std::size_t chunk(std::uint32_t number) { return static_cast<std::size_t>(std::bit_width(number)) - 2; }

  std::unique_ptr<Entry[]> first_;
  std::unique_ptr<More> more_;
  std::uint32_t size_ = 0;
};

using MessageLog = SentLog<Message>;

}  // namespace weft::sim
