// What libfabric promises of an FI_EP_RDM endpoint, tried on two endpoints of this process through the public calls
// alone: nothing here knows weft. WEFT_TEST_PROVIDER names another provider to hold it against, such as "tcp;ofi_rxm".
//
//   ends[0] ──── datagrams ──── ends[1]

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

// Long, for machines with much else to do; WEFT_TEST_PATIENCE (seconds) is for providers of which much is known to
// fail.
const auto kPatience = std::chrono::seconds(
    std::getenv("WEFT_TEST_PATIENCE") != nullptr ? std::atoi(std::getenv("WEFT_TEST_PATIENCE")) : 20);

struct End {
  fid_ep* ep = nullptr;
  fid_cq* cq = nullptr;
  fid_av* av = nullptr;
  fid_cntr* sends = nullptr;
  fi_addr_t other = FI_ADDR_UNSPEC;
  fi_addr_t self = FI_ADDR_UNSPEC;
};

class Fabric : public testing::Test {
 protected:
  void SetUp() override {
    fi_info* hints = fi_allocinfo();
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV | FI_MULTI_RECV | FI_SOURCE | also_;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->domain_attr->mr_mode = 0;
    const char* name = std::getenv("WEFT_TEST_PROVIDER");
    hints->fabric_attr->prov_name = strdup(name != nullptr ? name : "weft");
    // Shared memory has names instead of addresses.
    const char* node = name != nullptr && std::strcmp(name, "shm") == 0 ? nullptr : "127.0.0.1";
    const int found = fi_getinfo(FI_VERSION(1, 17), node, nullptr, node != nullptr ? FI_SOURCE : 0, hints, &info_);
    fi_freeinfo(hints);
    if (found == -FI_ENODATA && also_ != 0 && name != nullptr) GTEST_SKIP() << "not offered";
    ASSERT_EQ(found, 0) << fi_strerror(-found);
    ASSERT_EQ(fi_fabric(info_->fabric_attr, &fabric_, nullptr), 0);
    ASSERT_EQ(fi_domain(fabric_, info_, &domain_, nullptr), 0);
    for (End& end : ends_) open(end);
    for (int i = 0; i < 2; ++i) {
      ends_[i].other = name_of(ends_[i], ends_[1 - i]);
      ends_[i].self = name_of(ends_[i], ends_[i]);
    }
  }
  void open(End& end) {
    fi_cq_attr queue{};
    queue.format = FI_CQ_FORMAT_TAGGED;
    queue.wait_obj = FI_WAIT_FD;
    fi_av_attr addresses{};
    addresses.type = FI_AV_TABLE;
    fi_cntr_attr counter{};
    waits_ = fi_cq_open(domain_, &queue, &end.cq, nullptr) == 0;
    queue.wait_obj = FI_WAIT_NONE;
    if (!waits_) {
      ASSERT_EQ(fi_cq_open(domain_, &queue, &end.cq, nullptr), 0);
    }
    ASSERT_EQ(fi_av_open(domain_, &addresses, &end.av, nullptr), 0);
    ASSERT_EQ(fi_cntr_open(domain_, &counter, &end.sends, nullptr), 0);
    ASSERT_EQ(fi_endpoint(domain_, info_, &end.ep, nullptr), 0);
    ASSERT_EQ(fi_ep_bind(end.ep, &end.cq->fid, FI_TRANSMIT | FI_RECV), 0);
    ASSERT_EQ(fi_ep_bind(end.ep, &end.av->fid, 0), 0);
    ASSERT_EQ(fi_ep_bind(end.ep, &end.sends->fid, FI_SEND), 0);
    bind_more(end);
    ASSERT_EQ(fi_enable(end.ep), 0);
  }
  virtual void bind_more(End&) {}
  static fi_addr_t name_of(End& at, End& whom) {
    char address[128];
    std::size_t bytes = sizeof(address);
    EXPECT_EQ(fi_getname(&whom.ep->fid, address, &bytes), 0);
    fi_addr_t name = FI_ADDR_UNSPEC;
    EXPECT_EQ(fi_av_insert(at.av, address, 1, &name, 0, nullptr), 1);
    return name;
  }
  template <class Object>
  static void close(Object* object) {
    if (object == nullptr) return;
    EXPECT_EQ(fi_close(&object->fid), 0);
  }
  void TearDown() override {
    for (End& end : ends_) {
      close(end.ep);
      close(end.sends);
      close(end.cq);
      close(end.av);
    }
    close(domain_);
    close(fabric_);
    fi_freeinfo(info_);
  }

  // A call may be refused for want of room, or of a connection.
  template <class Call>
  ssize_t again(Call call) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    ssize_t status = call();
    while (status == -FI_EAGAIN && std::chrono::steady_clock::now() < until) {
      for (const End& end : ends_) fi_cq_read(end.cq, nullptr, 0);
      status = call();
    }
    return status;
  }

  // The next completion at `end`; the other makes progress meanwhile, and keeps its own completions.
  fi_cq_tagged_entry next(int end, fi_addr_t* source = nullptr) {
    fi_cq_tagged_entry entry{};
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < until) {
      const ssize_t got =
          source != nullptr ? fi_cq_readfrom(ends_[end].cq, &entry, 1, source) : fi_cq_read(ends_[end].cq, &entry, 1);
      if (got == 1) return entry;
      if (got != -FI_EAGAIN) {
        ADD_FAILURE() << "completion queue: " << fi_strerror(static_cast<int>(-got));
        return entry;
      }
      fi_cq_read(ends_[1 - end].cq, nullptr, 0);
    }
    ADD_FAILURE() << "no completion came";
    return entry;
  }
  fi_cq_err_entry next_error(int end) {
    fi_cq_err_entry error{};
    fi_cq_tagged_entry entry{};
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < until) {
      const ssize_t got = fi_cq_read(ends_[end].cq, &entry, 1);
      if (got == -FI_EAVAIL) {
        EXPECT_EQ(fi_cq_readerr(ends_[end].cq, &error, 0), 1);
        return error;
      }
      EXPECT_EQ(got, -FI_EAGAIN);
      fi_cq_read(ends_[1 - end].cq, nullptr, 0);
    }
    ADD_FAILURE() << "no error came";
    return error;
  }
  fid_mr* region(std::string& text, std::uint64_t access, std::uint64_t key) {
    fid_mr* mr = nullptr;
    EXPECT_EQ(fi_mr_reg(domain_, text.data(), text.size(), access, 0, key, 0, &mr, nullptr), 0);
    return mr;
  }
  std::uint64_t address_in(const std::string& text) const {
    return info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? reinterpret_cast<std::uint64_t>(text.data()) : 0;
  }

  std::uint64_t also_ = 0;  // capabilities that not every provider has
  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  bool waits_ = false;  // queues have descriptors to wait on
  End ends_[2];
};

