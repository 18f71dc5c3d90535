#pragma once
// Jobs that know nothing of each other, shared by a few threads.

#include <cstddef>
#include <functional>
#include <string>

namespace weft::app {

struct Pool {
  unsigned workers = 1;
  // Called from several threads, once for each job; false: nobody starts another one.
  std::function<bool(std::size_t job)> work;
  // Called from the caller's thread several times a second.
  std::function<void(std::size_t done)> show;
};

// Returns when all that was started has ended; what a job throws is thrown here. Where not all threads could be started,
// those that could do the work, or else the caller's: the sentence that says so, or nothing.
std::string run_jobs(const Pool& pool, std::size_t jobs);

}  // namespace weft::app
