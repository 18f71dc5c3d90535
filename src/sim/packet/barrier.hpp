#pragma once
// Where threads wait for each other between two windows. Windows are short, so waiting means spinning; a thread that
// waits for longer than a window takes sleeps, because the one that all wait for may have no processor. Yielding
// instead gives a whole slice of time to whatever else runs there. Where there are more threads than processors,
// whoever spins keeps the one from working that all wait for: there they sleep at once.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace weft::sim {

class Barrier {
 public:
  explicit Barrier(std::uint32_t threads)
      : threads_(threads), patient_(threads > std::thread::hardware_concurrency()) {}

  // The last one to come calls `alone` while the others wait.
  template <class Alone>
  void wait(Alone alone) {
    const std::uint32_t round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      alone();
      arrived_.store(0, std::memory_order_relaxed);
      {
        const std::lock_guard lock(mutex_);
        round_.store(round + 1, std::memory_order_release);
      }
      next_round_.notify_all();
      return;
    }
    constexpr std::uint32_t kSpins = 50'000;
    const auto waits = [&] { return round_.load(std::memory_order_acquire) == round; };
    for (std::uint32_t tries = patient_ ? kSpins : 0; tries < kSpins; ++tries)
      if (!waits()) return;
    // Not round_.wait(): libstdc++ yields a few times before it sleeps.
    std::unique_lock lock(mutex_);
    next_round_.wait(lock, [&] { return !waits(); });
  }
  void wait() {
    wait([] {});
  }

 private:
  std::uint32_t threads_;
  bool patient_;
  std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::uint32_t> round_{0};
  std::mutex mutex_;  // for those that sleep
  std::condition_variable next_round_;
};

}  // namespace weft::sim
