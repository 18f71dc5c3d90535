#include "measured/nccl_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "measured/environment.hpp"
#include "measured/text_lines.hpp"

namespace weft::measured {
namespace {

// What is kept of each sort; the rest of a long log repeats it.
constexpr std::size_t kMostInterfaces = 256;
constexpr std::size_t kMostNames = 256;
constexpr std::size_t kMostHosts = 65'536;
constexpr std::size_t kMostRings = 256;
constexpr std::size_t kMostRingRanks = 4'000'000;
constexpr std::size_t kMostGraphs = 64;
constexpr std::size_t kMostParts = 2'048;
constexpr std::size_t kMostChoices = 4'096;
constexpr std::size_t kMostWarnings = 100;
constexpr std::size_t kMostTrials = 256;
constexpr std::size_t kMostHostRuns = 65'536;
constexpr std::size_t kMostText = 512;
constexpr std::int64_t kMostDevices = 4'096;
// NCCL says one thing per line, persons a few; of a line that says more, the first are read.
constexpr int kMostPerLine = 16;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.remove_suffix(1);
  return text;
}

// Up to one of `ends`, which may be missing.
std::string_view until(std::string_view text, std::string_view ends) {
  return text.substr(0, text.find_first_of(ends));
}

// 3, or 0..7 as a person would write several.
struct NumberRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::size_t length = 0;
  std::int64_t size() const { return last - first + 1; }
};

std::optional<NumberRange> number_range(std::string_view text) {
  const auto first = leading_number(text);
  if (!first) return std::nullopt;
  NumberRange out{first->value, first->value, first->length};
  if (!text.substr(out.length).starts_with("..")) return out;
  const auto last = leading_number(text.substr(out.length + 2));
  if (!last || last->value < out.first || last->value - out.first >= kMostDevices) return out;
  return NumberRange{first->value, last->value, first->length + 2 + last->length};
}

// Up to 2.25 the tuner wrote numbers.
std::string algorithm_name(std::string_view text) {
  constexpr std::array<std::string_view, 7> kNames = {"Tree",     "Ring", "CollNetDirect", "CollNetChain", "NVLS",
                                                      "NVLSTree", "PAT"};
  if (const auto number = whole_number(text);
      number && *number >= 0 && *number < static_cast<std::int64_t>(kNames.size()))
    return std::string(kNames[static_cast<std::size_t>(*number)]);
  for (const std::string_view name : kNames)
    if (name.size() == text.size() &&
        std::equal(name.begin(), name.end(), text.begin(), [](char a, char b) { return (a | 32) == (b | 32); }))
      return std::string(name);
  return std::string(text.substr(0, 32));
}

std::string protocol_name(std::string_view text) {
  constexpr std::array<std::string_view, 3> kNames = {"LL", "LL128", "Simple"};
  if (const auto number = whole_number(text);
      number && *number >= 0 && *number < static_cast<std::int64_t>(kNames.size()))
    return std::string(kNames[static_cast<std::size_t>(*number)]);
  return text == "SIMPLE" ? "Simple" : std::string(text.substr(0, 32));
}

class LogReader {
 public:
  LogReader(std::uint32_t source, spec::Diagnostics& diagnostics) : lines_(source, spec::Error::bad_log, diagnostics) {}

  std::optional<NcclLog> read() {
    if (!lines_.readable()) return std::nullopt;
    for (; lines_.next(line_);) read_line();
    log_.hardware = std::move(hardware_.made());
    log_.says_nothing = facts_ == 0;
    return std::move(log_);
  }

 private:
  spec::Place place(std::size_t column, std::size_t length) const {
    return lines_.place(line_, Word{line_.text.substr(std::min(column, line_.text.size()), length),
                                    static_cast<std::uint32_t>(column + 1)});
  }

  std::optional<std::size_t> at(std::string_view what, std::size_t from = 0) const {
    const std::size_t found = line_.text.find(what, from);
    return found == std::string_view::npos ? std::nullopt : std::optional(found);
  }
  std::string_view after(std::size_t position) const {
    return line_.text.substr(std::min(position, line_.text.size()));
  }

