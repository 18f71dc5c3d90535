// What Wireshark makes of a capture, by asking Debian's tshark.
#include "report/pcapng.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <vector>

#include "transport/codec.hpp"

namespace weft::report {
namespace {

using transport::Captured;
using transport::Op;
using transport::PacketType;

const std::vector<std::string> kLinks = {"leaf0 to spine1", "spine1 to leaf2"};

std::vector<Captured> some_packets() {
  std::mt19937 random(1);
  std::vector<Captured> packets;
  std::int64_t time = 0;
  for (std::uint32_t i = 0; i < 200; ++i) {
    Captured p;
    time += 1'234'567;  // never whole nanoseconds, until the thousandth packet
    p.time = time;
    p.link = i % 2;
    p.type = i % 3 == 2 ? PacketType::ack : i % 30 == 1 ? PacketType::raw : PacketType::data;
    p.flags = static_cast<std::uint8_t>(random() % 16);
    p.bytes = p.type == PacketType::ack || (p.flags & transport::kTrimmed) != 0 ? 64 : 4160;
    p.header.source = static_cast<std::uint32_t>(random() % (1 << 26));
    p.header.destination = static_cast<std::uint32_t>(random() % 300);
    p.header.path = static_cast<std::uint16_t>(random() % 64);
    p.header.sequence = static_cast<std::uint32_t>(random());
    p.header.stream = static_cast<std::uint16_t>(random());
    p.header.generation = static_cast<std::uint16_t>(random());
    if (p.type == PacketType::ack) {
      p.header.fan_in = static_cast<std::uint16_t>(random());
      p.header.echo = static_cast<std::uint16_t>(random());
      p.header.ack = {random() * std::uint64_t{0x100000001}, random()};
    } else {
      p.header.op = static_cast<Op>(random() % 4);
      if (p.type == PacketType::data && i % 2 == 0) p.header.echo = static_cast<std::uint16_t>(random());
      p.header.data = {static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random()),
                       random() * std::uint64_t{77777}};
    }
    packets.push_back(p);
  }
  return packets;
}

std::string capture(const std::vector<Captured>& packets) {
  std::ostringstream out;
  PcapngWriter writer(out, kLinks);
  for (const Captured& packet : packets) writer.add(packet);
  return out.str();
}

// Runs a command; its output and exit code.
std::pair<std::string, int> shell(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  return {text, WEXITSTATUS(pclose(pipe))};
}

class Tshark : public testing::Test {
 protected:
  void SetUp() override {
    if (shell("command -v tshark").second != 0)
      GTEST_SKIP() << "tshark is not installed: nobody reads the capture (apt-get install tshark)";
    file_ = std::filesystem::temp_directory_path() / fmt::format("weft-{}.pcapng", getpid());
  }
  void TearDown() override { std::filesystem::remove(file_); }

  std::string ask(const std::string& bytes, const std::string& arguments) {
    std::ofstream(file_, std::ios::binary) << bytes;
    const auto [text, code] =
        shell(fmt::format("tshark -n -X lua_script:{}/share/wireshark/weft_srd.lua -r {} {} 2>/dev/null",
                          WEFT_SOURCE_DIR, file_.string(), arguments));
    EXPECT_EQ(code, 0);
    return text;
  }
  static std::string fields(const std::vector<std::string>& names) {
    return fmt::format("-o ip.check_checksum:TRUE -T fields -e {}", fmt::join(names, " -e "));
  }

