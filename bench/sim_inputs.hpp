#pragma once
// What the simulator's benchmark runs on: htsim's own files where they are at hand, else equal ones.

#include <cstdint>
#include <filesystem>
#include <string>

namespace weft::bench {

class SimInputs {
 public:
  SimInputs();
  ~SimInputs();
  SimInputs(const SimInputs&) = delete;
  SimInputs& operator=(const SimInputs&) = delete;

  bool peers_own() const { return !shared_.empty(); }
  // uet-htsim's file of that name, or one made here.
  std::string topology(std::uint32_t hosts);
  std::string permutation(std::uint32_t hosts);
  std::string ring_all_reduce();  // 128 ranks, 16 MiB

  // A three-tier tree as htsim's, with cables of another latency; `radix` hosts to a leaf.
  std::string fat_tree(std::uint32_t hosts, std::uint32_t radix, std::uint32_t gbps, std::uint32_t cable_ns);
  // 16 leaves of 16 hosts with 4 uplinks each, and a permutation in which nobody stays on its leaf.
  std::string oversubscribed();
  std::string across_leaves(std::uint64_t bytes);
  // 1,048,576 GPUs, and a thousand flows between any of them.
  std::string million();
  std::string thousand_flows();

 private:
  std::string write(const std::string& name, const std::string& text);

  std::filesystem::path shared_;  // empty: not there
  std::filesystem::path made_;
};

}  // namespace weft::bench
