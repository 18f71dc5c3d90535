#pragma once
// The packets by which two processes agree on a connection, and by which they see that it is alive. 64 bytes, as long
// in every version, so that whoever speaks another one can be told so in words; then zeros that make a greeting as
// long as the longest packet will be: what arrives has shown that the path takes it.
//
//   offset size field
//        0    1 version
//        1    1 type              16 hello, 17 retry, 18 accept, 19 refused, 20 ping, 21 pong, 22 bye,
//                                 23 nic, 24 look, 25 seen
//        2    2                   0
//        4    4 checksum          CRC-32C of the 64 bytes and the text, with this field zero
//        8    8 connection        the receiver's number for it; 0 where it has not said one yet
//       16    8 own connection    the sender's number for it
//       24    8 nonce             comes back in the answer
//       32   16 cookie            retry: what a hello has to bring back; hello: zeros at first; nic: its IP address
//       48    2 port              hello, accept, nic: where the sender takes packets
//       50    2 datagram          hello, accept: bytes of this datagram, zeros included
//       52    2 largest           likewise: of the longest datagram that the sender takes
//       54    2 text              bytes behind this header: refused: of text, at most 200; else 16 of a tag where the
//       job has
//                                 a key: BLAKE2b with it of these 64 bytes, checksum zero
//       56    4 features          hello, accept: bit 0: takes an acknowledgement and data behind it as one datagram;
//                                 bits 8 to 10: how many NICs the sender has, less one; nic: which of them;
//                                 ping: 1 + path of the answer, or 0; pong to that: 1 + ns that it waited
//       60    4                   0

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "net/address.hpp"
#include "net/seal.hpp"
#include "transport/srd/codec.hpp"

namespace weft::net {

enum class Control : std::uint8_t { hello = 16, retry, accept, refused, ping, pong, bye, nic, look, seen };

inline constexpr std::size_t kControlBytes = 64;
inline constexpr std::size_t kMostText = 200;

inline constexpr std::uint32_t kTakesBoth = 1;  // a feature: an acknowledgement and data behind it as one datagram
inline constexpr std::uint32_t kMostNics = 8;
inline constexpr std::uint32_t kNicsShift = 8;  // in features: how many NICs, less one

using Cookie = std::array<std::uint8_t, 16>;

struct ControlPacket {
  std::uint8_t version = transport::kWireVersion;  // who is refused for another is told so in its own
  Control type = Control::hello;
  std::uint64_t connection = 0;
  std::uint64_t own_connection = 0;
  std::uint64_t nonce = 0;
  Cookie cookie{};
  std::uint16_t port = 0;
  std::uint16_t datagram = 0;
  std::uint16_t largest = 0;
  std::uint32_t features = 0;
  std::string text;
};

// With a key, a tag stands where the text would: refusals have none, for whoever is refused has another key or none.
std::vector<std::uint8_t> encode(const ControlPacket& packet, const Key* key = nullptr);
std::optional<ControlPacket> decode_control(std::span<const std::uint8_t> in);
// Whether a packet that was decoded bears the key's tag.
bool is_tagged(std::span<const std::uint8_t> in, const Key& key);

// What to say to a greeting of another version, in that version, which is all that its sender reads; nothing where it
// is none.
std::optional<ControlPacket> refusal_of(std::span<const std::uint8_t> hello);

// Says who has been where a hello claims to be from, without keeping anything for those who have not.
class Cookies {
 public:
  Cookies();
  Cookie make(const Address& from, std::uint64_t connection, std::int64_t seconds) const;
  bool check(const Cookie& cookie, const Address& from, std::uint64_t connection, std::int64_t seconds) const;

 private:
  Cookie at(const Address& from, std::uint64_t connection, std::int64_t epoch) const;
  std::array<std::uint8_t, 32> secret_;
};

// Nobody guesses it; never 0.
std::uint64_t random_number();

}  // namespace weft::net
