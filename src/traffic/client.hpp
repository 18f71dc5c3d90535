#pragma once
// What `weft run client` does: connects, sends for a while, and says what came of it.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "net/address.hpp"
#include "net/node.hpp"
#include "net/routes.hpp"
#include "traffic/measured.hpp"

namespace weft::traffic {

enum class Pattern : std::uint8_t {
  stream,    // messages one behind another, as many in flight as `window` allows
  requests,  // one at a time, each answered by one of the same length
};

enum class Transport : std::uint8_t { srd, tcp, mptcp };

struct ClientOptions {
  net::Address server;
  std::optional<net::Address> local;  // to send from; none: whatever the routing table says
  std::vector<net::Address> nics;     // instead: addresses of several NICs, which are used together
  Transport transport = Transport::srd;
  Pattern pattern = Pattern::stream;
  std::uint64_t size = 64 << 10;   // of a message
  std::uint64_t window = 8 << 20;  // bytes given to the transport and not yet acknowledged
  std::uint64_t rate = 0;          // bit/s offered; 0: as fast as it goes
  std::uint64_t messages = 0;      // of each endpoint; 0: as many as `duration` lets
  Duration duration = microseconds(5'000'000);
  std::uint32_t endpoints = 1;  // that send at the same time, each with sockets of its own
  std::uint32_t paths = 64;
  std::size_t datagram = 0;
  std::optional<net::Key> key;
  std::int64_t start_at = 0;  // ns of CLOCK_REALTIME: so that several clients begin together; 0: at once
};

// A source port of an endpoint and what became of its packets. Of TCP, a flow.
struct PathRow {
  std::uint16_t port = 0;
  net::PathHealth health;  // `since`, `heard`: from the beginning of the run
  net::Route route{};      // routers that it crosses, as far as they said so
};

struct Progress {
  Duration now;         // since it began
  std::uint64_t bytes;  // acknowledged; of TCP, handed to the kernel
  std::vector<PathRow> paths;
};

struct ClientResult {
  std::string failure;                // why it ended early; empty: it did not
  Measured received;                  // what the server saw, of all endpoints
  std::vector<Duration> round_trips;  // of requests
  std::int64_t began = 0;             // ns of CLOCK_REALTIME
  std::int64_t ended = 0;             // all was acknowledged, likewise
  std::uint64_t acknowledged = 0;     // bytes
  transport::SrdCounters srd;
  net::NodeCounters node;
  std::vector<PathRow> paths;
};

// `each_second` hears how far it is; it says false to end the run.
ClientResult run_client(const ClientOptions& options, const std::function<bool(const Progress&)>& each_second);

// What all clients do alike, whatever carries their messages.
std::int64_t realtime_ns();
void wait_until(std::int64_t realtime);  // ns; 0: not at all
Instant due_at(Instant began, std::uint64_t message, const ClientOptions& options);

}  // namespace weft::traffic
