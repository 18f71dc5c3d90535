// The calls that NCCL makes of a network plugin, made without NCCL and without a GPU, by each version of the interface.
//
//   NIC 0 (127.0.0.1) ──── datagrams ──── NIC 1 (127.0.0.2)
//
// Both are this process's; where a process has to die or to sleep, it is another one. WEFT_NCCL_PLUGIN names the
// library.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "nccl/abi.hpp"

namespace weft::nccl {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(30);

std::string& warnings() {
  static std::string text;
  return text;
}
void collect(int level, unsigned long, const char*, int, const char*, ...) {
  if (level == kLogWarn) warnings() += "warned;";
}

// A table of one version, with the arguments that all of them have.
struct Net {
  std::string name;
  std::function<int()> init;
  std::function<int(int*)> devices;
  std::function<int(int, PropertiesV11*)> properties;
  std::function<int(int, void*, void**)> listen;
  std::function<int(int, void*, void**)> connect;
  std::function<int(void*, void**)> accept;
  std::function<int(void*, void*, std::size_t, int, void**)> reg;
  std::function<int(void*, void*)> dereg;
  std::function<int(void*, void*, std::size_t, void*, void**)> send;
  std::function<int(void*, int, void*, std::size_t, void*, void**)> receive;
  std::function<int(void*, void*, std::size_t, void*, void**)> flush;
  std::function<int(void*, int*, int*)> test;
  std::function<int(void*)> close_sender, close_receiver, close_listener;
  std::function<int()> finish = [] { return 0; };
};

template <class Table>
void take_common(Net& net, const Table& table) {
  net.name = table.name;
  net.devices = table.devices;
  net.accept = [&](void* listener, void** out) {
    DeviceHandle* none = nullptr;
    return table.accept(listener, out, &none);
  };
  net.reg = table.register_memory;
  net.dereg = table.deregister;
  net.flush = [&](void* comm, void* data, std::size_t size, void* memory, void** request) {
    int bytes = static_cast<int>(size);
    return table.flush(comm, 1, &data, &bytes, &memory, request);
  };
  net.test = table.test;
  net.close_sender = table.close_sender;
  net.close_receiver = table.close_receiver;
  net.close_listener = table.close_listener;
}

Net net_of(const TableV8& table) {
  Net net;
  take_common(net, table);
  net.init = [&] { return table.init(collect); };
  net.properties = [&](int device, PropertiesV11* out) {
    PropertiesV8 old{};
    const int status = table.get_properties(device, &old);
    *out = {};
    out->name = old.name;
    out->memory = old.memory;
    out->speed = old.speed;
    out->most_comms = old.most_comms;
    out->most_receives = old.most_receives;
    out->parts = {1, {device}};
    out->most_bytes = 1;
    return status;
  };
  net.listen = table.listen;
  net.connect = [&](int device, void* handle, void** out) {
    DeviceHandle* none = nullptr;
    return table.connect(device, handle, out, &none);
  };
  net.send = [&](void* comm, void* data, std::size_t size, void* memory, void** request) {
    return table.send(comm, data, static_cast<int>(size), 0, memory, request);
  };
  net.receive = [&](void* comm, int n, void* data, std::size_t size, void* memory, void** request) {
    int bytes = static_cast<int>(size);
    int tag = 0;
    return table.receive(comm, n, &data, &bytes, &tag, &memory, request);
  };
  return net;
}

Net net_of(const TableV9& table) {
  Net net;
  take_common(net, table);
  net.init = [&] { return table.init(collect); };
  net.properties = [&](int device, PropertiesV11* out) { return table.get_properties(device, out); };
  net.listen = table.listen;
  net.connect = [&](int device, void* handle, void** out) {
    DeviceHandle* none = nullptr;
    return table.connect(device, handle, out, &none);
  };
  net.send = [&](void* comm, void* data, std::size_t size, void* memory, void** request) {
    return table.send(comm, data, size, 0, memory, request);
  };
  net.receive = [&](void* comm, int n, void* data, std::size_t size, void* memory, void** request) {
    int tag = 0;
    return table.receive(comm, n, &data, &size, &tag, &memory, request);
  };
  return net;
}

// Versions 10 and 11 hand events of a profiler along.
template <class Table>
void take_events(Net& net, const Table& table) {
  net.send = [&](void* comm, void* data, std::size_t size, void* memory, void** request) {
    return table.send(comm, data, size, 0, memory, nullptr, request);
  };
  net.receive = [&](void* comm, int n, void* data, std::size_t size, void* memory, void** request) {
    int tag = 0;
    void* event = nullptr;
    return table.receive(comm, n, &data, &size, &tag, &memory, &event, request);
  };
}

Net net_of(const TableV10& table) {
  Net net;
  take_common(net, table);
  take_events(net, table);
  net.init = [&] { return table.init(collect, nullptr); };
  net.properties = [&](int device, PropertiesV11* out) { return table.get_properties(device, out); };
  net.listen = table.listen;
  net.connect = [&](int device, void* handle, void** out) {
    DeviceHandle* none = nullptr;
    CommConfig config{-1};
    return table.connect(device, &config, handle, out, &none);
  };
  return net;
}

Net net_of(const TableV11& table) {
  static void* context = nullptr;
  Net net;
  take_common(net, table);
  take_events(net, table);
  net.init = [&] {
    CommConfig config{-1};
    return table.init(&context, 7, &config, collect, nullptr);
  };
  net.properties = table.get_properties;
  net.listen = [&](int device, void* handle, void** out) { return table.listen(context, device, handle, out); };
  net.connect = [&](int device, void* handle, void** out) {
    DeviceHandle* none = nullptr;
    return table.connect(context, device, handle, out, &none);
  };
  net.finish = [&] {
    Attributes attributes{};
    return table.set_attributes(context, &attributes) + table.finalize(context);
  };
  return net;
}

void* library() {
  const char* path = std::getenv("WEFT_NCCL_PLUGIN");
  static void* const loaded = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  return loaded;
}

template <class Table>
const Table& table_of(const char* name) {
  return *static_cast<const Table*>(dlsym(library(), name));
}

Net load(int version) {
  switch (version) {
    case 8:
      return net_of(table_of<TableV8>("ncclNetPlugin_v8"));
    case 9:
      return net_of(table_of<TableV9>("ncclNetPlugin_v9"));
    case 10:
      return net_of(table_of<TableV10>("ncclNetPlugin_v10"));
    default:
      return net_of(table_of<TableV11>("ncclNetPlugin_v11"));
  }
}

struct Pair {
  void* sender = nullptr;
  void* receiver = nullptr;
};

std::string pattern(std::size_t size, std::size_t seed) {
  std::string text(size, 0);
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + i / 251 + seed);
  return text;
}

