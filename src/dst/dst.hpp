#pragma once
// Deterministic simulation tests of the transports, and of messages over SRD: one seed draws a small world (endpoints,
// parameters, a network that loses, reorders, duplicates, corrupts, clogs and parts, endpoints that restart) and the
// work done in it. First safety under faults: what is delivered is delivered once, whole and to the
// right one, and everything inside holds after every step. Then all is healed and liveness is demanded:
// whatever was asked completes, or fails where a fault explains it, and what is asked then succeeds.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/packet.hpp"

namespace weft::dst {

// What is tested: a transport, or messages with real bytes over SRD (transport/rdm).
struct Subject {
  std::optional<transport::Protocol> transport;  // nothing: messages
  std::string_view name() const;
  bool operator==(const Subject&) const = default;
};
const std::vector<Subject>& subjects();
// Nothing: there is none of that name.
std::optional<Subject> subject_named(std::string_view name);

struct Options {
  std::optional<Subject> subject;  // nothing: all of them, seeds in turn
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 500;
  bool canary = false;   // plant a bug: acknowledgements that now and then claim too much
  bool verbose = false;  // a line per seed
  std::function<bool(std::uint64_t done)> goes_on = {};  // before each seed; false: no more
};

struct Outcome {
  std::string problem;  // empty: all is well
  std::uint64_t digest = 0;
  std::uint64_t events = 0;
  std::uint64_t operations = 0;
  std::uint64_t failed_operations = 0;  // each explained
};

struct Summary {
  std::uint64_t seeds = 0;
  std::uint64_t failed = 0;
  std::uint64_t first_failed = 0;  // seed, when failed > 0
  std::string_view first_failed_name;
  std::uint64_t events = 0;
  std::uint64_t digest = 0;
  bool stopped = false;  // by goes_on
};

Outcome run_seed(const Subject& subject, std::uint64_t seed, bool canary);

// Runs the seeds, those that once failed before them, and prints each failure with the line that repeats it.
Summary run(const Options& options, std::ostream& out);

}  // namespace weft::dst
