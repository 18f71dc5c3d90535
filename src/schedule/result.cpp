#include "schedule/result.hpp"  // a header must stand on its own
#include "schedule/progress.hpp"
