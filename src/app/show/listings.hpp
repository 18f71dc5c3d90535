#pragma once
// The parts of a cluster, row by row.

#include "app/show/rows.hpp"
#include "fabric/fabric.hpp"

namespace weft::app {

// only: one group of servers; nullptr: all. The fabric must outlive the listing.
Listing list_servers(const fabric::Fabric& fabric, const model::Group* only = nullptr);
Listing list_gpus(const fabric::Fabric& fabric);
Listing list_nics(const fabric::Fabric& fabric);
Listing list_links(const fabric::Fabric& fabric);

}  // namespace weft::app
