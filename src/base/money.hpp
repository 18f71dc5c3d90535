#pragma once
// What something costs to buy. A price per hour is another dimension (units.hpp): the two are never added.

#include "base/units.hpp"

namespace weft {

using Money = Quantity<struct MoneyDimension>;  // micro-dollars

}  // namespace weft
