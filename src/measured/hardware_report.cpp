#include "measured/hardware_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "measured/text_lines.hpp"

namespace weft::measured {
namespace {

constexpr std::size_t kMostPorts = 4'096;
constexpr std::size_t kMostSlots = 4'096;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// What stands behind "word:", with any space between; nothing where the line does not begin so.
std::optional<std::string_view> value_of(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  text.remove_prefix(word.size());
  text = trimmed(text);
  if (!text.starts_with(':')) return std::nullopt;
  return trimmed(text.substr(1));
}

// 26.562, 400, 2.5; nothing where no number begins.
std::optional<double> decimal(std::string_view text) {
  const auto whole = leading_number(text);
  if (!whole) return std::nullopt;
  double made = static_cast<double>(whole->value);
  text.remove_prefix(whole->length);
  double digit = 0.1;
  if (text.starts_with('.'))
    for (std::size_t i = 1; i < text.size() && i < 8 && text[i] >= '0' && text[i] <= '9'; ++i, digit /= 10)
      made += digit * (text[i] - '0');
  return made;
}

// GT/s as the generation that has it.
std::int64_t generation_of(double gigatransfers) {
  constexpr std::array<double, 6> kRates = {2.5, 5, 8, 16, 32, 64};
  for (std::size_t i = 0; i < kRates.size(); ++i)
    if (std::abs(gigatransfers - kRates[i]) < 0.1) return static_cast<std::int64_t>(i) + 1;
  return 0;
}

struct Link {
  std::int64_t gen = 0;
  std::int64_t lanes = 0;
};

// Speed 16GT/s (downgraded), Width x8 (ok)
Link link_of(std::string_view text) {
  Link out;
  if (const std::size_t at = text.find("Speed "); at != std::string_view::npos)
    out.gen = generation_of(decimal(text.substr(at + 6)).value_or(0));
  if (const std::size_t at = text.find("Width x"); at != std::string_view::npos)
    if (const auto lanes = leading_number(text.substr(at + 7)); lanes && lanes->value <= 32) out.lanes = lanes->value;
  return out;
}

}  // namespace

void HardwareReport::add(const HardwareReport& more) {
  ports.insert(ports.end(), more.ports.begin(), more.ports.end());
  slots.insert(slots.end(), more.slots.begin(), more.slots.end());
  nvlinks += more.nvlinks;
  if (nvlinks_down == 0) nvlink_down_place = more.nvlink_down_place;
  nvlinks_down += more.nvlinks_down;
  if (more.perftest_megabits <= perftest_megabits) return;
  perftest_megabits = more.perftest_megabits;
  perftest_place = more.perftest_place;
}

std::int64_t HardwareReport::ports_down() const {
  return std::count_if(ports.begin(), ports.end(), [](const ReportedPort& each) { return each.down; });
}

ReportedPort* HardwareReader::port(std::string_view name, const spec::Place& place) {
  if (made_.ports.size() >= kMostPorts) return nullptr;
  made_.ports.push_back({std::string(name.substr(0, 64)), 0, false, 0, place});
  in_port_ = true;
  in_nvlinks_ = false;
  return &made_.ports.back();
}

bool HardwareReader::take_port(std::string_view text, const spec::Place& place) {
  // ibstat: CA 'mlx5_0'; ibv_devinfo: hca_id: mlx5_0; ibstatus: Infiniband device 'mlx5_0' port 1 status:
  for (const std::string_view head : {"CA '", "Infiniband device '"})
    if (text.starts_with(head)) {
      const std::string_view name = text.substr(head.size());
      return port(name.substr(0, name.find('\'')), place) != nullptr;
    }
  if (const auto name = value_of(text, "hca_id")) return port(*name, place) != nullptr;
  if (text.starts_with("Settings for ") && text.ends_with(':'))
    return port(text.substr(13, text.size() - 14), place) != nullptr;
  // rdma link: link mlx5_1/1 state DOWN physical_state DISABLED netdev eth1
  if (text.starts_with("link ") && text.find(" state ") != std::string_view::npos &&
      text.find("physical_state") != std::string_view::npos) {
    const std::string_view name = text.substr(5, text.find_first_of(" /", 5) - 5);
    ReportedPort* made = port(name, place);
    if (made != nullptr) made->down = text.find(" state ACTIVE") == std::string_view::npos;
    in_port_ = false;
    return made != nullptr;
  }
  ReportedPort* at = current();
  if (at == nullptr) return false;
  const auto set_rate = [&](double megabits) {
    at->megabits = static_cast<std::int64_t>(megabits + 0.5);
    at->place = place;
    return true;
  };
  if (const auto rate = value_of(text, "Rate"))  // of ibstat
    if (const auto number = decimal(*rate)) return set_rate(*number * 1e3);
  if (const auto rate = value_of(text, "rate"))  // of ibstatus: 100 Gb/sec (4X EDR)
    if (const auto number = decimal(*rate)) return set_rate(*number * 1e3);
  if (const auto speed = value_of(text, "Speed"))  // of ethtool: 25000Mb/s
    if (const auto number = leading_number(*speed); number && speed->find("Mb/s") != std::string_view::npos)
      return set_rate(static_cast<double>(number->value));
  if (const auto width = value_of(text, "active_width"))
    if (const auto number = leading_number(*width)) {
      lanes_ = number->value;
      return true;
    }
  if (const auto speed = value_of(text, "active_speed"))
    if (const auto number = decimal(*speed); number && lanes_ > 0 && lanes_ <= 12)
      return set_rate(*number * 1e3 * static_cast<double>(lanes_));
  if (const auto mtu = value_of(text, "active_mtu"))
    if (const auto number = leading_number(*mtu)) {
      at->mtu = number->value;
      return true;
    }
  const auto is_down = [](std::string_view state) {
    return state.starts_with("Down") || state.starts_with("PORT_DOWN") || state.find(" DOWN") != std::string_view::npos;
  };
  for (const std::string_view word : {"State", "state"})
    if (const auto state = value_of(text, word)) {
      if (is_down(*state)) {
        at->down = true;
        at->place = place;
      }
      return true;
    }
  if (const auto detected = value_of(text, "Link detected")) {
    at->down = *detected == "no";
    return true;
  }
  return false;
}

bool HardwareReader::take_slot(std::string_view text, const spec::Place& place) {
  // 0000:1b:00.0 3D controller: ...
  const std::string_view first = text.substr(0, text.find(' '));
  if ((first.size() == 7 || first.size() == 12) && first[first.size() - 2] == '.' && first[first.size() - 5] == ':') {
    device_ = first;
    could_gen_ = could_lanes_ = 0;
    in_port_ = in_nvlinks_ = false;
    return true;
  }
  if (const auto could = value_of(text, "LnkCap")) {
    const Link link = link_of(*could);
    could_gen_ = link.gen;
    could_lanes_ = link.lanes;
    return true;
  }
  if (const auto is = value_of(text, "LnkSta")) {
    const Link link = link_of(*is);
    const bool said = is->find("downgraded") != std::string_view::npos;
    const bool less = (could_gen_ > link.gen && link.gen > 0) || (could_lanes_ > link.lanes && link.lanes > 0);
    if ((said || less) && link.gen > 0 && link.lanes > 0 && made_.slots.size() < kMostSlots)
      made_.slots.push_back({device_, link.gen, link.lanes, could_gen_, could_lanes_, place});
    return true;
  }
  return false;
}

// GPU 0: NVIDIA H100 80GB HBM3 (UUID: ...), then "Link 0: 26.562 GB/s" or "Link 0: <inactive>"
bool HardwareReader::take_nvlink(std::string_view text, const spec::Place& place) {
  if (text.starts_with("GPU ") && text.find("(UUID") != std::string_view::npos) {
    in_nvlinks_ = true;
    in_port_ = false;
    return true;
  }
  if (!in_nvlinks_ || !text.starts_with("Link ")) return false;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view state = trimmed(text.substr(colon + 1));
  ++made_.nvlinks;
  const auto rate = decimal(state);
  if (rate && *rate > 0) return true;
  if (made_.nvlinks_down++ == 0) made_.nvlink_down_place = place;
  return true;
}

// "ib_write_bw is about 180Gb", "IB write bandwidth (~392 Gbps)": bits and not bytes, and the most of a line.
bool HardwareReader::take_perftest(std::string_view text, const spec::Place& place) {
  constexpr std::array<std::string_view, 5> kPrograms = {"ib_write_bw", "ib_read_bw", "ib_send_bw", "perftest",
                                                         "IB write bandwidth"};
  if (std::none_of(kPrograms.begin(), kPrograms.end(),
                   [&](std::string_view each) { return text.find(each) != std::string_view::npos; }))
    return false;
  std::int64_t most = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto whole = leading_number(text.substr(at));
    if (!whole) {
      ++at;
      continue;
    }
    const double value = decimal(text.substr(at)).value_or(0);
    std::string_view rest = text.substr(at + whole->length);
    if (rest.starts_with('.')) rest = rest.substr(std::min(rest.find_first_not_of("0123456789", 1), rest.size()));
    const std::string_view unit = trimmed(rest.substr(0, 5));
    const bool ends = unit.size() < 3 || unit.starts_with("Gb/") || unit.starts_with("Gbp") ||
                      unit.starts_with("Gbi") || unit[2] == ' ' || unit[2] == '.' || unit[2] == ',' || unit[2] == ')';
    if (unit.starts_with("Gb") && ends && value < 10'000) most = std::max(most, static_cast<std::int64_t>(value * 1e3));
    at = text.size() - rest.size();
  }
  if (most <= made_.perftest_megabits) return most > 0;
  made_.perftest_megabits = most;
  made_.perftest_place = place;
  return true;
}

bool HardwareReader::take(std::string_view line, const spec::Place& place) {
  const std::string_view text = trimmed(line);
  if (text.empty()) return false;
  return take_port(text, place) || take_slot(text, place) || take_nvlink(text, place) || take_perftest(text, place);
}

}  // namespace weft::measured
