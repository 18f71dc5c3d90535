// Completion queues and counters, and how to sleep until one has something to tell.

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "provider/objects.hpp"

namespace weft::provider {

using transport::Instant;

void Lock::wait() {
  constexpr int kSpins = 64;
  constexpr int kYields = 8;
  for (int tries = 0;; ++tries) {
    for (int spins = 0; spins < kSpins; ++spins) {
      if (try_lock()) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    if (tries < kYields)
      sched_yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

Bell::Bell()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)),
      event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  watch(event_);
  watch(timer_);
}

Bell::~Bell() {
  close(timer_);
  close(event_);
  close(epoll_);
}

void Bell::ring() { (void)!write(event_, "\1\0\0\0\0\0\0", 8); }

void Bell::quiet() {
  std::uint64_t ignored = 0;
  (void)!read(event_, &ignored, 8);
}

void Bell::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
}

void Bell::forget(int fd) { epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr); }

void Bell::set_alarm(Instant at) {
  itimerspec time{};
  if (at != transport::kNever) {
    const Instant nanoseconds = std::max<Instant>(at / 1000 + 1, 1);
    time.it_value.tv_sec = static_cast<time_t>(nanoseconds / 1'000'000'000);
    time.it_value.tv_nsec = nanoseconds % 1'000'000'000;
  }
  timerfd_settime(timer_, TFD_TIMER_ABSTIME, &time, nullptr);
}

void Queue::push(const Entry& entry) {
  const std::lock_guard guard(lock);
  entries.push_back(entry);
  waiting.store(entries.size(), std::memory_order_release);
  if (armed) bell.ring();  // a system call, which nobody who polls should pay for
  armed = false;
}

bool arm(Queue& queue) {
  Instant wake = transport::kNever;
  for (Endpoint* each : queue.endpoints) {
    each->progress();
    const std::lock_guard guard(each->lock);
    if (each->wire) wake = std::min(wake, each->wire->rest() ? each->wire->timer() : 0);
  }
  queue.bell.set_alarm(wake);
  const std::lock_guard guard(queue.lock);
  if (!queue.entries.empty() || queue.signaled) return false;
  queue.bell.quiet();
  queue.armed = true;
  return true;
}

namespace {

constexpr std::uint32_t kYieldEvery = 128;

std::size_t size_of(fi_cq_format format) {
  switch (format) {
    case FI_CQ_FORMAT_MSG:
      return sizeof(fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA:
      return sizeof(fi_cq_data_entry);
    case FI_CQ_FORMAT_TAGGED:
      return sizeof(fi_cq_tagged_entry);
    default:
      return sizeof(fi_cq_entry);
  }
}

ssize_t take(Queue& queue, void* to, std::size_t count, fi_addr_t* sources) {
  const std::lock_guard guard(queue.lock);
  if (queue.entries.empty()) return -FI_EAGAIN;
  const std::size_t size = size_of(queue.format);
  std::size_t taken = 0;
  for (; taken < count && !queue.entries.empty() && queue.entries.front().error == 0; ++taken) {
    const Entry& it = queue.entries.front();
    // The formats are each other's beginnings.
    const fi_cq_tagged_entry whole = {it.context, it.flags, it.bytes, it.place, it.data, it.tag};
    std::memcpy(static_cast<char*>(to) + taken * size, &whole, size);
    if (sources != nullptr) sources[taken] = it.source;
    queue.entries.pop_front();
  }
  queue.waiting.store(queue.entries.size(), std::memory_order_release);
  return taken > 0 ? static_cast<ssize_t>(taken) : -FI_EAVAIL;
}

bool empty(const Queue& queue) { return queue.waiting.load(std::memory_order_acquire) == 0; }

ssize_t read_from(fid_cq* fid, void* to, std::size_t count, fi_addr_t* sources) {
  Queue& queue = of<Queue>(fid);
  if (empty(queue)) {
    for (Endpoint* each : queue.endpoints) each->progress();
    // Who polls long in vain may be holding up the one that it waits for: there are not always as many cores as
    // processes.
    if (empty(queue)) {
      const std::uint32_t times = queue.polled_in_vain.load(std::memory_order_relaxed) + 1;
      queue.polled_in_vain.store(times, std::memory_order_relaxed);
      if (times % kYieldEvery == 0) sched_yield();
      return -FI_EAGAIN;
    }
  }
  queue.polled_in_vain.store(0, std::memory_order_relaxed);
  if (count == 0) return 0;
  return take(queue, to, count, sources);
}

ssize_t read_queue(fid_cq* fid, void* to, std::size_t count) { return read_from(fid, to, count, nullptr); }

ssize_t read_error(fid_cq* fid, fi_cq_err_entry* to, std::uint64_t) {
  Queue& queue = of<Queue>(fid);
  const std::lock_guard guard(queue.lock);
  if (queue.entries.empty() || queue.entries.front().error == 0) return -FI_EAGAIN;
  const Entry& it = queue.entries.front();
  to->op_context = it.context;
  to->flags = it.flags;
  to->len = it.bytes;
  to->buf = it.place;
  to->data = it.data;
  to->tag = it.tag;
  to->olen = it.cut;
  to->err = it.error;
  to->prov_errno = it.error;
  to->err_data_size = 0;
  queue.entries.pop_front();
  queue.waiting.store(queue.entries.size(), std::memory_order_release);
  return 1;
}

ssize_t wait_from(fid_cq* fid, void* to, std::size_t count, fi_addr_t* sources, const void*, int timeout) {
  Queue& queue = of<Queue>(fid);
  const Instant end = timeout < 0 ? transport::kNever : net::Node::now() + Instant{timeout} * net::kMillisecond;
  while (true) {
    const ssize_t taken = read_from(fid, to, count, sources);
    if (taken != -FI_EAGAIN) return taken;
    {
      const std::lock_guard guard(queue.lock);
      if (queue.signaled) {
        queue.signaled = false;
        return -FI_EAGAIN;
      }
    }
    const Instant left = end == transport::kNever ? transport::kNever : end - net::Node::now();
    if (left <= 0) return -FI_EAGAIN;
    for (Endpoint* each : queue.endpoints) ++each->sleepers;
    if (arm(queue)) {
      pollfd wait{queue.bell.fd(), POLLIN, 0};
      poll(&wait, 1, left == transport::kNever ? -1 : static_cast<int>(left / net::kMillisecond) + 1);
    }
    for (Endpoint* each : queue.endpoints) --each->sleepers;
  }
}

ssize_t wait_queue(fid_cq* fid, void* to, std::size_t count, const void* condition, int timeout) {
  return wait_from(fid, to, count, nullptr, condition, timeout);
}

int signal_queue(fid_cq* fid) {
  Queue& queue = of<Queue>(fid);
  const std::lock_guard guard(queue.lock);
  queue.signaled = true;
  queue.bell.ring();
  return 0;
}

const char* error_text(fid_cq*, int error, const void*, char* text, std::size_t bytes) {
  if (text != nullptr && bytes > 0) {
    std::strncpy(text, fi_strerror(error), bytes - 1);
    text[bytes - 1] = 0;
  }
  return fi_strerror(error);
}

int close_queue(fid* fid) {
  Queue& queue = of<Queue>(fid);
  if (!queue.endpoints.empty()) return -FI_EBUSY;
  delete &queue;
  return 0;
}

int control_queue(fid* fid, int command, void* argument) {
  if (command != FI_GETWAIT) return -FI_ENOSYS;
  *static_cast<int*>(argument) = of<Queue>(fid).bell.fd();
  return 0;
}

fi_ops queue_fid_ops = {sizeof(fi_ops), close_queue, not_there<fid*, fid*, std::uint64_t>, control_queue, nullptr,
                        nullptr,        nullptr};
fi_ops_cq queue_ops = {sizeof(fi_ops_cq), read_queue, read_from,    read_error,
                       wait_queue,        wait_from,  signal_queue, error_text};

// ---- counters

std::uint64_t read_counter(fid_cntr* fid) {
  Counter& counter = of<Counter>(fid);
  counter.progress();
  const std::lock_guard guard(counter.lock);
  return counter.value;
}

std::uint64_t read_counter_errors(fid_cntr* fid) {
  Counter& counter = of<Counter>(fid);
  counter.progress();
  const std::lock_guard guard(counter.lock);
  return counter.errors;
}

template <std::uint64_t Counter::*Which, bool Adds>
int change(fid_cntr* fid, std::uint64_t value) {
  Counter& counter = of<Counter>(fid);
  const std::lock_guard guard(counter.lock);
  counter.*Which = (Adds ? counter.*Which : 0) + value;
  counter.changed.notify_all();
  return 0;
}

// Whoever waits moves things himself; where nothing moves he sleeps for a little.
int wait_counter(fid_cntr* fid, std::uint64_t threshold, int timeout) {
  Counter& counter = of<Counter>(fid);
  const Instant end = timeout < 0 ? transport::kNever : net::Node::now() + Instant{timeout} * net::kMillisecond;
  std::uint64_t errors = 0;
  {
    const std::lock_guard guard(counter.lock);
    errors = counter.errors;
  }
  while (true) {
    counter.progress();
    std::unique_lock guard(counter.lock);
    if (counter.value >= threshold) return 0;
    if (counter.errors != errors) return -FI_EAVAIL;
    if (net::Node::now() >= end) return -FI_ETIMEDOUT;
    counter.changed.wait_for(guard, std::chrono::microseconds(20));
  }
}

int close_counter(fid* fid) {
  Counter& counter = of<Counter>(fid);
  if (!counter.endpoints.empty() || counter.regions > 0) return -FI_EBUSY;
  delete &counter;
  return 0;
}

fi_ops counter_fid_ops = {
    sizeof(fi_ops), close_counter, not_there<fid*, fid*, std::uint64_t>, not_there<fid*, int, void*>, nullptr,
    nullptr,        nullptr};
fi_ops_cntr counter_ops = {sizeof(fi_ops_cntr),
                           read_counter,
                           read_counter_errors,
                           change<&Counter::value, true>,
                           change<&Counter::value, false>,
                           wait_counter,
                           change<&Counter::errors, true>,
                           change<&Counter::errors, false>};

}  // namespace

void Counter::add(bool error) {
  const std::lock_guard guard(lock);
  ++(error ? errors : value);
  changed.notify_all();
}

void Counter::progress() {
  for (Endpoint* each : endpoints) each->progress();
  if (regions == 0) return;
  const std::lock_guard guard(domain->lock);
  for (Endpoint* each : domain->endpoints) each->progress();
}

int open_queue(fid_domain*, fi_cq_attr* attr, fid_cq** out, void* context) {
  if (attr != nullptr && attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC &&
      attr->wait_obj != FI_WAIT_FD)
    return -FI_ENOSYS;
  auto queue = std::make_unique<Queue>();
  if (attr != nullptr && attr->format != FI_CQ_FORMAT_UNSPEC) queue->format = attr->format;
  if (attr != nullptr && attr->format == FI_CQ_FORMAT_UNSPEC) attr->format = FI_CQ_FORMAT_CONTEXT;
  queue->self.fid = {FI_CLASS_CQ, context, &queue_fid_ops};
  queue->self.ops = &queue_ops;
  *out = &queue.release()->self;
  return 0;
}

int open_counter(fid_domain*, fi_cntr_attr* attr, fid_cntr** out, void* context) {
  if (attr != nullptr && attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC) return -FI_ENOSYS;
  auto counter = std::make_unique<Counter>();
  counter->self.fid = {FI_CLASS_CNTR, context, &counter_fid_ops};
  counter->self.ops = &counter_ops;
  *out = &counter.release()->self;
  return 0;
}

int try_wait(fid_fabric*, fid** fids, int count) {
  for (int i = 0; i < count; ++i)
    if (fids[i]->fclass == FI_CLASS_CQ && !arm(of<Queue>(fids[i]))) return -FI_EAGAIN;
  return 0;
}

}  // namespace weft::provider
