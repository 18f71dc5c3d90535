#pragma once
// How fast the memory of a server's sockets is: what data that rest there on their way share.

#include "base/units.hpp"

namespace weft::model {

// What a socket's memory can be written to and read from at, together, in servers with such PCIe (16 lanes).
Bandwidth memory_of_socket(Bandwidth pcie);

}  // namespace weft::model