TEST_F(Fabric, TaggedMessagesOfAllSizesArriveWhole) {
  for (const std::size_t size : {0u, 1u, 8u, 1000u, 1300u, 9000u, 20000u, 300000u, 5000000u}) {
    std::string sent(size, 0);
    for (std::size_t i = 0; i < size; ++i) sent[i] = static_cast<char>(i * 7 + size);
    std::string got(size, '.');
    fi_context contexts[2];
    ASSERT_EQ(fi_trecv(ends_[1].ep, got.data(), size, nullptr, ends_[1].other, 77, 0, &contexts[1]), 0);
    ASSERT_EQ(again([&] {
                return fi_tsenddata(ends_[0].ep, sent.data(), size, nullptr, 5, ends_[0].other, 77, &contexts[0]);
              }),
              0);
    fi_addr_t source = FI_ADDR_UNSPEC;
    const fi_cq_tagged_entry in = next(1, &source);
    EXPECT_EQ(in.op_context, &contexts[1]);
    EXPECT_EQ(in.len, size);
    EXPECT_EQ(in.tag, 77u);
    EXPECT_EQ(in.data, 5u);
    EXPECT_EQ(source, ends_[1].other);
    EXPECT_TRUE((in.flags & FI_RECV) && (in.flags & FI_TAGGED) && (in.flags & FI_REMOTE_CQ_DATA));
    EXPECT_EQ(next(0).op_context, &contexts[0]);
    EXPECT_EQ(got, sent);
  }
  EXPECT_EQ(fi_cntr_read(ends_[0].sends), 9u);
}

TEST_F(Fabric, MessagesWithoutAReceiveWaitInOrder) {
  std::vector<std::string> sent;
  for (int i = 0; i < 40; ++i)
    sent.emplace_back(static_cast<std::size_t>(i % 4 == 3 ? 30000 : 100 * i + 1), static_cast<char>('a' + i % 26));
  for (std::string& each : sent) {
    ASSERT_EQ(
        again([&] { return fi_tsend(ends_[0].ep, each.data(), each.size(), nullptr, ends_[0].other, 3, nullptr); }), 0);
  }
  for (const std::string& each : sent) {
    std::string got(40000, '.');
    ASSERT_EQ(fi_trecv(ends_[1].ep, got.data(), got.size(), nullptr, FI_ADDR_UNSPEC, 0, ~0ull, nullptr), 0);
    const fi_cq_tagged_entry in = next(1);
    EXPECT_EQ(got.substr(0, in.len), each);
  }
}

