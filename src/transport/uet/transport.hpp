#pragma once
// Ultra Ethernet among the transports.

#include "transport/description.hpp"
#include "transport/network.hpp"
#include "transport/uet/drawing.hpp"
#include "transport/uet/frames.hpp"
#include "transport/uet/uet.hpp"

namespace weft::transport {

struct UetTransport {
  using Engine = Uet;
  using Drawing = UetDrawing;
  using Frames = UetFrames;
  static constexpr Description kDescription = {
      .protocol = Protocol::uet,
      .name = "uet",
      .data = PacketType::uet_data,
      .ack = PacketType::uet_ack,
      .packets = {PacketType::uet_data, PacketType::uet_ack},
      .go_first = {PacketType::uet_ack},
      .trimmable = true,
      .many_paths = true,
  };

  struct Settings {
    UetConfig uet;
  };
  static UetConfig& config_in(Settings& settings) { return settings.uet; }
  static const UetConfig& config_in(const Settings& settings) { return settings.uet; }

  static std::uint32_t header_bytes(const UetConfig& config) { return config.header; }
  static std::uint32_t packet_bytes(const UetConfig& config) { return config.payload + config.header; }
  static void set_network(UetConfig& config, const Network& network) {
    config.base_rtt = network.base_rtt;
    config.packet_time = network.packet_time;
  }
};

}  // namespace weft::transport
