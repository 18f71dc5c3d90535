#pragma once
// Hosts whose transport is a program: calls of the kernel and packets take its time, what comes meanwhile waits, it
// stands still at times, and its clock may jump. Like a port it reckons when it will get to what arrives, so that
// nothing is queued here.

#include <cstdint>
#include <vector>

namespace weft::sim {

// Of one endpoint, which has a processor of its own.
struct SoftwareCosts {
  std::int64_t call = 0;    // ps of one call of the kernel
  std::int64_t packet = 0;  // ps of a packet beside it
  std::int64_t train = 0;   // bytes on one path that a call hands down at most; less than a packet: one
  std::int64_t merged = 0;  // bytes of one path that arrive as one packet at most (GRO); less than two packets: none do
  std::int64_t buffer = INT64_MAX;  // bytes that wait for the program; what comes beyond them is lost
};

class Software {
 public:
  void set_costs(const SoftwareCosts& costs) { costs_ = costs; }
  const SoftwareCosts& costs() const { return costs_; }
  void stand_still(std::int64_t from, std::int64_t to);
  void jump(std::int64_t at, std::int64_t by);

  // A packet has come by a path: when the program has it, or kLost.
  static constexpr std::int64_t kLost = -1;
  std::int64_t take(std::int64_t now, std::uint32_t source, std::uint16_t path, std::int64_t bytes);
  // The program has it.
  void taken(std::int64_t bytes) { waiting_ -= bytes; }
  // From when on the program can send, which it does between two calls that take, however much comes; and for how long
  // it does.
  std::int64_t may_send(std::int64_t now) const { return awake(now > sent_ ? now : sent_); }
  void send_for(std::int64_t now, std::int64_t time);

  // The program's clock, and when it will show a time.
  std::int64_t clock(std::int64_t now) const;
  std::int64_t when_clock_shows(std::int64_t time) const;

 private:
  struct Pause {
    std::int64_t from;
    std::int64_t to;
  };
  struct Jump {
    std::int64_t at;
    std::int64_t by;
  };
  std::int64_t awake(std::int64_t when) const;

  SoftwareCosts costs_;
  std::int64_t free_ = 0;     // when it has done all that it has to
  std::int64_t sent_ = 0;     // when it has sent what it last sent
  std::int64_t call_ = -1;    // when the last call that takes packets begins
  std::int64_t waiting_ = 0;  // bytes
  std::int64_t run_ = 0;      // bytes of the last packets, which came by one path
  std::uint32_t source_ = 0;
  std::uint16_t path_ = 0;
  std::vector<Pause> pauses_;  // by start
  std::vector<Jump> jumps_;    // by time
};

}  // namespace weft::sim
