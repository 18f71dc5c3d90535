// The provider, fabrics, domains with their memory regions, and event queues.

#include <algorithm>
#include <chrono>
#include <cstring>

#include "provider/objects.hpp"

namespace weft::provider {
namespace {

// ---- memory regions

int close_region(fid* fid) {
  Region* region = &of<Region>(fid);
  Domain& domain = *region->domain;
  std::vector<Endpoint*> endpoints;
  {
    const std::lock_guard guard(domain.lock);
    std::erase(domain.regions, region);
    endpoints = domain.endpoints;
  }
  // What a peer reads is acknowledged soon, or the peer is dead within seconds.
  for (Endpoint* each : endpoints)
    while (!each->remove_region(region->self.key)) each->progress();
  if (region->changes != nullptr) --region->changes->regions;
  delete region;
  return 0;
}

int bind_region(fid* fid, struct fid* to, std::uint64_t flags) {
  if (to->fclass == FI_CLASS_EP) return flags == 0 ? 0 : -FI_EBADFLAGS;  // it is every endpoint's
  if (to->fclass != FI_CLASS_CNTR) return -FI_EINVAL;
  if (flags != FI_REMOTE_WRITE) return -FI_EBADFLAGS;
  Region& region = of<Region>(fid);
  Counter& counter = of<Counter>(to);
  const std::lock_guard guard(region.domain->lock);
  if (region.changes != nullptr) return -FI_EINVAL;
  region.changes = &counter;
  counter.domain = region.domain;
  ++counter.regions;
  for (Endpoint* each : region.domain->endpoints) each->count_changes(region);
  return 0;
}

int no_bind(fid*, fid*, std::uint64_t) { return 0; }
int no_control(fid*, int, void*) { return -FI_ENOSYS; }

fi_ops region_fid_ops = {sizeof(fi_ops), close_region, bind_region, no_control, nullptr, nullptr, nullptr};

int add_region(Domain& domain, const void* bytes, std::size_t length, std::uint64_t access, std::uint64_t key,
               fid_mr** out, void* context) {
  auto region = std::make_unique<Region>();
  region->domain = &domain;
  const transport::rdm::Place place = place_of(bytes);
  region->what = {.address = domain.virtual_addresses ? place.offset : 0,
                  .bytes = length,
                  .place = place,
                  .readable = (access & FI_REMOTE_READ) != 0,
                  .writable = (access & FI_REMOTE_WRITE) != 0};
  const std::lock_guard guard(domain.lock);
  if (domain.provider_keys) key = domain.next_key++;
  const bool taken = std::ranges::any_of(domain.regions, [&](const Region* each) { return each->self.key == key; });
  if (taken || key >> 63 != 0) return -FI_ENOKEY;
  region->self.fid = {FI_CLASS_MR, context, &region_fid_ops};
  region->self.key = key;
  region->self.mem_desc = region.get();
  for (Endpoint* each : domain.endpoints) each->add_region(*region);
  domain.regions.push_back(region.get());
  *out = &region.release()->self;
  return 0;
}

int reg(fid* fid, const void* bytes, std::size_t length, std::uint64_t access, std::uint64_t, std::uint64_t key,
        std::uint64_t, fid_mr** out, void* context) {
  return add_region(of<Domain>(fid), bytes, length, access, key, out, context);
}

int regv(fid* fid, const iovec* parts, std::size_t count, std::uint64_t access, std::uint64_t, std::uint64_t key,
         std::uint64_t, fid_mr** out, void* context) {
  if (count != 1) return -FI_EINVAL;
  return add_region(of<Domain>(fid), parts->iov_base, parts->iov_len, access, key, out, context);
}

int regattr(fid* fid, const fi_mr_attr* attr, std::uint64_t, fid_mr** out) {
  if (attr->iov_count != 1) return -FI_EINVAL;
  return add_region(of<Domain>(fid), attr->mr_iov->iov_base, attr->mr_iov->iov_len, attr->access, attr->requested_key,
                    out, attr->context);
}

// ---- event queues

ssize_t take_event(EventQueue& queue, std::uint32_t* event, void* bytes, std::size_t length, std::uint64_t flags) {
  if (queue.events.empty()) return -FI_EAGAIN;
  if (queue.events.front().error != 0) return -FI_EAVAIL;
  if (length < sizeof(fi_eq_entry)) return -FI_ETOOSMALL;
  *event = queue.events.front().type;
  std::memcpy(bytes, &queue.events.front().entry, sizeof(fi_eq_entry));
  if (!(flags & FI_PEEK)) queue.events.pop_front();
  return sizeof(fi_eq_entry);
}

ssize_t read_event(fid_eq* fid, std::uint32_t* event, void* bytes, std::size_t length, std::uint64_t flags) {
  EventQueue& queue = of<EventQueue>(fid);
  const std::lock_guard guard(queue.lock);
  return take_event(queue, event, bytes, length, flags);
}

ssize_t wait_event(fid_eq* fid, std::uint32_t* event, void* bytes, std::size_t length, int timeout,
                   std::uint64_t flags) {
  EventQueue& queue = of<EventQueue>(fid);
  std::unique_lock guard(queue.lock);
  const auto there = [&] { return !queue.events.empty(); };
  if (timeout < 0)
    queue.came.wait(guard, there);
  else
    queue.came.wait_for(guard, std::chrono::milliseconds(timeout), there);
  return take_event(queue, event, bytes, length, flags);
}

ssize_t write_event(fid_eq* fid, std::uint32_t event, const void* bytes, std::size_t length, std::uint64_t) {
  if (length > sizeof(fi_eq_entry)) return -FI_EINVAL;
  EventQueue::Event it{event, {}, 0};
  std::memcpy(&it.entry, bytes, length);
  of<EventQueue>(fid).push(it);
  return static_cast<ssize_t>(length);
}

ssize_t read_error(fid_eq* fid, fi_eq_err_entry* out, std::uint64_t flags) {
  EventQueue& queue = of<EventQueue>(fid);
  const std::lock_guard guard(queue.lock);
  if (queue.events.empty() || queue.events.front().error == 0) return -FI_EAGAIN;
  const EventQueue::Event& it = queue.events.front();
  *out = {};
  out->fid = it.entry.fid;
  out->context = it.entry.context;
  out->data = it.entry.data;
  out->err = it.error;
  if (!(flags & FI_PEEK)) queue.events.pop_front();
  return sizeof(*out);
}
const char* event_error(fid_eq*, int error, const void*, char*, std::size_t) { return fi_strerror(error); }
int close_events(fid* fid) {
  delete &of<EventQueue>(fid);
  return 0;
}

fi_ops events_fid_ops = {sizeof(fi_ops), close_events, no_bind, no_control, nullptr, nullptr, nullptr};
fi_ops_eq events_ops = {sizeof(fi_ops_eq), read_event, read_error, write_event, wait_event, event_error};

// ---- domains and fabrics

int close_domain(fid* fid) {
  Domain& domain = of<Domain>(fid);
  if (!domain.endpoints.empty() || !domain.regions.empty()) return -FI_EBUSY;
  delete &domain;
  return 0;
}

fi_ops domain_fid_ops = {sizeof(fi_ops), close_domain, no_bind, no_control, nullptr, nullptr, nullptr};
fi_ops_domain domain_ops = {sizeof(fi_ops_domain),
                            open_av,
                            open_queue,
                            open_endpoint,
                            not_there<fid_domain*, fi_info*, fid_ep**, void*>,
                            open_counter,
                            open_poll_set,
                            not_there<fid_domain*, fi_tx_attr*, fid_stx**, void*>,
                            not_there<fid_domain*, fi_rx_attr*, fid_ep**, void*>,
                            query_atomic,
                            not_there<fid_domain*, fi_collective_op, fi_collective_attr*, std::uint64_t>,
                            nullptr};

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** out, void* context) {
  auto domain = std::make_unique<Domain>();
  domain->fabric = &of<Fabric>(fabric);
  const int mode = info->domain_attr->mr_mode;
  domain->virtual_addresses = mode == FI_MR_BASIC || (mode != FI_MR_SCALABLE && mode & FI_MR_VIRT_ADDR);
  domain->provider_keys = mode == FI_MR_BASIC || (mode != FI_MR_SCALABLE && mode & FI_MR_PROV_KEY);
  domain->self.fid = {FI_CLASS_DOMAIN, context, &domain_fid_ops};
  domain->self.ops = &domain_ops;
  domain->self.mr = &region_ops;
  *out = &domain.release()->self;
  return 0;
}

int close_fabric(fid* fid) {
  delete &of<Fabric>(fid);
  return 0;
}

fi_ops fabric_fid_ops = {sizeof(fi_ops), close_fabric, no_bind, no_control, nullptr, nullptr, nullptr};
fi_ops_fabric fabric_ops = {sizeof(fi_ops_fabric),
                            open_domain,
                            not_there<fid_fabric*, fi_info*, fid_pep**, void*>,
                            open_events,
                            not_there<fid_fabric*, fi_wait_attr*, fid_wait**>,
                            try_wait,
                            nullptr};

void clean_up() {}

}  // namespace

