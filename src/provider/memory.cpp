// Reading and writing memory of peers, and atomics in it.

#include "provider/objects.hpp"
#include "transport/rdm/atomics.hpp"

namespace weft::provider {
namespace {

using transport::rdm::Atomic;
using transport::rdm::AtomicOp;
using transport::rdm::AtomicType;

// libfabric's numbers are ours.
static_assert(static_cast<int>(AtomicOp::sum) == FI_SUM && static_cast<int>(AtomicOp::read) == FI_ATOMIC_READ &&
              static_cast<int>(AtomicOp::swap_masked) == FI_MSWAP);
static_assert(static_cast<int>(AtomicType::u64) == FI_UINT64 && static_cast<int>(AtomicType::f64) == FI_DOUBLE);

std::uint64_t usual_memory(const Endpoint& ep) {
  return ep.info->tx_attr->op_flags | (ep.transmit_selective ? 0 : FI_COMPLETION);
}
std::uint64_t chosen_memory(const Endpoint& ep, std::uint64_t flags) {
  return flags | (ep.transmit_selective ? 0 : FI_COMPLETION);
}

// Posts by `post(peer, request)`, which says whether it was taken.
template <class Post>
ssize_t post_it(Endpoint& ep, fi_addr_t to, void* context, std::uint64_t kind, std::uint64_t flags, Post post) {
  const std::lock_guard guard(ep.lock);
  std::uint32_t peer = 0;
  if (!ep.enabled) return -FI_EOPBADSTATE;
  if (!ep.peer_of(to, peer)) return -FI_EINVAL;
  const std::uint32_t request =
      ep.take_request({.context = context, .silent = !(flags & FI_COMPLETION), .flags = kind});
  const bool taken = post(peer, request);
  if (!taken) ep.give_back(request);
  if (taken)
    ep.move_soon(peer);
  else
    ep.move();
  return taken ? 0 : -FI_EAGAIN;
}

struct Access {
  void* local;
  std::size_t bytes;
  fi_addr_t peer;
  std::uint64_t address;
  std::uint64_t key;
  std::uint64_t data = 0;
  void* context = nullptr;
};

ssize_t read_it(Endpoint& ep, const Access& what, std::uint64_t flags) {
  return post_it(ep, what.peer, what.context, FI_RMA | FI_READ, flags, [&](std::uint32_t peer, std::uint32_t request) {
    return ep.wire->rdm().read({.peer = peer,
                                .to = place_of(what.local),
                                .bytes = what.bytes,
                                .from = {what.address, what.key},
                                .context = request});
  });
}

ssize_t write_it(Endpoint& ep, const Access& what, std::uint64_t flags) {
  const bool injected = (flags & FI_INJECT) != 0;
  if (injected && what.bytes > ep.wire->rdm().inject_limit()) return -FI_EMSGSIZE;
  return post_it(ep, what.peer, what.context, FI_RMA | FI_WRITE, flags, [&](std::uint32_t peer, std::uint32_t request) {
    return ep.wire->rdm().write({.peer = peer,
                                 .from = place_of(what.local),
                                 .bytes = what.bytes,
                                 .to = {what.address, what.key},
                                 .has_data = (flags & FI_REMOTE_CQ_DATA) != 0,
                                 .data = what.data,
                                 .context = request,
                                 .inject = injected});
  });
}

ssize_t read(fid_ep* fid, void* to, std::size_t bytes, void*, fi_addr_t from, std::uint64_t address, std::uint64_t key,
             void* context) {
  Endpoint& ep = of<Endpoint>(fid);
  return read_it(ep, {to, bytes, from, address, key, 0, context}, usual_memory(ep));
}
ssize_t readv(fid_ep* fid, const iovec* parts, void**, std::size_t count, fi_addr_t from, std::uint64_t address,
              std::uint64_t key, void* context) {
  if (count != 1) return -FI_EINVAL;
  return read(fid, parts->iov_base, parts->iov_len, nullptr, from, address, key, context);
}

bool one_part(const fi_msg_rma& message) { return message.iov_count == 1 && message.rma_iov_count == 1; }
Access access_of(const fi_msg_rma& message) {
  return {message.msg_iov->iov_base,
          message.msg_iov->iov_len,
          message.addr,
          message.rma_iov->addr,
          message.rma_iov->key,
          message.data,
          message.context};
}

ssize_t readmsg(fid_ep* fid, const fi_msg_rma* message, std::uint64_t flags) {
  Endpoint& ep = of<Endpoint>(fid);
  return one_part(*message) ? read_it(ep, access_of(*message), chosen_memory(ep, flags)) : -FI_EINVAL;
}
ssize_t write(fid_ep* fid, const void* from, std::size_t bytes, void*, fi_addr_t to, std::uint64_t address,
              std::uint64_t key, void* context) {
  Endpoint& ep = of<Endpoint>(fid);
  return write_it(ep, {const_cast<void*>(from), bytes, to, address, key, 0, context}, usual_memory(ep));
}
ssize_t writev(fid_ep* fid, const iovec* parts, void**, std::size_t count, fi_addr_t to, std::uint64_t address,
               std::uint64_t key, void* context) {
  if (count != 1) return -FI_EINVAL;
  return write(fid, parts->iov_base, parts->iov_len, nullptr, to, address, key, context);
}
ssize_t writemsg(fid_ep* fid, const fi_msg_rma* message, std::uint64_t flags) {
  Endpoint& ep = of<Endpoint>(fid);
  return one_part(*message) ? write_it(ep, access_of(*message), chosen_memory(ep, flags)) : -FI_EINVAL;
}
ssize_t inject_write(fid_ep* fid, const void* from, std::size_t bytes, fi_addr_t to, std::uint64_t address,
                     std::uint64_t key) {
  return write_it(of<Endpoint>(fid), {const_cast<void*>(from), bytes, to, address, key}, FI_INJECT);
}
ssize_t writedata(fid_ep* fid, const void* from, std::size_t bytes, void*, std::uint64_t data, fi_addr_t to,
                  std::uint64_t address, std::uint64_t key, void* context) {
  Endpoint& ep = of<Endpoint>(fid);
  return write_it(ep, {const_cast<void*>(from), bytes, to, address, key, data, context},
                  usual_memory(ep) | FI_REMOTE_CQ_DATA);
}
ssize_t inject_writedata(fid_ep* fid, const void* from, std::size_t bytes, std::uint64_t data, fi_addr_t to,
                         std::uint64_t address, std::uint64_t key) {
  return write_it(of<Endpoint>(fid), {const_cast<void*>(from), bytes, to, address, key, data},
                  FI_INJECT | FI_REMOTE_CQ_DATA);
}

// ---- atomics

bool known_atomic(fi_datatype type, fi_op op) {
  return type >= 0 && op >= 0 && type <= FI_DOUBLE && op <= FI_MSWAP &&
         transport::rdm::known(static_cast<std::uint8_t>(op), static_cast<std::uint8_t>(type));
}

struct Changing {
  const void* operand;
  std::size_t count;
  const void* comparand = nullptr;
  void* result = nullptr;
  fi_addr_t peer;
  std::uint64_t address;
  std::uint64_t key;
  fi_datatype type;
  fi_op op;
  void* context = nullptr;
};

ssize_t change_it(Endpoint& ep, const Changing& what, std::uint64_t flags) {
  if (!known_atomic(what.type, what.op)) return -FI_EOPNOTSUPP;
  const auto type = static_cast<AtomicType>(what.type);
  if (what.count * transport::rdm::size_of(type) > ep.wire->rdm().atomic_limit()) return -FI_EMSGSIZE;
  const std::uint64_t kind = FI_ATOMIC | (what.result != nullptr ? FI_READ : FI_WRITE);
  return post_it(ep, what.peer, what.context, kind, flags, [&](std::uint32_t peer, std::uint32_t request) {
    return ep.wire->rdm().atomic({.peer = peer,
                                  .op = static_cast<AtomicOp>(what.op),
                                  .type = type,
                                  .count = static_cast<std::uint32_t>(what.count),
                                  .operand = place_of(what.operand),
                                  .comparand = place_of(what.comparand),
                                  .target = {what.address, what.key},
                                  .fetch = what.result != nullptr,
                                  .result = place_of(what.result),
                                  .context = request});
  });
}

ssize_t atomic_write(fid_ep* fid, const void* operand, std::size_t count, void*, fi_addr_t to, std::uint64_t address,
                     std::uint64_t key, fi_datatype type, fi_op op, void* context) {
  Endpoint& ep = of<Endpoint>(fid);
  return change_it(ep, {operand, count, nullptr, nullptr, to, address, key, type, op, context}, usual_memory(ep));
}
ssize_t atomic_writev(fid_ep* fid, const fi_ioc* parts, void**, std::size_t count, fi_addr_t to, std::uint64_t address,
                      std::uint64_t key, fi_datatype type, fi_op op, void* context) {
  if (count != 1) return -FI_EINVAL;
  return atomic_write(fid, parts->addr, parts->count, nullptr, to, address, key, type, op, context);
}

ssize_t from_message(fid_ep* fid, const fi_msg_atomic& message, const void* comparand, void* result,
                     std::uint64_t flags) {
  Endpoint& ep = of<Endpoint>(fid);
  if (message.rma_iov_count != 1 || message.iov_count > 1) return -FI_EINVAL;
  const void* operand = message.iov_count == 1 ? message.msg_iov->addr : nullptr;
  return change_it(ep,
                   {operand, message.rma_iov->count, comparand, result, message.addr, message.rma_iov->addr,
                    message.rma_iov->key, message.datatype, message.op, message.context},
                   chosen_memory(ep, flags));
}

ssize_t atomic_writemsg(fid_ep* fid, const fi_msg_atomic* message, std::uint64_t flags) {
  return from_message(fid, *message, nullptr, nullptr, flags);
}
ssize_t atomic_inject(fid_ep* fid, const void* operand, std::size_t count, fi_addr_t to, std::uint64_t address,
                      std::uint64_t key, fi_datatype type, fi_op op) {
  return change_it(of<Endpoint>(fid), {operand, count, nullptr, nullptr, to, address, key, type, op}, 0);
}
ssize_t fetch(fid_ep* fid, const void* operand, std::size_t count, void*, void* result, void*, fi_addr_t to,
              std::uint64_t address, std::uint64_t key, fi_datatype type, fi_op op, void* context) {
  Endpoint& ep = of<Endpoint>(fid);
  return change_it(ep, {operand, count, nullptr, result, to, address, key, type, op, context}, usual_memory(ep));
}
ssize_t fetchv(fid_ep* fid, const fi_ioc* parts, void**, std::size_t count, fi_ioc* results, void**,
               std::size_t result_count, fi_addr_t to, std::uint64_t address, std::uint64_t key, fi_datatype type,
               fi_op op, void* context) {
  if (count > 1 || result_count != 1) return -FI_EINVAL;
  return fetch(fid, count == 1 ? parts->addr : nullptr, results->count, nullptr, results->addr, nullptr, to, address,
               key, type, op, context);
}
ssize_t fetchmsg(fid_ep* fid, const fi_msg_atomic* message, fi_ioc* results, void**, std::size_t count,
                 std::uint64_t flags) {
  return count == 1 ? from_message(fid, *message, nullptr, results->addr, flags) : -FI_EINVAL;
}
ssize_t compare(fid_ep* fid, const void* operand, std::size_t count, void*, const void* comparand, void*, void* result,
                void*, fi_addr_t to, std::uint64_t address, std::uint64_t key, fi_datatype type, fi_op op,
                void* context) {
  Endpoint& ep = of<Endpoint>(fid);
  return change_it(ep, {operand, count, comparand, result, to, address, key, type, op, context}, usual_memory(ep));
}
ssize_t comparev(fid_ep* fid, const fi_ioc* parts, void**, std::size_t count, const fi_ioc* comparands, void**,
                 std::size_t comparand_count, fi_ioc* results, void**, std::size_t result_count, fi_addr_t to,
                 std::uint64_t address, std::uint64_t key, fi_datatype type, fi_op op, void* context) {
  if (count != 1 || comparand_count != 1 || result_count != 1) return -FI_EINVAL;
  return compare(fid, parts->addr, parts->count, nullptr, comparands->addr, nullptr, results->addr, nullptr, to,
                 address, key, type, op, context);
}
ssize_t comparemsg(fid_ep* fid, const fi_msg_atomic* message, const fi_ioc* comparands, void**,
                   std::size_t comparand_count, fi_ioc* results, void**, std::size_t count, std::uint64_t flags) {
  if (comparand_count != 1 || count != 1) return -FI_EINVAL;
  return from_message(fid, *message, comparands->addr, results->addr, flags);
}

std::size_t most_numbers(fi_datatype type) {
  // Of the smallest bundle that an endpoint here has.
  return transport::rdm::RdmConfig{}.bundle / 2 / transport::rdm::size_of(static_cast<AtomicType>(type)) - 8;
}

template <bool Compares>
int valid(fid_ep*, fi_datatype type, fi_op op, std::size_t* count) {
  if (!known_atomic(type, op) || transport::rdm::has_comparand(static_cast<AtomicOp>(op)) != Compares)
    return -FI_EOPNOTSUPP;
  if (count != nullptr) *count = most_numbers(type);
  return 0;
}

}  // namespace

int query_atomic(fid_domain*, fi_datatype type, fi_op op, fi_atomic_attr* attr, std::uint64_t flags) {
  const bool compares = known_atomic(type, op) && transport::rdm::has_comparand(static_cast<AtomicOp>(op));
  if (!known_atomic(type, op) || compares != ((flags & FI_COMPARE_ATOMIC) != 0)) return -FI_EOPNOTSUPP;
  attr->count = most_numbers(type);
  attr->size = transport::rdm::size_of(static_cast<AtomicType>(type));
  return 0;
}

fi_ops_rma memory_ops = {sizeof(fi_ops_rma), read,         readv,     readmsg,         write, writev,
                         writemsg,           inject_write, writedata, inject_writedata};
fi_ops_atomic atomic_ops = {sizeof(fi_ops_atomic),
                            atomic_write,
                            atomic_writev,
                            atomic_writemsg,
                            atomic_inject,
                            fetch,
                            fetchv,
                            fetchmsg,
                            compare,
                            comparev,
                            comparemsg,
                            valid<false>,
                            valid<false>,
                            valid<true>};

}  // namespace weft::provider
