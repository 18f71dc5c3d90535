#pragma once
// An optional key of the job: every packet then ends with a number that never repeats and a tag over all of it, so that
// who can read the packets can still not forge, change or repeat one. Nothing is hidden: payload stays readable.
//
// The tag is Poly1305 with a one-time key from ChaCha20 (as in RFC 8439, but nothing is encrypted), which needs keys
// and numbers that are used once: each connection and direction has a key of its own, derived from the job's key and
// the two random numbers of the connection. Packets of the handshake bear BLAKE2b with the job's key.

#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.hpp"

namespace weft::net {

using Key = std::array<std::uint8_t, 32>;

inline constexpr std::size_t kTagBytes = 16;
inline constexpr std::size_t kSealBytes = 8 + kTagBytes;  // number, tag

// From a file with at least 16 bytes of secret, of any kind; why not, where there is none.
Result<Key, std::string> read_key(const std::string& file);

using Tag = std::array<std::uint8_t, kTagBytes>;
Tag tag_of(const Key& key, std::span<const std::uint8_t> bytes);
bool same(const Tag& tag, std::span<const std::uint8_t> other);

// Numbers that were seen: each counts once, and none that is older than the window.
class ReplayWindow {
 public:
  // Packets that take different ways overtake each other by thousands.
  static constexpr std::uint64_t kWindow = 8192;
  bool fresh(std::uint64_t number) const;
  void take(std::uint64_t number);

 private:
  std::uint64_t newest_ = 0;  // the next number after the greatest that was taken
  std::array<std::uint64_t, kWindow / 64> seen_{};
};

// Of one connection.
class Seal {
 public:
  Seal(const Key& job, std::uint64_t ours, std::uint64_t theirs);
  using Trailer = std::array<std::uint8_t, kSealBytes>;
  // What stands behind a packet whose bytes are `parts`.
  Trailer close(std::span<const iovec> parts);
  // Whether a packet with its trailer is the peer's, and for the first time.
  bool open(std::span<const std::uint8_t> packet);

 private:
  Key out_;
  Key in_;
  std::uint64_t next_ = 0;
  ReplayWindow window_;
};

}  // namespace weft::net
