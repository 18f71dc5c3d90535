#include "compute/constants.hpp"

#include <algorithm>

namespace weft::compute {

const Constants& constants() {
  static const Constants all{{
      {"Ampere", {"a100"}, "", 800, 850, 650, 550, 4'000, 5'000},
      {"Hopper", {"h100", "h200"}, "", 780, 850, 600, 500, 4'000, 5'000},
      {"Blackwell", {"b200", "gb200", "b300", "gb300"}, "", 750, 850, 550, 450, 4'000, 5'000},
      {"Trainium", {"trainium"}, "Hopper", 780, 850, 600, 500, 4'000, 5'000},
      {"unknown", {}, "Hopper", 780, 850, 600, 500, 4'000, 5'000},
  }};
  return all;
}

const Generation& generation_of(std::string_view gpu, const Constants& all) {
  const auto found = std::find_if(all.generations.begin(), all.generations.end(), [&](const Generation& each) {
    return std::any_of(each.gpus.begin(), each.gpus.end(),
                       [&](std::string_view name) { return gpu.starts_with(name); });
  });
  return found == all.generations.end() ? all.generations.back() : *found;
}

}  // namespace weft::compute
