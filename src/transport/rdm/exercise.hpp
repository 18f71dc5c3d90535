#pragma once
// Drawn work for the message layers of a few nodes, with real bytes, and a reference that says what may come of it:
// each message once, whole, into a receive that suits it, in order, and nowhere else. Whoever carries (a test, src/dst)
// moves bytes by get() and put(), and says when a connection was lost; the first contradiction is kept.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "transport/rdm/rdm.hpp"

namespace weft::transport::rdm {

class Exercise {
 public:
  Exercise(std::uint64_t seed, std::uint32_t nodes, const RdmConfig& config, std::uint64_t longest);

  Rdm& rdm(std::uint32_t node) { return *nodes_[node]->rdm; }
  // Memory of a node, the layer's own or one that was handed to it; complains about anything beyond.
  void get(std::uint32_t node, Place from, std::span<std::byte> to);
  void put(std::uint32_t node, Place to, std::span<const std::byte> from);

  void act(std::uint32_t node);      // asks for something
  void collect(std::uint32_t node);  // looks at what is told
  void lost(std::uint32_t a, std::uint32_t b);
  void restart(std::uint32_t node);
  // Receives for all that was sent; to be called until open() is 0 and nothing moves any more.
  void drain();
  std::size_t open() const;                       // operations without an end, and messages without a receive
  void finish();                                  // looks at the whole
  void demand_order() { demands_order_ = true; }  // of layers that do not promise it: somebody must notice

  const std::string& problem() const { return problem_; }
  void complain(const std::string& text) {
    if (problem_.empty()) problem_ = text;
  }
  std::size_t operations() const { return operations_.size(); }
  std::size_t failed_operations() const;

 private:
  static constexpr std::uint32_t kGuard = 16;  // bytes around all memory that nobody may touch

  struct Node final : Memory {
    Node(Exercise& the_world, std::uint32_t the_number) : world(the_world), number(the_number) {}
    void get(Place from, std::span<std::byte> to) override { world.get(number, from, to); }
    void put(Place to, std::span<const std::byte> from) override { world.put(number, to, from); }
    Exercise& world;
    std::uint32_t number;
    std::unique_ptr<Rdm> rdm;
    std::map<std::uint64_t, std::vector<std::byte>> memory;  // by handle, with guards
    std::uint64_t counter = 0;                               // handle of what atomics count in
    std::set<std::uint64_t> fetched;
    std::uint64_t counted = 0;           // additions that were acknowledged
    std::uint64_t may_be_counted = 0;    // or may have happened
    std::vector<std::uint64_t> closing;  // regions to be removed
  };

  struct Operation {
    enum class Kind : std::uint8_t { send, write, read, atomic } kind;
    std::uint32_t from;
    std::uint32_t to;
    std::uint64_t bytes;
    std::uint64_t memory = 0;  // the asker's
    std::uint64_t remote = 0;  // the other's
    bool tagged = false;
    std::uint64_t tag = 0;
    bool delivery = false;
    bool told = false;       // write: tells the other
    bool bad = false;        // its key names nothing
    bool excused = false;    // its connection was lost, or its peer, with what it let others read and write
    bool abandoned = false;  // the asker is gone
    bool done = false;
    bool failed = false;
    std::uint32_t ends = 0;  // send: received or discarded; write: told
    std::size_t receive = 0;
    std::uint64_t at = 0;  // place in it
  };

  struct Receiving {
    std::uint32_t node;
    Receive what;
    std::uint64_t memory = 0;
    bool over = false;  // full, canceled or gone with its node
    bool canceled = false;
    std::uint32_t taken = 0;
  };

  std::uint64_t allocate(std::uint32_t node, std::uint64_t bytes);
  std::span<std::byte> inside(std::uint32_t node, std::uint64_t memory);
  void look_at_guards(std::uint32_t node, std::uint64_t memory);
  void release(std::uint32_t node, std::uint64_t memory);
  static std::byte byte_of(std::size_t operation, std::uint64_t at);
  void fill(std::span<std::byte> bytes, std::size_t operation);
  bool holds(std::span<const std::byte> bytes, std::size_t operation);

  void send(std::uint32_t node, std::uint32_t peer);
  void receive(std::uint32_t node);
  void post(std::uint32_t node, Receive what);
  void write(std::uint32_t node, std::uint32_t peer);
  void read(std::uint32_t node, std::uint32_t peer);
  void add(std::uint32_t node, std::uint32_t peer);
  void look(std::uint32_t node);
  void cancel(std::uint32_t node);
  Receive drawn_receive(std::uint32_t node);
  std::uint64_t drawn_size();
  void close_regions(Node& node);

  void ended(std::uint32_t node, const Completion& completion);
  void received(std::uint32_t node, const Completion& completion);
  void told(std::uint32_t node, const Completion& completion);
  void matched(std::uint32_t node, std::size_t operation, std::size_t receive, std::uint64_t at);
  void look_at_order(const Operation& first, const Operation& second);
  static bool suits(const Receive& receive, const Operation& operation);

  Random random_;
  RdmConfig config_;
  std::uint64_t longest_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Operation> operations_;
  std::vector<Receiving> receives_;
  std::uint64_t handles_ = 0;
  bool demands_order_;
  std::string problem_;
};

}  // namespace weft::transport::rdm
