#include "app/sweep/sweep_grid.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::app {
namespace {

using spec::Error;

constexpr std::string_view kExample = "for example --over fabric.spines=2,4,8";

// One more than may be, at most: the rest would not be used.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size() && parts.size() <= Grid::kMostPoints;) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

}  // namespace

Grid::Grid(const std::vector<std::string>& over, spec::Diagnostics& diagnostics) {
  for (const std::string& text : over) add_axis(text, diagnostics);
  if (diagnostics.has_errors()) return;
  std::size_t points = 1;
  for (const Axis& axis : axes_) points = std::min(points * axis.values.size(), kMostPoints + 1);
  if (points < 2) diagnostics.add(Error::out_of_range, {}, "one point is no sweep", std::string(kExample));
  if (points > kMostPoints)
    diagnostics.add(Error::out_of_range, {}, "the grid has too many points", fmt::format("at most {}", kMostPoints));
  points_ = points;
}

void Grid::add_axis(const std::string& text, spec::Diagnostics& diagnostics) {
  const std::size_t equals = text.find('=');
  Axis axis;
  if (equals != std::string::npos) axis = {text.substr(0, equals), split(text.substr(equals + 1))};
  const std::vector<std::string>& values = axis.values;
  if (axis.key.empty() || std::find(values.begin(), values.end(), "") != values.end()) {
    diagnostics.add(Error::wrong_type, {}, fmt::format("--over cannot be '{}'", text), std::string(kExample));
    return;
  }
  for (const std::string& value : values)
    if (std::count(values.begin(), values.end(), value) > 1) {
      diagnostics.add(Error::contradiction, {}, fmt::format("--over {} has {} twice", axis.key, value),
                      "once is enough");
      return;
    }
  if (std::any_of(axes_.begin(), axes_.end(), [&](const Axis& other) { return other.key == axis.key; })) {
    diagnostics.add(Error::contradiction, {}, fmt::format("--over gives {} twice", axis.key),
                    "all its values in one --over");
    return;
  }
  axes_.push_back(std::move(axis));
}

std::vector<std::string> Grid::values(std::size_t point) const {
  std::vector<std::string> out(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    out[i] = axes_[i].values[point % axes_[i].values.size()];
    point /= axes_[i].values.size();
  }
  return out;
}

}  // namespace weft::app
