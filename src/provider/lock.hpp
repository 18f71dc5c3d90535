#pragma once
// A lock that is nearly always free: every call of a program takes several, and a pthread mutex would be a fifth of a
// message through shared memory. One atomic exchange to take it, a store to give it back. Who finds it taken spins for
// a moment, lets others run, and then sleeps for a little at a time.

#include <atomic>

namespace weft::provider {

class Lock {
 public:
  void lock() {
    if (taken_.exchange(true, std::memory_order_acquire)) wait();
  }
  bool try_lock() {
    return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire);
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  void wait();  // queue.cpp
  std::atomic<bool> taken_{false};
};

}  // namespace weft::provider
