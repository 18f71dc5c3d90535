#pragma once
// The transport of one node, whichever it is: they are all driven alike (transport/operation.hpp).

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "dst/scenario.hpp"

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
    return std::visit([](auto& each) { return each.messages_held(); }, transport_);
  }

 private:
  // One of those that promise delivery.
  template <class Transport>
  using IfTested =
      std::conditional_t<Transport::kDescription.delivers, std::tuple<typename Transport::Engine>, std::tuple<>>;
  template <class... Tuples>
  static auto joined(std::tuple<Tuples...>) -> decltype(std::tuple_cat(std::declval<Tuples>()...));
  template <class... Engines>
  static auto one_of(std::tuple<Engines...>) -> std::variant<Engines...>;
  using Any = decltype(one_of(joined(std::declval<transport::Transports::Tuple<IfTested>>())));

  static Any make(const Scenario& scenario, std::uint16_t generation);

  Any transport_;
};

inline Engine::Any Engine::make(const Scenario& scenario, std::uint16_t generation) {
  std::optional<Any> made;
  transport::Transports::with(scenario.transport, [&]<class Each>() {
    if constexpr (Each::kDescription.delivers) {
      auto config = Each::config_in(scenario);
      config.generation = generation;
      made.emplace(std::in_place_type<typename Each::Engine>, config);
    }
  });
  return *std::move(made);
}

}  // namespace weft::dst
