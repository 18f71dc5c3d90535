#include "report/pcapng.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace weft::report {
namespace {

using transport::Captured;

// Block types and options of draft-ietf-opsawg-pcapng.
constexpr std::uint32_t kSectionHeader = 0x0A0D0D0A;
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::uint16_t kEndOfOptions = 0;
constexpr std::uint16_t kComment = 1;
constexpr std::uint16_t kInterfaceName = 2;
constexpr std::uint16_t kTimeResolution = 9;
constexpr std::uint16_t kEthernetLink = 1;

// Blocks are little-endian, as the section header's magic says; packets are big-endian.
class Block {
 public:
  explicit Block(std::uint32_t type) {
    u32(type);
    u32(0);  // the length, known at the end
  }
  void u16(std::uint16_t n) {
    for (int i = 0; i < 2; ++i) bytes_.push_back(static_cast<char>(n >> (8 * i) & 0xFF));
  }
  void u32(std::uint32_t n) {
    for (int i = 0; i < 4; ++i) bytes_.push_back(static_cast<char>(n >> (8 * i) & 0xFF));
  }
  void text(std::string_view chars) {
    bytes_.insert(bytes_.end(), chars.begin(), chars.end());
    bytes_.resize((bytes_.size() + 3) / 4 * 4);
  }
  void option(std::uint16_t code, std::string_view value) {
    u16(code);
    u16(static_cast<std::uint16_t>(value.size()));
    text(value);
  }
  void write(std::ostream& out) {
    const auto length = static_cast<std::uint32_t>(bytes_.size() + 4);
    for (std::size_t i = 0; i < 4; ++i) bytes_[4 + i] = static_cast<char>(length >> (8 * i) & 0xFF);
    u32(length);
    out.write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
  }

 private:
  std::vector<char> bytes_;
};

}  // namespace

PcapngWriter::PcapngWriter(std::ostream& out, std::span<const std::string> links, FrameMaker frames)
    : out_(out), frames_(std::move(frames)) {
  Block section(kSectionHeader);
  section.u32(0x1A2B3C4D);
  section.u16(1);
  section.u16(0);
  section.u32(0xFFFFFFFF);  // the section's length is not given
  section.u32(0xFFFFFFFF);
  section.write(out_);
  for (const std::string& link : links) {
    Block interface(kInterface);
    interface.u16(kEthernetLink);
    interface.u16(0);
    interface.u32(0);  // no limit on the captured length
    interface.option(kInterfaceName, std::string_view(link).substr(0, 0xFFFF));
    interface.option(kTimeResolution, "\x09");  // 10^-9
    interface.option(kEndOfOptions, "");
    interface.write(out_);
  }
}

void PcapngWriter::add(const Captured& packet) {
  const Frame frame = frames_.make(packet);
  const std::string captured = frame.captured();
  constexpr std::int64_t kPsPerTick = 1000;
  const auto time = static_cast<std::uint64_t>(packet.time / kPsPerTick);
  Block block(kEnhancedPacket);
  block.u32(packet.link);
  block.u32(static_cast<std::uint32_t>(time >> 32));
  block.u32(static_cast<std::uint32_t>(time));
  block.u32(static_cast<std::uint32_t>(captured.size()));
  block.u32(static_cast<std::uint32_t>(frame.original));
  block.text(captured);
  if (const std::int64_t rest = packet.time % kPsPerTick; rest != 0) {
    block.option(kComment, fmt::format("+{} ps", rest));
    block.option(kEndOfOptions, "");
  }
  block.write(out_);
}

}  // namespace weft::report
