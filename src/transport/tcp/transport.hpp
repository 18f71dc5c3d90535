#pragma once
// TCP among the transports.

#include "transport/description.hpp"
#include "transport/network.hpp"
#include "transport/tcp/drawing.hpp"
#include "transport/tcp/frames.hpp"
#include "transport/tcp/tcp.hpp"

namespace weft::transport {

struct TcpTransport {
  using Engine = Tcp;
  using Drawing = TcpDrawing;
  using Frames = TcpFrames;
  static constexpr Description kDescription = {
      .protocol = Protocol::tcp,
      .name = "tcp",
      .data = PacketType::tcp_data,
      .ack = PacketType::tcp_ack,
      .packets = {PacketType::tcp_data, PacketType::tcp_ack},
      .go_first = {},
      .in_order = true,
  };

  struct Settings {
    TcpConfig tcp;
  };
  static TcpConfig& config_in(Settings& settings) { return settings.tcp; }
  static const TcpConfig& config_in(const Settings& settings) { return settings.tcp; }

  static std::uint32_t header_bytes(const TcpConfig& config) { return config.headers + config.framing; }
  static std::uint32_t packet_bytes(const TcpConfig& config) { return config.mtu + config.framing; }
  static void set_network(TcpConfig& config, const Network& network) { config.base_rtt = network.base_rtt; }
  static Connections connections(const TcpConfig& config) {
    return {.count = config.connections, .split_above = std::nullopt, .path = tcp_path};
  }
};

}  // namespace weft::transport
