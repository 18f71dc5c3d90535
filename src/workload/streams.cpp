#include "workload/streams.hpp"

#include <algorithm>

namespace weft::workload {
namespace {

std::uint32_t lanes_of(const Streams::Part& part, std::uint32_t rank) {
  const bool within = rank >= part.first && rank - part.first < part.traffic->ranks();
  return within ? part.traffic->lanes(rank - part.first) : 0;
}

}  // namespace

std::uint32_t Streams::ranks() const {
  std::uint32_t ranks = 0;
  for (const Part& part : parts_) ranks = std::max(ranks, part.first + part.traffic->ranks());
  return ranks;
}

std::uint32_t Streams::lanes(std::uint32_t rank) const {
  std::uint32_t lanes = 0;
  for (const Part& part : parts_) lanes += lanes_of(part, rank);
  return lanes;
}

// The lanes of a rank are those of the first stream, then those of the second, and so on.
bool Streams::next(std::uint32_t rank, std::uint32_t lane, schedule::Instruction& out) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const std::uint32_t lanes = lanes_of(part, rank);
    if (lane >= lanes) {
      lane -= lanes;
      continue;
    }
    if (!part.traffic->next(rank - part.first, lane, out)) return false;
    out.peer += part.first;
    out.stream = static_cast<std::uint8_t>(i);
    return true;
  }
  return false;
}

}  // namespace weft::workload
