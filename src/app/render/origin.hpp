#pragma once
// What rendered files say of where they come from.

#include "app/input_options.hpp"
#include "app/session.hpp"
#include "render/rendered.hpp"

namespace weft::app {

render::Origin origin_of(const Session& session, const InputOptions& input);

}  // namespace weft::app