TEST_F(Fabric, InjectedMemoryIsFreeAtOnceAndSelfIsAPeer) {
  std::string got(16, '.');
  ASSERT_EQ(fi_recv(ends_[0].ep, got.data(), got.size(), nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  std::string sent = "to myself";
  ASSERT_EQ(again([&] { return fi_inject(ends_[0].ep, sent.data(), sent.size(), ends_[0].self); }), 0);
  sent.assign(sent.size(), '!');
  EXPECT_EQ(next(0).len, 9u);
  EXPECT_EQ(got.substr(0, 9), "to myself");
}

TEST_F(Fabric, AMessageThatIsTooLongIsCutAndSaysSo) {
  std::string got(4, '.');
  std::string sent = "0123456789";
  fi_context context;
  ASSERT_EQ(fi_trecv(ends_[1].ep, got.data(), got.size(), nullptr, FI_ADDR_UNSPEC, 1, 0, &context), 0);
  ASSERT_EQ(again([&] { return fi_tsend(ends_[0].ep, sent.data(), sent.size(), nullptr, ends_[0].other, 1, nullptr); }),
            0);
  const fi_cq_err_entry error = next_error(1);
  EXPECT_EQ(error.err, FI_ETRUNC);
  EXPECT_EQ(error.olen, 6u);
  EXPECT_EQ(error.op_context, &context);
  EXPECT_EQ(got, "0123");
}

TEST_F(Fabric, PeekClaimAndDiscard) {
  for (const char* text : {"one", "two", "six"})
    ASSERT_EQ(again([&] { return fi_tinject(ends_[0].ep, text, 3, ends_[0].other, 9); }), 0);
  fi_context context{};
  fi_msg_tagged message{};
  message.addr = FI_ADDR_UNSPEC;
  message.tag = 9;
  message.context = &context;
  const auto look = [&](std::uint64_t flags) {  // until the message is there
    for (int i = 0; i < 1000000; ++i) {
      EXPECT_EQ(fi_trecvmsg(ends_[1].ep, &message, FI_PEEK | flags), 0);
      fi_cq_tagged_entry entry{};
      const ssize_t got = fi_cq_read(ends_[1].cq, &entry, 1);
      if (got == 1) return entry.len;
      fi_cq_err_entry error{};
      EXPECT_EQ(fi_cq_readerr(ends_[1].cq, &error, 0), 1);
      EXPECT_EQ(error.err, FI_ENOMSG);
      fi_cq_read(ends_[0].cq, nullptr, 0);
    }
    return std::size_t{0};
  };
  EXPECT_EQ(look(0), 3u);
  EXPECT_EQ(look(FI_CLAIM), 3u);
  std::string got(3, '.');
  iovec part{got.data(), got.size()};
  message.msg_iov = &part;
  message.iov_count = 1;
  ASSERT_EQ(fi_trecvmsg(ends_[1].ep, &message, FI_CLAIM), 0);
  EXPECT_EQ(next(1).op_context, &context);
  EXPECT_EQ(got, "one");
  message.iov_count = 0;
  EXPECT_EQ(look(FI_DISCARD), 3u);
  ASSERT_EQ(fi_trecv(ends_[1].ep, got.data(), 3, nullptr, FI_ADDR_UNSPEC, 9, 0, nullptr), 0);
  next(1);
  EXPECT_EQ(got, "six");
}

TEST_F(Fabric, ACanceledReceiveSaysSo) {
  char byte = 0;
  fi_context context;
  ASSERT_EQ(fi_trecv(ends_[1].ep, &byte, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, &context), 0);
  ASSERT_EQ(fi_cancel(&ends_[1].ep->fid, &context), 0);
  const fi_cq_err_entry error = next_error(1);
  EXPECT_EQ(error.err, FI_ECANCELED);
  EXPECT_EQ(error.op_context, &context);
}

TEST_F(Fabric, OneReceiveTakesManyMessages) {
  std::size_t least = 8;
  ASSERT_EQ(fi_setopt(&ends_[1].ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)), 0);
  std::string got(20, '.');
  iovec part{got.data(), got.size()};
  fi_msg message{};
  message.msg_iov = &part;
  message.iov_count = 1;
  message.addr = FI_ADDR_UNSPEC;
  ASSERT_EQ(fi_recvmsg(ends_[1].ep, &message, FI_MULTI_RECV), 0);
  for (const char* text : {"first ", "second "})
    ASSERT_EQ(again([&] { return fi_inject(ends_[0].ep, text, std::strlen(text), ends_[0].other); }), 0);
  bool released = false;
  std::size_t bytes = 0;
  while (!released && !HasFailure()) {
    const fi_cq_tagged_entry in = next(1);
    released = (in.flags & FI_MULTI_RECV) != 0;
    bytes += in.len;
  }
  EXPECT_EQ(bytes, 13u);
  EXPECT_EQ(got, "first second .......");
}

TEST_F(Fabric, MemoryIsWrittenReadAndTold) {
  for (const std::size_t size : {16u, 100000u}) {
    std::string memory(size, '.');
    std::string source(size, 'w');
    std::string copy(size, '?');
    fid_mr* mr = region(memory, FI_REMOTE_READ | FI_REMOTE_WRITE, 42);
    const std::uint64_t key = fi_mr_key(mr);
    ASSERT_EQ(again([&] {
                return fi_writedata(ends_[0].ep, source.data(), size, nullptr, 99, ends_[0].other, address_in(memory),
                                    key, nullptr);
              }),
              0);
    const fi_cq_tagged_entry told = next(1);
    EXPECT_TRUE((told.flags & FI_REMOTE_WRITE) && (told.flags & FI_REMOTE_CQ_DATA));
    EXPECT_EQ(told.data, 99u);
    EXPECT_EQ(memory, source);
    EXPECT_TRUE(next(0).flags & FI_WRITE);
    ASSERT_EQ(again([&] {
                return fi_read(ends_[0].ep, copy.data(), size, nullptr, ends_[0].other, address_in(memory), key,
                               nullptr);
              }),
              0);
    EXPECT_TRUE(next(0).flags & FI_READ);
    EXPECT_EQ(copy, source);
    EXPECT_EQ(fi_close(&mr->fid), 0);
  }
}

// Endpoints that are told when peers read and write their memory.
class RmaEvents : public Fabric {
 protected:
  struct Told {
    fid_cntr* reads = nullptr;
    fid_cntr* writes = nullptr;
  };
  RmaEvents() { also_ = FI_RMA_EVENT; }
  void bind_more(End& end) override {
    Told& told = told_[&end - ends_];
    fi_cntr_attr attributes{};
    ASSERT_EQ(fi_cntr_open(domain_, &attributes, &told.reads, nullptr), 0);
    ASSERT_EQ(fi_cntr_open(domain_, &attributes, &told.writes, nullptr), 0);
    ASSERT_EQ(fi_ep_bind(end.ep, &told.reads->fid, FI_REMOTE_READ), 0);
    ASSERT_EQ(fi_ep_bind(end.ep, &told.writes->fid, FI_REMOTE_WRITE), 0);
  }
  void TearDown() override {
    for (End& end : ends_) {
      close(end.ep);
      end.ep = nullptr;
    }
    for (Told& each : told_) {
      close(each.reads);
      close(each.writes);
    }
    if (domain_ != nullptr) Fabric::TearDown();
  }
  // By whoever waits for the counter alone: `other` moves as the provider has it.
  void expect(fid_cntr* counter, std::uint64_t value) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (fi_cntr_read(counter) < value && std::chrono::steady_clock::now() < until)
      fi_cq_read(ends_[0].cq, nullptr, 0);
    EXPECT_EQ(fi_cntr_read(counter), value);
    EXPECT_EQ(fi_cntr_readerr(counter), 0u);
  }
  Told told_[2];
};

