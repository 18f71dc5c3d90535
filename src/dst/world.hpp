#pragma once
// The world of one seed: nodes with a transport each, a network with faults between them, and a clock that
// jumps from event to event.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "base/random.hpp"
#include "dst/dst.hpp"
#include "dst/engine.hpp"
#include "dst/ledger.hpp"
#include "dst/scenario.hpp"
#include "transport/srd/codec.hpp"

namespace weft::dst {

class World {
 public:
  World(const Scenario& scenario, std::uint64_t seed, bool canary);
  Outcome run();

 private:
  enum class Kind : std::uint8_t { packet, wake, post, restart, noise, pause, jump };

  struct Event {
    Instant time;
    std::uint64_t number;  // in order of their making: ties are broken the same way every time
    Kind kind;
    std::uint32_t node;  // that it happens to
    transport::PacketType type{};
    std::uint8_t flags = 0;
    transport::Header header{};
    std::array<std::uint8_t, transport::kWireHeader> bytes{};  // where packets are encoded
  };

  struct Node {
    std::unique_ptr<Engine> engine;
    std::uint32_t incarnation = 0;
    std::uint16_t generation = 1;
    Instant busy = 0;  // its wire
    Instant armed = transport::kNever;
    Instant runs_from = 0;  // it does not run before
    Instant ahead = 0;      // of the world's clock
  };

  struct Trouble {  // of a pair, or of everybody
    enum class Kind : std::uint8_t { clog, partition, dead_paths, slow } kind;
    std::uint32_t a;
    std::uint32_t b;
    Instant from;
    Instant to;
    std::uint32_t slower = 1;  // times, where it is slow
    Instant free = 0;          // when the last packet that waits there will have left
  };

  Instant some_time();  // of the first phase
  void draw_faults();
  void draw_operations();
  void post(std::uint32_t node, std::uint32_t peer);
  std::uint32_t lanes_of(const Ledger::Entry& entry);
  bool excused(std::uint32_t peer) const;

  void push(Event event);
  void run_until_idle(Instant limit);
  void step(const Event& event);
  void arrive(const Event& event);
  void pump(std::uint32_t node);
  void start(Node& node);
  void restart(std::uint32_t node);
  void make_noise(std::uint32_t node);
  void look(std::uint32_t node);
  std::size_t most_held() const;
  void look_for_leaks();

  void transmit(std::uint32_t node, const transport::Transmit& packet, Instant when);
  static std::uint32_t way_of(const transport::Header& header);
  bool swallowed(const transport::Header& header, Instant when) const;
  Instant arrival(const transport::Header& header, Instant when);
  bool chance(std::uint32_t of_1024) { return !healed_ && random_.below(1024) < of_1024; }
  std::uint32_t partners() const { return scenario_.hostile ? scenario_.nodes - 1 : scenario_.nodes; }
  // Calls call.template operator()<Transport>() with the one that is tested.
  template <class Call>
  void with_transport(Call call) const {
    transport::Transports::with(scenario_.transport, [&]<class Each>() {
      if constexpr (Each::kDescription.delivers) call.template operator()<Each>();
    });
  }
  Instant clock_of(std::uint32_t node) const { return now_ + nodes_[node].ahead; }
  Ledger::Life life(std::uint32_t node) const { return {node, nodes_[node].incarnation}; }

  Scenario scenario_;
  bool canary_;
  Random random_;
  Ledger ledger_;
  std::vector<Node> nodes_;
  std::vector<Trouble> troubles_;
  std::vector<std::uint32_t> restarts_;                                     // by node, in all
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> turns_;  // of (poster, peer): the next lane
  std::vector<Event> events_;                                               // a heap
  std::uint64_t made_ = 0;
  std::uint64_t handled_ = 0;
  Instant now_ = 0;
  bool healed_ = false;
  std::uint32_t rounds_healed_ = 0;  // of operations that were posted since, and have ended
  Digest digest_;
};

}  // namespace weft::dst
