// What must always hold inside RoCE, looked at from outside the hot path.

#include "transport/roce/numbers.hpp"
#include "transport/roce/roce.hpp"

namespace weft::transport {

std::string_view Roce::check_invariants() const {
  std::size_t parts = 0;
  std::vector<std::uint32_t> left(messages_.size());
  for (std::uint32_t index = 0; index < send_qps_.size(); ++index) {
    const SendQp& qp = send_qps_[index];
    if (before(qp.scan, qp.una) || before(qp.lost, qp.scan) || before(qp.sent, qp.lost) || before(qp.end, qp.sent))
      return "una <= scan <= lost <= sent <= end";
    if (qp.sent - qp.una > config_.window) return "at most a window is under way";
    if ((qp.deadline == kNever) != (qp.una == qp.sent)) return "who waits for an answer has a deadline, nobody else";
    std::uint32_t at = qp.first_part == kNone ? qp.end : parts_[qp.first_part].first;
    if (before(qp.una, at)) return "the first part is not yet acknowledged";
    std::uint32_t last = kNone;
    std::uint32_t sending = kNone;
    std::uint32_t resending = kNone;
    for (std::uint32_t slot = qp.first_part; slot != kNone; slot = parts_[slot].next) {
      const Part& part = parts_[slot];
      if (part.first != at || part.packets == 0) return "parts follow one another";
      if (qp.sent - at < part.packets) sending = slot;
      if (qp.scan - at < part.packets) resending = slot;
      at += part.packets;
      if (!before(qp.una, at)) return "what is acknowledged is gone";
      ++left[part.message];
      ++parts;
      last = slot;
    }
    if (at != qp.end || (last != kNone && last != qp.last_part)) return "parts cover what is open";
    if (sending != qp.sending) return "the part to send from is known";
    if (resending != qp.resending) return "the part to send again from is known";
    if (qp.first_part != kNone && qp.next_active == kNone) return "who has something to do is in the ring";
    if (qp.control.rate() < law_.least_rate || qp.control.rate() > law_.line_rate) return "a rate has bounds";
    if (qp.limited != qp.control.limited(law_)) return "who is below line rate is limited";
    if (qp.control.alpha() > Dcqcn::kOne) return "alpha is at most 1";
    if (config_.recovery == RoceConfig::Recovery::go_back_n) continue;
    for (std::uint32_t s = qp.sent; s != qp.una + kBitmap; ++s)
      if (qp.arrived.has(s)) return "nothing has arrived that was not sent";
  }
  if (parts != parts_.used()) return "no part is lost to the slab";
  std::size_t messages = 0;
  for (std::uint32_t index = 0; index < left.size(); ++index) {
    if (left[index] > 0 && left[index] != messages_[index].parts_left) return "open parts of a message are counted";
    messages += left[index] > 0;
  }
  if (messages != messages_.used()) return "no message is lost to the slab";

  std::size_t ends = 0;
  for (std::uint32_t index = 0; index < receive_qps_.size(); ++index) {
    const ReceiveQp& qp = receive_qps_[index];
    if (qp.arrived.has(qp.expected)) return "expected has not arrived";
    if (before(qp.expected, qp.begin)) return "a part begins before its end";
    for (std::uint32_t slot = qp.ends; slot != kNone; slot = ends_[slot].next, ++ends)
      if (ends_[slot].sequence - qp.expected >= kBitmap || !qp.arrived.has(ends_[slot].sequence))
        return "an early end has arrived early";
  }
  if (ends != ends_.used()) return "no end is lost to the slab";
  std::size_t halves = 0;
  for (std::uint32_t index = 0; index < receive_peers_.size(); ++index) {
    const ReceivePeer& peer = receive_peers_[index];
    std::uint32_t count = 0;
    for (std::uint32_t slot = peer.halves; slot != kNone; slot = halves_[slot].next) {
      if (halves_[slot].left == 0 || halves_[slot].left > config_.qps) return "a split message waits for some parts";
      ++count;
    }
    if (count != peer.half_count || count > kMostHalves + config_.qps * kBitmap)
      return "split messages are counted and bounded";
    halves += count;
  }
  if (halves != halves_.used()) return "no split message is lost to the slab";
  return {};
}

}  // namespace weft::transport
