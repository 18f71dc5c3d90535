// What the provider offers, held against what is asked for.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "endpoint/interfaces.hpp"
#include "provider/objects.hpp"

namespace weft::provider {

std::vector<net::Address> wanted_addresses(int family) {
  std::vector<net::Address> wanted;
  const char* const names = std::getenv("FI_WEFT_IFACE");
  std::string rest = names != nullptr ? names : "";
  while (!rest.empty()) {
    const std::string name = rest.substr(0, rest.find(','));
    rest.erase(0, name.size() + 1);
    if (const auto found = endpoint::interface_named(name, family))
      wanted.push_back(found->address);
    else
      FI_WARN(&the_provider, FI_LOG_CORE, "FI_WEFT_IFACE names no interface: %s\n", name.c_str());
  }
  return wanted;
}

namespace {

constexpr std::uint32_t kProtocol = 0x77656674;  // "weft"
constexpr std::uint64_t kCapabilities = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE | FI_RECV |
                                        FI_SEND | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_MULTI_RECV | FI_DIRECTED_RECV |
                                        FI_SOURCE | FI_RMA_EVENT | FI_LOCAL_COMM | FI_REMOTE_COMM;
constexpr std::uint64_t kTransmits = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE | FI_SEND;
constexpr std::uint64_t kReceives = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RECV | FI_REMOTE_READ |
                                    FI_REMOTE_WRITE | FI_MULTI_RECV | FI_DIRECTED_RECV | FI_SOURCE | FI_RMA_EVENT;
constexpr std::uint64_t kOrders = FI_ORDER_SAS;
constexpr std::uint64_t kTransmitFlags =
    FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE;
constexpr std::uint64_t kReceiveFlags = FI_COMPLETION | FI_MULTI_RECV;
constexpr std::size_t kQueue = 4096;
constexpr std::size_t kInject = 1024;  // less than a bundle

// The first that FI_WEFT_IFACE names; else that of the first interface that is up and not the loopback.
net::Address default_address(int family) {
  const std::vector<net::Address> wanted = wanted_addresses(family);
  return wanted.empty() ? endpoint::usual_interface(family).address : wanted.front();
}

// By which of our addresses packets to `to` leave.
net::Address address_towards(const net::Address& to) {
  sockaddr_storage local{};
  socklen_t length = sizeof(local);
  const int fd = socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool known = fd >= 0 && connect(fd, to.get(), to.length()) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&local), &length) == 0;
  if (fd >= 0) close(fd);
  if (!known) return default_address(to.family());
  net::Address address(reinterpret_cast<const sockaddr*>(&local), length);
  address.set_port(0);
  return address;
}

// A reason to say no, or nothing.
const char* refusal(const fi_info& hints) {
  if ((hints.caps & ~kCapabilities) != 0) return "a capability that it does not have";
  if (hints.ep_attr != nullptr) {
    const fi_ep_attr& ep = *hints.ep_attr;
    if (ep.type != FI_EP_UNSPEC && ep.type != FI_EP_RDM) return "another type of endpoint than FI_EP_RDM";
    if (ep.protocol != FI_PROTO_UNSPEC && ep.protocol != kProtocol) return "another protocol";
    if (ep.tx_ctx_cnt > 1 || ep.rx_ctx_cnt > 1) return "several contexts of an endpoint";
  }
  if (hints.addr_format != FI_FORMAT_UNSPEC && hints.addr_format != FI_SOCKADDR &&
      hints.addr_format != FI_SOCKADDR_IN && hints.addr_format != FI_SOCKADDR_IN6)
    return "another format of addresses than FI_SOCKADDR";
  if (const fi_tx_attr* tx = hints.tx_attr; tx != nullptr) {
    if (tx->size > kQueue || tx->inject_size > kInject || tx->iov_limit > 1 || tx->rma_iov_limit > 1)
      return "more than its limits of a transmit context";
    if (tx->msg_order & ~kOrders || tx->comp_order & ~std::uint64_t{FI_ORDER_NONE} || tx->op_flags & ~kTransmitFlags)
      return "an order or flags of a transmit context";
  }
  if (const fi_rx_attr* rx = hints.rx_attr; rx != nullptr) {
    if (rx->size > kQueue || rx->iov_limit > 1) return "more than its limits of a receive context";
    if (rx->msg_order & ~kOrders || rx->comp_order & ~std::uint64_t{FI_ORDER_NONE} || rx->op_flags & ~kReceiveFlags)
      return "an order or flags of a receive context";
  }
  if (hints.domain_attr != nullptr && hints.domain_attr->caps & ~std::uint64_t{FI_LOCAL_COMM | FI_REMOTE_COMM})
    return "a capability of a domain that it does not have";
  if (hints.domain_attr != nullptr && hints.domain_attr->cq_data_size > 8) return "more than 8 bytes of remote data";
  return nullptr;
}

int memory_mode(std::uint32_t version, const fi_info* hints) {
  const int asked = hints != nullptr && hints->domain_attr != nullptr ? hints->domain_attr->mr_mode : FI_MR_UNSPEC;
  if (asked == FI_MR_BASIC || asked == FI_MR_SCALABLE) return asked;
  if (FI_VERSION_LT(version, FI_VERSION(1, 5))) return FI_MR_SCALABLE;
  return 0;  // whatever the caller could put up with, nothing is needed
}

void set_address(void*& to, std::size_t& bytes, const net::Address& from) {
  std::free(to);
  bytes = from.length();
  to = std::calloc(1, sizeof(sockaddr_storage));
  std::memcpy(to, from.get(), bytes);
}

