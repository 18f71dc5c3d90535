#include "measured/host_runs.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "measured/text_lines.hpp"

namespace weft::measured {
namespace {

constexpr std::size_t kMostHosts = 64;
constexpr double kSlow = 0.75;  // of the best

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && text.size() <= 64 && letter(text[0]) && std::any_of(text.begin(), text.end(), digit) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || digit(c) || c == '-' || c == '.' || c == '_'; });
}

// 49.36; whole numbers are of something else.
std::optional<double> rate_of(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto thousandths = scaled_decimal(text, 3);
  if (!thousandths || *thousandths <= 0) return std::nullopt;
  return static_cast<double>(*thousandths) / 1e3;
}

}  // namespace

std::optional<HostRun> host_run(std::string_view line) {
  const std::vector<Word> all = words(line.substr(0, line.find('#')), 4);
  if (all.size() < 2 || all.size() > 3 || (all.size() == 3 && all[2].text != "GB/s")) return std::nullopt;
  const auto rate = rate_of(all[1].text);
  if (!rate || all[0].text.find(',') == std::string_view::npos) return std::nullopt;
  HostRun out;
  out.rate = *rate;
  for (std::string_view rest = all[0].text; !rest.empty() && out.hosts.size() < kMostHosts;) {
    const std::string_view host = rest.substr(0, rest.find(','));
    if (!is_name(host)) return std::nullopt;
    out.hosts.emplace_back(host);
    rest.remove_prefix(std::min(host.size() + 1, rest.size()));
  }
  return out;
}

std::optional<SlowHost> slow_host(const std::vector<HostRun>& runs) {
  double best = 0;
  for (const HostRun& run : runs) best = std::max(best, run.rate);
  std::set<std::string> fast;
  for (const HostRun& run : runs)
    if (run.rate >= kSlow * best) fast.insert(run.hosts.begin(), run.hosts.end());
  std::map<std::string, std::size_t> in_slow;
  SlowHost out;
  for (const HostRun& run : runs) {
    if (run.rate >= kSlow * best) continue;
    ++out.slow;
    for (const std::string& host : run.hosts) {
      if (fast.contains(host)) continue;
      const std::size_t times = ++in_slow[host];
      if (times < out.runs) continue;
      out.host = times == out.runs ? "" : host;  // two alike tell nothing
      out.runs = times;
      out.place = run.place;
    }
  }
  if (out.runs < 2 || out.host.empty()) return std::nullopt;
  return out;
}

}  // namespace weft::measured
