#pragma once
// Bandwidth against size, several curves over each other: sizes double along x; bandwidth is linear, or logarithmic
// where it spans more than two decades. Curves that lie on each other are dashed.

#include <string>
#include <vector>

#include "draw/picture.hpp"

namespace weft::draw {

struct Curve {
  std::string name;
  std::vector<Point> points;  // x: bytes, y: GB/s; by ascending size
  bool measured = false;      // crosses instead of a line
};

struct Plot {
  std::string title;
  std::vector<std::string> caption;
  std::string quantity;  // what y is: "busbw in GB/s"
  std::vector<Curve> curves;
};

// More curves than there are colours begin again with the first. Points below 1 byte or 0 GB/s, or that are no
// numbers, are left out.
Picture plot(const Plot& plot);

// A round number that is not below: 1, 2, 2.5, 5 or 10 times a power of ten.
double round_up(double value);

}  // namespace weft::draw
