#pragma once
// What came of a schedule: one type for every executor. Tables, plots and files are views of it.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "schedule/fidelity.hpp"
#include "schedule/timeline.hpp"

namespace weft::schedule {

inline constexpr Duration kNotYet{-1};

// One transfer between two ranks.
struct FlowRecord {
  std::uint32_t source = 0;  // rank
  std::uint32_t destination = 0;
  std::uint64_t bytes = 0;
  Duration start = {};
  Duration sent = kNotYet;      // the sender has the last acknowledgement
  Duration received = kNotYet;  // the receiver has the last byte
  Duration unloaded = {};       // how long it would take alone, until `sent`
  std::uint32_t stream = 0;     // into RunResult::streams, where there are several
  bool unanswered = false;      // nobody acknowledges it: `sent` is when it left, and it is done when it is received
  std::uint64_t tag = 0;        // what its send said
};

// One of several kinds of traffic that share the fabric.
struct StreamRecord {
  std::string name;
  std::string transport;
  std::string service;      // class of the switches
  std::uint64_t flows = 0;  // of the traffic, begun or not; 0: not known before they are drawn
  bool open_loop = false;   // its flows began at their times, however the network fared
  // Of its transport in its service: streams that share both have the same numbers.
  std::uint64_t data_sent = 0;
  std::uint64_t data_resent = 0;
  std::uint64_t timeouts = 0;
};

// One direction of one link.
struct LinkRecord {
  std::string from;
  std::string to;
  std::int64_t rate = 0;    // bit/s
  std::uint64_t bytes = 0;  // carried
  std::uint64_t packets = 0;
  Duration waited = {};         // that its packets queued, summed
  std::int64_t peak_bytes = 0;  // longest queue
  std::uint64_t marked = 0;     // here, and not before; what was dropped here is not among them
  std::uint64_t trimmed = 0;
  std::uint64_t dropped = 0;  // queue full
  std::uint64_t pauses = 0;   // that its other end asked for
  Duration paused = {};       // of the class that was so longest
  std::uint64_t lost = 0;     // to a fault
  Duration until = {};        // the last byte; copies that nobody waits for come behind the end of a run
};

// One link during one interval of --sample. Intervals in which nothing happened are left out.
struct LinkSample {
  Duration time = {};           // start of the interval
  std::uint32_t link = 0;       // into RunResult::links
  std::uint32_t lost = 0;       // to a fault
  std::int64_t peak_bytes = 0;  // longest queue in it
  std::uint64_t bytes = 0;      // put on the wire in it
  std::uint32_t marked = 0;
  std::uint32_t trimmed = 0;
  std::uint32_t dropped = 0;  // queue full
  std::uint32_t packets = 0;  // that began to leave in it
};

// What a fault was like over time, where parts of messages may move to other NICs.
struct Outage {
  Duration from = {};
  Duration to = {};  // INT64_MAX: for good
  bool operator==(const Outage&) const = default;
};

struct Failures {
  Failures() = default;
  explicit Failures(std::vector<Outage> known) : outages(std::move(known)) {
    std::vector<Duration> cuts;
    for (const Outage& each : outages) cuts.insert(cuts.end(), {each.from, each.to});
    delivered = Timeline(std::move(cuts));
  }

  std::vector<Outage> outages;  // by start; each time once, however many links it takes
  Timeline delivered;           // payload, as it came in at NICs, cut where something goes down or comes back
  std::uint64_t moved = 0;      // parts of messages that went on by another NIC
  Duration first_moved = kNotYet;
  Duration last_moved = kNotYet;

  // In any order: hosts are looked at one after the other within a window of time.
  void note_moved(Duration time) {
    first_moved = first_moved == kNotYet ? time : std::min(first_moved, time);
    last_moved = std::max(last_moved, time);
  }
};

struct Counters {
  std::uint64_t events = 0;
  std::uint64_t packet_hops = 0;
  std::uint64_t data_sent = 0;  // first transmissions
  std::uint64_t data_resent = 0;
  std::uint64_t acks_sent = 0;
  std::uint64_t marked = 0;  // data packets that arrived marked
  std::uint64_t trimmed = 0;
  std::uint64_t dropped = 0;  // queue full
  std::uint64_t lost = 0;     // to faults
  std::uint64_t timeouts = 0;
  std::uint64_t pauses = 0;          // of all ports
  std::uint64_t headroom_drops = 0;  // of `dropped`: a paused neighbour's packets did not fit the headroom
  std::uint64_t watchdog_drops = 0;  // of `dropped`: thrown away after a long pause
};

struct RunResult {
  Fidelity fidelity = Fidelity::packet;
  std::uint64_t seed = 0;
  std::uint64_t digest = 0;
  Duration end = {};             // the last operation or transfer was done, or given up
  std::string stopped_by;        // empty: everything was done; else "ctrl-c" or the limit, and the result is partial
  std::string deadlock;          // the ports that wait for each other, where the run was stopped by that
  std::uint64_t unfinished = 0;  // lanes that wait for what never came
  Counters counters;
  std::uint64_t all_flows = 0;        // of the traffic, begun or not; 0: not known before they are drawn
  std::vector<FlowRecord> flows;      // that have begun
  std::vector<StreamRecord> streams;  // empty: all traffic is of one kind
  std::vector<LinkRecord> links;      // those that carried anything, busiest first
  std::vector<LinkSample> samples;    // by time, then link
  Duration sample_asked = {};         // interval of the samples as it was wanted; 0: none were
  Duration sample_interval = {};      // and as it is: longer where there was no room for all
  Duration capture_end = kNotYet;     // from then on there was no room for the packets of a capture
  std::optional<Failures> failures;   // where links or switches go down
};

}  // namespace weft::schedule
