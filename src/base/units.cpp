#include "base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "base/money.hpp"
#include "base/wide.hpp"

namespace weft {
namespace {

constexpr std::int64_t kKilo = 1000;
constexpr std::int64_t kMega = kKilo * kKilo;
constexpr std::int64_t kGiga = kMega * kKilo;
constexpr std::int64_t kTera = kGiga * kKilo;
constexpr std::int64_t kPeta = kTera * kKilo;
constexpr std::int64_t kKibi = 1024;
constexpr std::int64_t kMebi = kKibi * kKibi;
constexpr std::int64_t kGibi = kMebi * kKibi;
constexpr std::int64_t kTebi = kGibi * kKibi;
constexpr std::int64_t kPebi = kTebi * kKibi;

constexpr Unit kTime[] = {{"ps", 1},    {"ns", kKilo},       {"us", kMega},      {"ms", kGiga},
                          {"s", kTera}, {"min", 60 * kTera}, {"h", 3600 * kTera}};
constexpr Unit kSize[] = {{"B", 1},       {"kB", kKilo},  {"KB", kKilo},  {"MB", kMega},
                          {"GB", kGiga},  {"TB", kTera},  {"PB", kPeta},  {"KiB", kKibi},
                          {"MiB", kMebi}, {"GiB", kGibi}, {"TiB", kTebi}, {"PiB", kPebi}};
constexpr Unit kRate[] = {{"bps", 1},          {"kbps", kKilo},     {"Mbps", kMega},     {"Gbps", kGiga},
                          {"Tbps", kTera},     {"Pbps", kPeta},     {"b/s", 1},          {"kb/s", kKilo},
                          {"Mb/s", kMega},     {"Gb/s", kGiga},     {"Tb/s", kTera},     {"B/s", 8},
                          {"kB/s", 8 * kKilo}, {"MB/s", 8 * kMega}, {"GB/s", 8 * kGiga}, {"TB/s", 8 * kTera},
                          {"PB/s", 8 * kPeta}};
constexpr Unit kDistance[] = {{"mm", 1}, {"cm", 10}, {"m", kKilo}, {"km", kMega}};
constexpr Unit kWatts[] = {{"mW", 1}, {"W", kKilo}, {"kW", kMega}, {"MW", kGiga}, {"GW", kTera}};
// A month is 730 hours (8760 / 12), the convention of cloud price lists.
constexpr Unit kDollars[] = {{"/h", kMega}};
constexpr Unit kBought[] = {{"", kMega}, {"k", kGiga}, {"M", kTera}};
constexpr Unit kPackets[] = {{"pps", 1}, {"kpps", kKilo}, {"Mpps", kMega}, {"Gpps", kGiga}};
constexpr Unit kParts[] = {{"ppm", 1}, {"%", 10'000}};
constexpr Unit kFlops[] = {{"GFLOPS", kGiga}, {"TFLOPS", kTera}, {"PFLOPS", kPeta}};

constexpr UnitFamily kTimeFamily{"time", "600ns", "", kTime, "ps ns us ms s"};
constexpr UnitFamily kSizeFamily{"size", "8MiB", "", kSize, "B KiB MiB GiB TiB kB MB GB TB PB"};
constexpr UnitFamily kRateFamily{"rate", "400Gbps", "", kRate, "bps kbps Mbps Gbps Tbps Pbps"};
constexpr UnitFamily kLengthFamily{"length", "5m", "", kDistance, "mm m km"};
constexpr UnitFamily kPowerFamily{"power", "700W", "", kWatts, "mW W kW MW GW"};
constexpr UnitFamily kPriceFamily{"price", "$98.32/h", "$", kDollars, "/h"};
// Whole dollars have no suffix: they are the empty word in front.
constexpr UnitFamily kMoneyFamily{"purchase price", "$30k", "$", kBought, " k M"};
constexpr UnitFamily kPacketFamily{"packet rate", "200Mpps", "", kPackets, "pps kpps Mpps Gpps"};
constexpr UnitFamily kComputeFamily{"compute rate", "989TFLOPS", "", kFlops, "GFLOPS TFLOPS PFLOPS"};

constexpr UnitFamily kShareFamily{"share", "0.1%", "", kParts, "ppm %"};

constexpr int kMaxDigits = 24;

const Unit* find_unit(const UnitFamily& family, std::string_view suffix) {
  for (const Unit& unit : family.units)
    if (unit.suffix == suffix) return &unit;
  return nullptr;
}

template <class Visit>
void for_each_print_unit(const UnitFamily& family, Visit visit) {
  std::string_view rest = family.print_order;
  while (!rest.empty()) {
    const auto space = rest.find(' ');
    visit(*find_unit(family, rest.substr(0, space)));
    rest = space == std::string_view::npos ? "" : rest.substr(space + 1);
  }
}

// count / scale as a decimal without trailing zeros, or nothing when it does not end.
std::optional<std::string> exact_decimal(std::int64_t count, std::int64_t scale) {
  std::string text = std::to_string(count / scale);
  Wide rest = count % scale;
  if (rest == 0) return text;
  text += '.';
  for (int digits = 0; rest != 0; ++digits) {
    if (digits == kMaxDigits) return std::nullopt;
    rest *= 10;
    text += static_cast<char>('0' + static_cast<int>(rest / scale));
    rest %= scale;
  }
  return text;
}

}  // namespace

template <>
const UnitFamily& unit_family<Duration>() {
  return kTimeFamily;
}
template <>
const UnitFamily& unit_family<Bytes>() {
  return kSizeFamily;
}
template <>
const UnitFamily& unit_family<Bandwidth>() {
  return kRateFamily;
}
template <>
const UnitFamily& unit_family<Length>() {
  return kLengthFamily;
}
template <>
const UnitFamily& unit_family<Power>() {
  return kPowerFamily;
}
template <>
const UnitFamily& unit_family<Price>() {
  return kPriceFamily;
}
template <>
const UnitFamily& unit_family<Money>() {
  return kMoneyFamily;
}
template <>
const UnitFamily& unit_family<PacketRate>() {
  return kPacketFamily;
}
template <>
const UnitFamily& unit_family<Compute>() {
  return kComputeFamily;
}
template <>
const UnitFamily& unit_family<Share>() {
  return kShareFamily;
}

Duration transfer_time(Bytes size, Bandwidth rate) {
  const Wide bits = static_cast<Wide>(size.count()) * 8 * kTera;
  const Wide per_second = rate.count();
  return Duration(static_cast<std::int64_t>((bits + per_second - 1) / per_second));
}

Result<std::int64_t, UnitFault> parse_quantity(std::string_view text, const UnitFamily& family) {
  const auto fail = [](UnitFault fault) { return Failure<UnitFault>(fault); };
  if (!text.starts_with(family.prefix)) return fail(UnitFault::not_a_number);
  text.remove_prefix(family.prefix.size());

  Wide mantissa = 0;
  int digits = 0;
  int decimals = 0;
  bool point = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      if (++digits > kMaxDigits) return fail(UnitFault::out_of_range);
      mantissa = mantissa * 10 + (c - '0');
      decimals += point;
    } else if (c != '_' || digits == 0) {
      break;
    }
  }
  if (digits == 0 || (point && decimals == 0)) return fail(UnitFault::not_a_number);
  std::string_view suffix = text.substr(at);
  if (suffix.starts_with(' ')) suffix.remove_prefix(1);
  const Unit* unit = find_unit(family, suffix);
  if (unit == nullptr) return fail(suffix.empty() ? UnitFault::no_unit : UnitFault::unknown_unit);

