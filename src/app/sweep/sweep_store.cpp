#include "app/sweep/sweep_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "app/build_info.hpp"
#include "app/output.hpp"

namespace weft::app {
namespace {

namespace fs = std::filesystem;
using spec::Error;

constexpr std::uintmax_t kMostBytes = 256U << 20;  // half a million runs

// Cuts off what stands behind the last end of a line.
bool cut_torn_line(int file) {
  const off_t size = ::lseek(file, 0, SEEK_END);
  off_t end = size;
  for (char last = 0; end > 0 && ::pread(file, &last, 1, end - 1) == 1 && last != '\n';) --end;
  return end == size || ::ftruncate(file, end) == 0;
}

}  // namespace

SweepStore::SweepStore(std::string path, spec::Diagnostics& diagnostics) : path_(std::move(path)) {
  std::error_code fault;
  if (keeps() && fs::exists(path_, fault)) read(diagnostics);
}

SweepStore::~SweepStore() {
  if (file_ >= 0) ::close(file_);
}

void SweepStore::read(spec::Diagnostics& diagnostics) {
  const auto refuse = [&](Error error, const std::string& why) {
    diagnostics.add(error, {}, fmt::format("--out {}: {}", path_, why), "a new file, or one that weft sweep wrote");
  };
  std::error_code fault;
  if (!fs::is_regular_file(path_, fault)) return refuse(Error::cannot_read, "not a regular file");
  if (fs::file_size(path_, fault) > kMostBytes) return refuse(Error::too_large, "larger than 256 MiB");
  std::ifstream file(path_, std::ios::binary);
  if (!file) return refuse(Error::cannot_read, "cannot be read");
  bool some = false;
  bool ours = false;
  for (std::string line; std::getline(file, line);) {
    some = true;
    const bool torn = file.eof();  // the last line has no end
    const auto swept = report::read_swept_run(line);
    ours = ours || line.starts_with(R"({"record":"sweep-run")");  // the very first one may have been cut off
    if (swept && !torn && swept->version == build_info().version && swept->commit == build_info().commit)
      runs_.insert_or_assign({swept->inputs, swept->run.seed}, swept->run);
  }
  if (some && !ours) refuse(Error::wrong_type, "holds no results of a sweep, so nothing is added to it");
}

const report::ComparedRun* SweepStore::find(std::uint64_t inputs, std::uint64_t seed) const {
  const auto found = runs_.find({inputs, seed});
  return found == runs_.end() ? nullptr : &found->second;
}

std::string SweepStore::begin() {
  if (!keeps()) return "";
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) return cannot_write(path_, errno);
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? fmt::format("{} is being written by another weft sweep", path_)
                                : cannot_write(path_, errno);
  return cut_torn_line(file_) ? "" : cannot_write(path_, errno);
}

std::string SweepStore::append(std::uint64_t inputs, const std::string& point, const report::ComparedRun& run) {
  if (!keeps()) return "";
  const std::lock_guard lock(mutex_);
  const std::string line = report::swept_run_line({build_info().version, build_info().commit, inputs, run}, point);
  const ssize_t written = ::write(file_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return "";
  return cannot_write(path_, written < 0 ? errno : ENOSPC);
}

}  // namespace weft::app
