#pragma once
// Records from one process to another through memory that both have mapped. One writes, one reads.
//
// A record begins with a word that says how long it is, and zero where it is not there yet: the word that its reader
// looks at lies in the first cache line of what it is about to read, and a short message moves one line from core to
// core. The writer puts the zero behind a record before it says that the record is there.
//
// The other side may be broken or hostile: each keeps its own place by itself and believes the other's only as far as
// it is possible; what is read is copied before it is judged. The memory cannot shrink (sealed), so that no access
// faults. It is mapped twice in a row, so that what wraps around is still one piece.
//
//   0     consumed, who sleeps               a page
//   4096  records, kRingBytes                and once more

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace weft::endpoint {

inline constexpr std::size_t kRingBytes = std::size_t{128} << 10;
inline constexpr std::size_t kRingLine = 64;  // records begin at multiples of it
// The longest record: with its word, and a line for the word behind it.
inline constexpr std::size_t kMostRecord = kRingBytes - kRingLine - sizeof(std::uint64_t);

struct RingHead {
  alignas(64) std::atomic<std::uint64_t> consumed;
  alignas(64) std::atomic<std::uint32_t> reader_sleeps;
  std::atomic<std::uint32_t> writer_sleeps;
  std::atomic<std::uint32_t> direct;  // whether the reader can read the writer's memory: 0 not known, 1 yes, 2 no
};
static_assert(sizeof(RingHead) <= 4096 && std::atomic_ref<std::uint64_t>::is_always_lock_free);

// Memory for a ring that nobody can make shorter, or -1.
int make_ring_memory();

class Ring {
 public:
  Ring() = default;
  Ring(Ring&& other) noexcept : base_(std::exchange(other.base_, nullptr)), place_(other.place_), seen_(other.seen_) {}
  Ring& operator=(Ring&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(place_, other.place_);
    std::swap(seen_, other.seen_);
    return *this;
  }
  ~Ring();
  // Nothing where the memory is not as make_ring_memory() makes it.
  static std::optional<Ring> map(int fd);

  RingHead& head() const { return *reinterpret_cast<RingHead*>(base_); }

  // ---- the writer's
  // Where a record of `bytes` can be written, or null: there is no room. `broken()` where the reader says what cannot
  // be.
  std::byte* room(std::size_t bytes);
  void produce(std::size_t bytes);
  std::uint64_t produced() const { return place_; }
  std::uint64_t consumed();  // as the reader says, if it can be

  // ---- the reader's
  // Bytes of the first record; 0: there is none.
  std::size_t available();
  const std::byte* front() const { return at(place_) + sizeof(std::uint64_t); }
  void consume();  // the record that was told of last
  std::uint64_t place() const { return place_; }

  bool broken() const { return broken_; }

 private:
  std::byte* at(std::uint64_t place) const { return base_ + 4096 + (place & (kRingBytes - 1)); }
  std::atomic_ref<std::uint64_t> word(std::uint64_t place) const {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at(place)));
  }

  std::byte* base_ = nullptr;
  std::uint64_t place_ = 0;  // ours
  std::uint64_t seen_ = 0;   // the writer's: the other's place; the reader's: bytes of the first record
  bool broken_ = false;
};

}  // namespace weft::endpoint
