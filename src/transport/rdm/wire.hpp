#pragma once
// What the layer says to its peer, byte by byte: four kinds of envelope, and the records of a bundle. Little-endian.
//
//   bundle    payload: records, one behind the other
//   message   payload: that of the message
//   write     payload: for the memory that the key names
//   answer    payload: what was read
//
// A record is its kind, its fields and, where it has a payload, a length and that.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "transport/rdm/carrier.hpp"
#include "transport/rdm/requests.hpp"

namespace weft::transport::rdm {

enum class EnvelopeKind : std::uint8_t { bundle = 1, message, write, answer };
enum class RecordKind : std::uint8_t { message = 1, offer, write, read, answer, atomic, done, grant };

// Bounded by what it is given; once something did not fit, nothing does.
class Writer {
 public:
  explicit Writer(std::span<std::byte> to) : to_(to) {}
  template <std::unsigned_integral T>
  void put(T value) {
    if (std::byte* at = claim(sizeof(T)))
      for (std::size_t i = 0; i < sizeof(T); ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
  }
  // Room for bytes that the caller fills in.
  std::span<std::byte> payload(std::uint32_t bytes) {
    put(bytes);
    std::byte* at = claim(bytes);
    return at ? std::span(at, bytes) : std::span<std::byte>();
  }
  std::size_t size() const { return size_; }
  std::size_t room() const { return fits_ ? to_.size() - size_ : 0; }
  bool fits() const { return fits_; }

 private:
  std::byte* claim(std::size_t bytes) {
    if (!fits_ || to_.size() - size_ < bytes) {
      fits_ = false;
      return nullptr;
    }
    size_ += bytes;
    return to_.data() + size_ - bytes;
  }

  std::span<std::byte> to_;
  std::size_t size_ = 0;
  bool fits_ = true;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> from) : left_(from) {}
  template <std::unsigned_integral T>
  T take() {
    if (left_.size() < sizeof(T)) {
      good_ = false;
      left_ = {};
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) value |= std::to_integer<std::uint64_t>(left_[i]) << (8 * i);
    left_ = left_.subspan(sizeof(T));
    return static_cast<T>(value);
  }
  std::span<const std::byte> payload() {
    const auto bytes = take<std::uint32_t>();
    if (bytes > left_.size()) good_ = false;
    if (!good_) return {};
    const auto taken = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return taken;
  }
  bool good() const { return good_; }  // all that was taken was there
  bool empty() const { return left_.empty(); }

 private:
  std::span<const std::byte> left_;
  bool good_ = true;
};

// Of a message, wherever it stands: an envelope, a record, or the record that offers a long one.
struct MessageHead {
  static constexpr std::size_t kMost = 29;
  bool tagged = false;
  bool has_data = false;
  bool wants_done = false;
  std::uint32_t sequence = 0;
  std::uint64_t tag = 0;
  std::uint64_t data = 0;
  std::uint64_t id = 0;  // where it wants to hear that it is done

  void write(Writer& to) const;
  static MessageHead read(Reader& from);
};

// What an offer says beside the head of its message.
struct OfferBody {
  std::uint64_t bytes = 0;
  Remote source;

  void write(Writer& to) const;
  static OfferBody read(Reader& from);
};

struct WriteHead {
  static constexpr std::size_t kMost = 33;
  bool has_data = false;
  std::uint64_t id = 0;
  Remote target;
  std::uint64_t data = 0;

  void write(Writer& to) const;
  static WriteHead read(Reader& from);
};

struct ReadHead {
  std::uint64_t id = 0;
  Remote source;
  std::uint64_t bytes = 0;

  void write(Writer& to) const;
  static ReadHead read(Reader& from);
};

struct AtomicHead {
  static constexpr std::size_t kMost = 31;
  std::uint64_t id = 0;
  Remote target;
  std::uint8_t op = 0;
  std::uint8_t type = 0;
  bool fetch = false;
  std::uint32_t count = 0;

  void write(Writer& to) const;
  static AtomicHead read(Reader& from);
};

enum class Verdict : std::uint8_t { fine, bad_access, unsupported, not_ready, last = not_ready };

struct Done {
  static constexpr std::size_t kMost =
      14;  // with its kind and the length of its payload, which is what an atomic fetched
  std::uint64_t id = 0;
  Verdict verdict = Verdict::fine;

  void write(Writer& to) const;
  static Done read(Reader& from);
};

// How far the sender may go, counted from the beginning of the connection.
struct Grant {
  std::uint32_t messages = 0;
  std::uint64_t bytes = 0;

  void write(Writer& to) const;
  static Grant read(Reader& from);
};

}  // namespace weft::transport::rdm
