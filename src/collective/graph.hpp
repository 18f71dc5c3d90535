#pragma once
// How NCCL would join the GPUs of a domain, and the domain to its network: what its search (src/graph/search.cc) finds
// on servers with NVLink switches, in closed form. Its tuning model counts with these channels and rates, which are
// steps of a table and not the links' own; truth/choices holds what NCCL itself found and chose.

#include "collective/constants.hpp"
#include "collective/team.hpp"

namespace weft::collective {

struct Graph {
  // GB/s of a channel, within a domain and out of it.
  struct Lanes {
    double channels = 0;
    double inside = 0;
    double outside = 0;
  };
  Lanes ring;
  Lanes tree;
  Lanes nvls;                  // a channel for each GPU that takes a part
  double channels_set_up = 0;  // rings and trees are doubled at least before they are used
  bool plain_tree = false;     // a tree enters and leaves a domain at the same GPU
  bool tree_found = true;      // else NCCL falls back to one that it counts as unusable
  bool ll128 = true;           // GPUs and NICs are near enough for it
  bool same_rings = false;     // every channel has the same order
};

// Of the first domain, which stands for all.
Graph graph_of(const Team& team, const Generation& generation, const Release& release);

}  // namespace weft::collective