class Plugin : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    ASSERT_NE(library(), nullptr) << dlerror();
    net_ = load(GetParam());
    ASSERT_EQ(net_.init(), kSuccess);
    warnings().clear();
    memory_ = &any_;
  }
  void TearDown() override {
    for (const Pair& each : pairs_) {
      EXPECT_EQ(net_.close_sender(each.sender), kSuccess);
      EXPECT_EQ(net_.close_receiver(each.receiver), kSuccess);
    }
    EXPECT_EQ(net_.finish(), kSuccess);
  }

  Pair open(int from, int to) {
    std::array<char, kHandleBytes> handle{};
    void* listener = nullptr;
    EXPECT_EQ(net_.listen(to, handle.data(), &listener), kSuccess);
    Pair pair;
    EXPECT_EQ(net_.accept(listener, &pair.receiver), kSuccess);
    EXPECT_EQ(pair.receiver, nullptr) << "nobody has connected yet";
    const auto until = Clock::now() + kPatience;
    while ((pair.sender == nullptr || pair.receiver == nullptr) && Clock::now() < until) {
      if (pair.sender == nullptr) {
        EXPECT_EQ(net_.connect(from, handle.data(), &pair.sender), kSuccess);
      }
      if (pair.receiver == nullptr) {
        EXPECT_EQ(net_.accept(listener, &pair.receiver), kSuccess);
      }
    }
    EXPECT_NE(pair.sender, nullptr);
    EXPECT_NE(pair.receiver, nullptr);
    EXPECT_EQ(net_.close_listener(listener), kSuccess);
    pairs_.push_back(pair);
    return pair;
  }
  void* posted(const Pair& pair, std::string& to) {
    void* request = nullptr;
    EXPECT_EQ(net_.receive(pair.receiver, 1, to.data(), to.size(), memory_, &request), kSuccess);
    EXPECT_NE(request, nullptr);
    return request;
  }
  // NCCL asks again where there is no request.
  void* sent(const Pair& pair, std::string& from) {
    void* request = nullptr;
    const auto until = Clock::now() + kPatience;
    while (request == nullptr && Clock::now() < until)
      EXPECT_EQ(net_.send(pair.sender, from.data(), from.size(), memory_, &request), kSuccess);
    EXPECT_NE(request, nullptr);
    return request;
  }
  int finished(void* request) {
    int done = 0;
    int size = -1;
    const auto until = Clock::now() + kPatience;
    while (done == 0 && Clock::now() < until) {
      const int status = net_.test(request, &done, &size);
      EXPECT_EQ(status, kSuccess);
      if (status != kSuccess) return -1;
    }
    EXPECT_EQ(done, 1);
    return size;
  }

  Net net_;
  std::vector<Pair> pairs_;
  char any_ = 0;
  void* memory_ = nullptr;
};

