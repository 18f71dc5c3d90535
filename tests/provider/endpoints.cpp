// Many endpoints that exchange tagged messages for as long as one likes: provider_endpoints
//   [--endpoints 200] [--processes 4] [--peers 0] [--rate 0] [--seconds 10] [--provider weft]
//
// Endpoints are spread over processes; each sends messages of 0 to 200,000 bytes to peers that it draws (`--peers`: its
// next ones only), `--rate` of them per second where that is not 0. Length and contents of every message follow from
// who sent it to whom and its number, so that its receiver can tell; and at the end every message must have come once.
// Between half of the time and its end no process may hold more memory (5 %), descriptors or threads.
//
// Exits 1 when something is wrong. tests/CMakeLists.txt runs it for seconds, docs/provider.md has a long run.

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostEndpoints = 1024;
constexpr int kMostProcesses = 64;
constexpr int kReceives = 8;  // that an endpoint has posted
constexpr int kSends = 4;     // that it has under way
constexpr std::size_t kLongest = 200000;
constexpr auto kPatience = std::chrono::seconds(60);
// How long a process sleeps where nothing comes. A look at 50 endpoints costs more than a message: who has a rate to
// keep sleeps longer.
constexpr int kNap = 1;  // ms
constexpr int kLongNap = 20;

struct Options {
  int endpoints = 200;
  int processes = 4;
  int peers = 0;
  int rate = 0;
  int seconds = 10;
  std::string provider = "weft";
};

// What went from one endpoint to another; the sum tells a message that came twice from another that did not come.
struct Tally {
  std::atomic<std::uint64_t> messages;
  std::atomic<std::uint64_t> numbers;
};

// What the processes have in common. Memory that was mapped is 0, which is how each of these begins.
struct Shared {
  char addresses[kMostEndpoints][128];
  std::atomic<int> open;     // processes that have said where their endpoints are
  std::atomic<int> quiet;    // that send no more
  std::atomic<int> content;  // that have got all that was sent to them
  std::atomic<std::uint64_t> messages;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> wrong;
  Tally sent[kMostEndpoints][kMostEndpoints];  // from, to
  Tally got[kMostEndpoints][kMostEndpoints];
};

void check(long status, const char* what) {
  if (status >= 0) return;
  std::fprintf(stderr, "%s: %s\n", what, fi_strerror(static_cast<int>(-status)));
  std::exit(1);
}

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

// Of a message, by who sends it to whom and its number.
std::uint64_t seed_of(int from, int to, std::uint64_t number) {
  return mixed(number * kMostEndpoints * kMostEndpoints + static_cast<std::uint64_t>(from * kMostEndpoints + to) + 1);
}
// Most are short; some go by themselves, and a few are fetched by their receiver.
std::size_t length_of(std::uint64_t seed) {
  const std::size_t most = seed % 64 == 0 ? kLongest : seed % 8 == 0 ? 16384 : 600;
  return (seed >> 8) % (most + 1);
}
void fill(std::uint64_t* words, std::size_t bytes, std::uint64_t seed) {
  for (std::size_t i = 0; i * 8 < bytes; ++i) words[i] = seed + i * 0x9E3779B97F4A7C15u;
}

class Process {
 public:
  Process(const Options& options, int index, Shared& shared)
      : options_(options),
        shared_(shared),
        first_(options.endpoints * index / options.processes),
        random_(mixed(static_cast<std::uint64_t>(index) + 77)) {
    open();
    for (int i = first_; i < options.endpoints * (index + 1) / options.processes; ++i) {
      ends_.push_back(std::make_unique<End>());
      open(*ends_.back(), i);
    }
    ++shared_.open;
    while (shared_.open < options_.processes) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    names_.resize(static_cast<std::size_t>(options_.endpoints));
    for (int i = 0; i < options_.endpoints; ++i)
      check(fi_av_insert(av_, shared_.addresses[i], 1, &names_[static_cast<std::size_t>(i)], 0, nullptr) - 1,
            "fi_av_insert");
  }
  ~Process() {
    for (const auto& each : ends_) fi_close(&each->ep->fid);
    fi_close(&cq_->fid);
    fi_close(&av_->fid);
    fi_close(&domain_->fid);
    fi_close(&fabric_->fid);
    fi_freeinfo(info_);
  }

