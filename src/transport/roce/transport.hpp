#pragma once
// RoCEv2 among the transports.

#include "transport/description.hpp"
#include "transport/network.hpp"
#include "transport/roce/drawing.hpp"
#include "transport/roce/frames.hpp"
#include "transport/roce/roce.hpp"

namespace weft::transport {

struct RoceTransport {
  using Engine = Roce;
  using Drawing = RoceDrawing;
  using Frames = RoceFrames;
  static constexpr Description kDescription = {
      .protocol = Protocol::rocev2,
      .name = "rocev2",
      .data = PacketType::roce_data,
      .ack = PacketType::roce_ack,
      .packets = {PacketType::roce_data, PacketType::roce_ack, PacketType::roce_cnp},
      .go_first = {PacketType::roce_cnp},
      .needs_lossless = true,
      .in_order = true,
  };

  struct Settings {
    RoceConfig roce;
  };
  static RoceConfig& config_in(Settings& settings) { return settings.roce; }
  static const RoceConfig& config_in(const Settings& settings) { return settings.roce; }

  static std::uint32_t header_bytes(const RoceConfig& config) { return config.header; }
  static std::uint32_t packet_bytes(const RoceConfig& config) { return config.mtu + config.header; }
  static void set_network(RoceConfig& config, const Network& network) {
    config.base_rtt = network.base_rtt;
    config.packet_time = network.packet_time;
  }
  static Connections connections(const RoceConfig& config) {
    return {.count = config.qps,
            .split_above = config.split ? std::optional(config.split_above) : std::nullopt,
            .path = [](std::uint32_t, std::uint32_t, std::uint32_t qp) { return static_cast<std::uint16_t>(qp); }};
  }
};

}  // namespace weft::transport