TEST_F(RmaEvents, CountersTellTheTargetOfReadsAndWrites) {
  fid_ep* ep = ends_[0].ep;
  const fi_addr_t other = ends_[0].other;
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  for (const std::size_t size : {16u, 5000u, 100000u}) {
    SCOPED_TRACE(testing::Message() << size << " bytes");
    std::string memory(size, '.');
    std::string source(size, 'w');
    std::string copy(size, '?');
    fid_mr* mr = region(memory, FI_REMOTE_READ | FI_REMOTE_WRITE, 50);
    const std::uint64_t at = address_in(memory);
    const std::uint64_t key = fi_mr_key(mr);
    ASSERT_EQ(again([&] { return fi_write(ep, source.data(), size, nullptr, other, at, key, nullptr); }), 0);
    expect(told_[1].writes, ++writes);
    EXPECT_EQ(memory, source) << "told before the bytes were there";
    EXPECT_TRUE(next(0).flags & FI_WRITE);
    ASSERT_EQ(again([&] { return fi_read(ep, copy.data(), size, nullptr, other, at, key, nullptr); }), 0);
    expect(told_[1].reads, ++reads);
    EXPECT_TRUE(next(0).flags & FI_READ);
    EXPECT_EQ(copy, source);
    ASSERT_EQ(again([&] { return fi_inject_write(ep, "in", 2, other, at, key); }), 0);
    expect(told_[1].writes, ++writes);
    fi_cq_tagged_entry none{};
    EXPECT_EQ(fi_cq_read(ends_[1].cq, &none, 1), -FI_EAGAIN) << "a queue is told of writes with data only";
    ASSERT_EQ(again([&] { return fi_writedata(ep, source.data(), size, nullptr, 7, other, at, key, nullptr); }), 0);
    EXPECT_EQ(next(1).data, 7u);
    expect(told_[1].writes, ++writes);
    next(0);
    EXPECT_EQ(fi_close(&mr->fid), 0);
  }
  // What is refused has not happened, and who asks is not the target.
  ASSERT_EQ(again([&] { return fi_write(ep, "x", 1, nullptr, other, 0, 12345, nullptr); }), 0);
  EXPECT_EQ(next_error(0).err, FI_EACCES);
  expect(told_[1].writes, writes);
  expect(told_[1].reads, reads);
  expect(told_[0].writes, 0);
  expect(told_[0].reads, 0);
}

TEST_F(RmaEvents, MessagesThatAreFetchedAreNoReadsOfMemory) {
  std::string sent(300000, 's');
  std::string got(300000, '.');
  ASSERT_EQ(fi_trecv(ends_[1].ep, got.data(), got.size(), nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr), 0);
  ASSERT_EQ(again([&] { return fi_tsend(ends_[0].ep, sent.data(), sent.size(), nullptr, ends_[0].other, 1, nullptr); }),
            0);
  next(1);
  next(0);
  for (const Told& each : told_) {
    expect(each.reads, 0);
    expect(each.writes, 0);
  }
}

// Those that bring something back are reads; a region's counter is told of what changed it.
TEST_F(RmaEvents, AtomicsAreToldAsReadsOrWritesAndRegionsOfChanges) {
  fid_ep* ep = ends_[0].ep;
  const fi_addr_t other = ends_[0].other;
  std::string memory(8, 0);
  fid_mr* mr = region(memory, FI_REMOTE_READ | FI_REMOTE_WRITE, 51);
  fid_cntr* changes = nullptr;
  fi_cntr_attr attributes{};
  attributes.wait_obj = FI_WAIT_UNSPEC;
  ASSERT_EQ(fi_cntr_open(domain_, &attributes, &changes, nullptr), 0);
  EXPECT_NE(fi_mr_bind(mr, &changes->fid, FI_SEND), 0);
  ASSERT_EQ(fi_mr_bind(mr, &changes->fid, FI_REMOTE_WRITE), 0);
  const std::uint64_t at = address_in(memory);
  const std::uint64_t key = fi_mr_key(mr);
  std::uint64_t operand = 5;
  std::uint64_t comparand = 10;
  std::uint64_t before = 77;
  const auto done = [&](std::uint64_t reads, std::uint64_t writes, std::uint64_t changed) {
    next(0);
    EXPECT_EQ(fi_cntr_wait(changes, changed, 20000), 0);  // whom nobody else moves
    expect(told_[1].reads, reads);
    expect(told_[1].writes, writes);
    expect(changes, changed);
  };
  ASSERT_EQ(again([&] { return fi_atomic(ep, &operand, 1, nullptr, other, at, key, FI_UINT64, FI_SUM, nullptr); }), 0);
  done(0, 1, 1);
  ASSERT_EQ(again([&] {
              return fi_fetch_atomic(ep, &operand, 1, nullptr, &before, nullptr, other, at, key, FI_UINT64, FI_SUM,
                                     nullptr);
            }),
            0);
  done(1, 1, 2);
  ASSERT_EQ(again([&] {
              return fi_fetch_atomic(ep, nullptr, 1, nullptr, &before, nullptr, other, at, key, FI_UINT64,
                                     FI_ATOMIC_READ, nullptr);
            }),
            0);
  done(2, 1, 2);
  EXPECT_EQ(before, 10u);
  ASSERT_EQ(again([&] {
              return fi_compare_atomic(ep, &operand, 1, nullptr, &comparand, nullptr, &before, nullptr, other, at, key,
                                       FI_UINT64, FI_CSWAP, nullptr);
            }),
            0);
  done(3, 1, 3);
  ASSERT_EQ(again([&] { return fi_write(ep, &operand, 8, nullptr, other, at, key, nullptr); }), 0);
  done(3, 2, 4);
  ASSERT_EQ(again([&] { return fi_read(ep, &before, 8, nullptr, other, at, key, nullptr); }), 0);
  next(0);
  expect(told_[1].reads, 4);
  expect(changes, 4);
  EXPECT_EQ(fi_close(&changes->fid), -FI_EBUSY) << "while the region has it";
  EXPECT_EQ(fi_close(&mr->fid), 0);
  EXPECT_EQ(fi_close(&changes->fid), 0);
}

