#pragma once
// Raw messages among the transports.

#include "transport/description.hpp"
#include "transport/network.hpp"
#include "transport/raw/messages.hpp"
#include "transport/srd/frames.hpp"

namespace weft::transport {

struct RawTransport {
  using Engine = RawMessages;
  using Frames = SrdFrames;
  static constexpr Description kDescription = {
      .protocol = Protocol::raw,
      .name = "raw",
      .data = PacketType::raw,
      .ack = std::nullopt,
      .packets = {PacketType::raw},
      .go_first = {},
      .delivers = false,
      .many_paths = true,
  };

  struct Settings {
    RawConfig raw;
  };
  static RawConfig& config_in(Settings& settings) { return settings.raw; }
  static const RawConfig& config_in(const Settings& settings) { return settings.raw; }

  static std::uint32_t header_bytes(const RawConfig& config) { return config.header; }
  static std::uint32_t packet_bytes(const RawConfig& config) { return config.payload + config.header; }
  static void set_network(RawConfig&, const Network&) {}
};

}  // namespace weft::transport
