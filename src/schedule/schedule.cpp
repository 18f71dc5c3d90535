#include "schedule/schedule.hpp"

namespace weft::schedule {

Schedule::~Schedule() = default;

void Schedule::fire(std::uint32_t, std::vector<Start>&) {}

}  // namespace weft::schedule
