#pragma once
// Errors are values. The library behind this alias is chosen once, here.

#include <tl/expected.hpp>

namespace weft {

template <class T, class E>
using Result = tl::expected<T, E>;

template <class E>
using Failure = tl::unexpected<E>;

}  // namespace weft
