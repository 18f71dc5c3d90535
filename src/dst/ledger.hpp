#pragma once
// What was asked of the transport and what came of it. Every entry checks itself against what may
// happen; the first contradiction is kept.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "transport/operation.hpp"

namespace weft::dst {

class Ledger {
 public:
  explicit Ledger(std::uint32_t payload) : payload_(payload) {}

  // An incarnation is one life of a node: a number of its own.
  struct Life {
    std::uint32_t node;
    std::uint32_t incarnation;
  };

  struct Entry {
    transport::Op op;
    std::uint32_t poster;       // node
    std::uint32_t incarnation;  // of the poster
    std::uint32_t peer;         // node
    std::uint64_t bytes;
    std::uint32_t lanes = 0;  // bit for each ordered channel to the peer that it takes; 0: order is not promised
    bool must_succeed = false;
    bool done = false;
    bool failed = false;
    bool received = false;
    std::uint32_t deliveries = 0;  // over all lives of the receiver
  };

  std::uint32_t packets_of(std::uint64_t bytes) const;
  // The tag and context to post it with; the tag is its index.
  std::uint32_t add(const Entry& entry);
  static std::uint32_t context_of(std::uint32_t tag) { return tag * 2654435761u + 17; }

  void placed(const Life& at, std::uint32_t from, const transport::Placement& placement);
  void completed(const Life& at, const transport::Completion& completion);
  // The transport would not take it; false unless it is a read and `reads` of them are open.
  bool withdraw(std::uint32_t tag, std::uint32_t reads);
  // The poster's process is gone, and with it whoever waited for the operation.
  void abandon(const Life& gone);

  std::uint32_t open() const;  // operations that wait for a completion
  std::uint64_t failed_operations() const;
  const std::vector<Entry>& entries() const { return entries_; }
  const std::string& problem() const { return problem_; }
  void complain(const std::string& text) {
    if (problem_.empty()) problem_ = text;
  }

 private:
  struct Coverage {  // of one message at one life of its receiver
    std::vector<bool> packets;
    std::uint32_t left = 0;
  };
  // Of the operations before `tag` that it cannot overtake, one that has not come as far; or `tag` itself.
  std::uint32_t overtaken_by(std::uint32_t tag, bool at_receiver) const;

  std::uint32_t payload_;
  std::vector<Entry> entries_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Coverage> coverage_;  // (tag, incarnation of the receiver)
  std::string problem_;
};

}  // namespace weft::dst
