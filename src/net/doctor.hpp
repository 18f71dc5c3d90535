#pragma once
// What this machine lacks for SRD over UDP, and what to type. Looking (`look`) and judging (`judge`) are apart, so that
// a test can say what a machine is like.

#include <cstdint>
#include <string>
#include <vector>

namespace weft::net {

struct Interface {
  std::string name;
  int mtu = 0;
  int segments = -1;       // generic segmentation offload is on; -1: it does not say
  int coalesces = -1;      // generic receive offload, likewise
  int reverse_filter = 0;  // rp_filter, the stricter of its own and that of all; 1: strict
};

struct Machine {
  std::int64_t receive_buffer = 0;  // bytes that a socket was given, as the kernel counts them
  std::int64_t send_buffer = 0;
  bool sends_trains = false;     // a train went down in one call and arrived whole
  bool takes_trains = false;     // and came up in one
  bool timestamps = false;       // with the time when the kernel had it
  std::string loopback_trouble;  // why that could not be tried
  int hash_policy = -1;          // net.ipv4.fib_multipath_hash_policy
  int hash_policy_v6 = -1;       // of IPv6
  bool forwards = false;         // net.ipv4.ip_forward
  std::int64_t first_port = -1;  // net.ipv4.ip_local_port_range
  std::int64_t last_port = -1;
  std::string port_trouble;           // why nobody can listen at the usual port; empty: it is free
  std::int64_t open_files = 0;        // RLIMIT_NOFILE
  std::int64_t cores = 0;             // that this process may use
  std::vector<Interface> interfaces;  // that are up, loopback left out
};

Machine look(std::uint16_t port);

struct Finding {
  enum class State : std::uint8_t { fine, note, lacks };
  std::string check;  // a word that stays the same: socket_buffers
  State state = State::fine;
  std::string found;
  std::string why;      // what it costs; empty where all is fine
  std::string command;  // what to type; empty where nothing helps
};

std::vector<Finding> judge(const Machine& machine, std::uint16_t port);

}  // namespace weft::net
