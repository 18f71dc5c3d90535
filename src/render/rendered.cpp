#include "render/rendered.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::render {

std::string header(const Origin& origin, const std::string& target, const std::string& what,
                   const std::string& comment) {
  std::string cluster = origin.cluster;  // a line break in a name would end the comment
  std::replace_if(
      cluster.begin(), cluster.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return fmt::format(
      "{0} weft {1}, render {2}, cluster '{4}' (input {5}): {3}\n{0} Change the cluster file, not this.\n", comment,
      origin.version, target, what, cluster, origin.digest);
}

}  // namespace weft::render