  void count(LogCount& tally, std::size_t column, std::int64_t times = 1) {
    if (tally.count == 0) tally.first = place(column, 1);
    tally.count += times;
    ++facts_;
  }
  void count_named(std::map<std::string, LogCount>& tallies, std::string_view name, std::size_t column,
                   std::int64_t times = 1) {
    std::string key(name.substr(0, 64));
    if (tallies.size() >= kMostNames && !tallies.contains(key)) return;
    count(tallies[std::move(key)], column, times);
  }

  void read_line() {
    if (line_.text.find_first_not_of(' ') == std::string_view::npos) return;
    host_.clear();
    read_origin();
    if (hardware_.take(line_.text, place(0, 1))) ++facts_;
    read_version();
    read_size();
    read_network();
    read_gdr();
    int paths = 0;
    for (auto via = at("via "); via && paths < kMostPerLine; via = at("via ", *via + 4), ++paths) read_path(*via);
    read_channels();
    read_graph();
    read_system();
    read_choice();
    read_mentions();
    read_trials();
    read_host_run();
    const std::size_t before = log_.environment.size();
    collect_environment(line_.text, log_.environment);
    if (at(" set by environment to ") && !host_.empty()) {
      std::map<std::string, std::string> own;
      collect_environment(line_.text, own);
      for (const auto& [name, value] : own)
        if (log_.set_on.size() < kMostNames) log_.set_on[name][value].insert(host_);
    }
    facts_ += log_.environment.size() - before;
  }

  // node1:1234:1240 [0] NCCL INFO ...
  void read_origin() {
    const auto mark = at("NCCL INFO");
    const auto warning = at("NCCL WARN");
    if (warning) {
      ++log_.warning_count;
      if (log_.warnings.size() < kMostWarnings)
        log_.warnings.push_back({std::string(trimmed(after(*warning + 9)).substr(0, kMostText)), place(*warning, 9)});
    }
    if (!mark && !warning) return;
    ++facts_;
    for (const Word& word : words(line_.text.substr(0, mark ? *mark : *warning), 8)) {
      std::string_view host = word.text;
      for (int part = 0; part < 2; ++part)  // thread and process; persons cut one of them
        if (const std::size_t colon = host.rfind(':');
            colon != std::string_view::npos && whole_number(host.substr(colon + 1)))
          host = host.substr(0, colon);
      if (host.size() == word.text.size() || host.empty() || whole_number(host)) continue;  // or a time of day
      const std::size_t tag = host.find_last_of(">:");                                      // of a launcher
      host_ = host.substr(tag == std::string_view::npos ? 0 : tag + 1, kMostText);
      if (log_.hosts.size() < kMostHosts) log_.hosts.insert(host_);
      return;
    }
  }

  void read_version() {
    if (const auto rccl = at("RCCL version"); rccl && !log_.of_rccl) log_.of_rccl = place(*rccl, 12);
    const auto found = at("NCCL version ");
    if (!found || !log_.version.empty()) return;
    const std::string_view version = until(after(*found + 13), " \t,;");
    if (version.empty() || !is_digit(version[0])) return;
    ++facts_;
    log_.version_place = place(*found + 13, version.size());
    log_.version = until(version, "+").substr(0, 32);
    if (const std::size_t cuda = version.find("+cuda"); cuda != std::string_view::npos)
      log_.cuda = version.substr(cuda + 5, 32);
  }

  // comm 0x55 rank 0 nRanks 16 nNodes 2 localRanks 8; a log holds several communicators, the largest counts.
  void read_size() {
    const auto take = [&](std::string_view word, std::optional<std::int64_t>& out) {
      const auto found = at(word);
      if (!found) return;
      const auto value = leading_number(after(*found + word.size()));
      if (!value || value->value == 0) return;
      if (log_.size_place.source == 0) log_.size_place = place(*found + 1, word.size());
      out = std::max(out.value_or(0), value->value);
      ++facts_;
    };
    take(" nranks ", log_.ranks);
    take(" nRanks ", log_.ranks);
    take(" nNodes ", log_.nodes);
    take(" localRanks ", log_.local_ranks);
  }

  // ---- the network

