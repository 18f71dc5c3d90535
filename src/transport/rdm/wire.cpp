#include "transport/rdm/wire.hpp"

namespace weft::transport::rdm {
namespace {

enum HeadFlags : std::uint8_t { kTagged = 1, kHasData = 2, kWantsDone = 4 };

std::uint8_t flag(bool set, HeadFlags value) { return set ? static_cast<std::uint8_t>(value) : std::uint8_t{0}; }

void write_remote(Writer& to, const Remote& remote) {
  to.put(remote.address);
  to.put(remote.key);
}

Remote read_remote(Reader& from) {
  Remote remote;
  remote.address = from.take<std::uint64_t>();
  remote.key = from.take<std::uint64_t>();
  return remote;
}

}  // namespace

void MessageHead::write(Writer& to) const {
  to.put(static_cast<std::uint8_t>(flag(tagged, kTagged) | flag(has_data, kHasData) | flag(wants_done, kWantsDone)));
  to.put(sequence);
  if (tagged) to.put(tag);
  if (has_data) to.put(data);
  if (wants_done) to.put(id);
}

MessageHead MessageHead::read(Reader& from) {
  MessageHead head;
  const auto flags = from.take<std::uint8_t>();
  head.tagged = flags & kTagged;
  head.has_data = flags & kHasData;
  head.wants_done = flags & kWantsDone;
  head.sequence = from.take<std::uint32_t>();
  if (head.tagged) head.tag = from.take<std::uint64_t>();
  if (head.has_data) head.data = from.take<std::uint64_t>();
  if (head.wants_done) head.id = from.take<std::uint64_t>();
  return head;
}

void OfferBody::write(Writer& to) const {
  to.put(bytes);
  write_remote(to, source);
}

OfferBody OfferBody::read(Reader& from) {
  OfferBody body;
  body.bytes = from.take<std::uint64_t>();
  body.source = read_remote(from);
  return body;
}

void WriteHead::write(Writer& to) const {
  to.put(flag(has_data, kHasData));
  to.put(id);
  write_remote(to, target);
  if (has_data) to.put(data);
}

WriteHead WriteHead::read(Reader& from) {
  WriteHead head;
  head.has_data = from.take<std::uint8_t>() & kHasData;
  head.id = from.take<std::uint64_t>();
  head.target = read_remote(from);
  if (head.has_data) head.data = from.take<std::uint64_t>();
  return head;
}

void ReadHead::write(Writer& to) const {
  to.put(id);
  write_remote(to, source);
  to.put(bytes);
}

ReadHead ReadHead::read(Reader& from) {
  ReadHead head;
  head.id = from.take<std::uint64_t>();
  head.source = read_remote(from);
  head.bytes = from.take<std::uint64_t>();
  return head;
}

void AtomicHead::write(Writer& to) const {
  to.put(id);
  write_remote(to, target);
  to.put(op);
  to.put(type);
  to.put(static_cast<std::uint8_t>(fetch));
  to.put(count);
}

AtomicHead AtomicHead::read(Reader& from) {
  AtomicHead head;
  head.id = from.take<std::uint64_t>();
  head.target = read_remote(from);
  head.op = from.take<std::uint8_t>();
  head.type = from.take<std::uint8_t>();
  head.fetch = from.take<std::uint8_t>() != 0;
  head.count = from.take<std::uint32_t>();
  return head;
}

void Done::write(Writer& to) const {
  to.put(id);
  to.put(static_cast<std::uint8_t>(verdict));
}

Done Done::read(Reader& from) {
  Done done;
  done.id = from.take<std::uint64_t>();
  const auto verdict = from.take<std::uint8_t>();
  done.verdict =
      verdict <= static_cast<std::uint8_t>(Verdict::last) ? static_cast<Verdict>(verdict) : Verdict::unsupported;
  return done;
}

void Grant::write(Writer& to) const {
  to.put(messages);
  to.put(bytes);
}

Grant Grant::read(Reader& from) {
  Grant grant;
  grant.messages = from.take<std::uint32_t>();
  grant.bytes = from.take<std::uint64_t>();
  return grant;
}

}  // namespace weft::transport::rdm
