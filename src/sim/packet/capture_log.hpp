#pragma once
// What --capture writes down about the packets of a shard, as long as there is room.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/conditions.hpp"
#include "sim/packet/event.hpp"
#include "transport/capture.hpp"

namespace weft::sim {

class CaptureLog {
 public:
  explicit CaptureLog(std::size_t most) : most_(most) {}

  // A packet begins to leave by a port.
  void add(const Special& port, const Event& arrived, const Passing& packet, std::int64_t begin) {
    if (packets_.size() < most_) {
      packets_.push_back({begin, port.capture - 1, packet.bytes, arrived.type, packet.flags, arrived.header});
    } else {
      end_ = std::min(end_, begin);
    }
  }
  const std::vector<transport::Captured>& packets() const { return packets_; }
  std::int64_t end() const { return end_; }  // the first packet that there was no room for

 private:
  std::size_t most_;
  std::vector<transport::Captured> packets_;
  std::int64_t end_ = INT64_MAX;
};

}  // namespace weft::sim
