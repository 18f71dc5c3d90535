#pragma once
// libfabric's objects as this provider has them. Each begins with the struct that libfabric knows, so that a pointer to
// one is a pointer to the other. An endpoint's lock guards its wire and requests; that of a completion queue or counter
// is taken behind it and never the other way round.

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "endpoint/wire.hpp"
#include "net/address.hpp"
#include "provider/lock.hpp"

namespace weft::provider {

using endpoint::place_of;
using endpoint::Wire;

extern fi_provider the_provider;

// Of the interfaces that FI_WEFT_IFACE names, by name or address; an endpoint at the first has the others beside it.
std::vector<net::Address> wanted_addresses(int family);

template <class Object, class Fid>
Object& of(Fid* fid) {
  return *reinterpret_cast<Object*>(fid);
}

struct Endpoint;
struct Queue;

// A readable descriptor for whoever sleeps until there is something to do.
class Bell {
 public:
  Bell();
  ~Bell();
  Bell(const Bell&) = delete;
  void ring();
  void quiet();
  int fd() const { return epoll_; }
  void watch(int fd);
  void forget(int fd);
  // Also readable at this time, on CLOCK_MONOTONIC.
  void set_alarm(transport::Instant at);

 private:
  int epoll_;
  int event_;
  int timer_;
};

struct Fabric {
  fid_fabric self{};
};

struct Region {
  fid_mr self{};
  struct Domain* domain = nullptr;
  transport::rdm::Region what;
  struct Counter* changes = nullptr;  // by peers
};

struct Domain {
  fid_domain self{};
  Fabric* fabric = nullptr;
  bool virtual_addresses = false;
  bool provider_keys = false;
  std::mutex lock;
  std::vector<Endpoint*> endpoints;
  std::vector<Region*> regions;
  std::uint64_t next_key = 1;
};

struct AddressVector {
  fid_av self{};
  mutable std::mutex lock;
  std::vector<net::Address> addresses;  // by fi_addr_t; without a family: removed
  std::unordered_map<net::Address, fi_addr_t, net::AddressHash> names;
  struct EventQueue* events = nullptr;
  std::atomic<std::uint64_t> version{0};  // grows when an address goes

  bool find(fi_addr_t name, net::Address& out) const;
  fi_addr_t name_of(const net::Address& address) const;
};

struct EventQueue {
  fid_eq self{};
  struct Event {
    std::uint32_t type;
    fi_eq_entry entry;
    int error = 0;  // else: read by fi_eq_readerr
  };
  std::mutex lock;
  std::condition_variable came;
  std::deque<Event> events;
  void push(const Event& event);
};

struct Counter {
  fid_cntr self{};
  std::mutex lock;
  std::condition_variable changed;
  std::uint64_t value = 0;
  std::uint64_t errors = 0;
  std::vector<Endpoint*> endpoints;
  // That it is bound to: any endpoint of the domain may have something to tell.
  std::atomic<std::size_t> regions{0};
  Domain* domain = nullptr;
  void add(bool error);
  void progress();
};

struct Entry {
  void* context = nullptr;
  std::uint64_t flags = 0;
  std::size_t bytes = 0;
  void* place = nullptr;
  std::uint64_t data = 0;
  std::uint64_t tag = 0;
  fi_addr_t source = FI_ADDR_NOTAVAIL;
  int error = 0;  // FI_E...
  std::size_t cut = 0;
};

struct Queue {
  fid_cq self{};
  fi_cq_format format = FI_CQ_FORMAT_CONTEXT;
  Lock lock;
  std::deque<Entry> entries;
  std::atomic<std::size_t> waiting{0};  // entries, for who only wants to know whether there are any
  std::vector<Endpoint*> endpoints;
  Bell bell;
  bool signaled = false;
  bool armed = false;  // somebody may sleep on the bell
  std::atomic<std::uint32_t> polled_in_vain{0};
  void push(const Entry& entry);
};

struct PollSet {
  fid_poll self{};
  struct Member {
    fid* object;         // of a completion queue or a counter
    std::uint64_t seen;  // of a counter, what it was when it was last told of
  };
  std::mutex lock;
  std::vector<Member> members;
};

// What was asked of an endpoint, until it completes; its index is the message layer's context.
struct Request {
  void* context = nullptr;
  bool live = false;
  bool silent = false;  // a counter hears of it, and a queue only when it fails
  bool receives = false;
  bool tagged = false;
  std::uint64_t flags = 0;  // of its completion
};

struct Endpoint {
  fid_ep self{};
  Domain* domain = nullptr;
  fi_info* info = nullptr;
  AddressVector* av = nullptr;
  Queue* transmit_queue = nullptr;
  Queue* receive_queue = nullptr;
  bool transmit_selective = false;
  bool receive_selective = false;
  Counter* sends = nullptr;
  Counter* receives = nullptr;
  Counter* reads = nullptr;
  Counter* writes = nullptr;
  Counter* remote_reads = nullptr;
  Counter* remote_writes = nullptr;
  std::size_t least_left = 64;  // FI_OPT_MIN_MULTI_RECV