TEST_F(Fabric, AKeyThatNamesNothingIsAnError) {
  std::string source(10, 'w');
  ASSERT_EQ(again([&] { return fi_write(ends_[0].ep, source.data(), 10, nullptr, ends_[0].other, 0, 12345, nullptr); }),
            0);
  EXPECT_EQ(next_error(0).err, FI_EACCES);
}

TEST_F(Fabric, AtomicsAddAndSwap) {
  std::string memory(8, 0);
  fid_mr* mr = region(memory, FI_REMOTE_READ | FI_REMOTE_WRITE, 43);
  std::uint64_t operand = 5;
  std::uint64_t before = 77;
  ASSERT_EQ(again([&] {
              return fi_fetch_atomic(ends_[0].ep, &operand, 1, nullptr, &before, nullptr, ends_[0].other,
                                     address_in(memory), fi_mr_key(mr), FI_UINT64, FI_SUM, nullptr);
            }),
            0);
  next(0);
  EXPECT_EQ(before, 0u);
  std::uint64_t comparand = 5;
  operand = 9;
  ASSERT_EQ(again([&] {
              return fi_compare_atomic(ends_[0].ep, &operand, 1, nullptr, &comparand, nullptr, &before, nullptr,
                                       ends_[0].other, address_in(memory), fi_mr_key(mr), FI_UINT64, FI_CSWAP, nullptr);
            }),
            0);
  next(0);
  EXPECT_EQ(before, 5u);
  EXPECT_EQ(memory[0], 9);
  EXPECT_EQ(fi_close(&mr->fid), 0);
}

