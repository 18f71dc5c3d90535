#include "transport/rdm/exercise.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.hpp"

namespace weft::transport::rdm {
namespace {

// A tag is a class, by which receives choose, and the number of the operation.
constexpr std::uint64_t kClasses = 3;
constexpr std::uint64_t kClassBits = 0xF;
constexpr std::byte kUntouched{0xEE};
constexpr std::byte kFreed{0xDD};

}  // namespace

Exercise::Exercise(std::uint64_t seed, std::uint32_t nodes, const RdmConfig& config, std::uint64_t longest)
    : random_(seed, 0x2d3, 0), config_(config), longest_(longest), demands_order_(config.ordered) {
  for (std::uint32_t i = 0; i < nodes; ++i) {
    nodes_.push_back(std::make_unique<Node>(*this, i));
    restart(i);
  }
}

// ---- memory

std::uint64_t Exercise::allocate(std::uint32_t node, std::uint64_t bytes) {
  const std::uint64_t handle = ++handles_;
  nodes_[node]->memory.emplace(handle, std::vector<std::byte>(bytes + 2 * kGuard, kUntouched));
  return handle;
}

std::span<std::byte> Exercise::inside(std::uint32_t node, std::uint64_t memory) {
  std::vector<std::byte>& all = nodes_[node]->memory.at(memory);
  return std::span(all).subspan(kGuard, all.size() - 2 * kGuard);
}

void Exercise::look_at_guards(std::uint32_t node, std::uint64_t memory) {
  const std::vector<std::byte>& all = nodes_[node]->memory.at(memory);
  for (std::uint32_t i = 0; i < kGuard; ++i)
    if (all[i] != kUntouched || all[all.size() - 1 - i] != kUntouched)
      complain(fmt::format("node {}: memory beside {} was written", node, memory));
}

// What is read of it from now on is wrong.
void Exercise::release(std::uint32_t node, std::uint64_t memory) {
  look_at_guards(node, memory);
  std::ranges::fill(inside(node, memory), kFreed);
}

// Places count from the first guarded byte, so that a wrong offset is seen in the guards and not only refused here.
void Exercise::get(std::uint32_t node, Place from, std::span<std::byte> to) {
  std::span<const std::byte> all = nodes_[node]->rdm->own(from.memory);
  if (!(from.memory & kOwnMemory)) {
    const auto at = nodes_[node]->memory.find(from.memory);
    if (at != nodes_[node]->memory.end()) all = at->second;
  }
  if (from.offset > all.size() || to.size() > all.size() - from.offset)
    return complain(
        fmt::format("node {}: read of {} bytes at {} of memory {:x}", node, to.size(), from.offset, from.memory));
  std::ranges::copy(all.subspan(from.offset, to.size()), to.begin());
}

void Exercise::put(std::uint32_t node, Place to, std::span<const std::byte> from) {
  std::span<std::byte> all = nodes_[node]->rdm->own(to.memory);
  if (!(to.memory & kOwnMemory)) {
    const auto at = nodes_[node]->memory.find(to.memory);
    if (at != nodes_[node]->memory.end()) all = at->second;
  }
  if (to.offset > all.size() || from.size() > all.size() - to.offset)
    return complain(
        fmt::format("node {}: write of {} bytes at {} of memory {:x}", node, from.size(), to.offset, to.memory));
  std::ranges::copy(from, all.subspan(to.offset).begin());
}

std::byte Exercise::byte_of(std::size_t operation, std::uint64_t at) {
  return static_cast<std::byte>(mix64((std::uint64_t{operation} << 32) + at / 8) >> at % 8 * 8);
}

void Exercise::fill(std::span<std::byte> bytes, std::size_t operation) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte_of(operation, i);
}

bool Exercise::holds(std::span<const std::byte> bytes, std::size_t operation) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != byte_of(operation, i)) return false;
  return true;
}

// ---- work

std::uint64_t Exercise::drawn_size() {
  if (random_.below(8) == 0) return 0;
  const std::uint64_t sizes[] = {64, config_.bundle, config_.eager, longest_};
  const std::uint64_t most = std::min(longest_, sizes[random_.below(4)]);
  return random_.next() % (most + 1);
}