TEST_P(Plugin, SaysWhatItCanDo) {
  EXPECT_EQ(net_.name, "weft");
  int count = 0;
  ASSERT_EQ(net_.devices(&count), kSuccess);
  EXPECT_EQ(count, 2);
  PropertiesV11 properties{};
  ASSERT_EQ(net_.properties(1, &properties), kSuccess);
  EXPECT_STREQ(properties.name, "127.0.0.2");
  EXPECT_EQ(properties.memory, kHostMemory);
  EXPECT_EQ(properties.most_receives, 1);
  EXPECT_GT(properties.speed, 0);
  EXPECT_GT(properties.most_comms, 1000);
  EXPECT_GT(properties.most_bytes, 0u);
  EXPECT_EQ(properties.parts.count, 1);
  EXPECT_EQ(properties.parts.devices[0], 1);
}

TEST_P(Plugin, MessagesOfAllSizesArriveWhole) {
  const Pair pair = open(0, 1);
  for (const std::size_t size : {0u, 1u, 8u, 1000u, 1300u, 20000u, 524288u, 5000000u, 40000000u}) {
    std::string out = pattern(size, size);
    std::string in(size + 100, '.');
    void* memory = nullptr;
    ASSERT_EQ(net_.reg(pair.sender, out.data(), size, kHostMemory, &memory), kSuccess);
    void* const receive = posted(pair, in);
    void* const send = sent(pair, out);
    EXPECT_EQ(finished(receive), static_cast<int>(size));
    EXPECT_EQ(finished(send), static_cast<int>(size));
    EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin())) << size;
    EXPECT_EQ(in.substr(size), std::string(100, '.'));
    EXPECT_EQ(net_.dereg(pair.sender, memory), kSuccess);
    void* flushed = &any_;
    EXPECT_EQ(net_.flush(pair.receiver, in.data(), size, memory_, &flushed), kSuccess);
    EXPECT_EQ(flushed, nullptr);  // nothing to wait for
  }
}

TEST_P(Plugin, NothingIsSentThatNobodyWaitsFor) {
  const Pair pair = open(0, 1);
  std::string out = "early";
  void* request = &any_;
  const auto until = Clock::now() + std::chrono::milliseconds(50);
  while (Clock::now() < until) {
    ASSERT_EQ(net_.send(pair.sender, out.data(), out.size(), memory_, &request), kSuccess);
    ASSERT_EQ(request, nullptr);
  }
  std::string in(5, '.');
  void* const receive = posted(pair, in);
  void* const send = sent(pair, out);
  EXPECT_EQ(finished(receive), 5);
  finished(send);
  EXPECT_EQ(in, "early");
}

