// What must always hold inside UET, looked at from outside the hot path.

#include "transport/check.hpp"
#include "transport/uet/uet.hpp"

namespace weft::transport {

std::string_view Uet::check_invariants() const {
  std::size_t send_messages = 0;
  for (std::uint32_t index = 0; index < senders_.size(); ++index) {
    const Sender& sender = senders_[index];
    const auto slot_of = [&](std::uint32_t s) { return sender.slot[s % kWindow]; };
    if (const auto wrong = check_in_flight(sender, kWindow, slot_of); !wrong.empty()) return wrong;
    if (!before(sender.highest, sender.next)) return "only what was sent is acknowledged";
    if (sender.window.bytes < rules_.packet || sender.window.bytes > rules_.most_bytes) return "windows have bounds";
    if (sender.allowed == 0 || sender.allowed >= kWindow) return "one packet may always fly, and no more than fit";
    if (sender.paths.recycled > config_.recycle) return "the cache of entropies has a size";
    const bool idle = sender.first_message == kNone;
    if (!idle && (sender.next_active == kNone || sender.expire_at == kNever)) return "who waits has a deadline";
    if (idle && (sender.probe_due || sender.probe_at != kNever)) return "who has nothing to send asks nothing";
    if (const auto wrong = check_sent(send_messages_, sender, send_messages); !wrong.empty()) return wrong;
  }
  if (send_messages != send_messages_.used()) return "no message is lost to the slab";

  std::size_t receive_messages = 0;
  for (std::uint32_t index = 0; index < receivers_.size(); ++index) {
    const auto wrong =
        check_received(receive_messages_, receivers_[index], receivers_[index].arrived, kWindow, receive_messages);
    if (!wrong.empty()) return wrong;
  }
  if (receive_messages != receive_messages_.used()) return "no received message is lost to the slab";
  return {};
}

}  // namespace weft::transport
