#include "report/frames.hpp"

namespace weft::report {

using transport::Captured;
using transport::Transports;

FrameMaker::FrameMaker(const WireNumbers& numbers, std::span<const Captured> packets) {
  Transports::for_each(
      [&]<class Each>() { std::get<FramesOf<Each>>(all_).frames.emplace(Each::config_in(numbers), packets); });
}

Frame FrameMaker::make(const Captured& packet) const {
  Frame frame;
  Transports::with(transport::protocol_of(packet.type),
                   [&]<class Each>() { std::get<FramesOf<Each>>(all_).frames->add(frame, packet); });
  return frame;
}

}  // namespace weft::report
