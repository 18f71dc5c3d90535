#pragma once
// What the programs that look at hardware print: ibstat, ibstatus, ibv_devinfo, rdma link, ethtool, lspci -vv and
// nvidia-smi nvlink -s. Line by line, each by the words that no other has.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spec/diagnostics.hpp"

namespace weft::measured {

struct ReportedPort {
  std::string name;           // mlx5_0, eth0
  std::int64_t megabits = 0;  // 0: not said
  bool down = false;
  std::int64_t mtu = 0;  // 0: not said
  spec::Place place;
};

// A PCIe link below what its device could have.
struct ReportedSlot {
  std::string name;  // 1b:00.0
  std::int64_t gen = 0;
  std::int64_t lanes = 0;
  std::int64_t could_gen = 0;
  std::int64_t could_lanes = 0;
  spec::Place place;
};

struct HardwareReport {
  std::vector<ReportedPort> ports;
  std::vector<ReportedSlot> slots;
  std::int64_t nvlinks = 0;  // that nvidia-smi lists,
  std::int64_t nvlinks_down = 0;
  spec::Place nvlink_down_place;
  std::int64_t perftest_megabits = 0;  // the most that perftest reaches; 0: not said
  spec::Place perftest_place;

  void add(const HardwareReport& more);
  std::int64_t ports_down() const;
};

// Takes lines one after the other; what a line belongs to stands in those before it.
class HardwareReader {
 public:
  // True when the line is one of these programs'.
  bool take(std::string_view line, const spec::Place& place);
  HardwareReport& made() { return made_; }

 private:
  bool take_port(std::string_view text, const spec::Place& place);
  bool take_slot(std::string_view text, const spec::Place& place);
  bool take_nvlink(std::string_view text, const spec::Place& place);
  bool take_perftest(std::string_view text, const spec::Place& place);
  ReportedPort* port(std::string_view name, const spec::Place& place);

  HardwareReport made_;
  ReportedPort* current() { return made_.ports.empty() || !in_port_ ? nullptr : &made_.ports.back(); }
  bool in_port_ = false;
  bool in_nvlinks_ = false;
  std::int64_t lanes_ = 0;  // of ibv_devinfo's active_width, which stands before the speed
  std::string device_;      // of lspci
  std::int64_t could_gen_ = 0;
  std::int64_t could_lanes_ = 0;
};

}  // namespace weft::measured