  void read_network() {
    if (const auto found = at("Using network "))
      count_named(log_.networks, trimmed(until(after(*found + 14), ";,")), *found);
    for (const std::string_view plugin : {"IB", "Socket", "OFI"}) read_interfaces(plugin);
    for (const std::string_view what : {"NET/IB : No device found", "Failed to open libibverbs"})
      if (const auto found = at(what)) count(log_.no_ib_device, *found);
    if (line_.text.find("NET/Plugin") == std::string_view::npos) return;
    if (const auto found = at("No plugin found")) count(log_.plugin_missing, *found);
    if (const auto found = at("Could not find")) count(log_.plugin_missing, *found);
  }

  // NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>
  // NET/Socket : Using [0]eth0:10.0.0.1<0>
  // NET/OFI Selected Provider is efa (found 4 nics)
  void read_interfaces(std::string_view plugin) {
    const std::string head = fmt::format("NET/{}", plugin);
    int times = 0;
    for (auto found = at(head); found && times < kMostPerLine; found = at(head, *found + head.size()), ++times) {
      std::string_view rest = after(*found + head.size());
      if (plugin == "OFI") {
        for (const std::string_view provider : {"efa", "EFA"})
          if (rest.find(provider) != std::string_view::npos) add_interface(plugin, "efa", "", *found);
        if (rest.find("efa") == std::string_view::npos && rest.find("EFA") == std::string_view::npos)
          add_interface(plugin, "", "", *found);
        continue;
      }
      rest = rest.substr(std::min(rest.find_first_not_of(" :"), rest.size()));
      if (!rest.starts_with("Using ")) continue;
      rest = until(rest.substr(6), ";");
      for (const Word& word : words(rest, kMostInterfaces)) add_interface_word(plugin, word.text, *found);
    }
  }

  void add_interface_word(std::string_view plugin, std::string_view word, std::size_t column) {
    if (word == "[RO]" || word.starts_with('/')) return;
    const bool listed = word.starts_with('[');
    if (word.starts_with('[')) word.remove_prefix(1);
    if (const std::size_t bracket = word.find(']'); bracket != std::string_view::npos)
      word = bracket + 1 < word.size() ? word.substr(bracket + 1) : word.substr(0, bracket);
    const std::string_view name = until(word, ":/");
    const std::size_t slash = word.find('/');
    const std::string_view kind =
        plugin == "IB" && slash != std::string_view::npos ? until(word.substr(slash + 1), "/,}") : "";
    if (name.empty() || is_digit(name[0]) || name.find_first_of("={}") != std::string_view::npos)
      return;  // "Using 2 threads and 4 sockets per thread"
    if (const std::size_t dots = name.find(".."); dots != std::string_view::npos) {
      std::size_t digits = dots;
      while (digits > 0 && is_digit(name[digits - 1])) --digits;
      if (const auto range = number_range(name.substr(digits))) {
        for (std::int64_t i = range->first; i <= range->last; ++i)
          add_interface(plugin, fmt::format("{}{}", name.substr(0, digits), i), kind, column);
        return;
      }
    }
    if (!listed && name.find_first_of("0123456789") == std::string_view::npos) return;  // words of a sentence
    add_interface(plugin, name, kind, column);
  }

  void add_interface(std::string_view plugin, std::string_view name, std::string_view kind, std::size_t column) {
    ++facts_;
    const auto same = [&](const LogInterface& each) { return each.plugin == plugin && each.name == name; };
    if (log_.interfaces.size() >= kMostInterfaces || std::any_of(log_.interfaces.begin(), log_.interfaces.end(), same))
      return;
    log_.interfaces.push_back(
        {std::string(plugin), std::string(name.substr(0, 64)), std::string(kind.substr(0, 16)), place(column, 4)});
  }