void Exercise::act(std::uint32_t node) {
  const std::uint32_t peer = random_.below(static_cast<std::uint32_t>(nodes_.size()));
  const std::uint32_t draw = random_.below(32);
  if (draw < 11) return send(node, peer);
  if (draw < 22) return receive(node);
  if (draw < 25) return write(node, peer);
  if (draw < 27) return read(node, peer);
  if (draw < 29) return add(node, peer);
  if (draw < 31) return look(node);
  cancel(node);
}

void Exercise::send(std::uint32_t node, std::uint32_t peer) {
  const std::size_t number = operations_.size();
  Operation it{.kind = Operation::Kind::send, .from = node, .to = peer, .bytes = drawn_size()};
  it.tagged = random_.below(3) > 0;
  it.tag = it.tagged ? std::uint64_t{number} << 8 | random_.below(kClasses) : 0;
  it.delivery = random_.below(4) == 0;
  const bool inject = it.bytes <= rdm(node).inject_limit() && random_.below(4) == 0;
  it.memory = allocate(node, it.bytes);
  fill(inside(node, it.memory), number);
  const bool taken = rdm(node).send({.peer = peer,
                                     .tagged = it.tagged,
                                     .tag = it.tag,
                                     .has_data = !it.tagged,
                                     .data = it.tagged ? 0 : std::uint64_t{number},
                                     .from = {it.memory, kGuard},
                                     .bytes = it.bytes,
                                     .context = number,
                                     .inject = inject,
                                     .delivery = it.delivery});
  if (!taken) return;
  if (inject) release(node, it.memory);
  operations_.push_back(it);
}

Receive Exercise::drawn_receive(std::uint32_t node) {
  (void)node;
  Receive what;
  what.tagged = random_.below(3) > 0;
  what.tag = random_.below(kClasses);
  what.ignore = random_.below(4) == 0 ? ~std::uint64_t{0} : ~kClassBits;
  if (random_.below(3) == 0) what.peer = random_.below(static_cast<std::uint32_t>(nodes_.size()));
  return what;
}

void Exercise::receive(std::uint32_t node) {
  Receive what = drawn_receive(node);
  what.bytes = random_.below(3) == 0 ? drawn_size() : longest_;
  if (!what.tagged && random_.below(3) == 0) {
    what.least_left = longest_;
    what.bytes = longest_ * (2 + random_.below(4));
  }
  post(node, what);
}

void Exercise::post(std::uint32_t node, Receive what) {
  const std::uint64_t memory = allocate(node, what.bytes);
  what.to = {memory, kGuard};
  what.context = receives_.size();
  receives_.push_back({.node = node, .what = what, .memory = memory});
  rdm(node).receive(what);
}

void Exercise::write(std::uint32_t node, std::uint32_t peer) {
  const std::size_t number = operations_.size();
  Operation it{.kind = Operation::Kind::write, .from = node, .to = peer, .bytes = drawn_size()};
  it.told = random_.below(2) == 0;
  it.bad = random_.below(8) == 0;
  it.memory = allocate(node, it.bytes);
  it.remote = allocate(peer, it.bytes);
  fill(inside(node, it.memory), number);
  const std::uint64_t address = random_.next() >> 2;
  rdm(peer).add_region(number, {address, it.bytes, {it.remote, kGuard}, it.bad, !it.bad});
  const bool taken = rdm(node).write({.peer = peer,
                                      .from = {it.memory, kGuard},
                                      .bytes = it.bytes,
                                      .to = {address + (it.bad ? random_.below(2) : 0), number},
                                      .has_data = it.told,
                                      .data = number,
                                      .context = number});
  if (!taken) return rdm(peer).remove_region(number), void();
  operations_.push_back(it);
}

void Exercise::read(std::uint32_t node, std::uint32_t peer) {
  const std::size_t number = operations_.size();
  Operation it{.kind = Operation::Kind::read, .from = node, .to = peer, .bytes = drawn_size()};
  it.memory = allocate(node, it.bytes);
  it.remote = allocate(peer, it.bytes);
  fill(inside(peer, it.remote), number);
  rdm(peer).add_region(number, {0, it.bytes, {it.remote, kGuard}, true, false});
  const bool taken = rdm(node).read(
      {.peer = peer, .to = {it.memory, kGuard}, .bytes = it.bytes, .from = {0, number}, .context = number});
  if (!taken) return rdm(peer).remove_region(number), void();
  operations_.push_back(it);
}

