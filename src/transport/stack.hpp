#pragma once
// All transports of a partition behind one door. The set is closed: a switch and direct calls, no virtual
// call per packet. Only those that a run uses are made.
//
// A transport whose messages travel in several classes has connections for each, as queue pairs have each their own
// traffic class: a stack per lane. The upper bits of a packet's generation say which lane it is of.

#include <bit>
#include <cstdint>
#include <optional>

#include "transport/raw/messages.hpp"
#include "transport/raw/raw.hpp"
#include "transport/roce/roce.hpp"
#include "transport/srd/srd.hpp"
#include "transport/srd/tcp_over_srd.hpp"
#include "transport/tcp/tcp.hpp"
#include "transport/uet/uet.hpp"

namespace weft::transport {

inline constexpr std::uint32_t kMostLanes = 8;
inline constexpr std::uint32_t kLaneShift = 13;  // of a generation

struct StackConfig {
  SrdConfig srd;
  RoceConfig roce;
  TcpConfig tcp;
  UetConfig uet;
  SrdConfig tcp_over_srd;  // payload and header of its segments
  std::uint32_t raw_header = 64;
  std::uint64_t seed = 1;
  std::uint8_t used = 1;  // bit per Protocol

  bool uses(Protocol protocol) const { return used >> static_cast<int>(protocol) & 1; }
  // Bytes of a full packet on the wire, and of all that is not payload in it.
  std::uint32_t packet_of(Protocol protocol) const;
  std::uint32_t header_of(Protocol protocol) const;
  // Of all that are used: the longest packet, and the shortest that can be one.
  std::uint32_t longest_packet() const;
  std::uint32_t shortest_header() const;
  // What the network is like, as each wants to know it: the longest round trip, and how long so many bytes take on a
  // host's wire.
  void set_network(Instant base_rtt, Instant wire_time, std::uint32_t wire_bytes);
  // The same for another lane, where other protocols may be used.
  StackConfig in_lane(std::uint32_t lane, std::uint8_t protocols) const;
  void use(Protocol protocol) { used = static_cast<std::uint8_t>(used | 1 << static_cast<int>(protocol)); }
};

class Stack {
 public:
  explicit Stack(const StackConfig& config) : used_(config.used), raw_(config.raw_header, config.seed) {
    if (std::has_single_bit(used_)) only_ = static_cast<Protocol>(std::countr_zero(used_));
    if (config.uses(Protocol::srd)) srd_.emplace(config.srd);
    if (config.uses(Protocol::rocev2)) roce_.emplace(config.roce);
    if (config.uses(Protocol::tcp)) tcp_.emplace(config.tcp);
    if (config.uses(Protocol::uet)) uet_.emplace(config.uet);
    if (config.uses(Protocol::tcp_over_srd)) tcp_over_srd_.emplace(config.tcp_over_srd);
    if (config.uses(Protocol::raw)) raw_messages_.emplace(config.srd.payload, config.raw_header, config.srd.paths);
  }

  bool post(Instant now, std::uint32_t endpoint, const Operation& operation) {
    bool taken = false;
    visit(operation.protocol, [&](auto& transport) { taken = transport.post(now, endpoint, operation); });
    return taken;
  }
  void handle(Instant now, std::uint32_t endpoint, PacketType type, std::uint8_t flags, const Header& header) {
    if (type == PacketType::raw && !raw_messages_) return raw_.handle(header);
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
    if (srd_) use(srd_->completions());
    if (roce_) use(roce_->completions());
    if (tcp_) use(tcp_->completions());
    if (uet_) use(uet_->completions());
    if (tcp_over_srd_) use(tcp_over_srd_->completions());
    if (raw_messages_) use(raw_messages_->completions());
  }
  Counters counters() const;
  // Asked for in every window of time: only this one of them.
  std::uint64_t payload_delivered() const {
    const auto of = [](const auto& transport) { return transport ? transport->counters().payload_delivered : 0; };
    return of(srd_) + of(roce_) + of(tcp_) + of(uet_) + of(tcp_over_srd_) + of(raw_messages_);
  }
  Counters counters(Protocol protocol) const;
  // Of all of them; TCP hands over byte by byte and has nothing of the kind.
  std::uint64_t underway_bytes() const {
    return (srd_ ? srd_->underway_bytes() : 0) + (roce_ ? roce_->underway_bytes() : 0) +
           (uet_ ? uet_->underway_bytes() : 0) + (tcp_over_srd_ ? tcp_over_srd_->underway_bytes() : 0);
  }

  Raw& raw() { return raw_; }
  const Raw& raw() const { return raw_; }

 private:
  template <class Call>
  void visit(Protocol protocol, Call call) {
    if (protocol == Protocol::srd) {
      if (srd_) call(*srd_);
    } else if (protocol == Protocol::rocev2) {
      if (roce_) call(*roce_);
    } else if (protocol == Protocol::tcp) {
      if (tcp_) call(*tcp_);
    } else if (protocol == Protocol::uet) {
      if (uet_) call(*uet_);
    } else if (protocol == Protocol::tcp_over_srd) {
      if (tcp_over_srd_) call(*tcp_over_srd_);
    } else if (protocol == Protocol::raw) {
      if (raw_messages_) call(*raw_messages_);
    }
  }

  std::uint8_t used_;  // bit per Protocol
  std::optional<Protocol> only_;
  std::optional<Srd> srd_;
  std::optional<Roce> roce_;
  std::optional<Tcp> tcp_;
  std::optional<Uet> uet_;
  std::optional<TcpOverSrd> tcp_over_srd_;
  std::optional<RawMessages> raw_messages_;
  Raw raw_;  // sources beside the messages; where raw carries messages, there are none
};

}  // namespace weft::transport
