#pragma once
// Short texts for boxes and labels.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace weft::draw {

// "400G", "1.6T": of a network link, in bits.
std::string short_rate(Bandwidth rate);
// "63GB/s": of a link inside a server, in bytes.
std::string byte_rate(Bandwidth rate);
// "4 x 400G"; "400G" when there is one.
std::string bundle_text(std::int64_t links, Bandwidth rate);
// "0-3, 8".
std::string ranges_text(const std::vector<std::uint32_t>& sorted);
// "3:1", in lowest terms; "1.5:1" and the like where the terms would be large.
std::string ratio_text(double over, double under);
// "leaf" -> "leaves", "switch" -> "switches", else an s.
std::string plural(std::string_view noun, std::int64_t n);

// What AWS calls its Trainium: chips, where a picture would say GPUs.
bool is_chip(std::string_view accelerator);
// "GPU" and "GPUs" as "chip" and "chips", but not within other words: GPUDirect stays.
std::string chips_for_gpus(std::string_view text);

// A stretch of equal things in a row: one that is shown, or several that are folded into one.
struct Stretch {
  std::uint32_t first = 0;
  std::uint32_t count = 1;
  bool folded = false;
};

// All of `total` when they fit into `places`, else the first ones, a fold, and the last; with fewer
// than three places the first and a fold.
std::vector<Stretch> fold(std::uint32_t total, std::uint32_t places);

}  // namespace weft::draw
