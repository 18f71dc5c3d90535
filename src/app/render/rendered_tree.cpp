#include "app/render/rendered_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "app/output.hpp"
#include "experiment/fingerprint.hpp"

namespace weft::app {
namespace {

namespace fs = std::filesystem;

struct Listed {
  std::string target;
  std::set<std::string> digests;  // two while a run is under way: of what is there, and of what will be
};
using ListedFiles = std::map<std::string, Listed>;  // by path

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

// Why it could not be written, or nothing.
std::string write(const fs::path& path, const std::string& text) {
  std::error_code fault;
  fs::create_directories(path.parent_path(), fault);
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? "" : cannot_write(path, fault ? fault.value() : errno);
}

// Below the directory, whatever somebody wrote into the list.
bool stays_below(const fs::path& path) {
  return path.is_relative() &&
         std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

// "digest target path" in each line.
ListedFiles read_listing(const fs::path& directory) {
  ListedFiles listing;
  std::istringstream lines(read(directory / kRenderedList).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string digest;
    std::string target;
    std::string path;
    if (!(words >> digest >> target && std::getline(words >> std::ws, path)) || digest == "#" || !stays_below(path))
      continue;
    listing[path].target = target;
    listing[path].digests.insert(digest);
  }
  return listing;
}

std::string text_of(const ListedFiles& listing) {
  std::string text =
      "# written by weft render: digest, target and path of each file; what differs is not overwritten\n";
  for (const auto& [path, listed] : listing)
    for (const std::string& digest : listed.digests) text += fmt::format("{} {} {}\n", digest, listed.target, path);
  return text;
}

// Nothing is there, or what weft wrote.
bool may_replace(const fs::path& directory, const ListedFiles& listing, const std::string& path) {
  std::error_code fault;
  const fs::file_status there = fs::symlink_status(directory / path, fault);
  if (!fs::exists(there)) return true;
  const auto listed = listing.find(path);
  const auto text = read(directory / path);
  return fs::is_regular_file(there) && listed != listing.end() && text &&
         listed->second.digests.contains(digest_of(*text));
}

}  // namespace

TreeChange write_tree(const fs::path& directory, const std::string& target, const std::vector<render::File>& files) {
  ListedFiles listing = read_listing(directory);
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
  // Before the files, and again after them: a run that is interrupted leaves files that the next one knows.
  const auto write_list = [&] { change.failed = write(directory / kRenderedList, text_of(listing)); };
  for (const render::File& file : files) {
    listing[file.path].target = target;
    listing[file.path].digests.insert(digest_of(file.text));
  }
  write_list();
  for (const render::File& file : files)
    if (change.failed.empty() && read(directory / file.path) != file.text)
      change.failed = write(directory / file.path, file.text);
  if (!change.failed.empty()) return change;
  for (const render::File& file : files) listing[file.path].digests = {digest_of(file.text)};
  write_list();
  return change;
}

}  // namespace weft::app
