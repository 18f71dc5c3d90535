#pragma once
// A simulated packet as the bytes that a network would see of it (transport/frame.hpp), by whichever transport sent it.

#include <optional>
#include <span>

#include "transport/frame.hpp"
#include "transport/transports.hpp"

namespace weft::report {

using transport::Frame;
// What headers depend on and no packet says of itself.
using WireNumbers = transport::Transports::Settings;

class FrameMaker {
 public:
  // All packets of the capture: some headers depend on what else was sent.
  FrameMaker(const WireNumbers& numbers, std::span<const transport::Captured> packets);
  Frame make(const transport::Captured& packet) const;

 private:
  template <class Transport>
  struct FramesOf {
    std::optional<typename Transport::Frames> frames;
  };
  transport::Transports::Tuple<FramesOf> all_;
};

}  // namespace weft::report
