#include "app/render/rendered_tree.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "experiment/fingerprint.hpp"

namespace weft::app {
namespace {

namespace fs = std::filesystem;

struct Listed {
  std::string target;
  std::string digest;
};
using Listing = std::map<std::string, Listed>;  // by path

std::string digest_of(const std::string& text) {
  experiment::Fingerprint fingerprint;
  fingerprint.add(text);
  return fmt::format("{:016x}", fingerprint.value());
}

std::optional<std::string> read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return std::nullopt;
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

bool write(const fs::path& path, const std::string& text) {
  std::error_code fault;
  fs::create_directories(path.parent_path(), fault);
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return static_cast<bool>(file);
}

// "digest target path" in each line.
Listing read_listing(const fs::path& directory) {
  Listing listing;
  std::istringstream lines(read(directory / kRenderedList).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string digest;
    std::string target;
    std::string path;
    if (words >> digest >> target && std::getline(words >> std::ws, path) && digest != "#")
      listing[path] = {target, digest};
  }
  return listing;
}

std::string text_of(const Listing& listing) {
  std::string text =
      "# written by weft render: digest, target and path of each file; what differs is not overwritten\n";
  for (const auto& [path, listed] : listing) text += fmt::format("{} {} {}\n", listed.digest, listed.target, path);
  return text;
}

// Nothing is there, or what weft wrote.
bool may_replace(const fs::path& directory, const Listing& listing, const std::string& path) {
  std::error_code fault;
  if (!fs::exists(fs::symlink_status(directory / path, fault))) return true;
  const auto listed = listing.find(path);
  const auto text = read(directory / path);
  return listed != listing.end() && text && digest_of(*text) == listed->second.digest;
}

}  // namespace

TreeChange write_tree(const fs::path& directory, const std::string& target, const std::vector<render::File>& files) {
  Listing listing = read_listing(directory);
  TreeChange change;
  std::set<std::string> made;
  for (const render::File& file : files) {
    made.insert(file.path);
    const bool same = read(directory / file.path) == file.text;
    if (!same && !may_replace(directory, listing, file.path)) change.foreign.push_back(file.path);
    (same ? change.unchanged : change.written).push_back(file.path);
  }
  for (const auto& [path, listed] : listing)
    if (listed.target == target && !made.contains(path)) {
      if (may_replace(directory, listing, path))
        change.removed.push_back(path);
      else
        change.foreign.push_back(path);
    }
  if (!change.foreign.empty()) return change;
  std::error_code fault;
  for (const std::string& path : change.removed) {
    fs::remove(directory / path, fault);
    fs::remove((directory / path).parent_path(), fault);  // only when it is empty
    listing.erase(path);
  }
  for (const render::File& file : files) listing[file.path] = {target, digest_of(file.text)};
  // The list goes first: were it last, an interrupted run would leave files that the next one takes for somebody
  // else's. A file that still has its old text is then named as changed, and removing it helps.
  if (!write(directory / kRenderedList, text_of(listing))) change.failed = std::string(kRenderedList);
  for (const render::File& file : files)
    if (change.failed.empty() && read(directory / file.path) != file.text && !write(directory / file.path, file.text))
      change.failed = file.path;
  return change;
}

}  // namespace weft::app