  // mantissa < 10^24 < 2^80 and scale < 2^53, so the product may need 133 bits: check first.
  constexpr Wide kWideMax = ~(Wide{1} << 127);
  if (mantissa > kWideMax / unit->scale) return fail(UnitFault::out_of_range);
  Wide value = mantissa * unit->scale;
  for (; decimals > 0; --decimals) {
    if (value % 10 != 0) return fail(UnitFault::not_exact);
    value /= 10;
  }
  if (value > std::numeric_limits<std::int64_t>::max()) return fail(UnitFault::out_of_range);
  return static_cast<std::int64_t>(value);
}

std::string print_exact(std::int64_t count, const UnitFamily& family) {
  std::string best;
  for_each_print_unit(family, [&](const Unit& unit) {
    const auto decimal = exact_decimal(count, unit.scale);
    if (!decimal) return;
    const std::string text = fmt::format("{}{}{}", family.prefix, *decimal, unit.suffix);
    if (best.empty() || text.size() < best.size()) best = text;
  });
  return best;
}

std::string print_short(std::int64_t count, const UnitFamily& family) {
  if (&family == &kPriceFamily) {
    return fmt::format("${:.2f}/h", static_cast<double>(count) / static_cast<double>(kMega));
  }
  const Unit* chosen = nullptr;
  for_each_print_unit(family, [&](const Unit& unit) {
    if (chosen == nullptr || (count >= unit.scale && unit.scale > chosen->scale)) chosen = &unit;
  });
  const double value = static_cast<double>(count) / static_cast<double>(chosen->scale);
  const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  std::string number = fmt::format("{:.{}f}", value, decimals);
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  return fmt::format("{}{}{}", family.prefix, number, chosen->suffix);
}

}  // namespace weft
