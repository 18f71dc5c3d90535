#pragma once
// Atomic operations on bytes: the target's memory is handed in, changed, and what it was before is the result.

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/rdm/requests.hpp"

namespace weft::transport::rdm {

std::size_t size_of(AtomicType type);
bool has_comparand(AtomicOp op);
// Whether the operation exists, and for that type: no bits of floating-point numbers.
bool known(std::uint8_t op, std::uint8_t type);

// All spans hold as many numbers of the type as `target`; `comparand` and `operand` may be empty where the operation
// has none.
void apply(AtomicOp op, AtomicType type, std::span<std::byte> target, std::span<const std::byte> operand,
           std::span<const std::byte> comparand);

}  // namespace weft::transport::rdm
