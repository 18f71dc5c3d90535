#pragma once
// One event is one cache line: a packet arriving at an entity, with the packet in it, or something else that happens
// there. Nothing is allocated per packet and nothing is shared between partitions.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "transport/packet.hpp"

namespace weft::sim {

enum class EventKind : std::uint8_t {
  packet,
  wake,  // an endpoint has something to do; at a switch, a port
  post,
  call,
  control,    // between neighbours: pause, resume, credit
  delivered,  // a packet that the host has taken out of its NIC, or its program has got to
};

// What neighbours tell each other, leaves of a scheduled fabric across it, and an entity itself.
enum class Control : std::uint32_t { pause, resume, credit, watch, ask, grant, send };

// What an event is about, by its kind; of a packet it is the header. Every byte has a name and is written, because all
// of them are part of the digest.
struct Wake {
  std::uint32_t which = 0;  // endpoint of a host, port of a switch
  std::array<std::uint32_t, 9> unused{};
};
struct Post {
  std::uint32_t endpoint = 0;
  std::uint32_t peer = 0;
  std::uint16_t unused = 0;
  transport::Op op = transport::Op::send;
  std::uint32_t context = 0;
  std::uint32_t queue = 0;
  std::uint32_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint16_t unused_too = 0;
  transport::Protocol protocol = transport::Protocol::srd;
  std::uint8_t lane = 0;
  std::uint32_t unused_at_the_end = 0;
};
struct Call {
  std::array<std::uint64_t, 3> unused{};
  std::uint64_t context = 0;  // the client's
  std::uint64_t unused_too = 0;
};
struct ControlFrame {
  std::uint32_t which = 0;  // port that is told; between leaves, the endpoint behind it
  std::uint32_t cls = 0;
  std::uint32_t unused = 0;
  Control what = Control::pause;
  std::uint32_t queue = 0;  // between leaves: the virtual queue, and the leaf that it is at
  std::uint32_t leaf = 0;
  std::int64_t amount = 0;  // bytes; of a watch, since when
  std::uint64_t unused_too = 0;
};

struct alignas(64) Event {
  std::int64_t time = 0;     // ps, a plain number as all that the wheel calculates with it for every hop
  std::uint32_t to = 0;      // entity that handles it
  std::uint32_t from = 0;    // entity that caused it
  std::uint32_t number = 0;  // of its cause, counted by `from`
  std::uint16_t bytes = 0;   // on the wire
  EventKind kind : 3 = EventKind::packet;
  std::uint8_t rate : 5 = 0;  // of the link it came by, where a switch cuts through (Layout::rates)
  transport::PacketType type : 4 = transport::PacketType::data;
  std::uint8_t flags : 4 = 0;
  union {
    transport::Header header;
    Wake wake;
    Post post;
    Call call;
    ControlFrame control;
  };

  Event() : header{} {}
  explicit Event(const Wake& about) : kind(EventKind::wake), wake(about) {}
  explicit Event(const Post& about) : kind(EventKind::post), post(about) {}
  explicit Event(const Call& about) : kind(EventKind::call), call(about) {}
  explicit Event(const ControlFrame& about) : kind(EventKind::control), control(about) {}
};
static_assert(sizeof(Event) == 64 && sizeof(Wake) == 40 && sizeof(Post) == 40 && sizeof(Call) == 40 &&
              sizeof(ControlFrame) == 40);

// What a port changes about a packet.
struct Passing {
  std::uint32_t bytes;
  std::uint8_t flags;
};

// Every word of an event, each by a factor of its own: a change in any one of them shows.
template <class ControlFrame>
std::uint64_t hash_words(ControlFrame w) {
  return (w(0) * 0x9e3779b97f4a7c15ULL + w(1) * 0xbf58476d1ce4e5b9ULL) ^
         (w(2) * 0x94d049bb133111ebULL + w(3) * 0xd6e8feb86659fd93ULL) ^
         (w(4) * 0xa0761d6478bd642fULL + w(5) * 0xe7037ed1a0b428dbULL) ^
         (w(6) * 0x8ebc6af09c88c6e3ULL + w(7) * 0x589965cc75374cc3ULL);
}
// Word by word from where it lies: a copy of the whole would be written and read again.
inline std::uint64_t hash_of(const Event& event) {
  static_assert(sizeof(Event) == 8 * sizeof(std::uint64_t));
  return hash_words([&](std::size_t i) {
    std::uint64_t word;
    std::memcpy(&word, reinterpret_cast<const char*>(&event) + i * sizeof word, sizeof word);
    return word;
  });
}

// The order in which an entity handles what happens at one time.
inline std::uint64_t cause(const Event& event) { return (std::uint64_t{event.from} << 32) | event.number; }

}  // namespace weft::sim
