#pragma once
// Text from outside, inside HTML and XML.

#include <string>
#include <string_view>

namespace weft {

// Safe as text and inside quotes of an attribute.
std::string markup_escaped(std::string_view text);

}  // namespace weft
