#pragma once
// Which of the machine's addresses an endpoint is reached at.

#include <optional>
#include <string>
#include <string_view>

#include "net/address.hpp"

namespace weft::endpoint {

struct Interface {
  std::string name;  // of the kernel; empty where an address is of none
  net::Address address;
};

// By its name or one of its addresses; an address that only the routing table knows (127.0.0.2) will do, too.
std::optional<Interface> interface_named(std::string_view wanted, int family);
// The first that is up and not the loopback; the loopback where there is no other.
Interface usual_interface(int family);

}  // namespace weft::endpoint
