#pragma once
// What is asked of the message layer and what it tells.

#include <cstdint>

#include "transport/rdm/carrier.hpp"

namespace weft::transport::rdm {

inline constexpr std::uint32_t kAnyPeer = 0xFFFFFFFFu;

enum class Error : std::uint8_t {
  none,
  truncated,  // the message was longer than the receive
  canceled,
  peer_lost,    // it may or may not have arrived
  bad_access,   // the key names nothing, or not all of that, or not for this
  unsupported,  // an atomic that the target does not know
};

struct Send {
  std::uint32_t peer = 0;
  bool tagged = false;
  std::uint64_t tag = 0;
  bool has_data = false;
  std::uint64_t data = 0;
  Place from{};
  std::uint64_t bytes = 0;
  std::uint64_t context = 0;
  bool inject = false;    // `from` is free as soon as the call returns; at most inject_limit()
  bool delivery = false;  // completes when it is in a receive, not when the peer's layer has it
  bool quiet = false;     // completes with a word only when it fails
};

struct Receive {
  std::uint32_t peer = kAnyPeer;
  bool tagged = false;
  std::uint64_t tag = 0;
  std::uint64_t ignore = 0;  // bits of the tag that do not matter
  Place to{};
  std::uint64_t bytes = 0;
  std::uint64_t context = 0;
  // More than 0: takes messages one behind the other until less than this is left, which Kind::released tells.
  std::uint64_t least_left = 0;
};

struct Remote {
  std::uint64_t address = 0;
  std::uint64_t key = 0;
};

struct Write {
  std::uint32_t peer = 0;
  Place from{};
  std::uint64_t bytes = 0;
  Remote to{};
  bool has_data = false;  // the peer is told, with `data`
  std::uint64_t data = 0;
  std::uint64_t context = 0;
  bool inject = false;
  bool quiet = false;
};

struct Read {
  std::uint32_t peer = 0;
  Place to{};
  std::uint64_t bytes = 0;
  Remote from{};
  std::uint64_t context = 0;
  bool quiet = false;
};

enum class AtomicOp : std::uint8_t {
  min,
  max,
  sum,
  product,
  logical_or,
  logical_and,
  bit_or,
  bit_and,
  logical_xor,
  bit_xor,
  read,
  write,
  swap_equal,  // those with a comparand; the target takes the operand if `comparand OP target`
  swap_unequal,
  swap_less_equal,
  swap_less,
  swap_greater_equal,
  swap_greater,
  swap_masked,  // the bits of the comparand choose those of the operand
};
enum class AtomicType : std::uint8_t { i8, u8, i16, u16, i32, u32, i64, u64, f32, f64 };

struct Atomic {
  std::uint32_t peer = 0;
  AtomicOp op = AtomicOp::sum;
  AtomicType type = AtomicType::u64;
  std::uint32_t count = 1;
  Place operand{};    // not for AtomicOp::read
  Place comparand{};  // where the operation has one
  Remote target{};
  bool fetch = false;
  Place result{};  // where it fetches
  std::uint64_t context = 0;
  bool inject = false;  // operand and comparand are free as soon as the call returns
  bool quiet = false;
};

// Memory that peers may name by a key.
struct Region {
  std::uint64_t address = 0;  // that peers give its first byte
  std::uint64_t bytes = 0;
  Place place{};
  bool readable = false;
  bool writable = false;  // atomics need both where they fetch
};

struct Completion {
  enum class Kind : std::uint8_t {
    sent,
    received,
    released,  // a receive of many takes no more
    written,
    read,
    atomic,
    told,  // the peer has written to our memory with data for us, or accessed it, where that is told; no context
  };
  Kind kind;
  Error error = Error::none;
  bool tagged = false;
  bool has_data = false;
  bool fetched = false;  // told: the peer got what was there
  bool changed = false;  // told: and wrote
  std::uint32_t peer = 0;
  std::uint64_t context = 0;
  std::uint64_t tag = 0;
  std::uint64_t data = 0;
  std::uint64_t key = 0;    // told: of the region
  std::uint64_t bytes = 0;  // in place
  std::uint64_t cut = 0;    // truncated: that were not
  Place place{};            // received: the first byte, for receives of many
};

// A message that waits for a receive.
struct Waiting {
  std::uint64_t number;  // names it where it was claimed
  std::uint32_t peer;
  std::uint64_t tag;
  std::uint64_t bytes;
  bool has_data;
  std::uint64_t data;
};

}  // namespace weft::transport::rdm
