#pragma once
// Who does what when: a row for each, time along x; and bars that are made of parts, one under the other.

#include <string>
#include <vector>

#include "draw/picture.hpp"

namespace weft::draw {

// A colour and what it means.
struct Hue {
  std::string style;
  std::string text;
};

struct Span {
  std::size_t row = 0;
  double start = 0;  // seconds
  double end = 0;
  std::size_t hue = 0;
  std::string title;  // on hovering
};

struct Timeline {
  std::string title;
  std::vector<std::string> caption;
  std::vector<std::string> rows;
  std::vector<Hue> hues;
  std::vector<Span> spans;  // of a row by ascending start, none over another
};

// Neighbours of one colour that are too narrow to be told apart are drawn as one.
Picture timeline(const Timeline& timeline);

struct StackedBar {
  std::string name;
  std::vector<double> parts;  // as `hues`
};

struct Bars {
  std::string title;
  std::vector<std::string> caption;
  std::string unit;
  std::vector<Hue> hues;
  std::vector<StackedBar> stacks;
};

Picture bars(const Bars& bars);

}  // namespace weft::draw