// To a number that everybody adds to: what is fetched is never the same twice.
void Exercise::add(std::uint32_t node, std::uint32_t peer) {
  const std::size_t number = operations_.size();
  Operation it{.kind = Operation::Kind::atomic, .from = node, .to = peer, .bytes = 8};
  it.memory = allocate(node, 16);
  inside(node, it.memory)[0] = std::byte{1};
  std::ranges::fill(inside(node, it.memory).subspan(1, 7), std::byte{0});
  it.remote = nodes_[peer]->counter;
  const bool taken = rdm(node).atomic({.peer = peer,
                                       .op = AtomicOp::sum,
                                       .type = AtomicType::u64,
                                       .operand = {it.memory, kGuard},
                                       .target = {0, kOwnMemory >> 1 | it.remote},
                                       .fetch = true,
                                       .result = {it.memory, kGuard + 8},
                                       .context = number});
  if (!taken) return;
  ++nodes_[peer]->may_be_counted;
  operations_.push_back(it);
}

// Claims a message, as a receive of this moment would get it, and takes or discards it.
void Exercise::look(std::uint32_t node) {
  Receive what = drawn_receive(node);
  const auto seen = rdm(node).peek(what);
  if (!seen || random_.below(3) == 0) return;
  const auto claimed = rdm(node).claim(what);
  if (!claimed || claimed->number != seen->number) return complain("claimed another message than was seen");
  const std::size_t number = what.tagged ? claimed->tag >> 8 : claimed->data;
  if (number >= operations_.size()) return complain("claimed a message that nobody sent");
  if (operations_[number].bytes != claimed->bytes) complain(fmt::format("message {} has another size", number));
  what.bytes = claimed->bytes;
  what.context = receives_.size();
  const std::uint64_t memory = allocate(node, what.bytes);
  what.to = {memory, kGuard};
  receives_.push_back({.node = node, .what = what, .memory = memory});
  if (random_.below(2) == 0) {
    if (!rdm(node).receive_claimed(claimed->number, what)) complain("a claimed message is gone");
    return;
  }
  receives_.back().over = true;
  if (!rdm(node).discard(claimed->number)) complain("a claimed message is gone");
  matched(node, number, receives_.size() - 1, 0);
}

void Exercise::cancel(std::uint32_t node) {
  for (std::size_t i = receives_.size(); i-- > 0;) {
    Receiving& it = receives_[i];
    if (it.node != node || it.over || it.canceled) continue;
    it.canceled = rdm(node).cancel(it.what.tagged, i);
    return;
  }
}

// ---- ends

void Exercise::collect(std::uint32_t node) {
  std::vector<Completion> told_now;
  told_now.swap(rdm(node).completions());
  for (const Completion& each : told_now) {
    if (each.kind == Completion::Kind::received)
      received(node, each);
    else if (each.kind == Completion::Kind::told)
      told(node, each);
    else if (each.kind == Completion::Kind::released)
      receives_[each.context].over = true;
    else
      ended(node, each);
  }
  close_regions(*nodes_[node]);
}

void Exercise::close_regions(Node& node) {
  std::erase_if(node.closing, [&](std::uint64_t key) { return node.rdm->remove_region(key); });
}

