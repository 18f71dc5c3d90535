// The simulator beside uet-htsim, on htsim's own inputs: CPU seconds of a whole process for the same
// bytes delivered, peak memory, and tail completion time so that speed is not bought with a worse
// transport. The peer's figures were measured once on the same kind of machine (2.3 GHz Xeon, one
// core, user time); its inputs are read from WEFT_SHARED or ../shared and not part of this project.

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "cli/cli.hpp"

namespace {

struct Work {
  std::string name;
  std::string topology;
  std::string matrix;
  int runs;              // short ones are repeated in one process
  double peer_seconds;   // of one run
  double peer_megabytes;
  double peer_tail_us;
  double most_megabytes;
};

const Work kWorks[] = {
    {"perm_128", "fat_tree_128_1os.topo", "perm_128n_128c_2MB.cm", 20, 0.47, 15, 202.0, 24},
    {"perm_1024", "fat_tree_1024_1os.topo", "perm_1024n_1024c_0u_2000000b.cm", 1, 10.6, 161, 111.4, 24},
    {"perm_8192", "fat_tree_8192_1os.topo", "perm_8192n_8192c_2MB.cm", 1, 167, 2426, 209.4, 242.6},
    {"ar128", "fat_tree_128_1os.topo", "ar128.cm", 1, 20.3, 661, 6507, 66.1},
};

struct Measured {
  double seconds = 0;
  double megabytes = 0;
  nlohmann::json record;
};

// In a process of its own, so that its CPU time and memory are its own.
Measured measure(const Work& work, const std::filesystem::path& inputs) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    std::ostringstream out;
    std::ostringstream err;
    weft::app::Console console{out, err, false, false, 0};
    weft::cli::run({"sim", inputs / work.topology, "--matrix", inputs / work.matrix, "--json", "--seeds", std::to_string(work.runs)}, console);
    const std::string all = out.str();
    const std::string text = all.substr(0, all.find('\n'));  // the first seed stands for the tail
    const ssize_t written = write(pipe_ends[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(pipe_ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(pipe_ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  close(pipe_ends[0]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  return {(seconds(usage.ru_utime) + seconds(usage.ru_stime)) / work.runs, static_cast<double>(usage.ru_maxrss) / 1024,
          nlohmann::json::parse(text, nullptr, false)};
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  const char* shared = std::getenv("WEFT_SHARED");
  const std::filesystem::path inputs = std::filesystem::path(shared ? shared : WEFT_SOURCE_DIR "/../shared") / "peers/htsim";
  if (!std::filesystem::exists(inputs)) {
    fmt::print(stderr, "skipped: uet-htsim's inputs are not in {}\n", inputs.string());
    return 0;
  }
  if (!json)
    fmt::print("{:<10} {:>8} {:>8} {:>6} {:>8} {:>7} {:>9} {:>9} {:>9} {:>7}  {}\n", "work", "cpu s", "htsim s", "ratio", "MB", "htsim", "hops M",
               "tail us", "htsim us", "data:ack", "digest");
  bool ok = true;
  for (const Work& work : kWorks) {
    const Measured measured = measure(work, inputs);
    if (measured.record.is_discarded() || !measured.record.contains("fct_max_ps")) {
      fmt::print(stderr, "{} did not run\n", work.name);
      ok = false;
      continue;
    }
    const double tail = measured.record["end_ps"].get<double>() / 1e6;
    const double hops = measured.record["packet_hops"].get<double>();
    const double acks = measured.record["data_packets"].get<double>() / measured.record["acks"].get<double>();
    const double ratio = work.peer_seconds / measured.seconds;
    const std::string digest = measured.record["digest"];
    const bool row_ok = ratio >= 10 && tail <= 1.05 * work.peer_tail_us && measured.megabytes <= work.most_megabytes;
    ok = ok && row_ok;
    if (json) {
      fmt::print("{}\n", nlohmann::ordered_json({{"name", work.name}, {"cpu_s", measured.seconds}, {"peak_rss_mb", measured.megabytes},
                                                 {"packet_hops", hops}, {"tail_fct_us", tail}, {"peer_cpu_s", work.peer_seconds},
                                                 {"ratio", ratio}, {"ok", row_ok}, {"digest", digest}})
                             .dump());
    } else {
      fmt::print("{:<10} {:>8.3f} {:>8.2f} {:>5.1f}x {:>8.1f} {:>7.0f} {:>9.2f} {:>9.1f} {:>9.1f} {:>7.2f}:1  {}{}\n", work.name, measured.seconds,
                 work.peer_seconds, ratio, measured.megabytes, work.peer_megabytes, hops / 1e6, tail, work.peer_tail_us, acks, digest, row_ok ? "" : "  MISSED");
    }
  }
  return ok ? 0 : 1;
}
