#pragma once
// Which routers the packets of each path cross, and which of them those that are ill have in common.
//
// A path is a source port, and what switches hash. A probe of that port whose hops are used up at a router has taken
// the way that the path's packets take, and the router says who it is (ICMP: time exceeded), if it does: Linux answers
// one host six times at once and then once a second, so that what was not answered is asked again, and the ways of some
// paths must do. None of this is trusted with more than a name in a report.

#include <cstdint>
#include <optional>
#include <vector>

#include "net/address.hpp"
#include "net/path_watch.hpp"

namespace weft::net {

using Route = std::vector<std::optional<Address>>;  // from the nearest router on; nothing: it did not say who it is

// What to ask next, and what is known.
class RouteTrace {
 public:
  using Instant = std::int64_t;
  static constexpr std::uint8_t kMostHops = 8;
  static constexpr Instant kAnswerWithin = 200'000'000'000;  // 200 ms: until then a path is asked nothing else
  static constexpr Instant kBetween = 5'000'000'000;         // 5 ms between two questions
  static constexpr Instant kRound = 1'000'000'000'000;       // a second: a router answers once more
  static constexpr std::uint32_t kMostRounds = 60;
  static constexpr std::uint32_t kSilentRounds = 3;  // after which nobody is going to answer

  explicit RouteTrace(std::size_t paths) : asked_(paths), routes_(paths, Route(kMostHops)) {}

  struct Question {
    std::uint32_t path;
    std::uint8_t hops;
  };
  // Nothing: not yet, or there is none left. Of path 0 nothing is asked (Node::turned_back).
  std::optional<Question> ask(Instant now);
  Instant due() const { return next_; }  // kNever: there is none left
  void turned_back(std::uint32_t path, const Address& router);
  void arrived(std::uint8_t hops);  // a probe that had so many

  Route route(std::uint32_t path) const;  // as far as it is known

 private:
  void begin_round(Instant now);

  struct Asked {
    std::uint8_t hops = 0;
    Instant at = 0;
  };
  std::vector<Asked> asked_;  // by path: the last question
  std::vector<Route> routes_;
  std::uint8_t end_ = kMostHops + 1;  // hops of the shortest probe that arrived
  std::vector<Question> round_;       // nearest routers first
  std::size_t at_ = 0;
  std::uint32_t rounds_ = 0;
  std::uint32_t silent_ = 0;  // rounds in a row
  bool answered_ = false;     // in this one
  Instant began_ = 0;
  Instant next_ = 0;
};

struct Way {
  PathState state = PathState::healthy;
  Route route;
};

// A router that paths in one state have in common and healthy ones have not. Counted are those whose router at that
// place is known.
struct Suspect {
  PathState state;
  Address router;
  std::size_t ill = 0;  // of those in that state, so many cross it
  std::size_t all_ill = 0;
  std::size_t healthy = 0;
  std::size_t all_healthy = 0;
};

// For each state at most one: at least half of its paths cross it, no more healthy ones do, and of those that cross it
// four times the share is ill that is of those that do not. Where every path crosses a router, none points at it.
std::vector<Suspect> suspects(const std::vector<Way>& ways);

}  // namespace weft::net
