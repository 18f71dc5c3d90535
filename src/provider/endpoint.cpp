// Endpoints: how they come and go, who moves their bytes, and how ends are told.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "net/control.hpp"
#include "provider/objects.hpp"

namespace weft::provider {

using transport::Instant;
using transport::rdm::Completion;
using transport::rdm::Error;

namespace {

constexpr Instant kIdle = 200 * (net::kMillisecond / 1000);  // nobody has called: the helper takes over
constexpr Instant kSoon = 20 * (net::kMillisecond / 1000);   // what was posted waits no longer for company
constexpr Instant kLinger = net::kSecond;                    // for what peers still wait for, when an endpoint closes
constexpr int kLongestSleep = 100;                           // ms
// While the program calls, a helper looks each millisecond whether it still does; of many, each more rarely, or 200
// would keep a core busy with that.
constexpr int kLooksPerMillisecond = 4;
std::atomic<int> helpers{0};  // of this process

}  // namespace

int error_of(Error error) {
  switch (error) {
    case Error::none:
      return 0;
    case Error::truncated:
      return FI_ETRUNC;
    case Error::canceled:
      return FI_ECANCELED;
    case Error::peer_lost:
      return FI_ECONNRESET;
    case Error::bad_access:
      return FI_EACCES;
    case Error::unsupported:
      return FI_EOPNOTSUPP;
  }
  return FI_EOTHER;
}

// ---- names

bool Endpoint::peer_of(fi_addr_t name, std::uint32_t& peer) {
  if (av_version != av->version) {
    peers.clear();
    names.clear();
    av_version = av->version;
  }
  if (name < peers.size() && peers[name] != transport::kNone) {
    peer = peers[name];
    return true;
  }
  net::Address address;
  if (!av->find(name, address)) return false;
  peer = wire->peer_at(address);
  if (name >= peers.size()) peers.resize(name + 1, transport::kNone);
  peers[name] = peer;
  return true;
}

fi_addr_t Endpoint::name_of(std::uint32_t peer) {
  if (av == nullptr) return FI_ADDR_NOTAVAIL;
  if (peer < names.size() && names[peer] != FI_ADDR_NOTAVAIL && av_version == av->version) return names[peer];
  const fi_addr_t name = av->name_of(wire->node().address_of(peer));
  if (peer >= names.size()) names.resize(peer + 1, FI_ADDR_NOTAVAIL);
  names[peer] = name;
  return name;
}

// ---- requests and their ends

std::uint32_t Endpoint::take_request(const Request& request) {
  std::uint32_t index = static_cast<std::uint32_t>(requests.size());
  if (free_requests.empty()) {
    requests.emplace_back();
  } else {
    index = free_requests.back();
    free_requests.pop_back();
  }
  requests[index] = request;
  requests[index].live = true;
  return index;
}

void Endpoint::give_back(std::uint32_t request) {
  requests[request].live = false;
  free_requests.push_back(request);
}

void Endpoint::tell(const Completion& completion) {
  if (completion.kind == Completion::Kind::received || completion.kind == Completion::Kind::released)
    return tell_receiver(completion);
  if (completion.kind == Completion::Kind::told) return tell_target(completion);
  tell_sender(completion);
}

// Of peers that came for our memory. Counters are told of all that they did, a queue where they had something to say.
void Endpoint::tell_target(const Completion& completion) {
  Counter* counter = completion.fetched ? remote_reads : remote_writes;
  if (counter != nullptr) counter->add(false);
  if (completion.changed)
    if (const auto region = changes.find(completion.key); region != changes.end()) region->second->add(false);
  if (!completion.has_data || receive_queue == nullptr) return;
  Entry entry;
  entry.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
  entry.bytes = completion.bytes;
  entry.data = completion.data;
  entry.source = name_of(completion.peer);
  receive_queue->push(entry);
}

void Endpoint::tell_receiver(const Completion& completion) {
  const auto index = static_cast<std::uint32_t>(completion.context);
  const Request request = requests[index];
  const bool many = (request.flags & FI_MULTI_RECV) != 0;
  const bool released = completion.kind == Completion::Kind::released;
  if (!many || released || completion.error == Error::canceled) give_back(index);
  Entry entry;
  entry.context = request.context;
  entry.flags = FI_RECV | (request.tagged ? FI_TAGGED : FI_MSG);
  if (completion.has_data) entry.flags |= FI_REMOTE_CQ_DATA;
  if (released) entry.flags |= FI_MULTI_RECV;
  entry.bytes = completion.bytes;
  entry.place = reinterpret_cast<void*>(static_cast<std::uintptr_t>(completion.place.offset));
  entry.data = completion.data;
  entry.tag = completion.tag;
  entry.error = error_of(completion.error);
  entry.cut = completion.cut;
  if (!released && completion.error != Error::canceled) entry.source = name_of(completion.peer);
  if (receives != nullptr && !released) receives->add(entry.error != 0);
  if (receive_queue != nullptr && (!request.silent || entry.error != 0)) receive_queue->push(entry);
}

void Endpoint::tell_sender(const Completion& completion) {
  const auto index = static_cast<std::uint32_t>(completion.context);
  const Request request = requests[index];
  give_back(index);
  Entry entry;
  entry.context = request.context;
  entry.flags = request.flags;
  entry.tag = completion.tag;
  entry.error = error_of(completion.error);
  Counter* counter = request.flags & FI_SEND ? sends : request.flags & FI_READ ? reads : writes;
  if (counter != nullptr) counter->add(entry.error != 0);
  if (transmit_queue != nullptr && (!request.silent || entry.error != 0)) transmit_queue->push(entry);
}

// ---- progress

Instant Endpoint::time_now() {
#if defined(__x86_64__)
  constexpr std::uint64_t kFresh = 1000;  // ticks: a nanosecond has at least one
  const std::uint64_t ticks = __builtin_ia32_rdtsc();
  if (ticks - ticked < kFresh) return time;
  ticked = ticks;
#endif
  return time = net::Node::now();
}

void Endpoint::move() {
  if (!wire || !enabled) return;
  wire->progress(time_now());
  // Told ends may be the last that a peer waits for; what they set free goes out with the next call.
  tell_ends();
}

void Endpoint::tell_ends() {
  std::vector<Completion>& ends = wire->rdm().completions();
  for (std::size_t i = 0; i < ends.size(); ++i) tell(ends[i]);
  ends.clear();
}

void Endpoint::move_soon(std::uint32_t peer) {
  if (wire->shares_with(peer)) return wire->push();
  const Instant now = time_now();
  if (now - called.load(std::memory_order_relaxed) < kSoon) return;
  called.store(now, std::memory_order_relaxed);
  move();
}

void Endpoint::progress() {
  const std::lock_guard guard(lock);
  called.store(time_now(), std::memory_order_relaxed);
  move();
}

bool Endpoint::busy() const {
  return sleepers > 0 || net::Node::now() - called.load(std::memory_order_relaxed) < 10 * kIdle;
}

// A process that computes is alive to its peers: acknowledgements and repeats do not wait for its next call.
void Endpoint::help() {
  ++helpers;
  while (!stopping) {
    bool others = busy();
    Instant wake = transport::kNever;
    // Whoever has the lock moves things himself: waiting for it would only keep him from it.
    if (!others && lock.try_lock()) {
      wake = wire->rest() ? wire->timer() : 0;
      lock.unlock();
    } else {
      others = true;
    }
    const Instant left = std::max<Instant>(wake - net::Node::now(), 0) / net::kMillisecond;
    pollfd wait[2] = {{stop.fd(), POLLIN, 0}, {wire->fd(), POLLIN, 0}};
    // Who polls needs no help; looking at the socket would only wake this thread for each packet.
    const int look = 1 + helpers.load(std::memory_order_relaxed) / kLooksPerMillisecond;
    poll(wait, others ? 1 : 2, others ? look : static_cast<int>(std::min<Instant>(left, kLongestSleep)));
    if (stopping || sleepers > 0 || net::Node::now() - called.load(std::memory_order_relaxed) < kIdle) continue;
    if (!lock.try_lock()) continue;
    move();
    lock.unlock();
  }
  --helpers;
}

void Endpoint::add_region(const Region& region) {
  const std::lock_guard guard(lock);
  wire->rdm().add_region(region.self.key, region.what);
  if (region.changes != nullptr) changes[region.self.key] = region.changes;
}

void Endpoint::count_changes(const Region& region) {
  const std::lock_guard guard(lock);
  changes[region.self.key] = region.changes;
}

bool Endpoint::remove_region(std::uint64_t key) {
  const std::lock_guard guard(lock);
  if (!wire->rdm().remove_region(key)) return false;
  tell_ends();
  changes.erase(key);
  return true;
}

// ---- libfabric's calls

namespace {

void detach(Endpoint& ep) {
  for (Queue* each : {ep.transmit_queue, ep.receive_queue})
    if (each != nullptr) {
      each->bell.forget(ep.wire->fd());
      std::erase(each->endpoints, &ep);
    }
  for (Counter* each : {ep.sends, ep.receives, ep.reads, ep.writes, ep.remote_reads, ep.remote_writes})
    if (each != nullptr) std::erase(each->endpoints, &ep);
}

int close_endpoint(fid* fid) {
  Endpoint& ep = of<Endpoint>(fid);
  ep.stopping = true;
  ep.stop.ring();
  if (ep.helper.joinable()) ep.helper.join();
  {
    const std::lock_guard guard(ep.domain->lock);
    std::erase(ep.domain->endpoints, &ep);
  }
  // Replies and acknowledgements that peers wait for are still to be sent.
  const Instant end = net::Node::now() + kLinger;
  while (ep.enabled && !ep.wire->idle() && net::Node::now() < end) {
    ep.progress();
    if (!ep.wire->idle()) ep.wire->wait(net::Node::now() + net::kMillisecond);
  }
  const net::NodeCounters& counters = ep.wire->node().counters();
  const endpoint::LocalCounters shared = ep.wire->shared_counters();
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  FI_INFO(&the_provider, FI_LOG_EP_CTRL,
          "closed: %llu datagrams sent, %llu received; %llu and %llu bytes; by shared memory %llu and %llu bytes\n",
          number(counters.datagrams_out), number(counters.datagrams_in), number(counters.bytes_out),
          number(counters.bytes_in), number(shared.bytes_out), number(shared.bytes_in));
  detach(ep);
  fi_freeinfo(ep.info);
  delete &ep;
  return 0;
}

int bind_queue(Endpoint& ep, Queue& queue, std::uint64_t flags) {
  if (!(flags & (FI_TRANSMIT | FI_RECV))) return -FI_EINVAL;
  if (flags & FI_TRANSMIT) {
    ep.transmit_queue = &queue;
    ep.transmit_selective = (flags & FI_SELECTIVE_COMPLETION) != 0;
  }
  if (flags & FI_RECV) {
    ep.receive_queue = &queue;
    ep.receive_selective = (flags & FI_SELECTIVE_COMPLETION) != 0;
  }
  if (std::ranges::find(queue.endpoints, &ep) != queue.endpoints.end()) return 0;
  queue.endpoints.push_back(&ep);
  queue.bell.watch(ep.wire->fd());
  return 0;
}

int bind_counter(Endpoint& ep, Counter& counter, std::uint64_t flags) {
  if (flags & FI_SEND) ep.sends = &counter;
  if (flags & FI_RECV) ep.receives = &counter;
  if (flags & FI_READ) ep.reads = &counter;
  if (flags & FI_WRITE) ep.writes = &counter;
  if (flags & FI_REMOTE_READ) ep.remote_reads = &counter;
  if (flags & FI_REMOTE_WRITE) ep.remote_writes = &counter;
  if (std::ranges::find(counter.endpoints, &ep) == counter.endpoints.end()) counter.endpoints.push_back(&ep);
  return 0;
}

int bind_endpoint(fid* fid, struct fid* to, std::uint64_t flags) {
  Endpoint& ep = of<Endpoint>(fid);
  switch (to->fclass) {
    case FI_CLASS_CQ:
      return bind_queue(ep, of<Queue>(to), flags);
    case FI_CLASS_CNTR:
      return bind_counter(ep, of<Counter>(to), flags);
    case FI_CLASS_AV:
      ep.av = &of<AddressVector>(to);
      return 0;
    case FI_CLASS_EQ:
      return 0;  // nothing happens to an endpoint without connections
    default:
      return -FI_EINVAL;
  }
}

int enable(Endpoint& ep) {
  if (ep.av == nullptr) return -FI_ENOAV;
  if (ep.transmit_queue == nullptr && ep.receive_queue == nullptr && ep.sends == nullptr && ep.receives == nullptr)
    return -FI_ENOCQ;
  if (ep.enabled) return 0;
  ep.enabled = true;
  ep.helper = std::thread([&ep] { ep.help(); });
  return 0;
}

int control_endpoint(fid* fid, int command, void*) {
  return command == FI_ENABLE ? enable(of<Endpoint>(fid)) : -FI_ENOSYS;
}

ssize_t cancel(fid* fid, void* context) {
  Endpoint& ep = of<Endpoint>(fid);
  const std::lock_guard guard(ep.lock);
  for (std::uint32_t i = 0; i < ep.requests.size(); ++i) {
    const Request& request = ep.requests[i];
    if (!request.live || !request.receives || request.context != context) continue;
    if (!ep.wire->rdm().cancel(request.tagged, i)) return -FI_ENOENT;
    ep.move();
    return 0;
  }
  return -FI_ENOENT;
}

int get_option(fid* fid, int level, int name, void* value, std::size_t* bytes) {
  if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV) return -FI_ENOPROTOOPT;
  if (*bytes < sizeof(std::size_t)) return -FI_ETOOSMALL;
  *static_cast<std::size_t*>(value) = of<Endpoint>(fid).least_left;
  *bytes = sizeof(std::size_t);
  return 0;
}

int set_option(fid* fid, int level, int name, const void* value, std::size_t bytes) {
  if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV) return -FI_ENOPROTOOPT;
  if (bytes != sizeof(std::size_t)) return -FI_EINVAL;
  of<Endpoint>(fid).least_left = std::max<std::size_t>(*static_cast<const std::size_t*>(value), 1);
  return 0;
}

