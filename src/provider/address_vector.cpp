#include <cstdio>
#include <cstring>

#include "provider/objects.hpp"

namespace weft::provider {
namespace {

fi_addr_t add_address(AddressVector& av, const net::Address& address) {
  const std::lock_guard guard(av.lock);
  if (const auto known = av.names.find(address); known != av.names.end()) return known->second;
  av.addresses.push_back(address);
  const fi_addr_t name = av.addresses.size() - 1;
  av.names.emplace(address, name);
  return name;
}

// What became of each is told by the context (FI_SYNC_ERR), or by events: one for each that is no address, then one
// that says how many were.
int insert(fid_av* fid, const void* addresses, std::size_t count, fi_addr_t* names, std::uint64_t flags,
           void* context) {
  AddressVector& av = of<AddressVector>(fid);
  const auto* at = static_cast<const char*>(addresses);
  int* const errors = flags & FI_SYNC_ERR ? static_cast<int*>(context) : nullptr;
  if (errors != nullptr && av.events != nullptr) return -FI_EINVAL;
  int inserted = 0;
  for (std::size_t i = 0; i < count; ++i) {
    net::Address address;
    const bool good = to_address(at, sizeof(sockaddr_in6), address) == 0;
    if (names != nullptr) names[i] = good ? add_address(av, address) : FI_ADDR_NOTAVAIL;
    if (names == nullptr && good) add_address(av, address);
    inserted += good;
    if (errors != nullptr) errors[i] = good ? 0 : FI_EINVAL;
    if (!good && av.events != nullptr) av.events->push({FI_AV_COMPLETE, {&av.self.fid, context, i}, FI_EINVAL});
    at += good && address.family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  }
  if (av.events == nullptr) return inserted;
  av.events->push({FI_AV_COMPLETE, {&av.self.fid, context, static_cast<std::uint64_t>(inserted)}, 0});
  return 0;
}

int insert_name(fid_av* fid, const char* node, const char* service, fi_addr_t* name, std::uint64_t flags,
                void* context) {
  const auto port = static_cast<std::uint16_t>(service != nullptr ? std::strtoul(service, nullptr, 10) : 0);
  const auto address = net::Address::parse(node != nullptr ? node : "", port);
  if (!address) return -FI_EINVAL;
  return insert(fid, address->get(), 1, name, flags, context);
}

int remove(fid_av* fid, fi_addr_t* names, std::size_t count, std::uint64_t) {
  AddressVector& av = of<AddressVector>(fid);
  const std::lock_guard guard(av.lock);
  for (std::size_t i = 0; i < count; ++i) {
    if (names[i] >= av.addresses.size() || av.addresses[names[i]].length() == 0) return -FI_EINVAL;
    av.names.erase(av.addresses[names[i]]);
    av.addresses[names[i]] = {};
    ++av.version;
  }
  return 0;
}

int lookup(fid_av* fid, fi_addr_t name, void* address, std::size_t* bytes) {
  net::Address found;
  if (!of<AddressVector>(fid).find(name, found)) return -FI_EINVAL;
  const int status = copy_address(found, address, bytes);
  return status == -FI_ETOOSMALL ? 0 : status;
}

const char* text_of(fid_av*, const void* address, char* text, std::size_t* bytes) {
  net::Address parsed;
  if (to_address(address, sizeof(sockaddr_in6), parsed) != 0) return nullptr;
  const std::string full = parsed.text();
  std::snprintf(text, *bytes, "%s", full.c_str());
  *bytes = full.size() + 1;
  return text;
}

int close_av(fid* fid) {
  delete &of<AddressVector>(fid);
  return 0;
}

int bind_av(fid* fid, struct fid* to, std::uint64_t) {
  if (to->fclass != FI_CLASS_EQ) return -FI_EINVAL;
  of<AddressVector>(fid).events = &of<EventQueue>(to);
  return 0;
}

fi_ops av_fid_ops = {sizeof(fi_ops), close_av, bind_av, not_there<fid*, int, void*>, nullptr, nullptr, nullptr};
fi_ops_av av_ops = {
    sizeof(fi_ops_av),
    insert,
    insert_name,
    not_there<fid_av*, const char*, std::size_t, const char*, std::size_t, fi_addr_t*, std::uint64_t, void*>,
    remove,
    lookup,
    text_of,
    nullptr};

}  // namespace

bool AddressVector::find(fi_addr_t name, net::Address& out) const {
  const std::lock_guard guard(lock);
  if (name >= addresses.size() || addresses[name].length() == 0) return false;
  out = addresses[name];
  return true;
}

fi_addr_t AddressVector::name_of(const net::Address& address) const {
  const std::lock_guard guard(lock);
  const auto at = names.find(address);
  return at == names.end() ? FI_ADDR_NOTAVAIL : at->second;
}

int open_av(fid_domain*, fi_av_attr* attr, fid_av** out, void* context) {
  if (attr != nullptr && (attr->name != nullptr || attr->rx_ctx_bits != 0)) return -FI_ENOSYS;
  if (attr != nullptr && attr->type == FI_AV_UNSPEC) attr->type = FI_AV_TABLE;
  auto av = std::make_unique<AddressVector>();
  av->self.fid = {FI_CLASS_AV, context, &av_fid_ops};
  av->self.ops = &av_ops;
  *out = &av.release()->self;
  return 0;
}

}  // namespace weft::provider
