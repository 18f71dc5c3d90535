#include "app/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace weft::app {
namespace {

namespace fs = std::filesystem;

bool same_file(const std::string& a, const std::string& b) {
  std::error_code fault;
  if (fs::equivalent(a, b, fault)) return true;
  // Of what is not there yet, a relative name would stay one.
  return fs::weakly_canonical(fs::absolute(a), fault) == fs::weakly_canonical(fs::absolute(b), fault);
}

bool is_device(const std::string& path) {  // /dev/stdout, a pipe
  std::error_code fault;
  return fs::exists(path, fault) && !fs::is_regular_file(path, fault) && !fs::is_directory(path, fault);
}

// 0, or why it could not be written.
int write_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  if (file) write(file);
  if (file) file.close();
  if (file) return 0;
  return errno != 0 ? errno : EIO;
}

// A file without a name until it is whole: whatever ends the program before leaves what was there, and nothing else.
class Unnamed {
 public:
  explicit Unnamed(const fs::path& directory)
      : descriptor_(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666)) {}
  ~Unnamed() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Unnamed(const Unnamed&) = delete;
  Unnamed& operator=(const Unnamed&) = delete;

  bool ok() const { return descriptor_ >= 0; }
  fs::path path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }
  bool name_it(const fs::path& name) const {
    return ::linkat(AT_FDCWD, path().c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }

 private:
  int descriptor_;
};

// A file beside its final place; it goes away when it did not get there.
struct PartialFile {
  fs::path path;
  ~PartialFile() {
    std::error_code gone;
    fs::remove(path, gone);
  }
};

int replace_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  const PartialFile part{path.string() + fmt::format(".part{}", getpid())};
  const Unnamed unnamed(path.has_parent_path() ? path.parent_path() : ".");
  // Not every file system has files without names.
  if (const int error = write_file(unnamed.ok() ? unnamed.path() : part.path, write)) return error;
  if (unnamed.ok()) {
    if (unnamed.name_it(path)) return 0;
    if (errno != EEXIST || !unnamed.name_it(part.path)) return errno;
  }
  return ::rename(part.path.c_str(), path.c_str()) == 0 ? 0 : errno;
}

std::string called(const NamedFile& file) {
  return file.option.empty() ? file.path : fmt::format("{} {}", file.option, file.path);
}

}  // namespace

std::string cannot_write(const std::string& path, int error) {
  return fmt::format("cannot write {}: {}", path, std::strerror(error));
}

std::vector<std::string> file_conflicts(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& path = outputs[i].path;
    if (path.empty() || is_device(path)) continue;
    if (path.ends_with(".weft.yaml") || path.ends_with(".topo"))
      out.push_back(fmt::format("{} is named like a cluster file and is not written", called(outputs[i])));
    for (const NamedFile& input : inputs)
      if (!input.path.empty() && same_file(path, input.path))
        out.push_back(fmt::format("{} would overwrite an input, {}", called(outputs[i]), called(input)));
    for (std::size_t other = 0; other < i; ++other)
      if (!outputs[other].path.empty() && same_file(path, outputs[other].path))
        out.push_back(fmt::format("{} and {} are one file", called(outputs[other]), called(outputs[i])));
  }
  return out;
}

bool can_be_written(const std::vector<std::string>& paths, Console& console) {
  for (const std::string& path : paths) {
    if (path.empty() || is_device(path)) continue;
    const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
    std::error_code fault;
    const int error = ::access(folder.c_str(), W_OK | X_OK) != 0 ? errno
                      : fs::is_directory(path, fault)            ? EISDIR
                      : fs::is_directory(folder, fault)          ? 0
                                                                 : ENOTDIR;
    if (error == 0) continue;
    console.err << cannot_write(path, error) << "\n";
    return false;
  }
  return true;
}

int write_output(const std::string& output, Console& console, const std::function<void(std::ostream&)>& write) {
  if (output.empty()) {
    write(console.out);
    return kFine;
  }
  std::error_code fault;
  const fs::path target = fs::weakly_canonical(output, fault);  // through a link, not over it
  const int error =
      is_device(output) ? write_file(output, write) : replace_file(fault ? fs::path(output) : target, write);
  if (error != 0) {
    console.err << cannot_write(output, error) << "\n";
    return kThisMachine;
  }
  if (!console.quiet) console.err << fmt::format("wrote {}\n", output);
  return kFine;
}

}  // namespace weft::app
