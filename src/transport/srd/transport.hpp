#pragma once
// SRD, and TCP over it, among the transports.

#include "transport/description.hpp"
#include "transport/network.hpp"
#include "transport/srd/drawing.hpp"
#include "transport/srd/frames.hpp"
#include "transport/srd/srd.hpp"
#include "transport/srd/tcp_over_srd.hpp"

namespace weft::transport {

struct SrdTransport {
  using Engine = Srd;
  using Drawing = SrdDrawing;
  using Frames = SrdFrames;
  static constexpr Description kDescription = {
      .protocol = Protocol::srd,
      .name = "srd",
      .data = PacketType::data,
      .ack = PacketType::ack,
      .packets = {PacketType::data, PacketType::ack},
      .go_first = {PacketType::ack},
      .verbs = {Op::send, Op::write, Op::read},
      .trimmable = true,
      .many_paths = true,
      .renews_paths = true,
      .between_sites = false,
      .encoded = true,
  };

  struct Settings {
    SrdConfig srd;
  };
  static SrdConfig& config_in(Settings& settings) { return settings.srd; }
  static const SrdConfig& config_in(const Settings& settings) { return settings.srd; }

  static std::uint32_t header_bytes(const SrdConfig& config) { return config.header; }
  static std::uint32_t packet_bytes(const SrdConfig& config) { return config.payload + config.header; }
  static void set_network(SrdConfig& config, const Network& network) {
    if (config.base_rtt.count() > 0) return;  // it is guessed
    config.base_rtt = network.base_rtt;
    config.packet_time = network.packet_time;
    if (config.rto.count() == 0) config.rto = network.base_rtt * 5 + config.longest_wait;
  }
};

struct TcpOverSrdTransport {
  using Engine = TcpOverSrd;
  using Drawing = TcpOverSrdDrawing;
  using Frames = SrdFrames;
  static constexpr Description kDescription = {
      .protocol = Protocol::tcp_over_srd,
      .name = "tcp-over-srd",
      .data = PacketType::ordered_data,
      .ack = PacketType::ordered_ack,
      .packets = {PacketType::ordered_data, PacketType::ordered_ack},
      .go_first = {PacketType::ordered_ack},
      .in_order = true,
      .trimmable = true,
      .many_paths = true,
      .renews_paths = true,
      .between_sites = false,
  };

  struct Settings {
    SrdConfig tcp_over_srd;  // payload and header of its segments
  };
  static SrdConfig& config_in(Settings& settings) { return settings.tcp_over_srd; }
  static const SrdConfig& config_in(const Settings& settings) { return settings.tcp_over_srd; }

  static std::uint32_t header_bytes(const SrdConfig& config) { return config.header; }
  static std::uint32_t packet_bytes(const SrdConfig& config) { return config.payload + config.header; }
  static void set_network(SrdConfig& config, const Network& network) { SrdTransport::set_network(config, network); }
};

}  // namespace weft::transport
