#pragma once
// What lies between NICs, as far as a plan needs it: over which links data go between two ports, and what these links
// carry. Whoever knows how the cluster routes makes it (sim's executors share entropies with it).

#include <cstdint>
#include <span>

#include "base/units.hpp"

namespace weft::collective {

class NetworkLinks {
 public:
  static constexpr std::uint64_t kWhole = std::uint64_t{1} << 30;
  struct Part {
    std::uint32_t link = 0;
    std::uint64_t weight = 0;  // of kWhole: of all that goes between the two
  };

  virtual ~NetworkLinks() = default;
  // Between the NICs next to two GPUs of the cluster; good for as long as the network. Empty: nothing joins them.
  virtual std::span<const Part> between(std::uint32_t from_gpu, std::uint32_t to_gpu) = 0;
  virtual Bandwidth rate(std::uint32_t link) const = 0;  // of payload
};

}  // namespace weft::collective
