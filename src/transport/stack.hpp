#pragma once
// All transports of a partition behind one door. The set is closed (transports.hpp): direct calls, no virtual
// call per packet. Only those that a run uses are made.
//
// A transport whose messages travel in several classes has connections for each, as queue pairs have each their own
// traffic class: a stack per lane. The upper bits of a packet's generation say which lane it is of.

#include <bit>
#include <cstdint>
#include <optional>

#include "transport/raw/raw.hpp"
#include "transport/transports.hpp"

namespace weft::transport {

inline constexpr std::uint32_t kMostLanes = 8;
inline constexpr std::uint32_t kLaneShift = 13;  // of a generation

struct StackConfig : Transports::Settings {
  std::uint64_t seed = 1;
  std::uint8_t used = 1;  // bit per Protocol

  bool uses(Protocol protocol) const { return used >> static_cast<int>(protocol) & 1; }
  void use(Protocol protocol) { used = static_cast<std::uint8_t>(used | 1 << static_cast<int>(protocol)); }
  // Calls call(description, config) for each there is, used or not.
  template <class Call>
  void for_each(Call call) {
    Transports::for_each([&]<class Each>() { call(Each::kDescription, Each::config_in(*this)); });
  }
  // Bytes of a full packet on the wire, and of all that is not payload in it.
  std::uint32_t packet_of(Protocol protocol) const;
  std::uint32_t header_of(Protocol protocol) const;
  // Of all that are used: the longest packet, and the shortest that can be one.
  std::uint32_t longest_packet() const;
  std::uint32_t shortest_header() const;
  // What the network is like, as each wants to know it: the longest round trip, and how long so many bytes take on a
  // host's wire.
  void set_network(Duration base_rtt, Duration wire_time, std::uint32_t wire_bytes);
  // The same for another lane, where other protocols may be used.
  StackConfig in_lane(std::uint32_t lane, std::uint8_t protocols) const;
};

class Stack {
 public:
  explicit Stack(const StackConfig& config) : used_(config.used), raw_(config.raw.header, config.seed) {
    if (std::has_single_bit(used_)) only_ = static_cast<Protocol>(std::countr_zero(used_));
    Transports::for_each([&]<class Each>() {
      if (config.uses(Each::kDescription.protocol)) engine<Each>().emplace(Each::config_in(config));
    });
  }

  bool post(Instant now, std::uint32_t endpoint, const Operation& operation) {
    bool taken = false;
    visit(operation.protocol, [&](auto& transport) { taken = transport.post(now, endpoint, operation); });
    return taken;
  }
  void handle(Instant now, std::uint32_t endpoint, PacketType type, std::uint8_t flags, const Header& header) {
    if (type == PacketType::raw && !uses(Protocol::raw)) return raw_.handle(header);
    visit(protocol_of(type), [&](auto& transport) { transport.handle(now, endpoint, type, flags, header); });
  }
  bool poll_ack(Protocol protocol, std::uint32_t endpoint, Transmit& out) {
    bool found = false;
    visit(protocol, [&](auto& transport) { found = transport.poll_ack(endpoint, out); });
    return found;
  }
  bool poll(Protocol protocol, Instant now, std::uint32_t endpoint, Transmit& out) {
    bool found = false;
    visit(protocol, [&](auto& transport) { found = transport.poll(now, endpoint, out); });
    return found;
  }
  Instant next_wake(Protocol protocol, std::uint32_t endpoint) {
    Instant when = kNever;
    visit(protocol, [&](auto& transport) { when = transport.next_wake(endpoint); });
    return when;
  }
  bool uses(Protocol protocol) const { return used_ >> static_cast<int>(protocol) & 1; }
  // Most runs use one only. Calls call(transport) with it, and says whether there is just one.
  template <class Call>
  bool with_only(Call call) {
    if (!only_) return false;
    visit(*only_, call);
    return true;
  }
  template <class Visit>
  void for_each_used(Visit visit) const {
    for (std::uint32_t left = used_; left != 0; left &= left - 1) visit(static_cast<Protocol>(std::countr_zero(left)));
  }
  // Calls use(completions) for each transport.
  template <class Use>
  void drain(Use use) {
    if (with_only([&](auto& transport) { use(transport.completions()); })) return;
    Transports::for_each([&]<class Each>() {
      if (auto& each = engine<Each>()) use(each->completions());
    });
  }
  Counters counters() const;
  Counters counters(Protocol protocol) const;
  // Asked for in every window of time: only this one of them.
  std::uint64_t payload_delivered() const {
    std::uint64_t bytes = 0;
    Transports::for_each([&]<class Each>() {
      if (const auto& each = engine<Each>()) bytes += each->counters().payload_delivered;
    });
    return bytes;
  }
  // Of all that hand over whole messages; TCP hands over byte by byte and has nothing of the kind.
  std::uint64_t underway_bytes() const;

  Raw& raw() { return raw_; }
  const Raw& raw() const { return raw_; }

 private:
  template <class Transport>
  using Engine = std::optional<typename Transport::Engine>;

  template <class Transport>
  Engine<Transport>& engine() {
    return std::get<Engine<Transport>>(engines_);
  }
  template <class Transport>
  const Engine<Transport>& engine() const {
    return std::get<Engine<Transport>>(engines_);
  }
  template <class Call>
  void visit(Protocol protocol, Call call) {
    Transports::with(protocol, [&]<class Each>() {
      if (auto& each = engine<Each>()) call(*each);
    });
  }

  std::uint8_t used_;  // bit per Protocol
  std::optional<Protocol> only_;
  Transports::Tuple<Engine> engines_;
  Raw raw_;  // sources beside the messages; where raw carries messages, there are none
};

}  // namespace weft::transport
