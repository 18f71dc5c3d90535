#include "spec/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace weft::spec {

std::optional<std::uint32_t> load_file(const std::filesystem::path& path, Diagnostics& diagnostics, std::size_t limit) {
  // A device or pipe could deliver without end, so only regular files are opened.
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  const auto refuse = [&](std::string_view why, std::string_view help) {
    const std::uint32_t source = diagnostics.sources().add(path.string(), "");
    diagnostics.add(Error::cannot_read, {source, 0, 0, 1}, std::string(why), std::string(help));
    return std::nullopt;
  };
  const bool cluster = path.extension() == ".yaml" || path.extension() == ".yml" || path.extension().empty();
  if (!std::filesystem::exists(status))
    return refuse("no such file",
                  cluster ? "`weft init` writes a cluster file to start from" : "check its name and its directory");
  if (std::filesystem::is_directory(status))
    return refuse("this is a directory", cluster ? "name the cluster file inside it" : "name the file inside it");
  if (!std::filesystem::is_regular_file(status)) return refuse("not a regular file", "copy it into a file first");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return refuse("cannot be opened", "check its permissions");
  const auto size = static_cast<std::size_t>(std::filesystem::file_size(path, error));
  std::string text(std::min(error ? limit + 1 : size, limit + 1), '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return diagnostics.sources().add(path.string(), std::move(text));
}

}  // namespace weft::spec
