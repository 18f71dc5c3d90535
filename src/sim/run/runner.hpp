#pragma once
// Carries out a schedule over any network. The runner knows what each lane waits for; the network knows
// how long things take. Every executor is a Network with a clock:
//
//   runner.start()  ->  network.send, wake, local  ->  runner.sent, received, done  ->  network.send ...
//
// Threads: a call changes only the state of the rank it names, so ranks may be spread over partitions
// that run at once, as long as one rank's calls come in order and a message's `received` is synchronised
// with its `send` (see message_log.hpp). A schedule with signals acts on other ranks: one partition.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "schedule/result.hpp"
#include "schedule/schedule.hpp"
#include "sim/run/mailbox.hpp"
#include "sim/run/message_log.hpp"

namespace weft::sim {

// A message on its way into the network; see schedule::Instruction.
struct Transfer {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t bytes = 0;
  std::uint32_t message = 0;  // counted per sender
  std::uint32_t leaves = schedule::kItself;
  std::uint32_t enters = schedule::kItself;
  bool handed = false;
  std::uint32_t channel = 0;
};

// What the runner needs done. The answers come later through the runner, never from within the call.
class Network {
 public:
  virtual ~Network() = default;
  // Into how many parts it goes. Each is answered by `sent` when the sender has its last acknowledgement
  // and by `received` when the receiver has its last byte, both with the message's number.
  virtual std::uint32_t send(std::int64_t now, const Transfer& transfer) = 0;
  // Answered by `done` at that time.
  virtual void wake(std::int64_t at, std::uint32_t rank, std::uint32_t context) = 0;
  // A copy or a reduction on the rank itself that begins then, answered by `done`.
  virtual void local(std::int64_t at, std::uint32_t rank, schedule::Instruction::Kind kind, std::uint64_t bytes,
                     std::uint32_t context) = 0;
};

class Runner {
 public:
  Runner(schedule::Schedule& schedule, Network& network);

  void start(std::int64_t now, std::uint32_t rank);  // all its lanes; once per rank

  void sent(std::int64_t now, std::uint32_t rank, std::uint32_t message);
  void received(std::int64_t now, std::uint32_t rank, std::uint32_t from, std::uint32_t message);
  void done(std::int64_t now, std::uint32_t rank, std::uint32_t context);

  const Message& message(std::uint32_t from, std::uint32_t number) const { return logs_[from][number]; }

  // Lanes that have not come to their end, or whose operations have not. Zero when all work is done.
  std::uint64_t unfinished() const;
  // Whether the first lanes(rank) lanes of every rank have come to their end; those of ranks below `rank` have, and it
  // moves on over those that have since.
  bool have_ended(std::uint32_t& rank, const std::function<std::uint32_t(std::uint32_t)>& lanes) const;
  // When the last lane ended, or the last of what they began was finished; ps. To be asked before the flows are taken.
  std::int64_t last() const;
  // Every message as a record, by source and then by number. Ends the run.
  std::vector<schedule::FlowRecord> take_flows();

 private:
  struct Lane {
    std::uint64_t outstanding = 0;  // bit i: the operation in slot i is unfinished
    std::uint64_t awaited = 0;      // slots that hold the lane
    std::int64_t busy = 0;          // until when its sends occupy it; of one that has ended, when it was last at work
    std::uint8_t next = 0;          // slot of the next operation
    bool asleep = false;            // until a time
    bool ended = false;
  };
  // A message of a rank to itself, while it is copied.
  struct Copy {
    std::uint64_t tag;
    std::int64_t lag;
    std::uint32_t context;  // of the operation; kNobody: none, or it was told already
    std::uint32_t when_sent;
    std::uint32_t when_received;
  };
  // What waits for its wake-up, which has its number.
  template <class Entry>
  struct Waiting {
    std::vector<Entry> entries;
    std::vector<std::uint32_t> free;
    std::uint32_t add(const Entry& entry);
    Entry take(std::uint32_t number);
  };
  // Messages that leave a rank, or are there, later than now.
  struct Delayed {
    Waiting<Transfer> transfers;
    Waiting<Copy> copies;
    std::int64_t last_copy = 0;  // was there
  };
  // What only some ranks have.
  struct MatchingState {
    Mailbox mailbox;
    std::unique_ptr<Delayed> delayed;
    std::vector<std::int64_t> busy;  // by processor: until when it computes
  };
  static constexpr std::uint32_t kAlarm = schedule::kMostOutstanding;  // stands for a slot: the lane's `at`
  static constexpr std::uint32_t kNobody = Mailbox::kNobody;

  Lane& lane_of(std::uint32_t rank, std::uint32_t lane) { return lanes_[first_lane_[rank] + lane]; }
  MatchingState& matching(std::uint32_t rank);
  Delayed& delayed(std::uint32_t rank);
  void sleep(std::int64_t until, std::uint32_t rank, std::uint32_t number);
  void advance(std::int64_t now, std::uint32_t rank, std::uint32_t number);
  void begin(std::int64_t now, std::uint32_t rank, std::uint32_t number, const schedule::Instruction& each);
  std::int64_t computed(std::int64_t now, std::uint32_t rank, const schedule::Instruction& each);
  void send(std::int64_t now, std::int64_t leaves, std::uint32_t rank, const schedule::Instruction& each,
            std::uint32_t context);
  void delay(std::int64_t until, std::uint32_t rank, std::uint32_t what, const Transfer& transfer);
  void copy(std::int64_t leaves, std::uint32_t rank, const schedule::Instruction& each, std::uint32_t context);
  void copied(std::int64_t now, std::uint32_t rank, const Copy& copy);
  void arrive(std::int64_t now, std::uint32_t rank, std::uint32_t from, std::uint32_t message);
  void deliver(std::int64_t now, std::uint32_t rank, std::uint32_t from, std::uint64_t tag);
  void hand_over(std::int64_t now, const Transfer& transfer);
  void fire(std::int64_t now, std::uint32_t signal);

  schedule::Schedule& schedule_;
  Network& network_;
  bool signals_;
  std::vector<std::uint32_t> first_lane_;  // by rank, and one behind the last
  std::vector<Lane> lanes_;
  std::vector<MessageLog> logs_;                          // by rank
  std::vector<std::unique_ptr<MatchingState>> matching_;  // by rank; made for those that match or delay messages
  std::vector<schedule::Start> signalled_;
};

}  // namespace weft::sim
