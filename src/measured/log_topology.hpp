#pragma once
// The server as NCCL's log prints it with NCCL_DEBUG_SUBSYS=GRAPH, where no file describes it:
//
//   === System : maxBw 24.0 totalBw 252.0 ===
//   CPU/0 (1/2/-1)
//   + PCI[24.0] - PCI/1000 (1000c01010000000)
//                 + PCI[24.0] - GPU/7000 (0)
//                               + NVL[252.0] - NVS/0
//                 + PCI[24.0] - NIC/B000
//                               + NET[25.0] - NET/0 (603cb0003723f04/1/25.000000)
//
// The numbers are GB/s as NCCL reckons with them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measured/server_outline.hpp"

namespace weft::measured {

struct LogPart {
  enum class Kind { cpu, pci, gpu, nic, net, nvswitch } kind = Kind::cpu;
  std::size_t indent = 0;
  std::int64_t rate = 0;  // of the link to it, in thousandths of GB/s; 0 for CPUs
  std::string link;       // PCI, NVL, NET, SYS
};

// One line after "NCCL INFO"; nullopt when it is none of these.
std::optional<LogPart> log_part(std::string_view text);

// nullopt when there is no GPU among the parts.
std::optional<ServerOutline> outline_of(const std::vector<LogPart>& parts, const std::string& gpu_name);

}  // namespace weft::measured
