#include "traffic/measured.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::traffic {

void Measured::merge(const Measured& other, bool alone) {
  messages += other.messages;
  bytes += other.bytes;
  wrong += other.wrong;
  repeated += other.repeated;
  if (first == 0 || other.first < first) first = other.first;
  last = std::max(last, other.last);
  if (other.longest_gap > longest_gap) {
    longest_gap = other.longest_gap;
    gap_at = other.gap_at;
  }
  if (alone) intervals = other.intervals;
}

std::string to_json(const Measured& measured) {
  return nlohmann::json{{"messages", measured.messages},
                        {"bytes", measured.bytes},
                        {"wrong", measured.wrong},
                        {"repeated", measured.repeated},
                        {"first", measured.first},
                        {"last", measured.last},
                        {"longest_gap", measured.longest_gap.count()},
                        {"gap_at", measured.gap_at.count()},
                        {"intervals", measured.intervals}}
      .dump();
}

bool from_json(const std::string& text, Measured& measured) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return false;
  const auto number = [&](const char* name, auto& out) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number_integer()) return false;
    using Out = std::remove_reference_t<decltype(out)>;
    if constexpr (std::is_same_v<Out, Duration>) {
      out = Duration(found->template get<std::int64_t>());
    } else {
      out = found->template get<Out>();
    }
    return true;
  };
  if (!number("messages", measured.messages) || !number("bytes", measured.bytes) || !number("wrong", measured.wrong) ||
      !number("repeated", measured.repeated) || !number("first", measured.first) || !number("last", measured.last) ||
      !number("longest_gap", measured.longest_gap) || !number("gap_at", measured.gap_at))
    return false;
  const auto intervals = json.find("intervals");
  if (intervals == json.end() || !intervals->is_array()) return false;
  measured.intervals.clear();
  for (const auto& each : *intervals) {
    if (!each.is_number_unsigned()) return false;
    measured.intervals.push_back(each.get<std::uint64_t>());
  }
  return true;
}

Duration percentile(std::vector<Duration>& values, double share) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values[std::min(at, values.size() - 1)];
}

}  // namespace weft::traffic