void Exercise::ended(std::uint32_t node, const Completion& completion) {
  if (completion.context >= operations_.size()) return complain("an operation ended that nobody asked for");
  const std::size_t number = completion.context;
  Operation& it = operations_[number];
  if (it.from != node || it.done || it.abandoned) return complain(fmt::format("operation {} ended twice", number));
  it.done = true;
  it.failed = completion.error != Error::none;
  if (it.failed && !(it.bad && completion.error == Error::bad_access) &&
      !(it.excused && (completion.error == Error::peer_lost || completion.error == Error::bad_access)))
    complain(
        fmt::format("operation {} failed ({}) and nothing explains it", number, static_cast<int>(completion.error)));
  if (it.bad && !it.failed) complain(fmt::format("write {} with a bad key succeeded", number));
  switch (it.kind) {
    case Operation::Kind::send:
      if (it.delivery && !it.failed && it.ends == 0) {
        // Its receive may be told a moment later, at the other node.
        collect(it.to == node ? node : it.to);
        if (operations_[number].ends == 0 && !operations_[number].excused)
          complain(fmt::format("message {} is said to be delivered and is not", number));
      }
      break;
    case Operation::Kind::write:
      if (!it.failed && !it.excused && !holds(inside(it.to, it.remote), number))
        complain(fmt::format("write {} is not in memory", number));
      if (it.bad && std::ranges::any_of(inside(it.to, it.remote), [](std::byte b) { return b != kUntouched; }))
        complain(fmt::format("write {} with a bad key was placed", number));
      break;
    case Operation::Kind::read:
      if (!it.failed && !holds(inside(node, it.memory), number))
        complain(fmt::format("read {} got something else", number));
      break;
    case Operation::Kind::atomic:
      if (!it.failed) {
        std::uint64_t value = 0;
        std::memcpy(&value, inside(node, it.memory).data() + 8, 8);
        if (it.remote != nodes_[it.to]->counter) break;  // of an earlier life
        if (!nodes_[it.to]->fetched.insert(value).second)
          complain(fmt::format("atomic {} fetched {}, as another did", number, value));
        ++nodes_[it.to]->counted;
      }
      break;
  }
  if (it.remote != 0 && it.kind != Operation::Kind::atomic) {
    look_at_guards(it.to, it.remote);
    nodes_[it.to]->closing.push_back(number);
    close_regions(*nodes_[it.to]);
  }
  release(node, operations_[number].memory);
}

void Exercise::received(std::uint32_t node, const Completion& completion) {
  if (completion.context >= receives_.size()) return complain("a receive ended that nobody asked for");
  Receiving& it = receives_[completion.context];
  if (it.node != node || it.over) return complain(fmt::format("receive {} ended twice", completion.context));
  if (completion.error == Error::canceled) {
    // Messages may still be on their way into a receive of many.
    if (!it.canceled) complain(fmt::format("receive {} was canceled by nobody", completion.context));
    it.over = it.what.least_left == 0;
    return;
  }
  if (it.what.least_left == 0) it.over = true;
  ++it.taken;
  const std::size_t number = completion.tagged ? completion.tag >> 8 : completion.data;
  if (number >= operations_.size() || operations_[number].kind != Operation::Kind::send)
    return complain("a message came that nobody sent");
  const Operation& sent = operations_[number];
  if (completion.error == Error::peer_lost) {
    if (!sent.excused) complain(fmt::format("message {} was lost and nothing explains it", number));
    return;
  }
  const std::uint64_t at = completion.place.offset - kGuard;
  const std::uint64_t room = std::min(sent.bytes, it.what.bytes - std::min(it.what.bytes, at));
  if (completion.peer != sent.from || completion.tag != sent.tag || completion.tagged != sent.tagged)
    complain(fmt::format("message {} came with another's sender or tag", number));
  if (completion.bytes != room || completion.cut != sent.bytes - room ||
      (completion.error == Error::truncated) != (room < sent.bytes))
    return complain(
        fmt::format("message {}: {} bytes and {} cut of {}", number, completion.bytes, completion.cut, sent.bytes));
  if (!holds(inside(node, it.memory).subspan(at, room), number))
    complain(fmt::format("message {} came with other bytes", number));
  look_at_guards(node, it.memory);
  if (it.what.least_left == 0 &&
      std::ranges::any_of(inside(node, it.memory).subspan(room), [](std::byte b) { return b != kUntouched; }))
    complain(fmt::format("message {} wrote beyond its end", number));
  matched(node, number, completion.context, at);
}

void Exercise::matched(std::uint32_t node, std::size_t number, std::size_t receive, std::uint64_t at) {
  Operation& it = operations_[number];
  if (it.to != node) return complain(fmt::format("message {} came to node {}", number, node));
  if (!suits(receives_[receive].what, it)) complain(fmt::format("message {} came to a receive for others", number));
  if (++it.ends > 1) complain(fmt::format("message {} came twice", number));
  it.receive = receive;
  it.at = at;
}

void Exercise::told(std::uint32_t node, const Completion& completion) {
  const std::uint64_t number = completion.data;
  if (number >= operations_.size() || operations_[number].kind != Operation::Kind::write || !operations_[number].told)
    return complain("told of a write that nobody made");
  Operation& it = operations_[number];
  if (it.to != node || it.from != completion.peer || it.bytes != completion.bytes || it.bad || ++it.ends > 1)
    complain(fmt::format("told wrongly of write {}", number));
  if (!holds(inside(node, it.remote), number)) complain(fmt::format("told of write {} before its bytes", number));
}