  Lock lock;
  std::unique_ptr<Wire> wire;
  bool enabled = false;
  std::deque<Request> requests;
  std::vector<std::uint32_t> free_requests;
  std::vector<std::uint32_t> peers;                     // by fi_addr_t
  std::vector<fi_addr_t> names;                         // by peer
  std::unordered_map<std::uint64_t, Counter*> changes;  // of regions that have one, by key
  std::uint64_t av_version = 0;

  std::thread helper;
  std::atomic<bool> stopping{false};
  std::atomic<int> sleepers{0};               // who waits for the wire by himself
  std::atomic<transport::Instant> called{0};  // when somebody last moved things
  Bell stop;

  // The time, at most a microsecond old: the clock itself would take a third of a look at shared memory. With the lock
  // held.
  std::uint64_t ticked = 0;
  transport::Instant time = 0;
  transport::Instant time_now();

  // With the lock held.
  bool peer_of(fi_addr_t name, std::uint32_t& peer);
  fi_addr_t name_of(std::uint32_t peer);
  std::uint32_t take_request(const Request& request);
  void give_back(std::uint32_t request);
  // Progress, and completions to where they are told.
  void move();
  void move_soon(std::uint32_t peer);

  void progress();
  bool busy() const;  // somebody else moves things
  void help();
  void add_region(const Region& region);
  void count_changes(const Region& region);
  bool remove_region(std::uint64_t key);

 private:
  void tell_ends();
  void tell(const transport::rdm::Completion& completion);
  void tell_target(const transport::rdm::Completion& completion);
  void tell_receiver(const transport::rdm::Completion& completion);
  void tell_sender(const transport::rdm::Completion& completion);
};

int error_of(transport::rdm::Error error);
// What a queue, a counter or a wait set needs before somebody sleeps on its bell.
bool arm(Queue& queue);

// info.cpp
int get_info(std::uint32_t version, const char* node, const char* service, std::uint64_t flags, const fi_info* hints,
             fi_info** info);
int to_address(const void* from, std::size_t bytes, net::Address& out);
int copy_address(const net::Address& from, void* to, std::size_t* bytes);

// Where objects are made.
int open_fabric(fi_fabric_attr* attr, fid_fabric** fabric, void* context);
int open_av(fid_domain* domain, fi_av_attr* attr, fid_av** av, void* context);
int open_queue(fid_domain* domain, fi_cq_attr* attr, fid_cq** cq, void* context);
int open_counter(fid_domain* domain, fi_cntr_attr* attr, fid_cntr** cntr, void* context);
int open_poll_set(fid_domain* domain, fi_poll_attr* attr, fid_poll** set);
int open_events(fid_fabric* fabric, fi_eq_attr* attr, fid_eq** eq, void* context);
int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** ep, void* context);
int query_atomic(fid_domain* domain, fi_datatype type, fi_op op, fi_atomic_attr* attr, std::uint64_t flags);
int try_wait(fid_fabric* fabric, fid** fids, int count);
extern fi_ops_mr region_ops;
extern fi_ops_msg message_ops;
extern fi_ops_tagged tagged_ops;
extern fi_ops_rma memory_ops;
extern fi_ops_atomic atomic_ops;

// For members of libfabric's tables that this provider has no use for.
template <class... Arguments>
int not_there(Arguments...) {
  return -FI_ENOSYS;
}
template <class... Arguments>
ssize_t not_there_either(Arguments...) {
  return -FI_ENOSYS;
}

}  // namespace weft::provider
