#pragma once
// What came of one collective of one size: a row of a table as nccl-tests prints it.

#include <cstdint>
#include <string>

#include "base/units.hpp"
#include "schedule/fidelity.hpp"

namespace weft::schedule {

struct CollectiveRow {
  std::string operation;    // all_reduce
  std::uint64_t bytes = 0;  // that were asked for
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 0;
  bool parts = false;  // the count column is of a rank's part
  bool reduces = false;
  std::int64_t root = -1;
  Duration time = {};
  std::int64_t bus_over = 1;  // busbw = algbw x over / under
  std::int64_t bus_under = 1;
  std::string algorithm;
  std::string protocol;
  std::uint32_t channels = 0;
  std::string chosen_by;  // "auto" or "user"
  std::uint64_t chunk = 0;
  bool host_memory = false;    // some of it bounces
  std::uint64_t messages = 0;  // that were simulated
  std::uint64_t skipped_rounds = 0;
  std::uint32_t stood_for = 0;  // ranks that were computed, and stand for all; 0: each was
  std::string stack;
  Fidelity fidelity = Fidelity::message;
  std::string beside;          // traffic that ran at the same time; empty: none
  bool network_bound = false;  // senders may be slowed down by the network, where a level asks for that
  std::string not_known;       // of the network, to this level; empty: nothing that counts
  std::string not_validated;   // what no published table tells; empty: there is one for it
  std::uint32_t groups = 1;    // that did it at the same time; the slowest one's figures
  std::uint64_t seed = 0;      // where it decided anything
  std::uint64_t digest = 0;    // likewise
  std::uint64_t dropped = 0;   // packets, by full queues and faults
  std::uint64_t sent_again = 0;

  // nccl-tests counts elements of four bytes, and so many of them that every rank has the same.
  std::uint64_t count() const { return parts ? bytes / 4 / ranks : bytes / 4; }
  std::uint64_t size() const { return parts ? count() * 4 * ranks : count() * 4; }
  // GB/s
  double algorithm_bandwidth() const {
    return time == Duration(0) ? 0 : static_cast<double>(size()) * 1e3 / static_cast<double>(time.count());
  }
  double bus_bandwidth() const {
    return algorithm_bandwidth() * static_cast<double>(bus_over) / static_cast<double>(bus_under);
  }
};

}  // namespace weft::schedule
