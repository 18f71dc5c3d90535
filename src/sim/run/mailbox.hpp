#pragma once
// Where the messages of one rank meet its recvs: by (source, tag), first come first served. For one key
// either recvs wait or messages do, so an entry holds a queue of recvs or a count of messages. Entries
// leave the table when they are empty; memory follows what is waiting, and nothing is allocated once it
// has reached its size.

#include <cstdint>
#include <vector>

namespace weft::sim {

class Mailbox {
 public:
  static constexpr std::uint32_t kNobody = 0xFFFFFFFFu;

  // A recv begins; true: its message has come already.
  bool post(std::uint32_t source, std::uint64_t tag, std::uint32_t context);
  // A message has come: the context of the recv that waited for it, or kNobody.
  std::uint32_t arrive(std::uint32_t source, std::uint64_t tag);

 private:
  struct Entry {
    std::uint64_t tag = 0;
    std::uint32_t source = 0;
    std::uint32_t early = 0;        // messages that no recv has asked for yet
    std::uint32_t first = kNobody;  // waiting recvs, into waiting_
    std::uint32_t last = kNobody;
    bool empty() const { return early == 0 && first == kNobody; }
  };
  struct Waiting {
    std::uint32_t context;
    std::uint32_t next;  // behind it in its queue, or in the free list
  };

  static std::uint64_t hash(std::uint32_t source, std::uint64_t tag);
  Entry& find(std::uint32_t source, std::uint64_t tag);  // an empty one when the key is new
  void remove(Entry& entry);
  void grow();

  std::vector<Entry> entries_;  // open addressing, a power of two, at most half full
  std::size_t used_ = 0;
  std::vector<Waiting> waiting_;
  std::uint32_t free_ = kNobody;
};

}  // namespace weft::sim
