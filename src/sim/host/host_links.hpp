#pragma once
// NVLink and PCIe carry chunks that share links fairly; only NIC to NIC is packets.
//
// A transfer is a fluid over the links of a leg. Rates are max-min fair (max_min_rates.hpp) and change only when a leg
// begins or stops to move; so a message costs a few computations and not one per packet. Rates change at once, without
// slow start: PCIe and NVLink have credits on every hop.
//
// Legs over the same links always have the same rate. They are a convoy: one rate and one count of work for all of
// them, and a leg knows at which count it began and at which it will have moved what it is to move. So what happens
// costs as many steps as there are different ways over the links, and not as many as there are transfers: with all
// flows of an all-to-all open, a change of everybody's rate at every start and end would be quadratic.
//
// Chunks. Where data rest in memory between two legs (a relay, a bounce through host memory), a chunk
// moves on when all of it is there. At the last leg data count byte by byte: a NIC reads what it sends
// and may send what has arrived. It asks for that with `ready`, and where it has to wait says with
// `wake_at` for how much. Into a GPU data come packet by packet and need no chunk to be whole: start
// the transfer at the first packet; it is over at its report, but not before the last packet is there.
//
// Latency is paid once, before the first byte moves, and data are counted where they arrive. For a
// transfer alone that is exact: over one leg it takes transfer_time(bytes, slowest link) + latency. Where
// transfers share, a link sees each of them later by its latency than it would in truth.
//
// Arithmetic is exact: rates are whole fractions of a bit per second, work is rate times time in 128
// bits. Only shares are rounded, down, so a link never carries more than it can. When transfers start at
// the same instant, their order decides nothing but that of reports with equal times.
//
// Sans I/O: `now` in picoseconds is handed in, calls for one domain come in order of time, and the
// caller calls `advance` at `next_event`; late, early and repeated calls are harmless. A domain must not
// be split over entities: the trays of an NVL72 share theirs. Memory follows what is in flight, and the
// domains and ways that ever had something.

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/flat_map.hpp"
#include "base/growth.hpp"
#include "base/wide.hpp"
#include "sim/host/host_route.hpp"
#include "sim/max_min_rates.hpp"
#include "sim/time_heap.hpp"

namespace weft::sim {

class HostLinks {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  // A slice of NCCL's buffers: NCCL_BUFFSIZE 4 MiB in NCCL_STEPS 8.
  static constexpr std::uint64_t kChunk = 512 * 1024;

  struct TransferId {
    std::uint32_t slot;
    std::uint32_t generation;
    bool operator==(const TransferId&) const = default;
  };
  // What `wake_at` asked for is there, or everything; a transfer that is done is gone.
  struct Ready {
    std::int64_t time;
    std::uint64_t context;
    std::uint64_t bytes;
    bool done;
    bool operator==(const Ready&) const = default;
  };

  // `chunk` in bytes, at least 1.
  explicit HostLinks(const HostRoutes& routes, std::uint64_t chunk = kChunk) : routes_(routes), chunk_(chunk) {}

  // `after`: one that it must not overtake, and that nobody else follows. Each of its legs begins when that of the one
  // before is done, and latency is paid while it waits for that.
  TransferId start(std::int64_t now, std::uint32_t domain, const HostRoute& route, std::uint64_t bytes,
                   std::uint64_t context, std::optional<TransferId> after = {});
  // When `advance` has something to do next, which may be past already when other calls have moved the
  // domain on; kNever when nothing moves.
  std::int64_t next_event(std::uint32_t domain);
  // Appends what became ready until `now`, in order of time, then of start.
  void advance(std::int64_t now, std::uint32_t domain, std::vector<Ready>& out);

  // Bytes of a transfer that stand at the end of its way; nullopt once `advance` has said that it is done.
  std::optional<std::uint64_t> ready(std::int64_t now, TransferId id);
  // Reports once when so many bytes are there. Replaces what was asked before; 0 takes it back.
  void wake_at(std::int64_t now, TransferId id, std::uint64_t bytes);

  // Bytes that the list of transfers is about to take on top.
  std::uint64_t growth() const { return growth_of(transfers_); }
  // Bytes that each link of a domain has carried for transfers that are done; empty for an unused domain.
  std::span<const std::uint64_t> carried(std::uint32_t domain) const;
  // Bits per second at which a transfer arrives at the moment; 0 while nothing does.
  std::int64_t rate(std::int64_t now, TransferId id);

 private:
  // Rates are in parts of a bit per second: a link shared by up to ten is divided without a rest.
  static constexpr std::int64_t kParts = 2520;
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;
  static constexpr Wide kWorkPerByte = Wide{8} * 1'000'000'000'000 * kParts;  // rate x picoseconds