  bool run() {
    begin_ = Clock::now();
    const auto end = begin_ + std::chrono::seconds(options_.seconds);
    for (const auto& each : ends_)
      for (Slot& slot : each->receives) post(*each, slot);
    while (Clock::now() < end) {
      for (const auto& each : ends_)
        for (Slot& slot : each->sends)
          if (!slot.busy && may_send(*each)) send(*each, slot);
      turn();
    }
    const auto limit = Clock::now() + kPatience;
    while (sending_ > 0 && Clock::now() < limit) turn();
    ++shared_.quiet;
    // Others still send, and who is done answers them.
    bool content = false;
    while (shared_.content < options_.processes && Clock::now() < limit) {
      turn();
      if (content || shared_.quiet < options_.processes || !got_all()) continue;
      content = true;
      ++shared_.content;
    }
    return content && sending_ == 0;
  }

 private:
  struct End;
  struct Slot {
    fi_context2 context;  // first: completions name the slot by it
    End* end = nullptr;
    bool busy = false;
    std::uint64_t* memory = nullptr;
  };
  struct End {
    fid_ep* ep = nullptr;
    int number = 0;
    std::uint64_t sent = 0;
    std::vector<Slot> sends{kSends};
    std::vector<Slot> receives{kReceives};
    std::vector<std::uint64_t> memory = std::vector<std::uint64_t>((kSends + kReceives) * (kLongest / 8 + 1));
  };