TEST_P(Plugin, ManyRequestsOfManyChannelsBothWays) {
  constexpr std::size_t kChannels = 6;
  constexpr std::size_t kMessages = 60;
  constexpr std::size_t kAtOnce = 32;
  struct Way {
    Pair pair;
    std::vector<std::string> out, in;
    std::deque<void*> sends, receives;
    std::size_t posted = 0, sent = 0, over = 0;
  };
  std::vector<Way> ways(kChannels);
  for (std::size_t i = 0; i < kChannels; ++i) {
    ways[i].pair = open(static_cast<int>(i % 2), static_cast<int>(1 - i % 2));
    for (std::size_t n = 0; n < kMessages; ++n) {
      ways[i].out.push_back(pattern((n * 7919 + i * 104729) % (n % 5 == 0 ? 300000 : 3000), n + i));
      ways[i].in.emplace_back(300000, '.');
    }
  }
  const auto until = Clock::now() + kPatience;
  std::size_t left = kChannels;
  while (left > 0 && Clock::now() < until) {
    left = 0;
    for (Way& way : ways) {
      if (way.posted < kMessages && way.receives.size() < kAtOnce)
        way.receives.push_back(posted(way.pair, way.in[way.posted++]));
      void* request = nullptr;
      if (way.sent < kMessages && way.sends.size() < kAtOnce) {
        std::string& out = way.out[way.sent];
        ASSERT_EQ(net_.send(way.pair.sender, out.data(), out.size(), memory_, &request), kSuccess);
      }
      if (request != nullptr) way.sends.push_back(request), ++way.sent;
      int done = 0;
      int size = 0;
      if (!way.sends.empty()) {
        ASSERT_EQ(net_.test(way.sends.front(), &done, &size), kSuccess);
      }
      if (done != 0) way.sends.pop_front();
      done = 0;
      if (!way.receives.empty()) {
        ASSERT_EQ(net_.test(way.receives.front(), &done, &size), kSuccess);
      }
      if (done != 0) {
        way.receives.pop_front();
        ASSERT_EQ(way.in[way.over].substr(0, static_cast<std::size_t>(size)), way.out[way.over]);
        ++way.over;
      }
      left += way.over < kMessages || !way.sends.empty();
    }
  }
  EXPECT_EQ(left, 0u);
}

TEST_P(Plugin, MisuseIsAnErrorWithAWarning) {
  const Pair pair = open(0, 1);
  const auto refused = [&](int status, int expected) {
    EXPECT_EQ(status, expected);
    EXPECT_EQ(warnings(), "warned;");
    warnings().clear();
  };
  PropertiesV11 properties{};
  refused(net_.properties(2, &properties), kInvalidArgument);
  std::array<char, kHandleBytes> foreign{};
  void* comm = &any_;
  refused(net_.connect(0, foreign.data(), &comm), kInvalidUsage);
  EXPECT_EQ(comm, nullptr);
  void* memory = &any_;
  refused(net_.reg(pair.sender, &any_, 1, 2, &memory), kInvalidUsage);
  void* request = &any_;
  refused(net_.receive(pair.receiver, 2, &any_, 1, memory_, &request), kInvalidUsage);
  EXPECT_EQ(request, nullptr);
  std::string in(4, '.');
  std::string out = "too long";
  void* const receive = posted(pair, in);
  void* const send = sent(pair, out);
  finished(send);
  int done = 0;
  int status = kSuccess;
  const auto until = Clock::now() + kPatience;
  while (done == 0 && status == kSuccess && Clock::now() < until) status = net_.test(receive, &done, nullptr);
  refused(status, kInvalidUsage);
  EXPECT_EQ(in, "too ");
}

TEST_P(Plugin, ClosingInMidTransferHoldsNothing) {
  const Pair pair = open(0, 1);
  std::string in(1 << 20, '.');
  posted(pair, in);
  posted(pair, in);
  std::string out = pattern(in.size(), 1);
  sent(pair, out);
  EXPECT_EQ(net_.close_receiver(pair.receiver), kSuccess);
  in.assign(in.size(), '!');
  EXPECT_EQ(net_.close_sender(pair.sender), kSuccess);
  pairs_.clear();
  const Pair next = open(0, 1);
  std::string fresh(10, '.');
  void* const receive = posted(next, fresh);
  std::string text = "0123456789";
  void* const send = sent(next, text);
  EXPECT_EQ(finished(receive), 10);
  finished(send);
  EXPECT_EQ(fresh, text);
  EXPECT_EQ(in, std::string(in.size(), '!'));
}

INSTANTIATE_TEST_SUITE_P(Versions, Plugin, testing::Values(8, 9, 10, 11), testing::PrintToStringParamName());

// ---- two processes

