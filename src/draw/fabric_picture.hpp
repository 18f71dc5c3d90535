#pragma once
// The whole fabric, tier by tier: gateways, super-spines, spines, leaves, servers; a Dragonfly as a
// ring of groups. What repeats is folded, so that 131,072 servers take no more room than 32:
//
//            [super 0] [super 1] [... 5 more] [super 7]
//     pod 0 ----------------------   [          ]   pod 15 ---------------
//     | [spine 0] ... [spine 3]  |   [ ... 14   ]   | [spine 60] ...     |
//     | unit 0 -------  [ ... 6 ]|   [   more   ]   |                    |
//     | | leaf leaf  |  [ more  ]|   [ (16 in   ]   |                    |
//     | | s0 ... s15 |  [       ]|   [   all)   ]   |                    |
//
// The more there is, the more is folded: kDetails in clos_picture.cpp is tried from the top.

#include "draw/picture.hpp"
#include "fabric/fabric.hpp"

namespace weft::draw {

Picture fabric_picture(const fabric::Fabric& fabric);

}  // namespace weft::draw
