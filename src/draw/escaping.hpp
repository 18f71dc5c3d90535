#pragma once
// Names come from files and may be anything; what goes into a document must not be.

#include <string>
#include <string_view>

namespace weft::draw {

// Valid UTF-8 without control characters: what is neither becomes U+FFFD, or a blank for tab and
// newline. XML 1.0 cannot hold control characters even when escaped.
std::string clean_utf8(std::string_view text);

// Safe as text and inside double quotes of an attribute.
std::string xml_escaped(std::string_view text);

// Safe inside a double-quoted string of DOT.
std::string dot_escaped(std::string_view text);

}  // namespace weft::draw
