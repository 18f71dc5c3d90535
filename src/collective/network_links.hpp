#pragma once
// What lies between NICs, as far as a plan needs it: over which links data go between two ports, and what these links
// carry. Whoever knows how the cluster routes makes it (sim's executors share entropies with it).

#include <cstdint>
#include <optional>
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
  // Where every place is like any other (a tree without faults, over which packets are spread): below which leaf and in
  // which pod the NIC next to a GPU is. Nothing: places differ.
  struct Place {
    std::uint32_t leaf = 0;
    std::uint32_t pod = 0;
    bool operator==(const Place&) const = default;
  };
  virtual std::optional<Place> place(std::uint32_t) const { return std::nullopt; }
};

}  // namespace weft::collective
