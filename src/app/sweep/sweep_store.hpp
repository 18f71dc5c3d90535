#pragma once
// The file of a sweep: a line for every run that is done, so that a later sweep can go on where one stopped.
//
// A line is appended whole as soon as its run is done. One that was cut off, by a full disk or a power failure, is taken
// away before the first is added; lines of another weft are passed over: it might have come to other results.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "report/swept_run.hpp"
#include "spec/diagnostics.hpp"

namespace weft::app {

class SweepStore {
 public:
  // Reads the file when it exists; complains when it is none of a sweep. An empty path: nothing is kept.
  SweepStore(std::string path, spec::Diagnostics& diagnostics);
  ~SweepStore();
  SweepStore(const SweepStore&) = delete;
  SweepStore& operator=(const SweepStore&) = delete;

  bool keeps() const { return !path_.empty(); }
  // Before the first run: opens the file for this sweep alone. Why that cannot be, or nothing.
  std::string begin();
  // nullptr when it has to be run.
  const report::ComparedRun* find(std::uint64_t inputs, std::uint64_t seed) const;
  // From any thread, after begin(). Why it could not be written, or nothing.
  std::string append(std::uint64_t inputs, const std::string& point, const report::ComparedRun& run);

 private:
  void read(spec::Diagnostics& diagnostics);

  std::string path_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, report::ComparedRun> runs_;
  std::mutex mutex_;
  int file_ = -1;
};

}  // namespace weft::app
