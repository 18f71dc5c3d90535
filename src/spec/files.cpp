#include "spec/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

namespace weft::spec {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 16;

// At most one byte more than `limit`; a pipe gives what it has, and of a file the size may be wrong.
std::string read_some(std::istream& stream, std::size_t expected, std::size_t limit) {
  std::string text;
  for (std::size_t room = std::min(expected, limit + 1); room > 0;) {
    const std::size_t before = text.size();
    text.resize(before + room);
    stream.read(text.data() + before, static_cast<std::streamsize>(room));
    const auto got = static_cast<std::size_t>(stream.gcount());
    text.resize(before + got);
    room = got == room ? std::min(std::max(kPiece, room), limit + 1 - text.size()) : 0;
  }
  return text;
}

// What cannot be read twice: a grid of clusters asks for its file at every point.
std::string& read_before(const std::string& path) {
  static std::map<std::string, std::string> texts;
  return texts[path];
}

}  // namespace

std::optional<std::uint32_t> load_file(const std::filesystem::path& path, Diagnostics& diagnostics, std::size_t limit) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  const auto refuse = [&](std::string_view why, std::string_view help) {
    const std::uint32_t source = diagnostics.sources().add(path.string(), "");
    diagnostics.add(Error::cannot_read, {source, 0, 0, 1}, std::string(why), std::string(help));
    return std::nullopt;
  };
  if (path == "-") {
    std::string& text = read_before("-");
    if (text.empty()) text = read_some(std::cin, kPiece, limit);
    return diagnostics.sources().add("-", text);
  }
  const bool cluster = path.extension() == ".yaml" || path.extension() == ".yml" || path.extension().empty();
  if (!std::filesystem::exists(status))
    return refuse("no such file",
                  cluster ? "`weft init` writes a cluster file to start from" : "check its name and its directory");
  if (std::filesystem::is_directory(status))
    return refuse("this is a directory", cluster ? "name the cluster file inside it" : "name the file inside it");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return refuse("cannot be opened", "check its permissions");
  const auto size = static_cast<std::size_t>(std::filesystem::file_size(path, error));
  if (std::filesystem::is_regular_file(status))
    return diagnostics.sources().add(path.string(), read_some(stream, error ? kPiece : size + 1, limit));
  std::string& text = read_before(path.string());
  if (text.empty()) text = read_some(stream, kPiece, limit);
  return diagnostics.sources().add(path.string(), text);
}

}  // namespace weft::spec