  void read_gdr() {
    if (const auto found = at("GPU Direct RDMA Enabled")) count(log_.gdr_enabled, *found);
    if (const auto found = at("GPU Direct RDMA Disabled")) count(log_.gdr_disabled, *found);
    if (const auto found = at("GDR: ")) {  // a summary of a log
      const auto take = [&](std::string_view word, LogCount& out) {
        const std::size_t where = line_.text.find(word, *found);
        if (where == std::string_view::npos) return;
        if (const auto value = leading_number(after(where + word.size())); value && value->value > 0)
          count(out, where, value->value);
      };
      take("Enabled=", log_.gdr_enabled);
      take("Disabled=", log_.gdr_disabled);
    }
    if (const auto found = at("P2P is disabled between")) count(log_.p2p_disabled, *found);
    if (const auto found = at("NVLS multicast support is ")) {
      const bool available = after(*found + 26).starts_with("available");
      count(available ? log_.nvls_available : log_.nvls_unavailable, *found);
    }
  }

  // Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(1)/GDRDMA/Shared, and what persons make of several.
  void read_path(std::size_t via) {
    const std::string_view rest = after(via + 4);
    const std::int64_t times = channels_of_line(via);
    if (rest.starts_with("NET/")) return read_net_path(rest, via, times);
    if (rest.starts_with("P2P/")) {
      std::string_view kind = trimmed(until(rest.substr(4), "/;,("));
      count_named(log_.paths, fmt::format("P2P/{}", kind), via, times);
    } else if (rest.starts_with("SHM") || rest.starts_with("direct shared memory")) {
      count_named(log_.paths, "SHM", via, times);
    } else if (rest.starts_with("COLLNET/")) {
      count_named(log_.paths, "COLLNET", via, times);
    }
  }

  // "Channel 00..07/1 :" is eight, "256 channels via" is 256, everything else one.
  std::int64_t channels_of_line(std::size_t via) const {
    const std::string_view head = line_.text.substr(0, via);
    if (const std::size_t word = head.rfind("Channel "); word != std::string_view::npos) {
      const auto range = number_range(head.substr(word + 8));
      return range ? range->size() : 1;
    }
    if (!head.ends_with(" channels ")) return 1;
    std::size_t begin = head.size() - 10;
    while (begin > 0 && is_digit(head[begin - 1])) --begin;
    const auto value = leading_number(head.substr(begin));
    return value && value->value > 0 ? value->value : 1;
  }

  void read_net_path(std::string_view rest, std::size_t via, std::int64_t times) {
    const std::size_t slash = rest.find('/', 4);
    if (slash == std::string_view::npos) return count_named(log_.paths, trimmed(until(rest, ",;(")), via, times);
    count_named(log_.paths, rest.substr(0, slash), via, times);
    std::string_view tail = rest.substr(slash + 1);
    const auto devices = number_range(tail);
    if (!devices || devices->last >= kMostDevices) return;
    for (std::int64_t device = devices->first; device <= devices->last; ++device)
      log_.net_devices[device] += std::max<std::int64_t>(1, times / devices->size());
    tail = tail.substr(devices->length);
    const bool peer = tail.size() > 1 && tail[0] == '(' && is_digit(tail[1]);
    note_ends(via, peer || devices->size() > 1 ? -1 : devices->first);
    if (tail.starts_with('(')) {  // through the GPU of that rank
      if (peer) count(log_.net_through_peer, via, times);
      tail = tail.substr(std::min(tail.find(')'), tail.size() - 1) + 1);
    }
    if (devices->size() > 1) return;             // a summary does not say it here
    if (rest.starts_with("NET/Socket")) return;  // sockets have no GPUDirect to miss
    const bool direct = tail.starts_with("/GDRDMA");
    count(direct ? log_.net_with_gdr : log_.net_without_gdr, via, times);
    std::set<std::string>& hosts = direct ? log_.hosts_with_gdr : log_.hosts_without_gdr;
    if (!host_.empty() && hosts.size() < kMostHosts) hosts.insert(host_);
  }

