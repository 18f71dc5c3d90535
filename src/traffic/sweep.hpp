#pragma once
// Which source ports lose or lag: a probe for each of ours with each of the other side's, answered by its socket loop.
// A probe dies on its way there or on its way back; as every way there was tried with every way back, the two can be
// told apart. What is found holds for everything that switches hash by these ports' entropies at the time.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "net/address.hpp"
#include "net/node.hpp"
#include "traffic/measured.hpp"

namespace weft::traffic {

struct SweepOptions {
  net::Address server;
  std::uint32_t paths = 64;
  std::size_t datagram = 0;
  std::optional<net::Key> key;
  Duration duration = microseconds(2'000'000);
};

enum class Verdict : std::uint8_t { fine, lags, loses, dead };
const char* name_of(Verdict verdict);

struct SweptPath {
  std::uint16_t port = 0;    // 0: nothing ever came from it
  std::uint64_t probes = 0;  // that say something of it: those by ways of the other direction that are dead do not
  std::uint64_t lost = 0;
  Duration median;  // round trip
  Duration longest;
  Verdict verdict = Verdict::fine;
};

struct SweepResult {
  std::string failure;
  std::vector<SweptPath> there;
  std::vector<SweptPath> back;
};

struct Probe {
  std::uint32_t there = 0;
  std::uint32_t back = 0;
  Duration trip;  // 0: no answer came
};
// What the probes say of `paths` ways there and as many back; ports are not filled in.
SweepResult judge_probes(std::uint32_t paths, const std::vector<Probe>& probes);

SweepResult sweep_paths(const SweepOptions& options, const std::function<bool()>& go_on);

}  // namespace weft::traffic
