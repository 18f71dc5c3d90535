#pragma once
// The cluster that a command is about, as the command line names it.

#include <cstdint>
#include <string>
#include <vector>

namespace weft::app {

struct InputOptions {
  std::string file;        // empty: the one *.weft.yaml of the current directory
  std::string topology;    // NCCL's XML or nvidia-smi's matrix instead of a cluster file
  std::int64_t nodes = 0;  // servers: that a topology stands for (0: one), that take part of a cluster file's (0: all)
  bool runs = false;       // something runs on the cluster, so that servers can take part
  std::vector<std::string> set;
  std::string catalog;  // directory beside the embedded one
  bool json = false;
};

}  // namespace weft::app