  struct Leg {
    Wide moved = 0;               // work done, while it does not move
    Wide began = 0;               // the convoy's work when it had moved nothing, while it does
    std::uint64_t goal = 0;       // bytes: where something happens next
    std::uint64_t available = 0;  // bytes that may be moved by now
    std::uint64_t aim = 0;        // number of the goal; 0: it does not move
    std::uint32_t convoy = 0;     // of its domain
    bool moving() const { return aim != 0; }
  };
  struct Transfer {
    std::uint64_t context = 0;
    std::uint64_t bytes = 0;
    std::uint64_t wake = 0;   // bytes, 0: none
    std::uint64_t order = 0;  // of its start, in its domain
    std::int64_t begins = 0;
    std::uint32_t domain = 0;  // into domains_
    std::uint32_t generation = 0;
    std::uint32_t before = kNowhere;  // the one that it follows, until that is done
    std::uint32_t follower = kNowhere;
    std::uint32_t finished = 0;  // legs
    bool begun = false;
    bool done = false;  // and not yet reported
    HostRoute route;
    std::array<Leg, HostRoute::kMaxLegs> legs;
  };
  // Where a leg of a convoy is to get; of another aim than the leg's own it counts no more.
  struct Goal {
    Wide work;  // the convoy's
    std::uint64_t aim;
    std::uint32_t slot;
    std::uint32_t leg;
  };
  // All legs that move over the same links.
  struct Convoy {
    std::vector<MaxMinRates::Share> shares;  // of Domain::rates
    std::uint32_t next_alike = kNowhere;     // whose links have the same hash
    std::uint32_t flow = 0;                  // of Domain::rates, while it counts there
    std::uint32_t counted = 0;               // there
    std::uint32_t size = 0;
    bool changed = false;  // is in Domain::changed
    Wide work = 0;         // that each has done since the first, until `since`
    std::int64_t since = 0;
    std::int64_t rate = 0;
    std::vector<Goal> goals;  // heap, the nearest first

    Wide work_at(std::int64_t now) const { return work + Wide{rate} * (now - since); }
  };
  struct Report {
    Ready ready;
    std::uint32_t slot;
  };
  struct Begin {
    std::int64_t time;
    std::uint32_t slot;
  };
  struct Domain {
    std::uint32_t number = 0;
    std::int64_t time = 0;
    std::int64_t next = kNever;
    std::uint64_t started = 0;
    std::vector<Begin> begins;  // heap, the first at hand
    MaxMinRates rates;
    std::vector<std::uint32_t> rated;           // by link: its number in `rates`, once something has used it
    std::vector<std::uint32_t> convoy_by_flow;  // by flow of `rates`
    std::vector<Convoy> convoys;
    FlatMap convoy_index;                // by a hash of its links: the first of those that have it
    TimeHeap reached;                    // by convoy: when it reaches its nearest goal
    std::vector<std::uint32_t> changed;  // convoys whose size or nearest goal has
    std::vector<Report> reports;         // not yet fetched
    std::vector<std::uint64_t> carried;  // by link
  };

  Domain* find_domain(std::uint32_t number);
  Domain& make_domain(std::uint32_t number);
  Transfer* alive(TransferId id);
  void run_until(Domain& domain, std::int64_t now);
  void happen(Domain& domain);
  void handle(Domain& domain, std::uint32_t slot);
  void hand_over(Domain& domain, std::uint32_t slot, std::uint32_t index);
  void arrive(Domain& domain, std::uint32_t slot);
  void finish(Domain& domain, std::uint32_t slot);
  bool may_begin(const Transfer& transfer, std::uint32_t index) const;
  void let_follow(Domain& domain, std::uint32_t slot);
  void begin_leg(Domain& domain, std::uint32_t slot, std::uint32_t index);
  void stop_leg(Domain& domain, std::uint32_t slot, std::uint32_t index);
  void aim(Domain& domain, std::uint32_t slot, std::uint32_t index);
  static void add_begin(Domain& domain, std::int64_t time, std::uint32_t slot);
  static bool has_reached(const Domain& domain, const Leg& leg);
  std::uint32_t convoy_of(Domain& domain, std::span<const std::uint32_t> links);
  std::uint32_t rated(Domain& domain, std::uint32_t link) const;
  static void change(Domain& domain, std::uint32_t convoy);
  void take_due(Convoy& convoy, std::int64_t now);
  void share(Domain& domain);
  std::int64_t next_goal(Convoy& convoy) const;

  const HostRoutes& routes_;
  std::uint64_t chunk_;
  FlatMap domain_index_;  // by number
  std::vector<Domain> domains_;
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> due_;  // slots, while they are handled
  std::uint64_t aims_ = 0;          // so far
  std::vector<MaxMinRates::Share> shares_;
};

}  // namespace weft::sim
