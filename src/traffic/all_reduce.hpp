#pragma once
// What `weft run all-reduce` does on each machine: all of them add up their numbers over a ring, as NCCL's Ring does,
// and every one checks every sum.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "net/address.hpp"
#include "net/node.hpp"
#include "traffic/measured.hpp"

namespace weft::traffic {

inline constexpr std::uint64_t kLongestAllReduce = std::uint64_t{1} << 30;
inline constexpr std::uint32_t kMostRanks = 1024;

struct AllReduceOptions {
  std::vector<net::Address> ranks;  // of all, in the same order on every machine
  std::uint32_t rank = 0;           // this one
  std::uint64_t size = 64 << 20;    // bytes that each has
  std::uint32_t times = 20;
  std::uint32_t warm_up = 3;  // that are checked, and not timed
  std::uint32_t paths = 64;
  std::size_t datagram = 0;
  std::optional<net::Key> key;
  Duration together_within = microseconds(60'000'000);  // all must be there by then
};

struct AllReduceResult {
  std::string failure;          // why it ended early; empty: it did not
  std::vector<Duration> times;  // of each that was timed, on this machine
  std::uint64_t wrong = 0;      // sums that are not what they should be, of all
  std::uint64_t packets = 0;    // of data, sent by this machine
  std::uint64_t retransmitted = 0;

  // GB/s as nccl-tests has it: what a link of a ring carries.
  double bus_bandwidth(const AllReduceOptions& options) const;
};

// `before_each` hears how many are done; it says false to end the run, which is an error for the others.
AllReduceResult run_all_reduce(const AllReduceOptions& options, const std::function<bool(std::uint32_t)>& before_each);

}  // namespace weft::traffic
