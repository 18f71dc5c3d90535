#pragma once
// What a collective takes at least, from closed forms: bytes that must cross each resource at the rate of its wire, and
// the latencies that follow each other. An algorithm is given; no execution of it can be faster.

#include <string>
#include <vector>

#include "collective/plan.hpp"
#include "why/critical_path.hpp"

namespace weft::why {

struct Bound {
  Resource resource = Resource::nic;
  std::string text;  // "2 NICs of a server, 100 GB/s"
  Duration time;
};

struct Bounds {
  Duration launch;
  Duration latency;               // of steps that wait for each other
  std::vector<Bound> bandwidths;  // largest first

  // Latency and bandwidth may overlap, the launch comes before both.
  Duration total() const;
  // The resource that decides, or the latency.
  const Bound* tightest() const;
};

// The options name algorithm and protocol, and why_not() had nothing against them. `bisection`: between two halves of
// the job's servers, one way; 0: not known.
Bounds bounds_of(const collective::Team& team, const collective::PlanOptions& options, Bandwidth bisection = {});

}  // namespace weft::why