// A process that accepts, posts receives, and then does what it is told: sleeps and tests them, or sleeps for ever.
class Processes : public testing::Test {
 protected:
  void begin(int sleep_seconds) {
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    child_ = fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      _exit(other(pipes[1], sleep_seconds));
    }
    close(pipes[1]);
    ASSERT_EQ(read(pipes[0], handle_.data(), handle_.size()), static_cast<ssize_t>(handle_.size()));
    close(pipes[0]);
    net_ = load(11);
    ASSERT_EQ(net_.init(), kSuccess);
    ASSERT_EQ(net_.connect(1, handle_.data(), &sender_), kSuccess);
    ASSERT_NE(sender_, nullptr);
  }
  static int other(int pipe, int sleep_seconds) {
    Net net = load(11);
    std::array<char, kHandleBytes> handle{};
    void* listener = nullptr;
    void* receiver = nullptr;
    if (net.init() != kSuccess || net.listen(0, handle.data(), &listener) != kSuccess) return 2;
    if (write(pipe, handle.data(), handle.size()) != static_cast<ssize_t>(handle.size())) return 3;
    while (receiver == nullptr)
      if (net.accept(listener, &receiver) != kSuccess) return 4;
    std::vector<std::string> in(2, std::string(100000, '.'));
    std::array<void*, 2> requests{};
    char any = 0;
    for (std::size_t i = 0; i < 2; ++i)
      if (net.receive(receiver, 1, in[i].data(), in[i].size(), &any, &requests[i]) != kSuccess) return 5;
    std::this_thread::sleep_for(std::chrono::seconds(sleep_seconds));
    for (std::size_t i = 0; i < 2; ++i)
      for (int done = 0; done == 0;)
        if (net.test(requests[i], &done, nullptr) != kSuccess) return 6;
    if (in[0] != pattern(100000, 0) || in[1] != pattern(100000, 1)) return 7;
    return net.close_receiver(receiver) == kSuccess && net.close_listener(listener) == kSuccess ? 0 : 8;
  }
  void* sent(std::string& out) {
    void* request = nullptr;
    const auto until = Clock::now() + kPatience;
    while (request == nullptr && Clock::now() < until)
      EXPECT_EQ(net_.send(sender_, out.data(), out.size(), this, &request), kSuccess);
    return request;
  }

  Net net_;
  pid_t child_ = -1;
  std::array<char, kHandleBytes> handle_{};
  void* sender_ = nullptr;
};

// Longer than a peer may be silent before it counts as dead.
TEST_F(Processes, OneThatCallsNothingForLongIsAlive) {
  begin(10);
  std::string first = pattern(100000, 0);
  std::string second = pattern(100000, 1);
  void* const request = sent(first);
  for (int done = 0; done == 0;) ASSERT_EQ(net_.test(request, &done, nullptr), kSuccess);
  std::this_thread::sleep_for(std::chrono::seconds(9));
  void* const later = sent(second);
  for (int done = 0; done == 0;) ASSERT_EQ(net_.test(later, &done, nullptr), kSuccess);
  int status = -1;
  EXPECT_EQ(waitpid(child_, &status, 0), child_);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(net_.close_sender(sender_), kSuccess);
}

TEST_F(Processes, OneThatWasKilledIsAnError) {
  begin(1000);
  std::string out = pattern(100000, 0);
  void* const request = sent(out);
  for (int done = 0; done == 0;) ASSERT_EQ(net_.test(request, &done, nullptr), kSuccess);
  ASSERT_EQ(kill(child_, SIGKILL), 0);
  waitpid(child_, nullptr, 0);
  // What is sent next fails at once, where it was heard already, or in the end.
  void* last = nullptr;
  int status = kSuccess;
  int done = 0;
  const auto until = Clock::now() + kPatience;
  while (status == kSuccess && Clock::now() < until) {
    status =
        last == nullptr ? net_.send(sender_, out.data(), out.size(), this, &last) : net_.test(last, &done, nullptr);
    ASSERT_FALSE(done != 0 && status == kSuccess);
  }
  EXPECT_EQ(status, kRemoteError);
  void* request_after = nullptr;
  EXPECT_EQ(net_.send(sender_, out.data(), out.size(), this, &request_after), kRemoteError);
  EXPECT_EQ(net_.close_sender(sender_), kSuccess);
}

}  // namespace
}  // namespace weft::nccl