// ---- faults

void Exercise::lost(std::uint32_t a, std::uint32_t b) {
  for (Operation& it : operations_)
    if ((it.from == a && it.to == b) || (it.from == b && it.to == a)) it.excused = true;
}

void Exercise::restart(std::uint32_t node) {
  for (Operation& it : operations_) {
    it.excused = it.excused || it.from == node || it.to == node;
    it.abandoned = it.abandoned || (it.from == node && !it.done);
  }
  for (Receiving& it : receives_) it.over = it.over || it.node == node;
  Node& it = *nodes_[node];
  RdmConfig config = config_;
  config.seed = random_.next();
  it.rdm = std::make_unique<Rdm>(config, it);
  it.closing.clear();
  it.fetched.clear();
  it.counted = it.may_be_counted = 0;
  it.counter = allocate(node, 8);
  std::ranges::fill(inside(node, it.counter), std::byte{0});
  it.rdm->add_region(kOwnMemory >> 1 | it.counter, {0, 8, {it.counter, kGuard}, true, true});
}

// ---- the end

std::size_t Exercise::open() const {
  return static_cast<std::size_t>(std::ranges::count_if(operations_, [](const Operation& it) {
    if (it.abandoned) return false;
    return !it.done || (it.kind == Operation::Kind::send && it.ends == 0 && !it.excused);
  }));
}

// Nobody else takes what is left; a receive for whatever comes, as long as one is missing. It may get a message that is
// not: then another is posted.
void Exercise::drain() {
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    for (const bool tagged : {false, true}) {
      const auto short_by = [&] {
        const auto missing = std::ranges::count_if(operations_, [&](const Operation& it) {
          const bool wanted = it.ends == 0 && (!it.excused || !it.done);
          return it.kind == Operation::Kind::send && it.to == node && it.tagged == tagged && wanted && !it.abandoned;
        });
        const auto posted = std::ranges::count_if(receives_, [&](const Receiving& it) {
          return it.node == node && !it.over && !it.canceled && it.what.tagged == tagged && it.what.peer == kAnyPeer &&
                 it.what.ignore == ~std::uint64_t{0};
        });
        return missing - posted;
      };
      for (auto more = short_by(); more > 0; more = short_by()) {
        for (; more > 0; --more) post(node, {.tagged = tagged, .ignore = ~std::uint64_t{0}, .bytes = longest_});
        collect(node);
      }
    }
    collect(node);
  }
}

bool Exercise::suits(const Receive& receive, const Operation& operation) {
  if (receive.tagged != operation.tagged || (receive.peer != kAnyPeer && receive.peer != operation.from)) return false;
  return !receive.tagged || ((receive.tag ^ operation.tag) & ~receive.ignore) == 0;
}

// Two messages between the same two, and the receives they came to.
void Exercise::look_at_order(const Operation& first, const Operation& second) {
  if (!suits(receives_[second.receive].what, first)) return;
  const bool before = first.receive < second.receive || (first.receive == second.receive && first.at <= second.at);
  if (!before) complain(fmt::format("of two messages from {} to {}, the second came first", first.from, first.to));
}

void Exercise::finish() {
  for (std::size_t second = 0; demands_order_ && second < operations_.size(); ++second) {
    const Operation& later = operations_[second];
    if (later.kind != Operation::Kind::send || later.ends == 0) continue;
    for (std::size_t first = 0; first < second; ++first) {
      const Operation& earlier = operations_[first];
      if (earlier.kind == Operation::Kind::send && earlier.ends > 0 && earlier.from == later.from &&
          earlier.to == later.to && earlier.excused == later.excused)
        look_at_order(earlier, later);
    }
  }
  for (const auto& node : nodes_) {
    std::uint64_t value = 0;
    std::memcpy(&value, inside(node->number, node->counter).data(), 8);
    if (value < node->counted || value > node->may_be_counted)
      complain(fmt::format("node {} counted {}, between {} and {} were added", node->number, value, node->counted,
                           node->may_be_counted));
  }
}

std::size_t Exercise::failed_operations() const {
  return static_cast<std::size_t>(std::ranges::count_if(operations_, [](const Operation& it) { return it.failed; }));
}

}  // namespace weft::transport::rdm
