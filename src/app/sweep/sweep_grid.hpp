#pragma once
// The points of a sweep: --over fabric.spines=2,4 --over transport.balance=ecmp,spray makes four.

#include <cstddef>
#include <string>
#include <vector>

#include "spec/diagnostics.hpp"

namespace weft::app {

struct Axis {
  std::string key;  // as --set has it: "fabric.spines"
  std::vector<std::string> values;
};

class Grid {
 public:
  static constexpr std::size_t kMostPoints = 1024;

  Grid() = default;
  // Complains about what it does not understand, all of it at once.
  Grid(const std::vector<std::string>& over, spec::Diagnostics& diagnostics);

  std::size_t points() const { return points_; }
  const std::vector<Axis>& axes() const { return axes_; }
  // One value per axis; the last axis changes fastest.
  std::vector<std::string> values(std::size_t point) const;

 private:
  void add_axis(const std::string& text, spec::Diagnostics& diagnostics);

  std::vector<Axis> axes_;
  std::size_t points_ = 0;
};

}  // namespace weft::app