  // Channel 03/0 : 7[a01d0] -> 8[101c0] [send] via: the channel and the two ranks.
  // `device` is what the sender uses itself; negative: another's.
  void note_ends(std::size_t via, std::int64_t device) {
    const std::string_view head = line_.text.substr(0, via);
    const std::size_t arrow = head.rfind(" -> ");
    if (arrow == std::string_view::npos) return;
    const std::size_t before = head.find_last_of(" :", arrow - std::min<std::size_t>(arrow, 1));
    const auto from = leading_number(head.substr(before == std::string_view::npos ? 0 : before + 1));
    const auto to = leading_number(head.substr(arrow + 4));
    for (const auto& rank : {from, to})
      if (rank && log_.net_ranks.size() < kMostHosts) log_.net_ranks.insert(rank->value);
    if (from && device >= 0 && head.ends_with("[send] ") && log_.own_devices.size() < kMostHosts)
      log_.own_devices[from->value].insert(device);
    for (const std::string_view word : {"Channel ", "Ring "})
      if (const std::size_t at = head.rfind(word); at != std::string_view::npos)
        if (const auto channel = leading_number(head.substr(at + word.size()));
            channel && channel->value < kMostDevices)
          log_.net_channels.insert(channel->value);
  }

  // ---- channels, rings, trees