int get_name(fid* fid, void* address, std::size_t* bytes) {
  return copy_address(of<Endpoint>(fid).wire->address(), address, bytes);
}

bool is_taken(Domain& domain, const net::Address& address) {
  const std::lock_guard guard(domain.lock);
  return std::ranges::any_of(domain.endpoints, [&](const Endpoint* each) { return each->wire->address() == address; });
}

fi_ops endpoint_fid_ops = {sizeof(fi_ops), close_endpoint, bind_endpoint, control_endpoint, nullptr, nullptr, nullptr};
fi_ops_ep endpoint_ops = {sizeof(fi_ops_ep),
                          cancel,
                          get_option,
                          set_option,
                          not_there<fid_ep*, int, fi_tx_attr*, fid_ep**, void*>,
                          not_there<fid_ep*, int, fi_rx_attr*, fid_ep**, void*>,
                          not_there_either<fid_ep*>,
                          not_there_either<fid_ep*>};
fi_ops_cm name_ops = {sizeof(fi_ops_cm),
                      not_there<fid*, void*, std::size_t>,
                      get_name,
                      not_there<fid_ep*, void*, std::size_t*>,
                      not_there<fid_ep*, const void*, const void*, std::size_t>,
                      not_there<fid_pep*>,
                      not_there<fid_ep*, const void*, std::size_t>,
                      not_there<fid_pep*, fid*, const void*, std::size_t>,
                      not_there<fid_ep*, std::uint64_t>,
                      not_there<fid_ep*, const void*, std::uint64_t, fid_mc**, void*>};

}  // namespace

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** out, void* context) {
  if (info->ep_attr->type != FI_EP_RDM) return -FI_EINVAL;
  net::Address local = net::Address::any(AF_INET);
  if (info->src_addr != nullptr) to_address(info->src_addr, info->src_addrlen, local);
  transport::rdm::RdmConfig config;
  config.seed = net::random_number();
  config.tells_accesses = (info->caps & FI_RMA_EVENT) != 0;
  const auto sharing = endpoint::sharing_of(std::getenv("FI_WEFT_SHM"));
  // Several endpoints of one fi_info: the port is the first one's, and fi_getname says where the others are.
  if (is_taken(of<Domain>(domain), local)) local.set_port(0);
  std::vector<net::Address> nics = wanted_addresses(local.family());
  if (nics.empty() || !std::ranges::equal(nics.front().ip(), local.ip())) nics.clear();
  if (!nics.empty()) nics.erase(nics.begin());
  auto wire = Wire::open({.local = local, .more = nics}, config, sharing);
  if (!wire) {
    FI_WARN(&the_provider, FI_LOG_EP_CTRL, "no endpoint at %s: %s\n", local.text().c_str(), wire.error().c_str());
    return -FI_EADDRNOTAVAIL;
  }
  auto ep = std::make_unique<Endpoint>();
  ep->domain = &of<Domain>(domain);
  ep->info = fi_dupinfo(info);
  ep->wire = std::move(*wire);
  ep->self.fid = {FI_CLASS_EP, context, &endpoint_fid_ops};
  ep->self.ops = &endpoint_ops;
  ep->self.cm = &name_ops;
  ep->self.msg = &message_ops;
  ep->self.tagged = &tagged_ops;
  ep->self.rma = &memory_ops;
  ep->self.atomic = &atomic_ops;
  const std::lock_guard guard(ep->domain->lock);
  for (const Region* each : ep->domain->regions) ep->add_region(*each);
  ep->domain->endpoints.push_back(ep.get());
  *out = &ep.release()->self;
  return 0;
}

}  // namespace weft::provider
