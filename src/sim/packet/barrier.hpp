#pragma once
// Where threads wait for each other between two windows. Windows are short, so waiting means spinning;
// a thread that waits for long lets others run and at last sleeps. Where there are more threads than
// processors, whoever spins keeps the one from working that all wait for: there they sleep at once.

#include <atomic>
#include <cstdint>
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
      round_.store(round + 1, std::memory_order_release);
      round_.notify_all();
      return;
    }
    constexpr std::uint32_t kSpins = 20'000;
    constexpr std::uint32_t kYields = 200;
    for (std::uint32_t tries = patient_ ? kSpins + kYields : 0; round_.load(std::memory_order_acquire) == round;
         ++tries) {
      if (tries >= kSpins + kYields) {
        round_.wait(round, std::memory_order_acquire);
      } else if (tries >= kSpins) {
        std::this_thread::yield();
      }
    }
  }
  void wait() {
    wait([] {});
  }

 private:
  std::uint32_t threads_;
  bool patient_;
  std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::uint32_t> round_{0};
};

}  // namespace weft::sim
