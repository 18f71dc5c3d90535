#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "app/build_info.hpp"
#include "app/ctrl_c.hpp"
#include "app/run/run_options.hpp"
#include "base/text.hpp"
#include "net/doctor.hpp"
#include "net/udp.hpp"
#include "traffic/all_reduce.hpp"

namespace weft::app {
namespace {

using traffic::AllReduceOptions;
using traffic::AllReduceResult;
using traffic::Instant;

// Options that say nothing of an all-reduce.
constexpr std::array<std::string_view, 11> kNotOfThis = {"--pattern",  "--with",        "--duration",  "--messages",
                                                         "--rate",     "--window",      "--endpoints", "--start-at",
                                                         "--per-path", "--sweep-paths", "--metrics"};

// Whether a socket of this machine can have the address.
bool is_here(const net::Address& address) {
  net::Address any_port = address;
  any_port.set_port(0);
  return net::UdpSocket::open(any_port, false).has_value();
}

// Which of the ranks this machine is; says why nobody can tell.
std::optional<std::uint32_t> own_rank(const RunVerbOptions& options, const std::vector<net::Address>& ranks,
                                      Console& console) {
  if (options.rank) {
    if (*options.rank < ranks.size()) return options.rank;
    console.err << fmt::format("--rank {}: ranks of {} are 0 to {}\n", *options.rank,
                               counted(static_cast<std::int64_t>(ranks.size()), "host"), ranks.size() - 1);
    return std::nullopt;
  }
  std::vector<std::uint32_t> here;
  for (std::uint32_t i = 0; i < ranks.size(); ++i)
    if (is_here(ranks[i])) here.push_back(i);
  if (here.size() == 1) return here[0];
  console.err << (here.empty() ? "none of the hosts is this machine" : "several of the hosts are this machine")
              << ": --rank says which of them runs here, from 0 on\n";
  return std::nullopt;
}

bool read(const RunVerbOptions& options, AllReduceOptions& out, Console& console) {
  for (const std::string& each : options.given)
    if (std::ranges::find(kNotOfThis, each) != kNotOfThis.end()) {
      console.err << fmt::format("{} says nothing of an all-reduce\n", each);
      return false;
    }
  if (options.hosts.size() < 2 || options.hosts.size() > traffic::kMostRanks) {
    console.err << fmt::format("weft run all-reduce takes 2 to {} hosts, the same in the same order on each of them\n",
                               traffic::kMostRanks);
    return false;
  }
  for (const std::string& host : options.hosts) {
    const auto address = net::Address::parse(host, kRunPort);
    if (!address) {
      console.err << address.error() << "\n";
      return false;
    }
    if (std::ranges::find(out.ranks, *address) != out.ranks.end()) {
      console.err << fmt::format("'{}' is there twice: ranks of one machine have different ports\n", host);
      return false;
    }
    out.ranks.push_back(*address);
  }
  Bytes wanted(static_cast<std::int64_t>(out.size));
  if (!read_quantity("--size", options.size, wanted, console) || !read_job_key(options, out.key, console)) return false;
  const std::int64_t size = wanted.count();
  if (size < 4 || static_cast<std::uint64_t>(size) > traffic::kLongestAllReduce || size % 4 != 0) {
    console.err << fmt::format("--size {}: whole numbers of 4 bytes, at most {} of them in all\n", options.size,
                               brief(Bytes(static_cast<std::int64_t>(traffic::kLongestAllReduce))));
    return false;
  }
  out.size = static_cast<std::uint64_t>(size);
  out.times = options.times;
  out.paths = options.paths;
  out.datagram = options.datagram;
  const auto rank = own_rank(options, out.ranks, console);
  if (rank) out.rank = *rank;
  return rank.has_value();
}

void print_record(const AllReduceOptions& options, AllReduceResult& result, Console& console) {
  const auto time = [&](double share) {
    return result.times.empty() ? nlohmann::ordered_json()
                                : nlohmann::ordered_json(traffic::percentile(result.times, share).count());
  };
  const nlohmann::ordered_json record = {
      {"record", "run_all_reduce"},
      {"version", 1},
      {"weft", build_info().version},
      {"commit", build_info().commit},
      {"failure", result.failure.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(result.failure)},
      {"ranks", options.ranks.size()},
      {"rank", options.rank},
      {"size", options.size},
      {"times", result.times.size()},
      {"busbw_GBps", result.bus_bandwidth(options)},
      {"p50_ps", time(0.5)},
      {"least_ps", time(0)},
      {"longest_ps", time(1)},
      {"wrong", result.wrong},
      {"packets", result.packets},
      {"retransmitted", result.retransmitted}};
  console.out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

void print(const AllReduceOptions& options, AllReduceResult& result, Console& console) {
  const auto text = [&](double share) { return brief(traffic::percentile(result.times, share)); };
  console.out << fmt::format(
      "all-reduce of {} among {}: busbw {:.3f} GB/s, {} of {}\n", exact(Bytes(static_cast<std::int64_t>(options.size))),
      counted(static_cast<std::int64_t>(options.ranks.size()), "rank"), result.bus_bandwidth(options),
      counted(static_cast<std::int64_t>(result.times.size()), "time"),
      fmt::format("{} in the median, {} to {}", text(0.5), text(0), text(1)));
  console.out << fmt::format(
      "{}, {} retransmitted ({:.2f} %); {}\n", counted(static_cast<std::int64_t>(result.packets), "packet"),
      result.retransmitted,
      100.0 * static_cast<double>(result.retransmitted) /
          static_cast<double>(std::max<std::uint64_t>(1, result.packets)),
      result.wrong == 0 ? "every sum is right" : counted(static_cast<std::int64_t>(result.wrong), "sum") + " wrong");
}

}  // namespace

int run_all_reduce(const RunVerbOptions& options, Console& console) {
  AllReduceOptions all;
  if (!read(options, all, console)) return kYourInput;
  const CtrlC ctrl_c;
  AllReduceResult result = traffic::run_all_reduce(all, [](std::uint32_t) { return !CtrlC::pressed(); });
  if (options.json)
    print_record(all, result, console);
  else if (!result.times.empty())
    print(all, result, console);
  if (!result.failure.empty()) {
    console.err << result.failure << "\n";
    return kThisMachine;
  }
  return result.wrong > 0 ? kOurBug : kFine;
}

}  // namespace weft::app
