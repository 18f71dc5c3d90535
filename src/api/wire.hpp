#pragma once
// Messages between processes over all paths of the network: SRD for programs that want the transport and not the tool.
// docs/api.md has a page about it, share/weft/wire/example.cpp a program.
//
//   weft::wire::Endpoint here("0.0.0.0:7000");
//   const auto there = here.peer("node1:7000");
//   here.send(there, 1, bytes, size, 42);
//   weft::wire::Done done;
//   while (!here.wait(done, std::chrono::seconds(1))) {}
//
// Calls may come from several threads. Nothing is copied that is long: memory of a send and of a receive belongs to the
// endpoint until the operation is done, and must stay until the endpoint is gone if it never is. Whoever calls makes
// progress; when nobody has called for 200 us, a thread of the endpoint answers peers and repeats what was lost, so
// that a program may compute for as long as it likes. Waiting sleeps in the kernel.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace weft::wire {

inline constexpr std::uint32_t kAnyPeer = 0xFFFFFFFF;

enum class Status : std::uint8_t {
  fine,
  truncated,  // the message was longer than the room for it
  lost,       // the connection: a send may or may not have arrived, and what is sent next goes to whoever is there then
  failed,
};

struct Done {
  bool received = false;  // else: sent
  Status status = Status::fine;
  std::uint32_t peer = 0;
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;  // received: how many
  std::uint64_t context = 0;
};

class Endpoint {
 public:
  // Takes packets there: an address with a port, or without for any port; behind it, with commas, those of other NICs,
  // which are used together. `key`: a file with the job's secret; only who has the same is let in, and packets of
  // others do not count. Throws std::runtime_error with the reason.
  explicit Endpoint(const std::string& listen = "0.0.0.0", const std::string& key = {});
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  std::string address() const;  // with the port
  // The number of whoever listens at an address, the same every time; nothing is sent yet. Throws where it is none.
  std::uint32_t peer(const std::string& address);
  std::string address_of(std::uint32_t peer) const;
  // Why the last connection with a peer ended; empty where it did not.
  std::string why_lost(std::uint32_t peer) const;

  // Messages of one peer are matched in the order in which they were sent. False: too many wait for this peer; try
  // again when one is done.
  bool send(std::uint32_t peer, std::uint64_t tag, const void* bytes, std::size_t size, std::uint64_t context);
  // The next message with this tag, where the bits of `ignore` do not matter. It waits on when a peer is lost, for
  // whoever is there next.
  void receive(std::uint32_t peer, std::uint64_t tag, std::uint64_t ignore, void* room, std::size_t size,
               std::uint64_t context);

  // The next operation that is done; false: none was in time.
  bool wait(Done& done, std::chrono::nanoseconds timeout);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace weft::wire
