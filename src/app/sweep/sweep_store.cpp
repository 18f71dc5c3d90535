#include "app/sweep/sweep_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "app/build_info.hpp"

namespace weft::app {
namespace {

namespace fs = std::filesystem;
using spec::Error;

constexpr std::uintmax_t kMostBytes = 256U << 20;  // half a million runs

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
    torn_ = file.eof();  // the last line has no end
    const auto swept = report::read_swept_run(line);
    ours = ours || line.starts_with(R"({"record":"sweep-run")");  // the very first one may have been cut off
    if (swept && !torn_ && swept->version == build_info().version && swept->commit == build_info().commit)
      runs_.insert_or_assign({swept->inputs, swept->run.seed}, swept->run);
  }
  if (some && !ours) refuse(Error::wrong_type, "holds no results of a sweep, so nothing is added to it");
}

const report::ComparedRun* SweepStore::find(std::uint64_t inputs, std::uint64_t seed) const {
  const auto found = runs_.find({inputs, seed});
  return found == runs_.end() ? nullptr : &found->second;
}

bool SweepStore::open() {
  if (file_ < 0) file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  return file_ >= 0;
}

bool SweepStore::append(std::uint64_t inputs, const std::string& point, const report::ComparedRun& run) {
  const std::lock_guard lock(mutex_);
  if (!keeps()) return true;
  if (!open()) return false;
  std::string line = report::swept_run_line({build_info().version, build_info().commit, inputs, run}, point);
  if (torn_) line.insert(0, "\n");
  torn_ = false;
  return ::write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace weft::app
