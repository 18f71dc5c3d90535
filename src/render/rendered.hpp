#pragma once
// What a target makes of a cluster: files as texts. Writing them is somebody else's business.

#include <string>
#include <vector>

namespace weft::render {

struct File {
  std::string path;  // below the output directory: leaf0/frr.conf
  std::string text;
};

// What files say of where they come from: never a date, so that equal inputs give equal files.
struct Origin {
  std::string version;  // of weft
  std::string cluster;
  std::string digest;  // of the cluster file, with --set and catalog
};

// Why a target cannot be made of a cluster, and what would help.
struct Refusal {
  std::string what;
  std::string help;
};

// "weft 0.1.0, render frr, cluster 'ACP' (input 1a2b...): leaf0", each line behind `comment`, and how to change it.
std::string header(const Origin& origin, const std::string& target, const std::string& what,
                   const std::string& comment);

}  // namespace weft::render