TEST_F(Fabric, WaitingSleepsUntilSomethingCame) {
  ASSERT_TRUE(waits_);
  char byte = 0;
  fi_cq_tagged_entry entry{};
  EXPECT_EQ(fi_cq_sread(ends_[1].cq, &entry, 1, nullptr, 20), -FI_EAGAIN);
  ASSERT_EQ(fi_recv(ends_[1].ep, &byte, 1, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  ASSERT_EQ(again([&] { return fi_inject(ends_[0].ep, "x", 1, ends_[0].other); }), 0);
  fi_cq_read(ends_[0].cq, nullptr, 0);
  EXPECT_EQ(fi_cq_sread(ends_[1].cq, &entry, 1, nullptr, 20000), 1);
  EXPECT_EQ(byte, 'x');
  int fd = -1;
  ASSERT_EQ(fi_control(&ends_[1].cq->fid, FI_GETWAIT, &fd), 0);
  fid* queue = &ends_[1].cq->fid;
  ASSERT_EQ(fi_recv(ends_[1].ep, &byte, 1, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  ASSERT_EQ(again([&] { return fi_inject(ends_[0].ep, "y", 1, ends_[0].other); }), 0);
  ssize_t got = -FI_EAGAIN;
  for (int i = 0; i < 1000 && got == -FI_EAGAIN; ++i) {
    pollfd wait{fd, POLLIN, 0};
    if (fi_trywait(fabric_, &queue, 1) == 0) poll(&wait, 1, 1000);
    got = fi_cq_read(ends_[1].cq, &entry, 1);
  }
  EXPECT_EQ(got, 1);
  EXPECT_EQ(byte, 'y');
}

// A third endpoint, with a queue of another format or a vector of another kind.
struct Third {
  fid_ep* ep = nullptr;
  fid_cq* cq = nullptr;
  fid_av* av = nullptr;
};

TEST_F(Fabric, EveryFormatOfCompletionsIsTheOthersBeginning) {
  for (const fi_cq_format format : {FI_CQ_FORMAT_CONTEXT, FI_CQ_FORMAT_MSG, FI_CQ_FORMAT_DATA, FI_CQ_FORMAT_TAGGED}) {
    SCOPED_TRACE(testing::Message() << "format " << format);
    Third third;
    fi_cq_attr queue{};
    queue.format = format;
    fi_av_attr addresses{};
    addresses.type = FI_AV_TABLE;
    ASSERT_EQ(fi_cq_open(domain_, &queue, &third.cq, nullptr), 0);
    ASSERT_EQ(fi_av_open(domain_, &addresses, &third.av, nullptr), 0);
    ASSERT_EQ(fi_endpoint(domain_, info_, &third.ep, nullptr), 0);
    ASSERT_EQ(fi_ep_bind(third.ep, &third.cq->fid, FI_TRANSMIT | FI_RECV), 0);
    ASSERT_EQ(fi_ep_bind(third.ep, &third.av->fid, 0), 0);
    ASSERT_EQ(fi_enable(third.ep), 0);
    End as_end;
    as_end.ep = third.ep;
    as_end.av = third.av;
    const fi_addr_t name = name_of(ends_[0], as_end);
    name_of(as_end, ends_[0]);
    std::string got(8, '.');
    fi_context context;
    ASSERT_EQ(fi_trecv(third.ep, got.data(), got.size(), nullptr, FI_ADDR_UNSPEC, 6, 0, &context), 0);
    const auto send = [&] {
      fi_cq_read(third.cq, nullptr, 0);
      return fi_tinject(ends_[0].ep, "format", 6, name, 6);
    };
    ASSERT_EQ(again(send), 0);
    fi_cq_tagged_entry entry{};
    entry.len = entry.tag = 12345;
    ssize_t read = -FI_EAGAIN;
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (read == -FI_EAGAIN && std::chrono::steady_clock::now() < until) {
      read = fi_cq_read(third.cq, &entry, 1);
      fi_cq_read(ends_[0].cq, nullptr, 0);
    }
    EXPECT_EQ(read, 1);
    EXPECT_EQ(entry.op_context, &context);
    EXPECT_EQ(entry.len, format == FI_CQ_FORMAT_CONTEXT ? 12345u : 6u);
    EXPECT_EQ(entry.tag, format == FI_CQ_FORMAT_TAGGED ? 6u : 12345u);
    close(third.ep);
    close(third.cq);
    close(third.av);
  }
}

TEST_F(Fabric, VectorsAreMapsOrTables) {
  for (const fi_av_type type : {FI_AV_MAP, FI_AV_TABLE}) {
    fid_av* av = nullptr;
    fi_av_attr attributes{};
    attributes.type = type;
    ASSERT_EQ(fi_av_open(domain_, &attributes, &av, nullptr), 0);
    char address[128] = {};
    std::size_t bytes = sizeof address;
    ASSERT_EQ(fi_getname(&ends_[1].ep->fid, address, &bytes), 0);
    fi_addr_t name = FI_ADDR_UNSPEC;
    ASSERT_EQ(fi_av_insert(av, address, 1, &name, 0, nullptr), 1);
    if (type == FI_AV_TABLE) {
      EXPECT_EQ(name, 0u);
    }
    char found[128] = {};
    std::size_t length = sizeof found;
    EXPECT_EQ(fi_av_lookup(av, name, found, &length), 0);
    EXPECT_EQ(length, bytes);
    EXPECT_EQ(std::memcmp(found, address, bytes), 0);
    EXPECT_EQ(fi_av_remove(av, &name, 1, 0), 0);
    close(av);
  }
}

// Of several addresses each is judged by itself: one that is none is said at its place, at once or by an event.
TEST_F(Fabric, AnAddressThatIsNoneIsSaidAtItsPlace) {
  if (info_->addr_format != FI_SOCKADDR_IN) GTEST_SKIP() << "addresses are names";
  std::array<sockaddr_in, 2> addresses{};
  std::size_t bytes = sizeof addresses[0];
  ASSERT_EQ(fi_getname(&ends_[1].ep->fid, addresses.data(), &bytes), 0);
  std::array<fi_addr_t, 2> names{};
  std::array<int, 2> errors = {-1, -1};
  fid_av* av = nullptr;
  fi_av_attr attributes{};
  attributes.type = FI_AV_TABLE;
  ASSERT_EQ(fi_av_open(domain_, &attributes, &av, nullptr), 0);
  EXPECT_EQ(fi_av_insert(av, addresses.data(), 2, names.data(), FI_SYNC_ERR, errors.data()), 1);
  EXPECT_EQ(errors[0], 0);
  EXPECT_GT(errors[1], 0);
  EXPECT_EQ(names[1], FI_ADDR_NOTAVAIL);
  close(av);

  fid_eq* events = nullptr;
  fi_eq_attr waits{};
  waits.wait_obj = FI_WAIT_UNSPEC;
  ASSERT_EQ(fi_eq_open(fabric_, &waits, &events, nullptr), 0);
  attributes.flags = FI_EVENT;
  ASSERT_EQ(fi_av_open(domain_, &attributes, &av, nullptr), 0);
  ASSERT_EQ(fi_av_bind(av, &events->fid, 0), 0);
  int mine = 0;
  EXPECT_EQ(fi_av_insert(av, addresses.data(), 2, names.data(), 0, &mine), 0);
  std::uint32_t event = 0;
  fi_eq_entry entry{};
  EXPECT_EQ(fi_eq_sread(events, &event, &entry, sizeof entry, 1000, 0), -FI_EAVAIL);
  fi_eq_err_entry error{};
  EXPECT_GT(fi_eq_readerr(events, &error, 0), 0);
  EXPECT_GT(error.err, 0);
  EXPECT_EQ(error.data, 1u);
  EXPECT_EQ(error.context, &mine);
  EXPECT_EQ(fi_eq_sread(events, &event, &entry, sizeof entry, 1000, 0), static_cast<ssize_t>(sizeof entry));
  EXPECT_EQ(event, static_cast<std::uint32_t>(FI_AV_COMPLETE));
  EXPECT_EQ(entry.data, 1u) << "so many are in it";
  close(av);
  close(events);
}

TEST_F(Fabric, APollSetSaysWhichQueuesAndCountersHaveNews) {
  fi_poll_attr attributes{};
  fid_poll* set = nullptr;
  ASSERT_EQ(fi_poll_open(domain_, &attributes, &set), 0);
  // By the contexts that they were opened with.
  fid_cq* queue = ends_[1].cq;
  fid_cntr* sends = ends_[0].sends;
  int mine = 0, counted = 0;
  queue->fid.context = &mine;
  sends->fid.context = &counted;
  ASSERT_EQ(fi_poll_add(set, &queue->fid, 0), 0);
  ASSERT_EQ(fi_poll_add(set, &sends->fid, 0), 0);
  std::array<void*, 4> found{};
  EXPECT_EQ(fi_poll(set, found.data(), 4), 0);
  char text[8] = "news";
  char room[8] = {};
  ASSERT_EQ(fi_trecv(ends_[1].ep, room, sizeof room, nullptr, FI_ADDR_UNSPEC, 5, 0, nullptr), 0);
  bool queue_told = false, counter_told = false;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  ssize_t sent = -FI_EAGAIN;  // some connect first, and only when the program calls
  while (sent == -FI_EAGAIN && std::chrono::steady_clock::now() < until) {
    sent = fi_tsend(ends_[0].ep, text, sizeof text, nullptr, ends_[0].other, 5, nullptr);
    fi_cq_tagged_entry none{};
    if (sent == -FI_EAGAIN) fi_cq_read(ends_[0].cq, &none, 1);
    if (sent == -FI_EAGAIN) fi_poll(set, found.data(), 4);
  }
  ASSERT_EQ(sent, 0);
  while (!(queue_told && counter_told) && std::chrono::steady_clock::now() < until) {
    const int count = fi_poll(set, found.data(), 4);
    for (int i = 0; i < count; ++i) (found[static_cast<std::size_t>(i)] == &mine ? queue_told : counter_told) = true;
  }
  EXPECT_TRUE(queue_told);
  EXPECT_TRUE(counter_told);
  fi_cq_tagged_entry entry{};
  EXPECT_EQ(fi_cq_read(queue, &entry, 1), 1);
  EXPECT_EQ(fi_poll(set, found.data(), 4), 0) << "nothing new since";
  EXPECT_EQ(fi_poll_del(set, &queue->fid, 0), 0);
  EXPECT_EQ(fi_poll_del(set, &sends->fid, 0), 0);
  EXPECT_EQ(fi_close(&set->fid), 0);
}

// An fi_info with a port makes endpoints: the first has it, and each says where it is.
TEST_F(Fabric, SeveralEndpointsOfOneInfoAreAtDifferentAddresses) {
  if (info_->addr_format != FI_SOCKADDR_IN) GTEST_SKIP() << "addresses are names";
  std::array<fid_ep*, 2> endpoints{};
  std::array<sockaddr_in, 2> addresses{};
  fi_info* info = fi_dupinfo(info_);
  sockaddr_in taken{};
  std::size_t bytes = sizeof taken;
  ASSERT_EQ(fi_getname(&ends_[0].ep->fid, &taken, &bytes), 0);
  std::memcpy(info->src_addr, &taken, sizeof taken);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(fi_endpoint(domain_, info, &endpoints[i], nullptr), 0);
    ASSERT_EQ(fi_ep_bind(endpoints[i], &ends_[0].av->fid, 0), 0);
    ASSERT_EQ(fi_ep_bind(endpoints[i], &ends_[0].cq->fid, FI_TRANSMIT | FI_RECV), 0);
    ASSERT_EQ(fi_enable(endpoints[i]), 0);
    bytes = sizeof addresses[i];
    ASSERT_EQ(fi_getname(&endpoints[i]->fid, &addresses[i], &bytes), 0);
  }
  EXPECT_NE(addresses[0].sin_port, addresses[1].sin_port);
  EXPECT_NE(addresses[0].sin_port, taken.sin_port);
  for (fid_ep* each : endpoints) close(each);
  fi_freeinfo(info);
}

// Programs ask again with what they were given.
TEST_F(Fabric, WhatWasOfferedMayBeAskedFor) {
  fi_info* hints = fi_dupinfo(info_);
  fi_info* found = nullptr;
  EXPECT_EQ(fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &found), 0);
  fi_freeinfo(hints);
  fi_freeinfo(found);
}

// What a domain is asked for and cannot do is a reason to offer none.
TEST_F(Fabric, ACapabilityOfDomainsThatIsNotThereIsRefused) {
  fi_info* hints = fi_dupinfo(info_);
  hints->domain_attr->caps = FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SHARED_AV;
  fi_info* found = nullptr;
  const int status = fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &found);
  EXPECT_TRUE(status == -FI_ENODATA || (found->domain_attr->caps & FI_SHARED_AV) != 0);
  fi_freeinfo(hints);
  fi_freeinfo(found);
}

TEST_F(Fabric, CountersCountAndCanBeWaitedFor) {
  fid_cntr* writes = nullptr;
  fi_cntr_attr attributes{};
  attributes.wait_obj = FI_WAIT_UNSPEC;
  ASSERT_EQ(fi_cntr_open(domain_, &attributes, &writes, nullptr), 0);
  Third third;
  fi_cq_attr queue{};
  fi_av_attr addresses{};
  addresses.type = FI_AV_TABLE;
  ASSERT_EQ(fi_cq_open(domain_, &queue, &third.cq, nullptr), 0);
  ASSERT_EQ(fi_av_open(domain_, &addresses, &third.av, nullptr), 0);
  ASSERT_EQ(fi_endpoint(domain_, info_, &third.ep, nullptr), 0);
  // Completions only where asked for: the counter tells.
  ASSERT_EQ(fi_ep_bind(third.ep, &third.cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION), 0);
  ASSERT_EQ(fi_ep_bind(third.ep, &third.av->fid, 0), 0);
  ASSERT_EQ(fi_ep_bind(third.ep, &writes->fid, FI_WRITE), 0);
  ASSERT_EQ(fi_enable(third.ep), 0);
  End as_end;
  as_end.ep = third.ep;
  as_end.av = third.av;
  const fi_addr_t name = name_of(as_end, ends_[1]);
  std::string memory(64, '.');
  std::string source(8, 'w');
  fid_mr* mr = region(memory, FI_REMOTE_READ | FI_REMOTE_WRITE, 44);
  for (int i = 0; i < 8; ++i) {
    ssize_t status = -FI_EAGAIN;
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (status == -FI_EAGAIN && std::chrono::steady_clock::now() < end) {
      status = fi_write(third.ep, source.data(), 8, nullptr, name, address_in(memory) + 8 * static_cast<unsigned>(i),
                        fi_mr_key(mr), nullptr);
      fi_cntr_read(writes);
      fi_cq_read(ends_[1].cq, nullptr, 0);
    }
    ASSERT_EQ(status, 0);
  }
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (fi_cntr_read(writes) < 8 && std::chrono::steady_clock::now() < until) fi_cq_read(ends_[1].cq, nullptr, 0);
  EXPECT_EQ(fi_cntr_wait(writes, 8, 1000), 0);
  EXPECT_EQ(fi_cntr_read(writes), 8u);
  EXPECT_EQ(fi_cntr_readerr(writes), 0u);
  fi_cq_entry none{};
  EXPECT_EQ(fi_cq_read(third.cq, &none, 1), -FI_EAGAIN);
  EXPECT_EQ(memory, std::string(64, 'w'));
  ASSERT_EQ(fi_cntr_set(writes, 100), 0);
  ASSERT_EQ(fi_cntr_add(writes, 5), 0);
  const auto soon = std::chrono::steady_clock::now() + kPatience;
  while (fi_cntr_read(writes) != 105 && std::chrono::steady_clock::now() < soon) {
  }
  EXPECT_EQ(fi_cntr_read(writes), 105u);
  close(third.ep);
  close(writes);
  close(third.cq);
  close(third.av);
  EXPECT_EQ(fi_close(&mr->fid), 0);
}

// Who only computes answers all the same, where the provider says that progress is its own business.
TEST_F(Fabric, APeerThatMakesNoCallAnswers) {
  if (info_->domain_attr->data_progress != FI_PROGRESS_AUTO) GTEST_SKIP() << "progress is the program's business";
  std::string memory(100000, 'm');
  std::string copy(100000, '?');
  fid_mr* mr = region(memory, FI_REMOTE_READ, 45);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  ssize_t status = -FI_EAGAIN;
  fi_cq_tagged_entry entry{};
  while (status == -FI_EAGAIN && std::chrono::steady_clock::now() < until) {
    status = fi_read(ends_[0].ep, copy.data(), copy.size(), nullptr, ends_[0].other, address_in(memory), fi_mr_key(mr),
                     nullptr);
    if (status == -FI_EAGAIN) fi_cq_read(ends_[0].cq, nullptr, 0);
  }
  ASSERT_EQ(status, 0);
  ssize_t got = -FI_EAGAIN;
  while (got == -FI_EAGAIN && std::chrono::steady_clock::now() < until) got = fi_cq_read(ends_[0].cq, &entry, 1);
  EXPECT_EQ(got, 1);
  EXPECT_EQ(copy, memory);
  EXPECT_EQ(fi_close(&mr->fid), 0);
}

TEST_F(Fabric, ManyThreadsMaySendAtOnce) {
  if (info_->domain_attr->threading != FI_THREAD_SAFE) GTEST_SKIP() << "threads are the program's business";
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  std::vector<std::uint64_t> got(kThreads * kEach);
  for (std::uint64_t& each : got)
    ASSERT_EQ(fi_trecv(ends_[1].ep, &each, sizeof each, nullptr, FI_ADDR_UNSPEC, 0, ~0ull, nullptr), 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const auto value = static_cast<std::uint64_t>(t * kEach + i);
        while (fi_tinject(ends_[0].ep, &value, sizeof value, ends_[0].other, value) == -FI_EAGAIN)
          fi_cq_read(ends_[0].cq, nullptr, 0);
      }
    });
  for (std::size_t i = 0; i < got.size(); ++i) next(1);
  for (std::thread& each : threads) each.join();
  std::sort(got.begin(), got.end());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i);
}

