#pragma once
// Bytes from one process to another through memory that both have mapped. One writes, one reads.
//
// The other side may be broken or hostile: each keeps its own place by itself and believes the other's only as far as
// it is possible; what is read is copied before it is judged. The memory cannot shrink (sealed), so that no access
// faults. It is mapped twice in a row, so that what wraps around is still one piece.
//
//   0     produced, consumed, who sleeps     a page
//   4096  bytes, kRingBytes                  and once more

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace weft::endpoint {

inline constexpr std::size_t kRingBytes = std::size_t{128} << 10;

struct RingHead {
  alignas(64) std::atomic<std::uint64_t> produced;
  alignas(64) std::atomic<std::uint64_t> consumed;
  alignas(64) std::atomic<std::uint32_t> reader_sleeps;
  std::atomic<std::uint32_t> writer_sleeps;
  std::atomic<std::uint32_t> direct;  // whether the reader can read the writer's memory: 0 not known, 1 yes, 2 no
};
static_assert(sizeof(RingHead) <= 4096 && std::atomic<std::uint64_t>::is_always_lock_free);

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
  // Where `bytes` can be written, or null: there is no room. `broken()` where the reader says what cannot be.
  std::byte* room(std::size_t bytes);
  void produce(std::size_t bytes);
  std::uint64_t produced() const { return place_; }
  std::uint64_t consumed();  // as the reader says, if it can be

  // ---- the reader's
  std::size_t available();
  const std::byte* front() const { return data() + (place_ & (kRingBytes - 1)); }
  void consume(std::size_t bytes);

  bool broken() const { return broken_; }

 private:
  std::byte* data() const { return base_ + 4096; }

  std::byte* base_ = nullptr;
  std::uint64_t place_ = 0;  // ours
  std::uint64_t seen_ = 0;   // the other's, when it was last looked at
  bool broken_ = false;
};

}  // namespace weft::endpoint
