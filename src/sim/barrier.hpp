#pragma once
// Where threads wait for each other between two windows. Windows are short, so waiting means
// spinning; a thread that waits for long lets others run.

#include <atomic>
#include <cstdint>
#include <thread>

namespace weft::sim {

class Barrier {
 public:
  explicit Barrier(std::uint32_t threads) : threads_(threads) {}

  // The last one to come calls `alone` while the others wait.
  template <class Alone>
  void wait(Alone alone) {
    const std::uint32_t round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      alone();
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    constexpr std::uint32_t kSpins = 20'000;
    for (std::uint32_t spins = 0; round_.load(std::memory_order_acquire) == round; ++spins)
      if (spins > kSpins) std::this_thread::yield();
  }
  void wait() {
    wait([] {});
  }

 private:
  std::uint32_t threads_;
  std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::uint32_t> round_{0};
};

}  // namespace weft::sim
