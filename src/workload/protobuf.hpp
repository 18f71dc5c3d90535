#pragma once
// Protobuf's wire format, as far as reading needs it: a message is a sequence of fields, each a number and a value,
// which is a varint, four or eight bytes, or bytes of a length. Every value stays within what is left of the message;
// nothing is allocated. The schema is the reader's.

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace weft::workload {

struct ProtobufField {
  enum class Kind : std::uint8_t { varint = 0, eight = 1, bytes = 2, four = 5 };
  std::uint32_t number = 0;
  Kind kind = Kind::varint;
  std::uint64_t value = 0;  // of a varint, or little-endian of four or eight bytes
  std::string_view bytes;

  std::int64_t zigzag() const { return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1); }
};

class Protobuf {
 public:
  explicit Protobuf(std::string_view message) : rest_(message), begin_(message.data()) {}

  bool done() const { return rest_.empty(); }
  // How far it was read, for complaints.
  std::size_t at() const { return static_cast<std::size_t>(rest_.data() - begin_); }

  // Nothing: what follows is not of this format, and it is not read further.
  std::optional<ProtobufField> next() {
    const auto key = varint();
    if (!key || *key >> 3 == 0 || *key >> 3 > 0x1FFFFFFF) return std::nullopt;
    ProtobufField field{static_cast<std::uint32_t>(*key >> 3), static_cast<ProtobufField::Kind>(*key & 7), 0, {}};
    switch (field.kind) {
      case ProtobufField::Kind::varint:
        if (const auto value = varint())
          field.value = *value;
        else
          return std::nullopt;
        return field;
      case ProtobufField::Kind::eight:
        return fixed(field, 8);
      case ProtobufField::Kind::four:
        return fixed(field, 4);
      case ProtobufField::Kind::bytes:
        if (const auto text = delimited()) {
          field.bytes = *text;
          return field;
        }
        return std::nullopt;
      default:  // groups, which proto3 does not have
        return std::nullopt;
    }
  }

  // A length, and so many bytes.
  std::optional<std::string_view> delimited() {
    const auto length = varint();
    if (!length || *length > rest_.size()) return std::nullopt;
    const std::string_view made = rest_.substr(0, *length);
    rest_.remove_prefix(*length);
    return made;
  }

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 10 && i < rest_.size(); ++i) {
      const auto byte = static_cast<std::uint8_t>(rest_[i]);
      if (i == 9 && byte > 1) return std::nullopt;  // more than 64 bits
      value |= std::uint64_t{byte & 0x7Fu} << (7 * i);
      if (byte < 0x80) {
        rest_.remove_prefix(i + 1);
        return value;
      }
    }
    return std::nullopt;
  }

 private:
  std::optional<ProtobufField> fixed(ProtobufField field, std::size_t width) {
    if (rest_.size() < width) return std::nullopt;
    for (std::size_t i = 0; i < width; ++i)
      field.value |= std::uint64_t{static_cast<std::uint8_t>(rest_[i])} << (8 * i);
    rest_.remove_prefix(width);
    return field;
  }

  std::string_view rest_;
  const char* begin_;
};

}  // namespace weft::workload
