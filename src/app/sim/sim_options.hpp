#pragma once
// What the verbs that simulate are told; plain data, filled in by the command line.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::app {

struct TrafficOptions {
  std::string matrix;                   // a .cm file, or
  std::string goal;                     // a GOAL schedule, or
  std::string chakra;                   // Chakra's traces PREFIX.0.et ..., with
  std::string groups;                   //   the ranks of their groups, or
  std::string pattern;                  // a pattern (empty: permutation) of
  std::string size = "2MB";             // bytes per flow between
  std::uint32_t gpus = 0;               // so many GPUs; 0: all
  std::uint32_t window = 8;             // all-to-all: flows that a node has unfinished
  std::string arrivals;                 // when flows begin (empty: at-once); open loop: paced or poisson
  std::string load = "50%";             // open loop: of the line rate
  std::string sizes;                    // open loop: distribution (empty: fixed); collective: 8B..8GiB
  std::string duration = "1ms";         // open loop: flows begin within it
  std::string verb;                     // send (empty), write or read
  std::vector<std::string> streams;     // several at once instead: "storage,pattern=poisson,transport=tcp"
  std::vector<std::string> given = {};  // of these, what stands on the command line: "--size"
};

struct CollectiveOptions {
  std::string operation;                           // all_reduce; empty: what the file's `run:` says
  std::uint32_t per_server = 0;                    // GPUs of each server that take part; 0: all
  std::vector<std::string> on;                     // which GPUs, a job for each: 0..63/8; empty: the first ones
  std::vector<std::string> beside;                 // GPUs of jobs that do the same at the same time
  std::string split;                               // into groups that run at once: /8 or %8
  std::string skew;                                // between the first rank that comes and the last: 20us
  std::vector<std::string> slow_ranks;             // 3=50%
  std::vector<std::string> algorithms = {"auto"};  // or names, or "all"
  std::string protocol = "auto";
  std::uint32_t channels = 0;  // 0: as NCCL
  std::string stack;           // empty: by NIC and transport
  bool pxn = true;
  std::string plot;                     // a file for bandwidth against size
  std::vector<std::string> given = {};  // of these, what stands on the command line: "--skew"
};

// What runs: flows or collectives, of the command line or of the file's `run:`.
struct WorkOptions {
  TrafficOptions traffic;
  CollectiveOptions collective;
  std::uint32_t servers = 0;  // that take part; 0: as many as the GPUs need
};

struct RunOptions {
  std::uint64_t seed = 1;
  std::uint32_t threads = 1;
  std::string fidelity;              // packet, flow or message; sim: several, "packet,flow"; empty: by what runs
  std::vector<std::string> faults;   // beside those of the cluster file
  std::string sample;                // interval of the time series: "1us"; empty: none
  std::vector<std::string> capture;  // links whose packets are kept: "leaf0:spine1", or "leaf0" for all of its
};

// How many fidelities a text names: "packet" one, "packet,flow" two, "all" all; 0: it names something else, too.
std::size_t count_fidelities(const std::string& text);

struct SimOutputOptions {
  std::optional<std::size_t> links;  // busiest links shown; 0: all. With --json: "link" records
  std::size_t slowest = 0;           // flows shown that lost most; not with --json, which has all of them
  bool flows = false;                // with --json: "flow" records
  bool samples = false;              // with --json: "sample" records
  std::vector<std::string> csv;      // a directory, or flows=FILE, links=FILE, samples=FILE
  bool wide = false;                 // nccl-tests' whole table on a terminal that is narrower
  std::string trace;                 // a file for ui.perfetto.dev
  std::string pcap;                  // a file for Wireshark, of the links that are captured
  std::string metrics;               // a file for Prometheus, of what is sampled
};

}  // namespace weft::app