  // 8 coll channels, 8 collnet channels, 0 nvls channels, 8 p2p channels, 8 p2p channels per peer
  void read_channels() {
    const std::vector<Word> all = words(line_.text, 256);
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      const auto number = whole_number(all[i].text);
      if (!number || *number < 0 || *number > 1'000'000) continue;
      const std::string_view next = until(all[i + 1].text, ",;");
      const bool per_peer = i + 3 < all.size() && all[i + 2].text == "channels" && all[i + 3].text == "per";
      std::optional<std::int64_t>* out = next == "coll"      ? &log_.channels.collective
                                         : next == "collnet" ? &log_.channels.collnet
                                         : next == "nvls"    ? &log_.channels.nvls
                                         : next == "p2p" ? (per_peer ? &log_.channels.p2p_per_peer : &log_.channels.p2p)
                                         : next == "channels" && i + 2 < all.size() && all[i + 2].text == "via"
                                             ? &log_.channels.all
                                             : nullptr;
      if (out == nullptr) continue;
      ++facts_;
      *out = std::max(out->value_or(0), *number);
    }
    if (const auto found = at("Trees [")) {
      const std::string_view rest = after(*found);
      log_.trees = std::max<std::int64_t>(log_.trees, std::count(rest.begin(), rest.end(), '['));
    }
    if (const auto found = at("Channel ")) read_ring(all, *found);
  }

  // Channel 00/16 :    0   1   2   3: the ranks in the order of the ring.
  void read_ring(const std::vector<Word>& all, std::size_t column) {
    const auto first =
        std::find_if(all.begin(), all.end(), [&](const Word& word) { return word.column == column + 9; });
    if (first == all.end() || all.end() - first < 4 || first[0].text.find('/') == std::string_view::npos ||
        first[1].text != ":")
      return;
    std::vector<std::int64_t> ring;
    for (const Word& word : words(after(first[1].column), kMostRingRanks)) {
      const auto rank = whole_number(word.text);
      if (!rank || *rank < 0) return;
      ring.push_back(*rank);
    }
    if (log_.rings.size() >= kMostRings || ring_ranks_ + ring.size() > kMostRingRanks) return;
    ring_ranks_ += ring.size();
    log_.rings.push_back(std::move(ring));
  }

  // Pattern 4, crossNic 0, nChannels 8, bw 20.0/20.0, type NVL/PIX, sameChannels 1
  void read_graph() {
    const auto found = at("Pattern ");
    if (!found || log_.graphs.size() >= kMostGraphs) return;
    const auto value_of = [&](std::string_view word) -> std::string_view {
      const std::size_t where = line_.text.find(word, *found);
      return where == std::string_view::npos ? "" : until(after(where + word.size()), ", ");
    };
    const auto pattern = leading_number(after(*found + 8));
    const auto channels = leading_number(value_of("nChannels "));
    const std::string_view type = value_of("type ");
    if (!pattern || !channels || type.find('/') == std::string_view::npos) return;
    LogGraph graph{pattern->value, channels->value, std::string(until(type, "/").substr(0, 8)),
                   std::string(type.substr(type.find('/') + 1, 8)), place(*found, 7)};
    const auto same = [&](const LogGraph& each) {
      return each.pattern == graph.pattern && each.channels == graph.channels && each.inside == graph.inside &&
             each.to_network == graph.to_network;
    };
    if (std::none_of(log_.graphs.begin(), log_.graphs.end(), same)) log_.graphs.push_back(std::move(graph));
  }

  // Ranks print at once: the lines of the one that began first are kept, by what stands before
  // "NCCL INFO".
  void read_system() {
    constexpr std::string_view kMark = "NCCL INFO ";
    const auto mark = at(kMark);
    if (!mark) return;
    const std::string_view origin = line_.text.substr(0, *mark);
    const std::string_view text = after(*mark + kMark.size());
    if (text.starts_with("=== System")) {
      if (log_.system.empty()) {
        system_origin_ = origin;
        in_system_ = true;
      } else if (origin == system_origin_) {
        in_system_ = false;
      }
      return;
    }
    if (!in_system_ || origin != system_origin_) return;
    if (auto part = log_part(text); part && log_.system.size() < kMostParts) {
      log_.system.push_back(std::move(*part));
      ++facts_;
    } else {
      in_system_ = false;
    }
  }

  // AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}
  // 1048576 Bytes -> Algo 1 proto 2 time 45.2
  void read_choice() {
    const auto found = at(" Bytes -> Algo ");
    if (!found || log_.choices.size() >= kMostChoices) return;
    std::size_t begin = *found;
    while (begin > 0 && is_digit(line_.text[begin - 1])) --begin;
    const auto bytes = leading_number(line_.text.substr(begin));
    if (!bytes) return;
    LogChoice choice;
    choice.bytes = bytes->value;
    choice.place = place(begin, 1);
    const std::string_view head = trimmed(line_.text.substr(0, begin));
    if (head.ends_with(':'))
      choice.collective = head.substr(std::min(head.find_last_of(" \t", head.size() - 1) + 1, head.size()), 32);
    if (choice.collective.ends_with(':')) choice.collective.pop_back();
    choice.algorithm = algorithm_name(until(after(*found + 15), " "));
    if (const std::size_t proto = line_.text.find("proto ", *found); proto != std::string_view::npos)
      choice.protocol = protocol_name(until(after(proto + 6), " "));
    if (const std::size_t channels = line_.text.find("={", *found); channels != std::string_view::npos)
      if (const auto range = number_range(after(channels + 2))) choice.channels = range->size();
    // Every rank and every iteration repeats it.
    if (!log_.choices.empty() && log_.choices.back().bytes == choice.bytes &&
        log_.choices.back().collective == choice.collective)
      return;
    log_.choices.push_back(std::move(choice));
  }

  // NCCL's own lines say most things in words of their own, and they are the most.
  void read_mentions() {
    if (at("NCCL INFO") && !at("real path of")) return;
    std::string lower(line_.text.substr(0, kMostText));
    for (char& c : lower) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      if (c == '\t') c = ' ';
    }
    for (const Mentioned& found : mentions_of(lower)) count(log_.mentions[found.mention], found.column);
  }

  void read_trials() {
    for (Trial& each : trials_of(line_.text.substr(0, kMostText))) {
      if (log_.trials.size() >= kMostTrials) return;
      const spec::Place where = place(each.column, each.name.size());
      log_.trials.push_back({std::move(each), where});
      ++facts_;
    }
  }

  void read_host_run() {
    if (log_.host_runs.size() >= kMostHostRuns) return;
    if (auto run = host_run(line_.text.substr(0, kMostText))) {
      run->place = place(0, 1);
      log_.host_runs.push_back(std::move(*run));
      ++facts_;
    }
  }

  Lines lines_;
  Line line_;
  NcclLog log_;
  HardwareReader hardware_;
  std::string host_;       // of the line, where it is NCCL's
  std::size_t facts_ = 0;  // without any, the text is something else
  std::size_t ring_ranks_ = 0;
  std::string_view system_origin_;
  bool in_system_ = false;
};

}  // namespace

std::optional<NcclLog> read_nccl_log(std::uint32_t source, spec::Diagnostics& diagnostics) {
  return LogReader(source, diagnostics).read();
}

}  // namespace weft::measured
