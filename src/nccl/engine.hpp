#pragma once
// What NCCL's plugin does below NCCL's words: one-way channels of messages between processes.
//
//   listen()    a number that nobody guesses, to be told to the peer
//   connect()   opens a channel to whoever listens by that number: a message says so, and nothing is waited for
//   accept()    the next channel that was opened to a listener, if there is one yet
//   send(), receive(), test()
//
// How it works, and why:
// - The sender sends only what a receive waits for: the receiver tells how many it has posted by an atomic (the
// greatest
//   counts, for the network changes the order) on a counter of the sender. So nothing ever waits at the receiver, where
//   it would use up what another communicator may need first, and messages of any length go at once, without asking.
// - A message's tag is its channel's number and its own, so that messages are matched in whatever order they come.
// - Whoever loses a peer loses its channels: every call of theirs is an error from then on.
//
// Calls may come from any thread. A call that waits for something moves what can be moved; a thread of the engine does
// so for peers while NCCL calls nothing.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/result.hpp"
#include "endpoint/wire.hpp"

namespace weft::nccl {

class Engine;
struct Channel;

struct Request {
  Channel* channel = nullptr;
  std::atomic<bool> used{false};
  std::atomic<bool> done{false};  // behind which the rest is to be seen
  transport::rdm::Error error = transport::rdm::Error::none;
  std::uint64_t bytes = 0;
};

inline constexpr std::size_t kMostRequests = 64;  // of a channel; NCCL has at most 32

struct Channel {
  Engine* engine = nullptr;
  bool sends = false;
  std::uint32_t peer = 0;
  std::uint32_t lost = 0;         // connections with the peer that were lost when it began
  std::uint32_t number = 0;       // the sender's, in tags
  std::uint64_t key = 0;          // of the sender's counter
  std::uint64_t next = 0;         // messages posted
  std::uint64_t wanted = 0;       // sender's counter: messages that receives wait for
  std::atomic<bool> gone{false};  // its peer is: nothing of it will come or go any more
  bool owes = false;              // receiver: the sender is to be told how many were posted
  std::array<Request, kMostRequests> requests;
};

struct Hello {
  std::uint32_t magic = 0;
  std::uint32_t number = 0;
  std::uint64_t key = 0;
};

struct Listener {
  Engine* engine = nullptr;
  std::uint64_t number = 0;
  Hello hello;
  bool came = false;
  std::uint32_t peer = 0;
};

struct Counts {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

class Engine {
 public:
  static Result<std::unique_ptr<Engine>, std::string> open(const net::Address& local, endpoint::Sharing sharing);
  ~Engine();

  const net::Address& address() const { return wire_->address(); }
  Listener* listen();
  // Null: a peer that no packet can reach.
  Channel* connect(const net::Address& to, std::uint64_t listener);
  Channel* accept(Listener& listener);
  // Null: not now.
  Request* send(Channel& channel, const void* from, std::uint64_t bytes);
  Request* receive(Channel& channel, void* to, std::uint64_t bytes);
  // Whether it is over; who has seen what became of it sets `used` to false.
  bool test(Request& request);
  void close(Channel* channel);
  void close(Listener* listener);
  std::string why_lost(const Channel& channel);
  // What was carried so far, in words; nothing while channels are open.
  std::string summary();

 private:
  explicit Engine(std::unique_ptr<endpoint::Wire> wire);
  Request* free_request(Channel& channel);
  bool lost_it(const Channel& channel) const { return wire_->lost(channel.peer) != channel.lost; }
  void move();
  void tell(const transport::rdm::Completion& completion);
  void pay();
  void post_hello(Listener& listener);
  void help();

  std::mutex lock_;
  std::unique_ptr<endpoint::Wire> wire_;
  std::unordered_set<Channel*> channels_;
  std::unordered_set<Listener*> listeners_;
  std::uint32_t drawn_ = 0;
  std::vector<Channel*> owing_;
  Counts counts_;
  std::uint64_t losses_ = 0;
  std::atomic<bool> stopping_{false};
  int wake_ = -1;
  std::thread helper_;
};

}  // namespace weft::nccl