 private:
  std::filesystem::path file_;
};

std::string address(std::uint32_t endpoint) {
  const std::uint32_t ip = (10u << 24) + endpoint;
  return fmt::format("{}.{}.{}.{}", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
}

TEST_F(Tshark, ReadsBackEveryFieldThatWasWritten) {
  const auto packets = some_packets();
  std::istringstream lines(ask(capture(packets), fields({"frame.time_epoch", "frame.interface_name",
                                                         "frame.len",        "eth.src",
                                                         "eth.dst",          "ip.src",
                                                         "ip.dst",           "ip.dsfield.ecn",
                                                         "ip.dsfield.dscp",  "ip.checksum.status",
                                                         "udp.srcport",      "udp.dstport",
                                                         "srd.type",         "srd.source",
                                                         "srd.destination",  "srd.path",
                                                         "srd.sequence",     "srd.generation",
                                                         "srd.stream",       "srd.checksum.good",
                                                         "srd.flags",        "frame.comment"})));
  for (const Captured& p : packets) {
    const bool ack = p.type == PacketType::ack;
    const bool marked = (p.flags & transport::kMarked) != 0;
    const bool trimmed = (p.flags & transport::kTrimmed) != 0;
    const auto mac = [](std::uint32_t n) {
      return fmt::format("02:00:{:02x}:{:02x}:{:02x}:{:02x}", n >> 24, n >> 16 & 255, n >> 8 & 255, n & 255);
    };
    const int flags = p.flags & ~(ack ? transport::kMarked : transport::kMarked | transport::kTrimmed);
    const std::string expected = fmt::format(
        "{}.{:09}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t1\t{}\t7791\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t1\t0x{:02x}\t+{} ps",
        p.time / 1'000'000'000'000, p.time % 1'000'000'000'000 / 1000, kLinks[p.link], p.bytes == 64 ? 94 : p.bytes,
        mac(p.header.source), mac(p.header.destination), address(p.header.source), address(p.header.destination),
        marked ? 3
        : ack  ? 0
               : 2,
        ack       ? 46
        : trimmed ? 45
                  : 0,
        49152 + p.header.path, static_cast<int>(p.type), p.header.source, p.header.destination, p.header.path,
        p.header.sequence, p.header.generation, p.header.stream, flags, p.time % 1000);
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(line, expected);
  }
}

TEST_F(Tshark, ReadsWhatOnlyDataOrOnlyAcknowledgementsHave) {
  const auto packets = some_packets();
  std::istringstream lines(
      ask(capture(packets), fields({"srd.op", "srd.first", "srd.tag", "srd.size", "srd.payload_length", "srd.echo",
                                    "srd.fan_in", "srd.arrived", "srd.marked", "srd.way_back", "srd.answer_path"})));
  for (const Captured& p : packets) {
    std::string expected =
        p.type == PacketType::ack
            ? fmt::format("\t\t\t\t\t{}\t{}\t0x{:016x}\t0x{:016x}", p.header.echo, p.header.fan_in,
                          p.header.ack.arrived, p.header.ack.marked)
            : fmt::format("{}\t{}\t{}\t{}\t{}\t\t\t\t", static_cast<int>(p.header.op), p.header.data.first,
                          p.header.data.tag, p.header.data.size, p.bytes == 64 ? 0 : p.bytes - 94);
    expected += p.type == PacketType::data ? fmt::format("\t{}\t{}", p.header.echo, (p.header.path + p.header.echo) % 65536) : "\t\t";
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(line, expected);
  }
}

TEST_F(Tshark, FindsNothingWrong) {
  // 0x600000 is "warning"; below it are comments and notes.
  EXPECT_EQ(ask(capture(some_packets()),
                "-o ip.check_checksum:TRUE -Y '_ws.malformed || _ws.expert.severity >= 0x600000 || !srd'"),
            "");
}

TEST_F(Tshark, SeesThatABitOfTheHeaderWasTurned) {
  std::string bytes = capture({some_packets()[0]});
  const std::size_t flags = bytes.find(std::string("\x1e\x6f", 2)) + 2 + 4 + 2;  // behind port 7791, length, checksum
  bytes[flags] = static_cast<char>(bytes[flags] ^ 4);
  EXPECT_EQ(ask(bytes, fields({"srd.checksum.good"})), "0\n");
  EXPECT_NE(ask(bytes, "-Y srd.checksum.bad"), "");
}

TEST_F(Tshark, KeepsTheTimeOfLongRuns) {
  Captured late = some_packets()[0];
  late.time = 3'599'987'654'321'000;  // just below an hour
  EXPECT_EQ(ask(capture({late}), fields({"frame.time_epoch", "frame.comment"})), "3599.987654321\t\n");
}

}  // namespace
}  // namespace weft::report
