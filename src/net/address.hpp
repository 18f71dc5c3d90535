#pragma once
// An IP address with a port, of either family.

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace weft::net {

class Address {
 public:
  Address() = default;
  Address(const sockaddr* address, socklen_t length);
  // "10.0.0.1", "10.0.0.1:7791", "[fe80::1%eth0]:7791", "node7"; why not, where it is none. Asks the resolver for
  // names.
  static Result<Address, std::string> parse(std::string_view text, std::uint16_t port);
  // Of every interface.
  static Address any(int family, std::uint16_t port = 0);

  int family() const { return storage_.ss_family; }
  std::uint16_t port() const;
  void set_port(std::uint16_t port);
  std::string host() const;
  std::string name() const;  // as the resolver has it, which is asked; empty: it has none
  std::string text() const;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length() const { return length_; }
  // The IP address alone, in the order of networks.
  std::span<const std::uint8_t> ip() const;
  // Another IP address of this one's family; bytes that it does not have are left out.
  Address with(std::span<const std::uint8_t, 16> ip, std::uint16_t port) const;
  bool operator==(const Address& other) const;

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

struct AddressHash {
  std::size_t operator()(const Address& address) const;
};

}  // namespace weft::net
