#pragma once
// Max-min fair rates of flows over links, kept up to date while flows come and go: those of messages between servers
// (flow executor) and of transfers inside them (host links).
//
// All rates grow together until a link is full; its flows keep that rate, the others grow on (progressive
// filling). The rate at which a link fills up is its level, and a flow's rate is the least level of its links.
// A flow may put only a part of itself on a link: its weight there, out of kWhole. It may also stand for many that have
// the same links: they have the same rate, and cost no more than one.
//
// A change affects no level below the first one that it touches, and often few above. So `settle` fills anew
// from below, in rounds of rising levels, with only those flows open whose rate may be another:
//
//   - flows that were added;
//   - on a link that open flows fill sooner than its level was: the flows above the new level;
//   - on a link that is no longer full at its level: the flows that it held there.
//
// Everything else stays as it is, and a link or flow is looked at a few times at most, however large the
// network. Filling the whole connected part anew would be simpler, but under random traffic nearly all flows
// hang together somehow, and every end would cost all of them.
//
// Arithmetic is exact but for one rounding: a level is what is left of a link by the weight that grows on,
// rounded down to a whole number, so the caller's unit is a small part of a bit per second. A link never carries more
// than it can, and what it lacks is less than one part for each of its fastest flows.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "base/wide.hpp"

namespace weft::sim {

class MaxMinRates {
 public:
  static constexpr std::uint64_t kWhole = std::uint64_t{1} << 48;  // the weight of a flow that is not split
  static constexpr std::int64_t kUnbound = std::numeric_limits<std::int64_t>::max();

  struct Share {
    std::uint32_t link;
    std::uint64_t weight;
    bool operator==(const Share&) const = default;
  };

  // Links are numbered in this order.
  std::uint32_t add_link(std::int64_t capacity);
  // Each link at most once, and one of them with a weight of kWhole or more. The number is that of a flow that was
  // removed, or a new one. `count`: for how many it stands; each of them has its rate.
  std::uint32_t add_flow(std::span<const Share> shares, std::uint32_t count = 1);
  void set_count(std::uint32_t flow, std::uint32_t count);
  void remove_flow(std::uint32_t flow);

  // Brings rates up to date; the flows whose rate is now another, in no order. Good until the next call.
  std::span<const std::uint32_t> settle();

  // As of the last `settle`.
  std::int64_t rate(std::uint32_t flow) const { return flows_[flow].rate; }
  // At which a link is full; kUnbound: it is not.
  std::int64_t level(std::uint32_t link) const { return links_[link].level; }
  // What its flows leave of a link.
  std::int64_t unused(std::uint32_t link) const { return static_cast<std::int64_t>(links_[link].left / kWhole); }
  std::uint32_t links() const { return static_cast<std::uint32_t>(links_.size()); }
  // Calls visit(link, weight) for every link of a flow.
  template <class Visit>
  void for_each_share(std::uint32_t flow, Visit visit) const {
    for (const Use& use : flows_[flow].uses) visit(use.link, use.weight);
  }

 private:
  struct Use {
    std::uint32_t link;
    std::uint32_t position;  // in users_
    std::uint64_t weight;
  };
  struct Flow {
    std::int64_t rate = 0;
    std::int64_t before = 0;  // of an open flow: what it had
    std::uint32_t count = 1;  // of flows alike
    bool open = false;        // its rate is being found
    std::vector<Use> uses;

    Wide weight(std::uint64_t share) const { return Wide{share} * count; }
  };
  struct User {
    std::uint32_t flow;
    std::uint32_t use;  // in Flow::uses
    std::uint64_t weight;
  };
  struct alignas(64) Link {  // one cache line: links are touched far more often than their users are looked at
    Wide left = 0;           // capacity without the flows that are not open, times kWhole
    Wide open = 0;           // weight of those that are
    std::int64_t level = kUnbound;
    std::int64_t queued = kUnbound;  // least key that the queue has of it
    bool touched = false;
    bool stale = false;    // its key is to be found
    bool settled = false;  // its level is found
  };
  struct Queued {
    std::int64_t key;
    std::uint32_t link;
  };

  void touch(std::uint32_t link);
  void open(std::uint32_t flow);
  template <class Predicate>
  void open_users(std::uint32_t link, Predicate predicate);
  void fix(std::uint32_t flow, std::int64_t rate);
  std::int64_t key(const Link& link) const;
  void queue_stale();
  void take_round(std::int64_t level);
  bool fills_up(std::uint32_t link, std::int64_t level);

  std::vector<Link> links_;
  std::vector<std::vector<User>> users_;  // by link
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> changed_;
  // While rates are found:
  std::uint64_t open_ = 0;      // flows
  std::uint64_t in_doubt_ = 0;  // links that were full, and may be so at another level or not at all
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> stale_;
  std::vector<std::uint32_t> round_;
  std::vector<std::uint32_t> full_;
  std::vector<Queued> queue_;  // heap, least key first; a key that has risen since is found out when it comes
};

}  // namespace weft::sim
