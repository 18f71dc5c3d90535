// Messages, with tags and without.

#include "provider/objects.hpp"

namespace weft::provider {
namespace {

using transport::rdm::Receive;
using transport::rdm::Send;

struct Sending {
  const void* from;
  std::size_t bytes;
  fi_addr_t to;
  bool tagged = false;
  std::uint64_t tag = 0;
  std::uint64_t data = 0;
  void* context = nullptr;
};

constexpr std::uint64_t kDelivered = FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE;

// FI_COMPLETION: tells a queue. FI_REMOTE_CQ_DATA: with data.
ssize_t send_it(Endpoint& ep, const Sending& what, std::uint64_t flags) {
  const std::lock_guard guard(ep.lock);
  Send send{
      .tagged = what.tagged, .tag = what.tag, .data = what.data, .from = place_of(what.from), .bytes = what.bytes};
  if (!ep.enabled) return -FI_EOPBADSTATE;
  if (!ep.peer_of(what.to, send.peer)) return -FI_EINVAL;
  send.has_data = (flags & FI_REMOTE_CQ_DATA) != 0;
  send.inject = (flags & FI_INJECT) != 0;
  send.delivery = (flags & kDelivered) != 0;
  if (send.inject && what.bytes > ep.wire->rdm().inject_limit()) return -FI_EMSGSIZE;
  const std::uint32_t request = ep.take_request({.context = what.context,
                                                 .silent = !(flags & FI_COMPLETION),
                                                 .tagged = what.tagged,
                                                 .flags = FI_SEND | (what.tagged ? FI_TAGGED : FI_MSG)});
  send.context = request;
  const bool taken = ep.wire->rdm().send(send);
  if (!taken) ep.give_back(request);
  if (taken)
    ep.move_soon(send.peer);
  else
    ep.move();
  return taken ? 0 : -FI_EAGAIN;
}

// What a call without flags has: those of the endpoint, and a completion unless only chosen ones have one.
std::uint64_t usual(const Endpoint& ep) {
  return ep.info->tx_attr->op_flags | (ep.transmit_selective ? 0 : FI_COMPLETION);
}
std::uint64_t chosen(const Endpoint& ep, std::uint64_t flags) {
  return flags | (ep.transmit_selective ? 0 : FI_COMPLETION);
}

struct Receiving {
  void* to;
  std::size_t bytes;
  fi_addr_t from;
  bool tagged = false;
  std::uint64_t tag = 0;
  std::uint64_t ignore = 0;
  void* context = nullptr;
};

void tell_of_message(Endpoint& ep, const transport::rdm::Waiting& message, const Receiving& what) {
  Entry entry;
  entry.context = what.context;
  entry.flags = FI_RECV | (what.tagged ? FI_TAGGED : FI_MSG) | (message.has_data ? FI_REMOTE_CQ_DATA : 0);
  entry.bytes = message.bytes;
  entry.data = message.data;
  entry.tag = message.tag;
  entry.source = ep.name_of(message.peer);
  ep.receive_queue->push(entry);
}

void tell_of_none(Endpoint& ep, const Receiving& what) {
  Entry entry;
  entry.context = what.context;
  entry.flags = FI_RECV | (what.tagged ? FI_TAGGED : FI_MSG);
  entry.tag = what.tag;
  entry.error = FI_ENOMSG;
  ep.receive_queue->push(entry);
}

// Looks for a message; with FI_CLAIM it is kept for the next call with the same context, with FI_DISCARD it goes.
ssize_t look(Endpoint& ep, const Receiving& what, const Receive& like, std::uint64_t flags) {
  if (ep.receive_queue == nullptr) return -FI_ENOCQ;
  ep.move();
  transport::rdm::Rdm& rdm = ep.wire->rdm();
  const auto found = flags & (FI_CLAIM | FI_DISCARD) ? rdm.claim(like) : rdm.peek(like);
  if (!found) return tell_of_none(ep, what), 0;
  if (flags & FI_CLAIM) {
    if (what.context == nullptr) return rdm.discard(found->number), -FI_EINVAL;
    static_cast<fi_context*>(what.context)->internal[0] =
        reinterpret_cast<void*>(static_cast<std::uintptr_t>(found->number));
  } else if (flags & FI_DISCARD) {
    rdm.discard(found->number);
  }
  tell_of_message(ep, *found, what);
  return 0;
}

ssize_t receive_claimed(Endpoint& ep, const Receiving& what, Receive like, std::uint64_t flags,
                        const Request& request) {
  if (what.context == nullptr) return -FI_EINVAL;
  const auto number =
      static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(static_cast<fi_context*>(what.context)->internal[0]));
  if (flags & FI_DISCARD) {
    if (!ep.wire->rdm().discard(number)) return -FI_EINVAL;
    Entry entry;
    entry.context = what.context;
    entry.flags = request.flags;
    ep.receive_queue->push(entry);
    return 0;
  }
  const std::uint32_t index = ep.take_request(request);
  like.context = index;
  if (!ep.wire->rdm().receive_claimed(number, like)) return ep.give_back(index), -FI_EINVAL;
  ep.move();
  return 0;
}

ssize_t receive_it(Endpoint& ep, const Receiving& what, std::uint64_t flags) {
  const std::lock_guard guard(ep.lock);
  Receive receive{
      .tagged = what.tagged, .tag = what.tag, .ignore = what.ignore, .to = place_of(what.to), .bytes = what.bytes};
  if (!ep.enabled) return -FI_EOPBADSTATE;
  const bool directed = (ep.info->caps & FI_DIRECTED_RECV) && what.from != FI_ADDR_UNSPEC;
  if (directed && !ep.peer_of(what.from, receive.peer)) return -FI_EINVAL;
  if (flags & FI_PEEK) return look(ep, what, receive, flags);
  Request request{.context = what.context, .silent = !(flags & FI_COMPLETION), .receives = true, .tagged = what.tagged};
  request.flags = FI_RECV | (what.tagged ? FI_TAGGED : FI_MSG);
  if (flags & FI_CLAIM) return receive_claimed(ep, what, receive, flags, request);
  if (flags & FI_MULTI_RECV) {
    request.flags |= FI_MULTI_RECV;
    receive.least_left = ep.least_left;
  }
  receive.context = ep.take_request(request);
  ep.wire->rdm().receive(receive);
  if (!ep.wire->rdm().completions().empty()) ep.move();
  return 0;
}

std::uint64_t usual_receive(const Endpoint& ep) {
  return ep.info->rx_attr->op_flags | (ep.receive_selective ? 0 : FI_COMPLETION);
}
std::uint64_t chosen_receive(const Endpoint& ep, std::uint64_t flags) {
  return flags | (ep.receive_selective ? 0 : FI_COMPLETION);
}

const void* first_of(const iovec* parts, std::size_t count) { return count > 0 ? parts->iov_base : nullptr; }
std::size_t length_of(const iovec* parts, std::size_t count) { return count > 0 ? parts->iov_len : 0; }

// ---- without tags

ssize_t recv(fid_ep* fid, void* to, std::size_t bytes, void*, fi_addr_t from, void* context) {
  Endpoint& ep = of<Endpoint>(fid);
  return receive_it(ep, {.to = to, .bytes = bytes, .from = from, .context = context}, usual_receive(ep));
}
ssize_t recvv(fid_ep* fid, const iovec* parts, void**, std::size_t count, fi_addr_t from, void* context) {
  if (count > 1) return -FI_EINVAL;
  return recv(fid, const_cast<void*>(first_of(parts, count)), length_of(parts, count), nullptr, from, context);
}
ssize_t recvmsg(fid_ep* fid, const fi_msg* message, std::uint64_t flags) {
  Endpoint& ep = of<Endpoint>(fid);
  if (message->iov_count > 1) return -FI_EINVAL;
  return receive_it(ep,
                    {.to = const_cast<void*>(first_of(message->msg_iov, message->iov_count)),
                     .bytes = length_of(message->msg_iov, message->iov_count),
                     .from = message->addr,
                     .context = message->context},
                    chosen_receive(ep, flags));
}
ssize_t send(fid_ep* fid, const void* from, std::size_t bytes, void*, fi_addr_t to, void* context) {
  Endpoint& ep = of<Endpoint>(fid);
  return send_it(ep, {.from = from, .bytes = bytes, .to = to, .context = context}, usual(ep));
}
ssize_t sendv(fid_ep* fid, const iovec* parts, void**, std::size_t count, fi_addr_t to, void* context) {
  if (count > 1) return -FI_EINVAL;
  return send(fid, first_of(parts, count), length_of(parts, count), nullptr, to, context);
}
ssize_t sendmsg(fid_ep* fid, const fi_msg* message, std::uint64_t flags) {
  Endpoint& ep = of<Endpoint>(fid);
  if (message->iov_count > 1) return -FI_EINVAL;
  return send_it(ep,
                 {.from = first_of(message->msg_iov, message->iov_count),
                  .bytes = length_of(message->msg_iov, message->iov_count),
                  .to = message->addr,
                  .data = message->data,
                  .context = message->context},
                 chosen(ep, flags));
}
ssize_t inject(fid_ep* fid, const void* from, std::size_t bytes, fi_addr_t to) {
  return send_it(of<Endpoint>(fid), {.from = from, .bytes = bytes, .to = to}, FI_INJECT);
}
ssize_t senddata(fid_ep* fid, const void* from, std::size_t bytes, void*, std::uint64_t data, fi_addr_t to,
                 void* context) {
  Endpoint& ep = of<Endpoint>(fid);
  return send_it(ep, {.from = from, .bytes = bytes, .to = to, .data = data, .context = context},
                 usual(ep) | FI_REMOTE_CQ_DATA);
}
ssize_t injectdata(fid_ep* fid, const void* from, std::size_t bytes, std::uint64_t data, fi_addr_t to) {
  return send_it(of<Endpoint>(fid), {.from = from, .bytes = bytes, .to = to, .data = data},
                 FI_INJECT | FI_REMOTE_CQ_DATA);
}

// ---- with tags

ssize_t trecv(fid_ep* fid, void* to, std::size_t bytes, void*, fi_addr_t from, std::uint64_t tag, std::uint64_t ignore,
              void* context) {
  Endpoint& ep = of<Endpoint>(fid);
  return receive_it(
      ep, {.to = to, .bytes = bytes, .from = from, .tagged = true, .tag = tag, .ignore = ignore, .context = context},
      usual_receive(ep) & ~std::uint64_t{FI_MULTI_RECV});
}
ssize_t trecvv(fid_ep* fid, const iovec* parts, void**, std::size_t count, fi_addr_t from, std::uint64_t tag,
               std::uint64_t ignore, void* context) {
  if (count > 1) return -FI_EINVAL;
  return trecv(fid, const_cast<void*>(first_of(parts, count)), length_of(parts, count), nullptr, from, tag, ignore,
               context);
}
ssize_t trecvmsg(fid_ep* fid, const fi_msg_tagged* message, std::uint64_t flags) {
  Endpoint& ep = of<Endpoint>(fid);
  if (message->iov_count > 1) return -FI_EINVAL;
  return receive_it(ep,
                    {.to = const_cast<void*>(first_of(message->msg_iov, message->iov_count)),
                     .bytes = length_of(message->msg_iov, message->iov_count),
                     .from = message->addr,
                     .tagged = true,
                     .tag = message->tag,
                     .ignore = message->ignore,
                     .context = message->context},
                    chosen_receive(ep, flags));
}
ssize_t tsend(fid_ep* fid, const void* from, std::size_t bytes, void*, fi_addr_t to, std::uint64_t tag, void* context) {
  Endpoint& ep = of<Endpoint>(fid);
  return send_it(ep, {.from = from, .bytes = bytes, .to = to, .tagged = true, .tag = tag, .context = context},
                 usual(ep));
}
ssize_t tsendv(fid_ep* fid, const iovec* parts, void**, std::size_t count, fi_addr_t to, std::uint64_t tag,
               void* context) {
  if (count > 1) return -FI_EINVAL;
  return tsend(fid, first_of(parts, count), length_of(parts, count), nullptr, to, tag, context);
}
ssize_t tsendmsg(fid_ep* fid, const fi_msg_tagged* message, std::uint64_t flags) {
  Endpoint& ep = of<Endpoint>(fid);
  if (message->iov_count > 1) return -FI_EINVAL;
  return send_it(ep,
                 {.from = first_of(message->msg_iov, message->iov_count),
                  .bytes = length_of(message->msg_iov, message->iov_count),
                  .to = message->addr,
                  .tagged = true,
                  .tag = message->tag,
                  .data = message->data,
                  .context = message->context},
                 chosen(ep, flags));
}
ssize_t tinject(fid_ep* fid, const void* from, std::size_t bytes, fi_addr_t to, std::uint64_t tag) {
  return send_it(of<Endpoint>(fid), {.from = from, .bytes = bytes, .to = to, .tagged = true, .tag = tag}, FI_INJECT);
}
ssize_t tsenddata(fid_ep* fid, const void* from, std::size_t bytes, void*, std::uint64_t data, fi_addr_t to,
                  std::uint64_t tag, void* context) {
  Endpoint& ep = of<Endpoint>(fid);
  return send_it(ep,
                 {.from = from, .bytes = bytes, .to = to, .tagged = true, .tag = tag, .data = data, .context = context},
                 usual(ep) | FI_REMOTE_CQ_DATA);
}
ssize_t tinjectdata(fid_ep* fid, const void* from, std::size_t bytes, std::uint64_t data, fi_addr_t to,
                    std::uint64_t tag) {
  return send_it(of<Endpoint>(fid), {.from = from, .bytes = bytes, .to = to, .tagged = true, .tag = tag, .data = data},
                 FI_INJECT | FI_REMOTE_CQ_DATA);
}

}  // namespace

fi_ops_msg message_ops = {sizeof(fi_ops_msg), recv, recvv, recvmsg, send, sendv, sendmsg, inject, senddata, injectdata};
fi_ops_tagged tagged_ops = {
    sizeof(fi_ops_tagged), trecv, trecvv, trecvmsg, tsend, tsendv, tsendmsg, tinject, tsenddata, tinjectdata};

}  // namespace weft::provider
