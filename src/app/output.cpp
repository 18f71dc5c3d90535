#include "app/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

namespace weft::app {
namespace {

namespace fs = std::filesystem;

bool write_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  std::ofstream file(path, std::ios::binary);
  if (!file) return false;
  write(file);
  file.close();
  return static_cast<bool>(file);
}

// A file beside its final place; it goes away when it did not get there.
struct Part {
  fs::path path;
  ~Part() {
    std::error_code gone;
    fs::remove(path, gone);
  }
};

// An interrupted run leaves what was there before.
bool replace_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  const Part part{path.string() + fmt::format(".part{}", getpid())};
  if (!write_file(part.path, write)) return false;
  std::error_code fault;
  fs::rename(part.path, path, fault);
  return !fault;
}

}  // namespace

std::string why_not_write(const std::string& output, const fs::path& input) {
  std::error_code fault;
  if (output.empty()) return "";
  if (fs::equivalent(output, input, fault))
    return fmt::format("{} is the cluster file itself and is left as it is", output);
  if (output.ends_with(".weft.yaml") || output.ends_with(".topo"))
    return fmt::format("{} is named like a cluster file and is not written", output);
  return "";
}

int write_output(const std::string& output, Console& console, const std::function<void(std::ostream&)>& write) {
  if (output.empty()) {
    write(console.out);
    return kFine;
  }
  std::error_code fault;
  const bool device = fs::exists(output, fault) && !fs::is_regular_file(output, fault);  // /dev/stdout, a pipe
  const fs::path target = fs::weakly_canonical(output, fault);                           // through a link, not over it
  if (!(device ? write_file(output, write) : replace_file(fault ? fs::path(output) : target, write))) {
    console.err << fmt::format("cannot write {}\n", output);
    return kThisMachine;
  }
  console.err << fmt::format("wrote {}\n", output);
  return kFine;
}

}  // namespace weft::app
