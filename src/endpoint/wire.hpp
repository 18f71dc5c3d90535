#pragma once
// An endpoint's way to the world, for what other programs load (libfabric's provider, NCCL's plugin): the message
// layer, the sockets below it, and the way back to oneself. Memory of the process is handle 0, and its offsets are
// addresses. Calls come from one thread at a time; whoever calls holds the lock.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "endpoint/local.hpp"
#include "net/node.hpp"
#include "transport/rdm/rdm.hpp"

namespace weft::endpoint {

inline transport::rdm::Place place_of(const void* address) {
  return {0, static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address))};
}

class Wire final : private transport::rdm::Layer,
                   private transport::rdm::Memory,
                   private net::Pointers,
                   private Local::Owner {
 public:
  static Result<std::unique_ptr<Wire>, std::string> open(const net::NodeConfig& sockets,
                                                         const transport::rdm::RdmConfig& config, Sharing sharing);

  transport::rdm::Rdm& rdm() { return rdm_; }
  net::Node& node() { return *node_; }
  const net::Address& address() const { return node_->address(); }
  std::uint32_t peer_at(const net::Address& address) override { return node_->peer_at(address); }
  void progress() { progress(net::Node::now()); }
  void progress(transport::Instant now);
  // Whether what is sent to it goes through memory: then nothing is won by waiting for company.
  bool shares_with(std::uint32_t peer) const { return shared_ && shared_->goes_here(peer); }
  // Sends what the layer has, and looks at nothing else.
  void push() { node_->push(); }
  // Ends the connection with the peer, if there is one.
  void drop(std::uint32_t peer, const std::string& why);
  std::string why_lost(std::uint32_t peer) const;
  // Readable: progress() has something to do, if rest() was true before.
  int fd() const { return shared_ ? both_.get() : node_->fd(); }
  bool rest() { return !shared_ || shared_->rest(); }
  transport::Instant timer() const { return node_->next_wake(); }
  // Sleeps until something comes, a timer is due, or this time.
  void wait(transport::Instant until);
  LocalCounters shared_counters() const { return shared_ ? shared_->counters() : LocalCounters{}; }
  // Nothing of ours is on its way, and no peer waits for a word.
  bool idle() const { return rdm_.held() == 0 && !node_->owes() && (!shared_ || shared_->idle()); }
  // Connections with it that were lost. What was meant for one of them is nothing to the next.
  std::uint64_t losses() const { return losses_; }  // with all peers
  std::uint32_t lost(std::uint32_t peer) const { return peer < lost_.size() ? lost_[peer] : 0; }

 private:
  explicit Wire(const transport::rdm::RdmConfig& config) : rdm_(config, *this) {}
  void bring_home(const transport::rdm::Outgoing& out);
  std::byte* bytes_at(transport::rdm::Place place) override;
  void local_begins(std::uint32_t peer) override;
  void local_failed(std::uint32_t peer) override;

  bool next_outgoing(transport::rdm::Outgoing& out) override;
  void sent(transport::Instant now, std::uint32_t context) override { rdm_.sent(now, context); }
  transport::rdm::Sink arrived(transport::Instant now, std::uint32_t peer, std::span<const std::byte> envelope,
                               std::uint64_t bytes) override {
    return rdm_.arrived(now, peer, envelope, bytes);
  }
  void landed(transport::Instant now, std::uint32_t peer, std::uint32_t context) override {
    rdm_.landed(now, peer, context);
  }
  void peer_failed(transport::Instant now, std::uint32_t peer) override;
  transport::Instant next_wake() const override { return rdm_.next_wake(); }
  void tick(transport::Instant now) override { rdm_.tick(now); }
  std::span<std::byte> own(std::uint64_t memory) override { return rdm_.own(memory); }

  void get(transport::rdm::Place from, std::span<std::byte> to) override;
  void put(transport::rdm::Place to, std::span<const std::byte> from) override;
  std::byte* at(transport::rdm::Place place) override { return bytes_at(place); }

  transport::rdm::Rdm rdm_;
  std::unique_ptr<net::Node> node_;
  std::unique_ptr<Local> shared_;
  net::Descriptor both_;  // epoll: the sockets and what is shared
  std::uint32_t self_ = 0;
  std::uint64_t losses_ = 0;
  std::vector<std::uint32_t> lost_;
  std::vector<bool> lost_here_;    // by peer: the last connection was by memory
  transport::Instant looked_ = 0;  // at the sockets
  transport::Instant heard_ = 0;   // by them
  std::uint64_t datagrams_ = 0;
};

}  // namespace weft::endpoint
