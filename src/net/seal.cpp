#include "net/seal.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/big_endian.hpp"

namespace weft::net {
namespace {

constexpr std::size_t kLeastSecret = 16;
constexpr std::size_t kMostSecret = 4096;

// Towards the one who chose `to`.
Key direction_key(const Key& job, std::uint64_t to, std::uint64_t from) {
  std::array<std::uint8_t, 24> said{'w', 'e', 'f', 't', ' ', 's', 'r', 'd'};
  put(std::span<std::uint8_t>(said), 8, to);
  put(std::span<std::uint8_t>(said), 16, from);
  Key key{};
  crypto_generichash(key.data(), key.size(), said.data(), said.size(), job.data(), job.size());
  return key;
}

class Poly {
 public:
  Poly(const Key& key, std::span<const std::uint8_t> number) {
    static_assert(crypto_stream_chacha20_NONCEBYTES == 8 && crypto_onetimeauth_KEYBYTES == 32);
    std::array<std::uint8_t, crypto_onetimeauth_KEYBYTES> once;
    crypto_stream_chacha20(once.data(), once.size(), number.data(), key.data());
    crypto_onetimeauth_init(&state_, once.data());
  }
  void add(const void* bytes, std::size_t size) {
    crypto_onetimeauth_update(&state_, static_cast<const unsigned char*>(bytes), size);
  }
  Tag tag() {
    Tag out;
    static_assert(crypto_onetimeauth_BYTES == kTagBytes);
    crypto_onetimeauth_final(&state_, out.data());
    return out;
  }

 private:
  crypto_onetimeauth_state state_;
};

}  // namespace

Result<Key, std::string> read_key(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return Failure<std::string>(fmt::format("cannot read the key {}: {}", file, std::strerror(errno)));
  std::string secret(kMostSecret + 1, '\0');
  in.read(secret.data(), static_cast<std::streamsize>(secret.size()));
  secret.resize(static_cast<std::size_t>(in.gcount()));
  // An editor's line end is no part of it.
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  if (secret.size() < kLeastSecret || secret.size() > kMostSecret)
    return Failure<std::string>(
        fmt::format("{} has {} of secret, {} to {} are wanted: openssl rand -hex 32 > {}", file,
                    secret.size() > kMostSecret ? "too many bytes" : fmt::format("{} bytes", secret.size()),
                    kLeastSecret, kMostSecret, file));
  Key key{};
  crypto_generichash(key.data(), key.size(), reinterpret_cast<const unsigned char*>(secret.data()), secret.size(),
                     nullptr, 0);
  return key;
}

Tag tag_of(const Key& key, std::span<const std::uint8_t> bytes) {
  Tag tag;
  crypto_generichash(tag.data(), tag.size(), bytes.data(), bytes.size(), key.data(), key.size());
  return tag;
}

bool same(const Tag& tag, std::span<const std::uint8_t> other) {
  return other.size() == tag.size() && sodium_memcmp(tag.data(), other.data(), tag.size()) == 0;
}

bool ReplayWindow::fresh(std::uint64_t number) const {
  if (number >= newest_) return true;
  return newest_ - number <= kWindow && !(seen_[number % kWindow / 64] >> number % 64 & 1);
}

void ReplayWindow::take(std::uint64_t number) {
  if (number >= newest_) {
    if (number - newest_ >= kWindow) {
      seen_.fill(0);
    } else {
      for (std::uint64_t i = newest_; i < number; ++i) seen_[i % kWindow / 64] &= ~(std::uint64_t{1} << i % 64);
    }
    newest_ = number + 1;
  }
  seen_[number % kWindow / 64] |= std::uint64_t{1} << number % 64;
}

Seal::Seal(const Key& job, std::uint64_t ours, std::uint64_t theirs)
    : out_(direction_key(job, theirs, ours)), in_(direction_key(job, ours, theirs)) {}

Seal::Trailer Seal::close(std::span<const iovec> parts) {
  Trailer out;
  put(std::span<std::uint8_t>(out), 0, next_++);
  Poly poly(out_, std::span(out).first(8));
  for (const iovec& part : parts) poly.add(part.iov_base, part.iov_len);
  std::ranges::copy(poly.tag(), out.begin() + 8);
  return out;
}

bool Seal::open(std::span<const std::uint8_t> packet) {
  if (packet.size() < kSealBytes) return false;
  const auto trailer = packet.last(kSealBytes);
  const auto number = get<std::uint64_t>(trailer, 0);
  if (number == ~std::uint64_t{0} || !window_.fresh(number)) return false;
  Poly poly(in_, trailer.first(8));
  poly.add(packet.data(), packet.size() - kSealBytes);
  if (!same(poly.tag(), trailer.subspan(8))) return false;
  window_.take(number);
  return true;
}

}  // namespace weft::net