fi_ops_mr region_ops = {sizeof(fi_ops_mr), reg, regv, regattr};

void EventQueue::push(const Event& event) {
  const std::lock_guard guard(lock);
  events.push_back(event);
  came.notify_all();
}

int open_events(fid_fabric*, fi_eq_attr*, fid_eq** out, void* context) {
  auto queue = std::make_unique<EventQueue>();
  queue->self.fid = {FI_CLASS_EQ, context, &events_fid_ops};
  queue->self.ops = &events_ops;
  *out = &queue.release()->self;
  return 0;
}

int open_fabric(fi_fabric_attr* attr, fid_fabric** out, void* context) {
  if (attr->name != nullptr && std::strcmp(attr->name, "weft") != 0) return -FI_ENODATA;
  auto fabric = std::make_unique<Fabric>();
  fabric->self.fid = {FI_CLASS_FABRIC, context, &fabric_fid_ops};
  fabric->self.ops = &fabric_ops;
  fabric->self.api_version = attr->api_version;
  *out = &fabric.release()->self;
  return 0;
}

fi_provider the_provider = {FI_VERSION(1, 0), FI_VERSION(1, 17), {}, "weft", get_info, open_fabric, clean_up};

}  // namespace weft::provider

extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini() { return &weft::provider::the_provider; }