  void open() {
    fi_info* hints = fi_allocinfo();
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_TAGGED;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->domain_attr->mr_mode = 0;
    hints->fabric_attr->prov_name = strdup(options_.provider.c_str());
    check(fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", nullptr, FI_SOURCE, hints, &info_), "fi_getinfo");
    fi_freeinfo(hints);
    check(fi_fabric(info_->fabric_attr, &fabric_, nullptr), "fi_fabric");
    check(fi_domain(fabric_, info_, &domain_, nullptr), "fi_domain");
    fi_cq_attr queue{};
    queue.format = FI_CQ_FORMAT_TAGGED;
    queue.size = 65536;
    queue.wait_obj = FI_WAIT_FD;
    check(fi_cq_open(domain_, &queue, &cq_, nullptr), "fi_cq_open");
    fi_av_attr addresses{};
    addresses.type = FI_AV_UNSPEC;
    check(fi_av_open(domain_, &addresses, &av_, nullptr), "fi_av_open");
  }
  void open(End& end, int number) {
    end.number = number;
    std::uint64_t* memory = end.memory.data();
    for (auto* slots : {&end.sends, &end.receives})
      for (Slot& slot : *slots) {
        slot.end = &end;
        slot.memory = memory;
        memory += kLongest / 8 + 1;
      }
    check(fi_endpoint(domain_, info_, &end.ep, nullptr), "fi_endpoint");
    check(fi_ep_bind(end.ep, &cq_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    check(fi_ep_bind(end.ep, &av_->fid, 0), "fi_ep_bind");
    check(fi_enable(end.ep), "fi_enable");
    std::size_t length = sizeof shared_.addresses[number];
    check(fi_getname(&end.ep->fid, shared_.addresses[number], &length), "fi_getname");
  }

  std::uint64_t draw() { return mixed(random_ += 0x9E3779B97F4A7C15u); }
  bool may_send(const End& end) const {
    if (options_.rate == 0) return true;
    const double passed = std::chrono::duration<double>(Clock::now() - begin_).count();
    return static_cast<double>(end.sent) < passed * options_.rate;
  }
  void send(End& end, Slot& slot) {
    const auto others = static_cast<std::uint64_t>(options_.endpoints - 1);
    const std::uint64_t among = options_.peers > 0 ? static_cast<std::uint64_t>(options_.peers) : others;
    const int to = (end.number + 1 + static_cast<int>(draw() % among)) % options_.endpoints;
    Tally& tally = shared_.sent[end.number][to];
    const std::uint64_t number = tally.messages + 1;
    const std::uint64_t seed = seed_of(end.number, to, number);
    const std::size_t bytes = length_of(seed);
    fill(slot.memory, bytes, seed);
    const std::uint64_t tag = number << 16 | static_cast<std::uint64_t>(end.number);
    const ssize_t status =
        fi_tsend(end.ep, slot.memory, bytes, nullptr, names_[static_cast<std::size_t>(to)], tag, &slot.context);
    if (status == -FI_EAGAIN) return;
    check(status, "fi_tsend");
    slot.busy = true;
    ++sending_;
    ++end.sent;
    ++tally.messages;
    tally.numbers += number;
  }
  void post(End& end, Slot& slot) {
    check(fi_trecv(end.ep, slot.memory, kLongest, nullptr, FI_ADDR_UNSPEC, 0, ~0ull, &slot.context), "fi_trecv");
  }

  // Takes what has come, or sleeps for a moment.
  void turn() {
    fi_cq_tagged_entry entries[64];
    const ssize_t got = fi_cq_sread(cq_, entries, 64, nullptr, options_.rate > 0 ? kLongNap : kNap);
    if (got == -FI_EAGAIN || got == -FI_EINTR) return;
    if (got == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      fi_cq_readerr(cq_, &error, 0);
      check(-error.err, "completion");
    }
    check(got, "fi_cq_sread");
    for (ssize_t i = 0; i < got; ++i) {
      Slot& slot = *reinterpret_cast<Slot*>(entries[i].op_context);
      if (entries[i].flags & FI_RECV) {
        judge(*slot.end, entries[i], slot);
        post(*slot.end, slot);
      } else {
        slot.busy = false;
        --sending_;
      }
    }
  }
  void judge(const End& end, const fi_cq_tagged_entry& entry, const Slot& slot) {
    const int from = static_cast<int>(entry.tag & 0xFFFF);
    const std::uint64_t number = entry.tag >> 16;
    ++shared_.messages;
    shared_.bytes += entry.len;
    const std::uint64_t seed = seed_of(from, end.number, number);
    bool right = from < options_.endpoints && entry.len == length_of(seed);
    if (right) {
      fill(expected_.data(), entry.len, seed);
      right = std::memcmp(slot.memory, expected_.data(), entry.len) == 0;
      Tally& tally = shared_.got[from][end.number];
      ++tally.messages;
      tally.numbers += number;
    }
    shared_.wrong += !right;
  }
  bool got_all() const {
    for (const auto& each : ends_)
      for (int from = 0; from < options_.endpoints; ++from) {
        const Tally& sent = shared_.sent[from][each->number];
        const Tally& got = shared_.got[from][each->number];
        if (sent.messages != got.messages || sent.numbers != got.numbers) return false;
      }
    return true;
  }

  const Options& options_;
  Shared& shared_;
  int first_;
  std::uint64_t random_;
  Clock::time_point begin_;
  int sending_ = 0;
  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_cq* cq_ = nullptr;
  fid_av* av_ = nullptr;
  std::vector<std::unique_ptr<End>> ends_;
  std::vector<fi_addr_t> names_;
  std::vector<std::uint64_t> expected_ = std::vector<std::uint64_t>(kLongest / 8 + 1);
};

// What a process holds.
struct Holding {
  long kilobytes = 0;
  long descriptors = 0;
  long threads = 0;
};

Holding holding_of(pid_t process) {
  const std::string at = "/proc/" + std::to_string(process);
  Holding holding;
  std::ifstream status(at + "/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") status >> holding.kilobytes;
    if (word == "Threads:") status >> holding.threads;
  }
  std::error_code ignored;
  for (std::filesystem::directory_iterator it(at + "/fd", ignored), end; it != end; it.increment(ignored))
    ++holding.descriptors;
  return holding;
}

// One line of where things stand; what each process holds.
std::vector<Holding> report(const std::vector<pid_t>& processes, const Shared& shared, long seconds) {
  std::vector<Holding> each;
  Holding all;
  for (const pid_t process : processes) {
    each.push_back(holding_of(process));
    all.kilobytes += each.back().kilobytes;
    all.descriptors += each.back().descriptors;
    all.threads += each.back().threads;
  }
  std::printf("%5ld s: %llu messages, %llu MB, %llu wrong; %ld MB of memory, %ld descriptors, %ld threads\n", seconds,
              static_cast<unsigned long long>(shared.messages), static_cast<unsigned long long>(shared.bytes / 1000000),
              static_cast<unsigned long long>(shared.wrong), all.kilobytes / 1000, all.descriptors, all.threads);
  std::fflush(stdout);
  return each;
}

bool grown(const std::vector<Holding>& before, const std::vector<Holding>& after) {
  bool any = false;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool more = after[i].kilobytes > before[i].kilobytes * 105 / 100 ||
                      after[i].descriptors > before[i].descriptors || after[i].threads > before[i].threads;
    if (more)
      std::printf("process %zu has grown: %ld to %ld kB, %ld to %ld descriptors, %ld to %ld threads\n", i,
                  before[i].kilobytes, after[i].kilobytes, before[i].descriptors, after[i].descriptors,
                  before[i].threads, after[i].threads);
    any = any || more;
  }
  return any;
}

bool read_options(int argc, char** argv, Options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    int* number = name == "--endpoints"   ? &options.endpoints
                  : name == "--processes" ? &options.processes
                  : name == "--peers"     ? &options.peers
                  : name == "--rate"      ? &options.rate
                  : name == "--seconds"   ? &options.seconds
                                          : nullptr;
    if (number != nullptr)
      *number = std::atoi(argv[i + 1]);
    else if (name == "--provider")
      options.provider = argv[i + 1];
    else
      return false;
  }
  return argc % 2 == 1 && options.endpoints >= 2 && options.endpoints <= kMostEndpoints && options.processes >= 1 &&
         options.processes <= std::min(kMostProcesses, options.endpoints) && options.peers >= 0 &&
         options.peers < options.endpoints && options.rate >= 0 && options.seconds >= 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!read_options(argc, argv, options)) {
    std::fprintf(stderr,
                 "provider_endpoints [--endpoints 200] [--processes 4] [--peers 0] [--rate 0] [--seconds 10] "
                 "[--provider weft]\n");
    return 2;
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  Shared& shared = *static_cast<Shared*>(memory);
  std::vector<pid_t> processes;
  for (int i = 0; i < options.processes; ++i) {
    const pid_t child = fork();
    if (child > 0) processes.push_back(child);
    if (child != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bool good = false;
    {
      Process process(options, i, shared);
      good = process.run();
    }
    std::_Exit(good ? 0 : 1);
  }
  const auto opened = Clock::now();
  while (shared.open < options.processes && Clock::now() - opened < kPatience)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const auto begin = Clock::now();
  std::vector<Holding> half;
  std::vector<Holding> last;
  const long every = std::max(1, options.seconds / 12);
  for (long second = 1; second < options.seconds; ++second) {
    std::this_thread::sleep_until(begin + std::chrono::seconds(second));
    const bool is_half = second == (options.seconds + 1) / 2;
    const bool is_last = second == options.seconds - 1;
    if (!is_half && !is_last && second % every != 0) continue;
    last = report(processes, shared, second);
    if (is_half) half = last;
  }
  bool good = half.empty() || !grown(half, last);
  for (const pid_t process : processes) {
    int status = 0;
    waitpid(process, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) good = false;
  }
  std::printf("%d endpoints in %d processes: %llu messages, %llu MB, %llu wrong: %s\n", options.endpoints,
              options.processes, static_cast<unsigned long long>(shared.messages),
              static_cast<unsigned long long>(shared.bytes / 1000000), static_cast<unsigned long long>(shared.wrong),
              good && shared.wrong == 0 && shared.messages > 0 ? "ok" : "failed");
  return good && shared.wrong == 0 && shared.messages > 0 ? 0 : 1;
}
