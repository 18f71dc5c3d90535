// Two processes, one provider of libfabric, one number: provider_pair PROVIDER bandwidth|rate|polling|blocking
//
//   bandwidth  MB/s of tagged messages of 1 MiB, 16 under way
//   rate       tagged messages of 8 B per second, 64 under way
//   polling    us of half a round trip of a tagged message of 8 B, completions read by fi_cq_read
//   blocking   likewise, by fi_cq_sread
//
// `sockets` is no provider: UDP sockets and nothing else, for bandwidth and polling. What is sent is nobody's business
// to acknowledge, repeat, check or match, so that no provider above UDP is faster.
//
// Each has a core to itself, where there are two.
//
// bench/provider runs it for several providers and prints the table.

#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

void check(long status, const char* what) {
  if (status >= 0) return;
  std::fprintf(stderr, "%s: %s\n", what, fi_strerror(static_cast<int>(-status)));
  std::exit(1);
}

struct Test {
  bool blocking = false;
  bool streams = false;
  std::size_t bytes = 8;
  int at_once = 1;
  int warm_up = 0;
  int count = 0;
};

class Side {
 public:
  Side(const std::string& provider, bool blocking, int to, int from) : blocking_(blocking) {
    fi_info* hints = fi_allocinfo();
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_TAGGED;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->domain_attr->mr_mode = 0;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->fabric_attr->prov_name = strdup(provider.c_str());
    // shm has names instead of addresses.
    const char* node = provider == "shm" ? nullptr : "127.0.0.1";
    check(fi_getinfo(FI_VERSION(1, 17), node, nullptr, node != nullptr ? FI_SOURCE : 0, hints, &info_), "fi_getinfo");
    fi_freeinfo(hints);
    check(fi_fabric(info_->fabric_attr, &fabric_, nullptr), "fi_fabric");
    check(fi_domain(fabric_, info_, &domain_, nullptr), "fi_domain");
    fi_cq_attr queue{};
    queue.format = FI_CQ_FORMAT_TAGGED;
    queue.size = 1024;
    queue.wait_obj = blocking ? FI_WAIT_FD : FI_WAIT_NONE;
    check(fi_cq_open(domain_, &queue, &cq_, nullptr), "fi_cq_open");
    fi_av_attr addresses{};
    addresses.type = FI_AV_UNSPEC;
    check(fi_av_open(domain_, &addresses, &av_, nullptr), "fi_av_open");
    check(fi_endpoint(domain_, info_, &ep_, nullptr), "fi_endpoint");
    check(fi_ep_bind(ep_, &cq_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    check(fi_ep_bind(ep_, &av_->fid, 0), "fi_ep_bind");
    check(fi_enable(ep_), "fi_enable");
    char own[256] = {};
    char other[256] = {};
    std::size_t length = sizeof own;
    check(fi_getname(&ep_->fid, own, &length), "fi_getname");
    if (write(to, own, sizeof own) != sizeof own || read(from, other, sizeof other) != sizeof other) std::exit(1);
    check(fi_av_insert(av_, other, 1, &peer_, 0, nullptr) - 1, "fi_av_insert");
  }
  ~Side() {
    fi_close(&ep_->fid);
    fi_close(&cq_->fid);
    fi_close(&av_->fid);
    fi_close(&domain_->fid);
    fi_close(&fabric_->fid);
    fi_freeinfo(info_);
  }

  void send(const void* from, std::size_t bytes, fi_context2* context) {
    while (true) {
      const ssize_t status = fi_tsend(ep_, from, bytes, nullptr, peer_, 1, context);
      if (status == 0) return;
      if (status != -FI_EAGAIN) check(status, "fi_tsend");
      drain();
    }
  }
  void receive(void* to, std::size_t bytes, fi_context2* context) {
    while (true) {
      const ssize_t status = fi_trecv(ep_, to, bytes, nullptr, FI_ADDR_UNSPEC, 1, 0, context);
      if (status == 0) return;
      if (status != -FI_EAGAIN) check(status, "fi_trecv");
      drain();
    }
  }
  // Until this many sends and receives in all have completed.
  void until(int sends, int receives) {
    while (sends_ < sends || receives_ < receives) {
      fi_cq_tagged_entry entry;
      count(blocking_ ? fi_cq_sread(cq_, &entry, 1, nullptr, 1000) : fi_cq_read(cq_, &entry, 1), entry);
    }
  }

 private:
  void drain() {
    fi_cq_tagged_entry entry;
    count(fi_cq_read(cq_, &entry, 1), entry);
  }
  void count(ssize_t got, const fi_cq_tagged_entry& entry) {
    if (got == -FI_EAGAIN || got == -FI_EINTR) return;
    check(got, "completion");
    ++(entry.flags & FI_RECV ? receives_ : sends_);
  }

  bool blocking_;
  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_cq* cq_ = nullptr;
  fid_av* av_ = nullptr;
  fid_ep* ep_ = nullptr;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  int sends_ = 0;
  int receives_ = 0;
};

// Datagrams as long as loopback takes, with room for a header before the payload.
class Sockets {
 public:
  static constexpr std::size_t kPayload = 65507 - 104;

  Sockets(int to, int from) : in_(open()), out_(open()) {
    sockaddr_in own{};
    socklen_t length = sizeof own;
    check(getsockname(in_, reinterpret_cast<sockaddr*>(&own), &length), "getsockname");
    sockaddr_in other{};
    if (write(to, &own, sizeof own) != sizeof own || read(from, &other, sizeof other) != sizeof other) std::exit(1);
    check(connect(out_, reinterpret_cast<sockaddr*>(&other), sizeof other), "connect");
  }
  ~Sockets() {
    close(in_);
    close(out_);
  }
  // Bytes that may be on their way: what the kernel keeps of them takes more than they.
  std::size_t window() const {
    int granted = 0;
    socklen_t length = sizeof granted;
    getsockopt(in_, SOL_SOCKET, SO_RCVBUF, &granted, &length);
    return std::clamp<std::size_t>(static_cast<std::size_t>(granted) / 4, kPayload, 4 << 20);
  }
  void send(void* from, std::size_t bytes) {
    iovec parts[2] = {{header_, sizeof header_}, {from, bytes}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    check(sendmsg(out_, &message, 0), "sendmsg");
  }
  std::size_t take(void* to, std::size_t bytes) {
    iovec parts[2] = {{header_, sizeof header_}, {to, bytes}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t got = recvmsg(in_, &message, MSG_DONTWAIT);
    return got > 0 ? static_cast<std::size_t>(got) - sizeof header_ : 0;
  }

 private:
  static int open() {
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    const int room = 32 << 20;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0)
      setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    sockaddr_in local{};
    local.sin_family = AF_INET;
    local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(bind(fd, reinterpret_cast<sockaddr*>(&local), sizeof local), "bind");
    return fd;
  }

  int in_;
  int out_;
  char header_[104] = {};
};

// Of those that there are, the n-th: two that poll on one core tell how long the kernel lets each run.
void take_a_core(int n) {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &all) || n-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Half a round trip in seconds, at who begins.
double bounce(Side& side, bool begins, const Test& test) {
  std::vector<char> out(test.bytes, 'o');
  std::vector<char> in(test.bytes);
  fi_context2 contexts[2];
  Clock::time_point begin;
  side.receive(in.data(), in.size(), &contexts[0]);
  for (int i = 0; i < test.warm_up + test.count; ++i) {
    if (i == test.warm_up) begin = Clock::now();
    if (!begins) side.until(i, i + 1);
    if (!begins) side.receive(in.data(), in.size(), &contexts[0]);
    side.send(out.data(), out.size(), &contexts[1]);
    if (!begins) continue;
    side.until(i + 1, i + 1);
    side.receive(in.data(), in.size(), &contexts[0]);
  }
  const double took = seconds_since(begin);
  side.until(test.warm_up + test.count, test.warm_up + test.count);
  return took / test.count / 2;
}

// Messages per second, at who sends; the other answers the last one.
double stream(Side& side, bool sends, const Test& test) {
  const int window = test.at_once;
  std::vector<std::vector<char>> memory(static_cast<std::size_t>(window), std::vector<char>(test.bytes, 's'));
  std::vector<fi_context2> contexts(static_cast<std::size_t>(window) + 1);
  const int all = test.warm_up + test.count;
  char last = 0;
  if (!sends) {
    for (int i = 0; i < all; ++i) {
      if (i >= window) side.until(0, i - window + 1);
      side.receive(memory[static_cast<std::size_t>(i % window)].data(), test.bytes,
                   &contexts[static_cast<std::size_t>(i % window)]);
    }
    side.until(0, all);
    side.send(&last, 1, &contexts.back());
    side.until(1, all);
    return 0;
  }
  side.receive(&last, 1, &contexts.back());
  Clock::time_point begin;
  for (int i = 0; i < all; ++i) {
    if (i == test.warm_up) begin = Clock::now();
    if (i >= window) side.until(i - window + 1, 0);
    side.send(memory[static_cast<std::size_t>(i % window)].data(), test.bytes,
              &contexts[static_cast<std::size_t>(i % window)]);
  }
  side.until(all, 1);
  return test.count / seconds_since(begin);
}

// The same by sockets alone: each byte is sent and taken, and who sends learns through `taken` how far the other is.
double bounce(Sockets& side, bool begins, const Test& test) {
  std::vector<char> bytes(test.bytes);
  Clock::time_point begin;
  for (int i = 0; i < test.warm_up + test.count; ++i) {
    if (i == test.warm_up) begin = Clock::now();
    if (begins) side.send(bytes.data(), bytes.size());
    while (side.take(bytes.data(), bytes.size()) == 0) {
    }
    if (!begins) side.send(bytes.data(), bytes.size());
  }
  return seconds_since(begin) / test.count / 2;
}

double stream(Sockets& side, bool sends, const Test& test, std::atomic<std::size_t>& taken) {
  std::vector<std::vector<char>> memory(static_cast<std::size_t>(test.at_once), std::vector<char>(test.bytes, 's'));
  const std::size_t window = side.window();
  std::size_t moved = 0;
  Clock::time_point begin;
  for (int i = 0; i < test.warm_up + test.count; ++i) {
    if (i == test.warm_up) begin = Clock::now();
    char* const message = memory[static_cast<std::size_t>(i % test.at_once)].data();
    for (std::size_t done = 0; done < test.bytes;) {
      const std::size_t bytes = std::min(test.bytes - done, Sockets::kPayload);
      if (sends) {
        while (moved + bytes - taken.load(std::memory_order_relaxed) > window) {
        }
        side.send(message + done, bytes);
      } else if (side.take(message + done, bytes) == 0) {
        continue;
      }
      done += bytes;
      moved += bytes;
      if (!sends) taken.store(moved, std::memory_order_relaxed);
    }
  }
  while (taken.load(std::memory_order_relaxed) < moved) {
  }
  return test.count / seconds_since(begin);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "provider_pair PROVIDER bandwidth|rate|polling|blocking\n");
    return 2;
  }
  const std::string what = argv[2];
  Test test;
  if (what == "bandwidth") test = {.streams = true, .bytes = 1 << 20, .at_once = 16, .warm_up = 50, .count = 600};
  if (what == "rate") test = {.streams = true, .at_once = 64, .warm_up = 5000, .count = 200000};
  if (what == "polling") test = {.warm_up = 500, .count = 20000};
  if (what == "blocking") test = {.blocking = true, .warm_up = 500, .count = 10000};
  if (test.count == 0) return 2;
  int there[2];
  int back[2];
  if (pipe(there) != 0 || pipe(back) != 0) return 1;
  void* const shared =
      mmap(nullptr, sizeof(std::atomic<std::size_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  auto& taken = *new (shared) std::atomic<std::size_t>(0);
  const pid_t child = fork();
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  take_a_core(child == 0 ? 1 : 0);
  double result = 0;
  const bool first = child != 0;
  const int to = first ? there[1] : back[1];
  const int from = first ? back[0] : there[0];
  if (std::strcmp(argv[1], "sockets") == 0) {
    Sockets side(to, from);
    result = test.streams ? stream(side, first, test, taken) : bounce(side, first, test);
  } else {
    Side side(argv[1], test.blocking, to, from);
    result = test.streams ? stream(side, first, test) : bounce(side, first, test);
    // Nobody closes while the other still waits.
    char done = 0;
    if (write(to, &done, 1) != 1 || read(from, &done, 1) != 1) return 1;
  }
  if (child == 0) return 0;
  int status = 0;
  waitpid(child, &status, 0);
  if (what == "bandwidth") std::printf("%.1f\n", result * static_cast<double>(test.bytes) / 1e6);
  if (what == "rate") std::printf("%.0f\n", result);
  if (what == "polling" || what == "blocking") std::printf("%.3f\n", result * 1e6);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
