#pragma once
// The transport of one node, whichever it is: they are all driven alike (transport/operation.hpp).

#include <cstddef>
#include <string_view>
#include <variant>
#include <vector>

#include "dst/scenario.hpp"
#include "transport/roce/roce.hpp"
#include "transport/srd/srd.hpp"
#include "transport/srd/tcp_over_srd.hpp"
#include "transport/tcp/tcp.hpp"
#include "transport/uet/uet.hpp"

namespace weft::dst {

class Engine {
 public:
  Engine(const Scenario& scenario, std::uint16_t generation) : transport_(make(scenario, generation)) {}

  bool post(Instant now, std::uint32_t endpoint, const transport::Operation& operation) {
    return std::visit([&](auto& each) { return each.post(now, endpoint, operation); }, transport_);
  }
  transport::Placement handle(Instant now, std::uint32_t endpoint, transport::PacketType type, std::uint8_t flags,
                              const transport::Header& header) {
    return std::visit([&](auto& each) { return each.handle(now, endpoint, type, flags, header); }, transport_);
  }
  bool poll_ack(std::uint32_t endpoint, transport::Transmit& out) {
    return std::visit([&](auto& each) { return each.poll_ack(endpoint, out); }, transport_);
  }
  bool poll(Instant now, std::uint32_t endpoint, transport::Transmit& out) {
    return std::visit([&](auto& each) { return each.poll(now, endpoint, out); }, transport_);
  }
  Instant next_wake(std::uint32_t endpoint) const {
    return std::visit([&](auto& each) { return each.next_wake(endpoint); }, transport_);
  }
  std::vector<transport::Completion>& completions() {
    return std::visit(
        [](auto& each) -> auto& { return each.completions(); }, transport_);
  }
  std::string_view check_invariants() const {
    return std::visit([](auto& each) { return each.check_invariants(); }, transport_);
  }
  // What grows with messages and with what others send.
  std::size_t held() const {
    return std::visit([](auto& each) { return held(each); }, transport_);
  }

 private:
  using Any = std::variant<transport::Srd, transport::Roce, transport::Tcp, transport::Uet, transport::TcpOverSrd>;

  static Any make(const Scenario& scenario, std::uint16_t generation);
  template <class Config>
  static Config with(Config config, std::uint16_t generation) {
    config.generation = generation;
    return config;
  }
  static std::size_t held(const transport::Tcp& tcp) { return tcp.held(); }
  template <class Other>
  static std::size_t held(const Other& other) {
    return other.messages_held();
  }

  Any transport_;
};

inline Engine::Any Engine::make(const Scenario& scenario, std::uint16_t generation) {
  switch (scenario.transport) {
    case transport::Protocol::rocev2:
      return Any(std::in_place_type<transport::Roce>, with(scenario.roce, generation));
    case transport::Protocol::tcp:
      return Any(std::in_place_type<transport::Tcp>, with(scenario.tcp, generation));
    case transport::Protocol::uet:
      return Any(std::in_place_type<transport::Uet>, with(scenario.uet, generation));
    case transport::Protocol::tcp_over_srd:
      return Any(std::in_place_type<transport::TcpOverSrd>, with(scenario.srd, generation));
    case transport::Protocol::srd:
    case transport::Protocol::raw:
      break;
  }
  return Any(std::in_place_type<transport::Srd>, with(scenario.srd, generation));
}

}  // namespace weft::dst
