#pragma once
// Collectives on clusters that a seed draws, in ranges that were fixed before anything was compared: 16 to 512 GPUs on
// every kind of fabric, uplinks from 1:1 to 8:1, 64 KiB to 256 MiB, every operation, one path or many, and every second
// one with a fault or with another job beside it. Sizes are halved until packets cross at most twenty million links.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "experiment/experiment.hpp"

namespace weft::bench {

struct Scenario {
  std::string text;   // the cluster file
  std::string about;  // in one line
  experiment::Collectives work;
  std::shared_ptr<experiment::Design> design;
};

Scenario draw_scenario(std::uint64_t seed);
// The same work on another network of as many servers; nothing: no other one closes.
std::optional<Scenario> draw_rival(std::uint64_t seed);

}  // namespace weft::bench
