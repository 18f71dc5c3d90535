// What Wireshark makes of a capture, by asking Debian's tshark.
#include "report/pcapng.hpp"
#include "base/testing_source_dir.hpp"

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

#include "transport/srd/codec.hpp"
#include "transport/tcp/tcp.hpp"
#include "transport/testing_wire.hpp"
#include "transport/uet/uet.hpp"

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

std::string capture(const std::vector<Captured>& packets, const WireNumbers& numbers = {}) {
  std::ostringstream out;
  PcapngWriter writer(out, kLinks, FrameMaker(numbers, packets));
  for (const Captured& packet : packets) writer.add(packet);
  return out.str();
}

std::uint32_t little_endian(const std::string& bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= std::uint32_t{static_cast<unsigned char>(bytes.at(at + i))} << 8 * i;
  return value;
}

// Readers go from block to block and from option to option by lengths; where options stand, one says that they end.
TEST(Pcapng, BlocksAndOptionsEndWhereTheySay) {
  std::vector<Captured> packets = some_packets();
  packets.resize(3);
  packets[1].time = 5'000;  // whole nanoseconds: nothing to remark
  const std::string bytes = capture(packets);
  std::vector<std::vector<std::uint32_t>> options;  // of each block, their codes
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint32_t type = little_endian(bytes, at, 4);
    const std::uint32_t length = little_endian(bytes, at + 4, 4);
    ASSERT_EQ(length % 4, 0u);
    ASSERT_EQ(little_endian(bytes, at + length - 4, 4), length) << "a block says its length at both ends";
    const std::size_t captured = type == 6 ? (little_endian(bytes, at + 20, 4) + 3) / 4 * 4 : 0;
    std::size_t option = at + (type == 1 ? 16 : type == 6 ? 28 + captured : 24);
    options.emplace_back();
    while (option < at + length - 4) {
      options.back().push_back(little_endian(bytes, option, 2));
      option += 4 + (little_endian(bytes, option + 2, 2) + 3) / 4 * 4;
    }
    ASSERT_EQ(option, at + length - 4);
    at += length;
  }
  EXPECT_EQ(options, (std::vector<std::vector<std::uint32_t>>{{}, {2, 9, 0}, {2, 9, 0}, {1, 0}, {}, {1, 0}}));
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
    const auto [text, code] = shell(fmt::format(
        "tshark -n -X lua_script:{0}/share/wireshark/weft_srd.lua -X lua_script:{0}/share/wireshark/weft_uet.lua "
        "-r {1} {2} 2>/dev/null",
        base::kSourceDir, file_.string(), arguments));
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
  std::istringstream lines(ask(capture(packets), fields({"frame.time_epoch",
                                                         "frame.interface_name",
                                                         "frame.len",
                                                         "eth.src",
                                                         "eth.dst",
                                                         "ip.src",
                                                         "ip.dst",
                                                         "ip.dsfield.ecn",
                                                         "ip.dsfield.dscp",
                                                         "ip.checksum.status",
                                                         "udp.srcport",
                                                         "udp.dstport",
                                                         "srd.type",
                                                         "srd.connection",
                                                         "srd.path",
                                                         "srd.sequence",
                                                         "srd.generation",
                                                         "srd.stream",
                                                         "srd.checksum.good",
                                                         "srd.flags",
                                                         "frame.comment"})));
  for (const Captured& p : packets) {
    const bool ack = p.type == PacketType::ack;
    const bool marked = (p.flags & transport::kMarked) != 0;
    const bool trimmed = (p.flags & transport::kTrimmed) != 0;
    const auto mac = [](std::uint32_t n) {
      return fmt::format("02:00:{:02x}:{:02x}:{:02x}:{:02x}", n >> 24, n >> 16 & 255, n >> 8 & 255, n & 255);
    };
    const int flags = p.flags & ~(ack ? transport::kMarked : transport::kMarked | transport::kTrimmed);
    const std::string expected = fmt::format(
        "{}.{:09}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t1\t{}\t7791\t{}\t0x{:016x}\t{}\t{}\t{}\t{}\t1\t0x{:02x}\t+{} ps",
        p.time / 1'000'000'000'000, p.time % 1'000'000'000'000 / 1000, kLinks[p.link], p.bytes == 64 ? 98 : p.bytes,
        mac(p.header.source), mac(p.header.destination), address(p.header.source), address(p.header.destination),
        marked ? 3
        : ack  ? 0
               : 2,
        ack       ? 46
        : trimmed ? 45
                  : 0,
        49152 + p.header.path, static_cast<int>(p.type), transport::connection_of(p.header), p.header.path,
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
                          p.header.data.tag, p.header.data.size, p.bytes == 64 ? 0 : p.bytes - 98);
    expected += p.type == PacketType::data
                    ? fmt::format("\t{}\t{}", p.header.echo, (p.header.path + p.header.echo) % 65536)
                    : "\t\t";
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

// ---- RoCEv2, which Wireshark knows

Captured roce(PacketType type, std::uint8_t flags, std::uint32_t sequence, std::uint32_t place = 0,
              std::uint64_t size = 0) {
  Captured p;
  p.type = type;
  p.flags = flags;
  p.header.source = 1;
  p.header.destination = 2;
  p.header.path = 3;  // queue pair
  p.header.sequence = sequence;
  if (type == PacketType::roce_data) {
    p.header.op = Op::send;
    p.header.roce = {place, 0, size};
    const std::uint64_t offset = std::uint64_t{place} * 4096;
    p.bytes = static_cast<std::uint32_t>(62 + std::min<std::uint64_t>(4096, size - std::min(size, offset)));
  } else {
    p.bytes = type == PacketType::roce_cnp ? 78 : 66;
  }
  return p;
}

const std::vector<Captured> kRoce = {
    roce(PacketType::roce_data, 0, 0xFFFFFE, 0, 10'000),  // first, middle, last of a message
    roce(PacketType::roce_data, transport::kMarked, 0xFFFFFF, 1, 10'000),
    roce(PacketType::roce_data, transport::kAckNow, 0, 2, 10'000),
    roce(PacketType::roce_data, transport::kAckNow | transport::kResent, 1, 0, 100),  // one of a single packet
    roce(PacketType::roce_ack, 0, 1),                                                 // all below 1 has arrived
    roce(PacketType::roce_ack, transport::kNak, 7),                                   // 7 is missing
    roce(PacketType::roce_cnp, 0, 0),
};

TEST_F(Tshark, KnowsRoce) {
  const std::string told =
      ask(capture(kRoce), fields({"udp.dstport", "infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.bth.destqp",
                                  "infiniband.bth.a", "infiniband.aeth.syndrome", "ip.dsfield.dscp", "ip.dsfield.ecn",
                                  "ip.checksum.status", "frame.len", "frame.cap_len"}));
  const std::string address = "0x000005";
  EXPECT_EQ(told, "4791\t0\t16777214\t" + address + "\t0\t\t26\t2\t1\t4154\t4154\n" + "4791\t1\t16777215\t" + address +
                      "\t0\t\t26\t3\t1\t4154\t4154\n" + "4791\t2\t0\t" + address + "\t1\t\t26\t2\t1\t1866\t1866\n" +
                      "4791\t4\t1\t" + address + "\t1\t\t26\t2\t1\t158\t158\n" + "4791\t17\t0\t" + address +
                      "\t0\t31\t26\t2\t1\t62\t62\n" + "4791\t17\t7\t" + address + "\t0\t96\t26\t2\t1\t62\t62\n" +
                      "4791\t129\t0\t" + address + "\t0\t\t48\t0\t1\t74\t74\n");
  EXPECT_EQ(ask(capture(kRoce),
                "-o ip.check_checksum:TRUE -Y '_ws.malformed || _ws.expert.severity >= 0x600000 || !infiniband'"),
            "");
  // Of a payload that it misses, the dissector complains in the line of a packet only.
  const std::string lines = ask(capture(kRoce), "");
  EXPECT_EQ(lines.find("Malformed"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("limited"), std::string::npos) << lines;
}

// Bit by bit, over ones for what switches change.
TEST(Frames, RoceEndsWithItsInvariantCheck) {
  for (const Captured& packet : kRoce) {
    const std::string frame = FrameMaker({}, kRoce).make(packet).captured();
    ASSERT_EQ(frame.size(), packet.bytes - 4) << "the whole frame but its FCS";
    std::string covered = std::string(8, '\xff') + frame.substr(14, frame.size() - 18);
    for (const std::size_t changed : {1u, 8u, 10u, 11u, 26u, 27u, 32u}) covered[8 + changed] = '\xff';
    std::uint32_t crc = 0xFFFFFFFF;
    for (const char c : covered)
      for (unsigned bit = 0; bit < 8; ++bit)
        crc = crc >> 1 ^ ((crc ^ static_cast<std::uint8_t>(c) >> bit) & 1 ? 0xEDB88320u : 0);
    for (unsigned i = 0; i < 4; ++i)
      EXPECT_EQ(static_cast<std::uint8_t>(frame[frame.size() - 4 + i]), ~crc >> 8 * i & 0xFF) << "byte " << i;
  }
}

TEST_F(Tshark, SeesThePartsOfASplitRoceMessage) {
  WireNumbers numbers;
  numbers.roce.qps = 2;
  numbers.roce.split = true;
  std::vector<Captured> packets;
  for (std::uint32_t place = 0; place < 5; ++place)
    packets.push_back(roce(PacketType::roce_data, 0, place, place, 5 * 4096));
  // Three packets on the first queue pair, two on the second: first, middle, last; first, last.
  EXPECT_EQ(ask(capture(packets, numbers), fields({"infiniband.bth.opcode"})), "0\n1\n2\n0\n2\n");
}

// ---- TCP, as two endpoints of ours speak it

struct TcpTalk {
  explicit TcpTalk(const std::vector<std::uint64_t>& sizes, std::uint32_t lose_nth = 0) {
    transport::TcpConfig config;
    config.base_rtt = nanoseconds(4'400);
    config.rto_min = microseconds(1'000);
    numbers.tcp = config;
    transport::TestingWire<transport::Tcp> net({}, config);
    std::uint32_t count = 0;
    net.deliver = [&](transport::Transmit& packet) {
      const bool lost = packet.type == PacketType::tcp_data && ++count == lose_nth;
      packets.push_back({net.now(), 0, packet.wire_bytes, packet.type, packet.flags, packet.header});
      if (lost) packets.pop_back();
      return !lost;
    };
    for (std::uint32_t i = 0; i < sizes.size(); ++i) net.post(0, {Op::send, 1, sizes[i], i, i});
    net.run();
    for (const std::uint64_t size : sizes) bytes += size;
  }
  std::vector<Captured> packets;
  WireNumbers numbers;
  std::uint64_t bytes = 0;
};

TEST_F(Tshark, FindsAWholeStreamOfBytesInTcp) {
  const TcpTalk talk({100'000, 1, 8948, 8949, 77'777});
  const std::string file = capture(talk.packets, talk.numbers);
  // Nothing missing, repeated or out of order, and all checksums right.
  EXPECT_EQ(ask(file,
                "-o ip.check_checksum:TRUE -Y 'tcp.analysis.flags || _ws.malformed || _ws.expert.severity >= 0x600000 "
                "|| !tcp'"),
            "");
  std::istringstream lines(ask(file, fields({"tcp.srcport", "tcp.seq_raw", "tcp.len", "tcp.flags.push"})));
  std::uint64_t next = 0;
  int pushed = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    std::uint64_t port = 0, sequence = 0, length = 0;
    int push = 0;
    cells >> port >> sequence >> length >> push;
    if (port == 7791) continue;  // an acknowledgement
    EXPECT_EQ(sequence, next);
    next = sequence + length;
    pushed += push;
  }
  EXPECT_EQ(next, talk.bytes);
  EXPECT_EQ(pushed, 5);
  // The last acknowledgement is for every byte, and comes to the port that sent.
  const std::string acks =
      ask(file, "-Y 'tcp.srcport == 7791' " + fields({"tcp.dstport", "tcp.ack_raw", "tcp.len", "tcp.hdr_len"}));
  EXPECT_TRUE(acks.ends_with(fmt::format("\t{}\t0\t32\n", talk.bytes))) << acks;
}

TEST_F(Tshark, ChecksTcpsSums) {
  const TcpTalk talk({20'000});
  std::vector<Captured> acks;
  for (const Captured& packet : talk.packets)
    if (packet.type == PacketType::tcp_ack) acks.push_back(packet);
  ASSERT_FALSE(acks.empty());
  const std::string good =
      ask(capture(acks, talk.numbers), "-o tcp.check_checksum:TRUE " + fields({"tcp.checksum.status"}));
  EXPECT_EQ(good.find('0'), std::string::npos) << good;
  EXPECT_NE(good.find('1'), std::string::npos) << good;
}

TEST_F(Tshark, SeesALossAsTcpTellsIt) {
  const TcpTalk talk({200'000}, 6);
  const std::string file = capture(talk.packets, talk.numbers);
  const std::string sacks = ask(file, "-o tcp.relative_sequence_numbers:FALSE -Y tcp.options.sack_le " +
                                          fields({"tcp.ack_raw", "tcp.options.sack_le"}));
  ASSERT_FALSE(sacks.empty());
  // Five segments have come, the sixth is missing, and the seventh is there.
  EXPECT_TRUE(sacks.starts_with(fmt::format("{}\t{}", 5 * 8948, 6 * 8948))) << sacks;
  EXPECT_NE(ask(file, "-Y tcp.analysis.lost_segment"), "");
  EXPECT_NE(
      ask(file,
          fmt::format(
              "-Y 'tcp.analysis.retransmission || tcp.analysis.out_of_order || tcp.analysis.fast_retransmission'")),
      "");
}

// ---- Ultra Ethernet's packet delivery

TEST_F(Tshark, ReadsUetWithOurDissector) {
  const auto packet = [](PacketType type, std::uint8_t flags, std::uint32_t sequence, std::uint32_t bytes) {
    Captured p;
    p.type = type;
    p.flags = flags;
    p.bytes = bytes;
    p.header.source = 1;
    p.header.destination = 2;
    p.header.path = 9;
    p.header.stream = 5;
    p.header.sequence = sequence;
    return p;
  };
  Captured ack = packet(PacketType::uet_ack, transport::kUetMarked, 100, 64);
  ack.header.echo = 103;
  ack.header.ack.arrived = 0b1010;
  Captured nack = packet(PacketType::uet_ack, transport::kUetNack, 100, 64);
  nack.header.echo = 101;
  Captured probe = packet(PacketType::uet_data, transport::kUetAckNow, 100, 64);
  probe.header.op = Op::read;
  const std::vector<Captured> packets = {
      packet(PacketType::uet_data, transport::kUetResent | transport::kUetAckNow, 77, 4160), ack, nack, probe};
  EXPECT_EQ(ask(capture(packets),
                fields({"udp.srcport", "udp.dstport", "uet.pds.type", "uet.pds.spdcid", "uet.pds.psn",
                        "uet.pds.retransmitted", "uet.payload_length", "uet.pds.cack_psn", "uet.pds.ack_psn_offset",
                        "uet.pds.sack_psn_offset", "uet.pds.sack_bitmap", "uet.pds.marked", "uet.pds.nack_psn",
                        "uet.pds.nack_code", "uet.pds.control_type"})),
            "49161\t4793\t2\t5\t77\t1\t4106\t\t\t\t\t\t\t\t\n"
            "49161\t4793\t8\t5\t\t\t\t99\t4\t1\t0x000000000000000a\t1\t\t\t\n"
            "49161\t4793\t10\t5\t\t\t\t\t\t\t\t\t101\t1\t\n"
            "49161\t4793\t11\t5\t100\t0\t10\t\t\t\t\t\t\t\t6\n");
  EXPECT_EQ(
      ask(capture(packets), "-o ip.check_checksum:TRUE -Y '_ws.malformed || _ws.expert.severity >= 0x600000 || !uet'"),
      "");
}

}  // namespace
}  // namespace weft::report
