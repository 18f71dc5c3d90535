#pragma once
// The bill of materials: what has to be bought, with the prices that are known and a word where none is.

#include "app/show/rows.hpp"
#include "fabric/fabric.hpp"

namespace weft::app {

// The fabric must outlive the listing.
Listing list_materials(const fabric::Fabric& fabric);

// What it comes to and what it lacks: "to buy $1,200,000", "no price known of 32 servers (hgx-h100)"; may be empty.
report::Facts materials_note(const fabric::Fabric& fabric);

}  // namespace weft::app
