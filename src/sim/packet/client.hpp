#pragma once

#include <cstdint>

#include "transport/stack.hpp"

namespace weft::sim {

// What runs on the hosts. Calls about different hosts come from different threads at once.
class Client {
 public:
  virtual ~Client() = default;
  virtual void completed(std::int64_t now, const transport::Completion& completion) = 0;
  virtual void called(std::int64_t now, std::uint32_t host, std::uint64_t context) = 0;
};

}  // namespace weft::sim
