#pragma once
// Where the tree lies whose files a test reads. Only the definition knows the path, so that objects of tests are the same in
// every checkout and a compiler cache shares them.

namespace weft::base {

extern const char* const kSourceDir;  // written by tests/CMakeLists.txt

}  // namespace weft::base
