#pragma once
// The block diagram of a server, drawn so that one can read off which GPU is far from which NIC:
//
//      [ host memory ]  [ host memory ]
//      [    CPU 0    ]==[    CPU 1    ]      socket link
//         RC0   RC1        RC2   RC3
//       [SW 0] [SW 1]    [SW 2] [SW 3]       PCIe switches, as wide as what hangs below
//        G N     G         G N    G          a GPU says which NIC it uses, and how it gets there
//      [        NVSwitches            ]
//
// Everything hangs straight below what it hangs on, so that no line crosses another.

#include "draw/picture.hpp"
#include "model/cluster.hpp"

namespace weft::draw {

Picture server_picture(const model::Group& group);

}  // namespace weft::draw
