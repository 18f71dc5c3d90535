#include "app/sweep/sweep_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/text.hpp"

namespace weft::app {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(100);

struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t next = 0;
  std::size_t done = 0;
  unsigned busy = 0;  // workers that have not gone home
  bool stop = false;
  std::exception_ptr fault;
};

void work(const Pool& pool, std::size_t jobs, Shared& shared) {
  std::unique_lock lock(shared.mutex);
  while (!shared.stop && shared.next < jobs) {
    const std::size_t job = shared.next++;
    lock.unlock();
    bool go_on = false;
    std::exception_ptr fault;
    try {
      go_on = pool.work(job);
    } catch (...) {
      fault = std::current_exception();
    }
    lock.lock();
    ++shared.done;
    if (!go_on) shared.stop = true;
    if (fault && !shared.fault) shared.fault = fault;
  }
  --shared.busy;
  shared.changed.notify_one();
}

}  // namespace

std::string run_jobs(const Pool& pool, std::size_t jobs) {
  Shared shared;
  std::string fewer;
  const auto wanted = static_cast<unsigned>(std::min<std::size_t>(std::max(1U, pool.workers), jobs));
  shared.busy = wanted;
  std::vector<std::jthread> workers;
  try {
    while (workers.size() < wanted) workers.emplace_back([&] { work(pool, jobs, shared); });
  } catch (const std::system_error& error) {
    const auto started = static_cast<unsigned>(workers.size());
    fewer =
        fmt::format("{} instead of {}: {}", counted(std::max(1U, started), "thread"), wanted, error.code().message());
    std::unique_lock lock(shared.mutex);
    shared.busy -= wanted - started;
    if (started == 0) {
      ++shared.busy;
      lock.unlock();
      work(pool, jobs, shared);
    }
  }
  std::unique_lock lock(shared.mutex);
  while (!shared.changed.wait_for(lock, kLookEvery, [&] { return shared.busy == 0; })) {
    const std::size_t done = shared.done;
    lock.unlock();
    pool.show(done);
    lock.lock();
  }
  lock.unlock();
  workers.clear();
  if (shared.fault) std::rethrow_exception(shared.fault);
  return fewer;
}

}  // namespace weft::app