TEST_F(Fabric, AnEventTellsOfAddresses) {
  fid_eq* events = nullptr;
  fi_eq_attr attributes{};
  attributes.wait_obj = FI_WAIT_UNSPEC;
  ASSERT_EQ(fi_eq_open(fabric_, &attributes, &events, nullptr), 0);
  std::uint32_t event = 0;
  fi_eq_entry entry{};
  EXPECT_EQ(fi_eq_read(events, &event, &entry, sizeof entry, 0), -FI_EAGAIN);
  entry.data = 77;
  ASSERT_EQ(fi_eq_write(events, FI_NOTIFY, &entry, sizeof entry, 0), static_cast<ssize_t>(sizeof entry));
  entry.data = 0;
  EXPECT_EQ(fi_eq_sread(events, &event, &entry, sizeof entry, 1000, 0), static_cast<ssize_t>(sizeof entry));
  EXPECT_EQ(event, static_cast<std::uint32_t>(FI_NOTIFY));
  EXPECT_EQ(entry.data, 77u);
  EXPECT_EQ(fi_close(&events->fid), 0);
}

// Who asks for FI_MR_BASIC gets keys of the provider's choice, and names memory by its addresses.
TEST(Regions, BasicOnesHaveKeysAndAddressesOfTheProvider) {
  fi_info* hints = fi_allocinfo();
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG | FI_RMA;
  hints->domain_attr->mr_mode = FI_MR_BASIC;
  const char* name = std::getenv("WEFT_TEST_PROVIDER");
  hints->fabric_attr->prov_name = strdup(name != nullptr ? name : "weft");
  fi_info* info = nullptr;
  const int found = fi_getinfo(FI_VERSION(1, 4), nullptr, nullptr, 0, hints, &info);
  fi_freeinfo(hints);
  if (found == -FI_ENODATA) GTEST_SKIP() << "no FI_MR_BASIC here";
  ASSERT_EQ(found, 0);
  EXPECT_EQ(info->domain_attr->mr_mode, static_cast<int>(FI_MR_BASIC));
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
  ASSERT_EQ(fi_fabric(info->fabric_attr, &fabric, nullptr), 0);
  ASSERT_EQ(fi_domain(fabric, info, &domain, nullptr), 0);
  std::string memory(100, 'm');
  fid_mr* first = nullptr;
  fid_mr* second = nullptr;
  ASSERT_EQ(fi_mr_reg(domain, memory.data(), 50, FI_REMOTE_READ, 0, 7, 0, &first, nullptr), 0);
  ASSERT_EQ(fi_mr_reg(domain, memory.data() + 50, 50, FI_REMOTE_READ, 0, 7, 0, &second, nullptr), 0);
  EXPECT_NE(fi_mr_key(first), fi_mr_key(second));
  EXPECT_EQ(fi_close(&first->fid), 0);
  EXPECT_EQ(fi_close(&second->fid), 0);
  EXPECT_EQ(fi_close(&domain->fid), 0);
  EXPECT_EQ(fi_close(&fabric->fid), 0);
  fi_freeinfo(info);
}

}  // namespace
