#pragma once
// The bill of materials: what has to be bought, with the prices that are known and a word where none is.

#include "app/show/rows.hpp"
#include "fabric/fabric.hpp"

namespace weft::app {

// The fabric must outlive the listing.
Listing list_materials(const fabric::Fabric& fabric);

// "to buy: $1,200,000; no price known: 32 server (hgx-h100)": the sum of the list and what it lacks; may be empty.
std::string materials_note(const fabric::Fabric& fabric);

}  // namespace weft::app
