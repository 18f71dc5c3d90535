#pragma once
// A server on loopback in a thread, until it goes out of scope, for tests.

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "traffic/client.hpp"
#include "traffic/messages.hpp"

namespace weft::traffic {

class Serving {
 public:
  explicit Serving(net::NodeConfig config) : pool_(kLongestMessage), server_(pool_) {
    auto node = net::Node::open(config, server_, server_);
    if (!node) throw std::runtime_error(node.error());
    node_ = std::move(*node);
    address_ = node_->address();
    thread_ = std::thread([this] {
      while (!stop_) {
        node_->progress();
        node_->wait(net::Node::now() + 20 * net::kMillisecond);
      }
    });
  }
  explicit Serving(const std::string& local, std::size_t datagram = 0) : Serving(config_of(local, datagram)) {}
  ~Serving() { end(); }
  void end() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  const net::Address& address() const { return address_; }
  const net::NodeCounters& counters() const { return node_->counters(); }  // after end()

  static net::NodeConfig config_of(const std::string& local, std::size_t datagram = 0) {
    net::NodeConfig config;
    config.local = *net::Address::parse(local, 0);
    config.datagram = datagram;
    return config;
  }

 private:
  Pool pool_;
  Server server_;
  std::unique_ptr<net::Node> node_;
  net::Address address_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

inline bool go_on(const Progress&) { return true; }

}  // namespace weft::traffic
