#include "transport/roce/drawing.hpp"

#include <fmt/format.h>

namespace weft::transport {

void RoceDrawing::draw(RoceConfig& roce, Drawn& world, Random& random) {
  roce.mtu = 256u << random.below(5);
  roce.ack_every = 1 + random.below(16);
  if (random.below(2) == 0) roce.first_psn = 0xFFFFFF - random.below(400);
  roce.qps = random.below(4) == 0 ? 1 + random.below(16) : 1 + random.below(3);
  roce.split = random.below(2) == 0;
  if (random.below(2) == 0) roce.split_above = random.below(20'000);
  roce.recovery = random.below(2) == 0 ? RoceConfig::Recovery::go_back_n : RoceConfig::Recovery::selective;
  roce.control = random.below(3) == 0 ? RoceConfig::Control::none : RoceConfig::Control::dcqcn;
  if (random.below(3) == 0) roce.window = 1 + random.below(255);
  roce.packet_time = Duration(world.packet_time);
  roce.base_rtt = Duration(world.base_rtt);
  world.timeout =
      random.below(4) == 0 ? 67'109 * kDrawnMicrosecond : 4 * roce.base_rtt.count() + up_to_microseconds(random, 200);
  roce.ack_timeout = Duration(world.timeout);
  world.give_up = some_patience(random, world.timeout);
  roce.give_up = Duration(world.give_up);
  world.payload = roce.mtu;
  world.first_sequence = roce.first_psn;
}

std::string RoceDrawing::text(const RoceConfig& roce, const Drawn& world) {
  return fmt::format("{} queue pairs{}, {}, ack every {}, window {}, dcqcn {}, timeout {} us", roce.qps,
                     roce.split ? fmt::format(", split above {}", roce.split_above) : "",
                     roce.recovery == RoceConfig::Recovery::selective ? "selective repeat" : "go-back-n",
                     roce.ack_every, roce.window, roce.control == RoceConfig::Control::dcqcn,
                     world.timeout / kDrawnMicrosecond);
}

void RoceDrawing::distort(const RoceConfig& roce, Random& random, bool acknowledges, Transmit& out) {
  Header& header = out.header;
  header.path = static_cast<std::uint16_t>(header.path % (roce.qps + 1));
  header.echo = static_cast<std::uint16_t>(random.below(8));
  if (!acknowledges) header.roce.packet = header.sequence - header.data.first;
  if (random.below(16) == 0) out.type = PacketType::roce_cnp;
}

}  // namespace weft::transport
