#include <fmt/format.h>

#include "app/lab/open_lab.hpp"

namespace weft::app {

int lab_down(const LabOptions& options, Console& console) {
  const auto name = chosen_lab(options, console);
  if (!name) return kYourInput;
  if (const std::string why = lab::why_not_enter(); !why.empty())
    return refuse_lab(options, why, kThisMachine, console);
  auto state = lab::State::open(*name, lab::State::Access::changing);
  if (!state) return refuse_lab(options, state.error(), kYourInput, console);
  if (const std::string left = lab::remove(*state); !left.empty())
    return refuse_lab(options, fmt::format("lab {} is not gone: {}", *name, left), kThisMachine, console);
  console.err << fmt::format("lab {} is gone\n", *name);
  return kFine;
}

}  // namespace weft::app
