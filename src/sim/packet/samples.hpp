#pragma once
// What --sample writes down about one direction of a link, interval by interval. Over a run its rows add up to what
// the table of links says, and none has a longer queue.
//
// The queue, marks, trims and drops count when a packet comes to the port. A packet counts when it begins to leave, but
// its bytes are spread over the time that it takes on the wire: no interval carries more than the wire can. A queue
// that stands or drains while nothing comes is in every interval that it lasts. Where there is no room for more rows,
// the interval doubles.

#include <cstdint>
#include <vector>

#include "schedule/result.hpp"

namespace weft::sim {

class Samples {
 public:
  static constexpr std::int64_t kStands = INT64_MAX;  // nobody knows yet when it is gone

  Samples() = default;
  Samples(std::int64_t interval, std::uint32_t most) : interval_(interval), most_(most) {}

  bool on() const { return interval_ > 0; }
  std::int64_t interval() const { return interval_; }
  // The row of the interval that a time falls into. Times go almost in order.
  schedule::LinkSample& at(std::int64_t time);
  // So many bytes wait at a time.
  void peak(std::int64_t now, std::int64_t bytes);
  // So many bytes wait from now on; they drain evenly until a time, or stand.
  void queue(std::int64_t now, std::int64_t bytes, std::int64_t gone = kStands);
  // Bytes leave, and take so long.
  void carry(std::int64_t begin, std::int64_t wire, std::int64_t bytes);
  // Makes longer intervals of those that are there.
  void coarsen(std::int64_t interval);
  // By time, with what waits at the end of the run or has been promised to leave.
  const std::vector<schedule::LinkSample>& finish(std::int64_t end);

 private:
  void look(std::int64_t until);

  std::int64_t interval_ = 0;
  std::uint32_t most_ = 0;
  std::int64_t seen_ = 0;  // what waits is written down until then
  std::int64_t waiting_ = 0;
  std::int64_t since_ = 0;
  std::int64_t gone_ = kStands;
  std::vector<schedule::LinkSample> rows_;
};

// One of several links that share what they carry alike: its part of all, so that the parts of all of them add up.
constexpr std::uint64_t part_of(std::uint64_t all, std::uint32_t links, std::uint32_t i) {
  return (all + links - 1 - i) / links;
}

// The rows of one of the links of a bundle.
Samples part_of(const std::vector<schedule::LinkSample>& rows, std::int64_t interval, std::uint32_t links,
                std::uint32_t i);

}  // namespace weft::sim
