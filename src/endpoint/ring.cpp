#include "endpoint/ring.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::endpoint {
namespace {

constexpr std::size_t kHead = 4096;
constexpr std::size_t kFile = kHead + kRingBytes;
constexpr std::size_t kMapped = kFile + kRingBytes;

// A record with its word, up to where the next begins.
constexpr std::size_t whole(std::size_t bytes) {
  return (sizeof(std::uint64_t) + bytes + kRingLine - 1) & ~(kRingLine - 1);
}

}  // namespace

int make_ring_memory() {
  const int fd = memfd_create("weft", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  if (ftruncate(fd, kFile) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) return fd;
  close(fd);
  return -1;
}

std::optional<Ring> Ring::map(int fd) {
  struct stat file {};
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &file) != 0 || file.st_size != static_cast<off_t>(kFile))
    return std::nullopt;
  void* const all = mmap(nullptr, kMapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return std::nullopt;
  auto* const base = static_cast<std::byte*>(all);
  constexpr int kBoth = PROT_READ | PROT_WRITE;
  if (mmap(base, kFile, kBoth, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
      mmap(base + kFile, kRingBytes, kBoth, MAP_SHARED | MAP_FIXED, fd, kHead) == MAP_FAILED) {
    munmap(all, kMapped);
    return std::nullopt;
  }
  Ring ring;
  ring.base_ = base;
  return ring;
}

Ring::~Ring() {
  if (base_ != nullptr) munmap(base_, kMapped);
}

std::byte* Ring::room(std::size_t bytes) {
  const std::size_t needed = whole(bytes) + kRingLine;
  if (kRingBytes - (place_ - seen_) < needed && kRingBytes - (place_ - consumed()) < needed) return nullptr;
  return broken_ ? nullptr : at(place_) + sizeof(std::uint64_t);
}

void Ring::produce(std::size_t bytes) {
  const std::uint64_t next = place_ + whole(bytes);
  word(next).store(0, std::memory_order_relaxed);
  word(place_).store(bytes, std::memory_order_release);
  place_ = next;
}

std::uint64_t Ring::consumed() {
  const std::uint64_t said = head().consumed.load(std::memory_order_acquire);
  if (said < seen_ || said > place_)
    broken_ = true;
  else
    seen_ = said;
  return seen_;
}

std::size_t Ring::available() {
  const std::uint64_t said = word(place_).load(std::memory_order_acquire);
  if (said > kMostRecord) broken_ = true;
  return seen_ = broken_ ? 0 : said;
}

void Ring::consume() {
  place_ += whole(seen_);
  head().consumed.store(place_, std::memory_order_release);
}

}  // namespace weft::endpoint
