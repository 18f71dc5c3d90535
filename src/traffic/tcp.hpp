#pragma once
// The same messages over TCP or MPTCP, between the same two hosts: what SRD is to be held against.
//
// A message is a header of 24 bytes (kind, number, length; big-endian) and its bytes, which are the pool's. A flow is a
// connection of its own; `endpoints` of a client are as many.

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "base/result.hpp"
#include "net/address.hpp"
#include "net/udp.hpp"
#include "traffic/client.hpp"
#include "traffic/pool.hpp"

namespace weft::traffic {

// Listens at the TCP port of the same number as the UDP port of a server, in a thread of its own: also for MPTCP where
// the kernel has it.
class TcpServer {
 public:
  static Result<std::unique_ptr<TcpServer>, std::string> open(const net::Address& local, const Pool& pool);
  ~TcpServer();
  const net::Address& address() const { return local_; }

 private:
  TcpServer(net::Descriptor listener, const net::Address& local, const Pool& pool);
  void serve();

  net::Descriptor listener_;
  net::Address local_;
  const Pool& pool_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

ClientResult run_tcp_client(const ClientOptions& options, const std::function<bool(const Progress&)>& each_second);

}  // namespace weft::traffic