void fill_attributes(fi_info& info, std::uint32_t version, const fi_info* hints) {
  const auto pick = [](auto asked, auto otherwise) { return asked != 0 ? asked : otherwise; };
  info.caps = hints != nullptr && hints->caps != 0 ? hints->caps | FI_LOCAL_COMM | FI_REMOTE_COMM : kCapabilities;
  info.tx_attr->caps = info.caps & kTransmits;
  info.rx_attr->caps = info.caps & kReceives;
  info.tx_attr->op_flags = hints != nullptr && hints->tx_attr != nullptr ? hints->tx_attr->op_flags : 0;
  info.rx_attr->op_flags = hints != nullptr && hints->rx_attr != nullptr ? hints->rx_attr->op_flags : 0;
  info.tx_attr->msg_order = info.rx_attr->msg_order = kOrders;
  info.tx_attr->inject_size = kInject;
  info.tx_attr->size = info.rx_attr->size = kQueue;
  info.tx_attr->iov_limit = info.rx_attr->iov_limit = info.tx_attr->rma_iov_limit = 1;
  info.ep_attr->type = FI_EP_RDM;
  info.ep_attr->protocol = kProtocol;
  info.ep_attr->protocol_version = 1;
  info.ep_attr->mem_tag_format = 0xAAAAAAAAAAAAAAAA;  // every bit is the user's
  info.ep_attr->max_msg_size = std::size_t{1} << 36;
  info.ep_attr->max_order_raw_size = info.ep_attr->max_order_war_size = info.ep_attr->max_order_waw_size = 0;
  info.ep_attr->tx_ctx_cnt = info.ep_attr->rx_ctx_cnt = 1;
  fi_domain_attr& domain = *info.domain_attr;
  const fi_domain_attr* asked = hints != nullptr ? hints->domain_attr : nullptr;
  domain.threading = asked != nullptr ? pick(asked->threading, FI_THREAD_SAFE) : FI_THREAD_SAFE;
  domain.control_progress = asked != nullptr ? pick(asked->control_progress, FI_PROGRESS_AUTO) : FI_PROGRESS_AUTO;
  domain.data_progress = asked != nullptr ? pick(asked->data_progress, FI_PROGRESS_AUTO) : FI_PROGRESS_AUTO;
  domain.av_type = asked != nullptr ? asked->av_type : FI_AV_UNSPEC;  // it has both
  domain.resource_mgmt = FI_RM_ENABLED;
  domain.mr_mode = memory_mode(version, hints);
  domain.mr_key_size = 8;
  domain.cq_data_size = 8;
  domain.cq_cnt = domain.ep_cnt = domain.tx_ctx_cnt = domain.rx_ctx_cnt = domain.cntr_cnt = 1024;
  domain.max_ep_tx_ctx = domain.max_ep_rx_ctx = 1;
  domain.mr_iov_limit = 1;
  domain.mr_cnt = 1 << 20;
  domain.caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
}

}  // namespace

int to_address(const void* from, std::size_t bytes, net::Address& out) {
  if (from == nullptr || bytes < sizeof(sa_family_t)) return -FI_EINVAL;
  const auto* address = static_cast<const sockaddr*>(from);
  const std::size_t length = address->sa_family == AF_INET    ? sizeof(sockaddr_in)
                             : address->sa_family == AF_INET6 ? sizeof(sockaddr_in6)
                                                              : 0;
  if (length == 0 || bytes < length) return -FI_EINVAL;
  out = net::Address(address, static_cast<socklen_t>(length));
  return 0;
}

int copy_address(const net::Address& from, void* to, std::size_t* bytes) {
  const std::size_t room = *bytes;
  *bytes = from.length();
  if (to != nullptr && room > 0) std::memcpy(to, from.get(), std::min(room, *bytes));
  return room < *bytes ? -FI_ETOOSMALL : 0;
}

int get_info(std::uint32_t version, const char* node, const char* service, std::uint64_t flags, const fi_info* hints,
             fi_info** out) {
  if (const char* why = hints != nullptr ? refusal(*hints) : nullptr; why != nullptr) {
    FI_INFO(&the_provider, FI_LOG_CORE, "not offered: asked for %s\n", why);
    return -FI_ENODATA;
  }
  const int family = hints != nullptr && hints->addr_format == FI_SOCKADDR_IN6 ? AF_INET6 : AF_INET;
  const auto port = static_cast<std::uint16_t>(service != nullptr ? std::strtoul(service, nullptr, 10) : 0);
  std::optional<net::Address> source;
  std::optional<net::Address> destination;
  if (node != nullptr) {
    const auto parsed = net::Address::parse(node, port);
    if (!parsed) {
      FI_INFO(&the_provider, FI_LOG_CORE, "%s\n", parsed.error().c_str());
      return -FI_ENODATA;
    }
    (flags & FI_SOURCE ? source : destination) = *parsed;
  } else if (service != nullptr) {
    source = default_address(family);
    source->set_port(port);
  }
  net::Address given;
  if (!source && hints != nullptr && to_address(hints->src_addr, hints->src_addrlen, given) == 0) source = given;
  if (!destination && hints != nullptr && to_address(hints->dest_addr, hints->dest_addrlen, given) == 0)
    destination = given;
  if (!source) source = destination ? address_towards(*destination) : default_address(family);

  fi_info* info = fi_allocinfo();
  if (info == nullptr) return -FI_ENOMEM;
  fill_attributes(*info, version, hints);
  info->addr_format = source->family() == AF_INET ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6;
  set_address(info->src_addr, info->src_addrlen, *source);
  if (destination) set_address(info->dest_addr, info->dest_addrlen, *destination);
  info->fabric_attr->name = strdup("weft");
  info->fabric_attr->prov_version = the_provider.version;
  info->domain_attr->name = strdup(source->host().c_str());
  *out = info;
  return 0;
}

}  // namespace weft::provider
