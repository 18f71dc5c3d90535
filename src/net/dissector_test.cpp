// What Wireshark's dissector makes of the packets of a handshake, and of seals, by asking Debian's tshark.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/testing_source_dir.hpp"
#include "net/control.hpp"
#include "net/seal.hpp"
#include "transport/srd/codec.hpp"

namespace weft::net {
namespace {

using Packet = std::vector<std::uint8_t>;

std::pair<std::string, int> shell(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  return {text, WEXITSTATUS(pclose(pipe))};
}

class Dissector : public testing::Test {
 protected:
  void SetUp() override {
    if (shell("command -v tshark && command -v text2pcap").second != 0)
      GTEST_SKIP() << "tshark is not installed: nobody reads packets (apt-get install tshark)";
  }

  // One line for each packet, of these fields.
  static std::string read(const std::vector<Packet>& packets, const std::string& fields) {
    // Of this test alone: another may run beside it.
    const std::string folder = fmt::format("{}weft_dissector_test.{}", testing::TempDir(), getpid());
    std::filesystem::create_directories(folder);
    std::ofstream dump(folder + "/hex");
    for (const Packet& packet : packets) {
      for (std::size_t i = 0; i < packet.size(); ++i)
        dump << (i % 16 == 0 ? fmt::format("\n{:06x}", i) : "") << fmt::format(" {:02x}", packet[i]);
      dump << "\n";
    }
    dump.close();
    const auto [text, code] = shell(fmt::format(
        "cd {0} && text2pcap -q -u 40000,7791 hex pcap 2>said && tshark -n -X lua_script:{1}/share/wireshark/"
        "weft_srd.lua -r pcap -T fields -E separator=, {2} 2>>said",
        folder, base::kSourceDir, fields));
    EXPECT_EQ(code, 0) << text;
    std::filesystem::remove_all(folder);
    return text;
  }
};

ControlPacket greeting() {
  ControlPacket packet;
  packet.own_connection = 0x1122334455667788;
  packet.nonce = 7;
  packet.port = 7791;
  packet.datagram = 1400;
  packet.features = kTakesBoth | 1u << kNicsShift;
  return packet;
}

TEST_F(Dissector, KnowsThePacketsOfAHandshake) {
  std::vector<Packet> packets;
  for (const Control type : {Control::hello, Control::retry, Control::accept, Control::refused, Control::ping,
                             Control::pong, Control::bye, Control::nic, Control::look, Control::seen}) {
    ControlPacket packet = greeting();
    packet.type = type;
    if (type == Control::refused) packet.text = "no";
    packets.push_back(encode(packet));
  }
  packets.push_back(packets[0]);
  packets.back()[30] ^= 1;
  EXPECT_EQ(read(packets, "-e srd.type -e srd.checksum.good -e srd.features.more_nics -e srd.text"),
            "16,1,1,\n17,1,,\n18,1,1,\n19,1,,no\n20,1,,\n21,1,,\n22,1,,\n23,1,,\n24,1,,\n25,1,,\n16,0,1,\n");
}

// Without the handshake a seal looks like payload.
TEST_F(Dissector, ShowsSealsWhereTheHandshakeWas) {
  const Key key{1, 2, 3};
  const ControlPacket hello = greeting();
  Seal seal(key, 99, hello.own_connection);
  Packet data(transport::kWireHeader + 100);
  transport::Encoded packet;
  packet.fragment = 100;
  packet.header.data.size = 100;
  transport::set_connection(packet.header, hello.own_connection);
  transport::encode(packet, std::span(data).first<transport::kWireHeader>());
  const iovec whole{data.data(), data.size()};
  const auto trailer = seal.close({&whole, 1});
  data.insert(data.end(), trailer.begin(), trailer.end());
  const std::string fields = "-e srd.payload_length -e srd.seal.number";
  EXPECT_EQ(read({encode(hello, &key), data}, fields), fmt::format(",\n100,{}\n", trailer[7]));
  EXPECT_EQ(read({encode(hello), data}, fields), ",\n124,\n");
}

}  // namespace
}  // namespace weft::net
