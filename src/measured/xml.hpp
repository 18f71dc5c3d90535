#pragma once
// An XML document as a tree whose every part knows where it was written. The parser is expat (Debian's
// libexpat1-dev); document types and with them entities are refused, depth and size are bounded.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/diagnostics.hpp"

namespace weft::measured {

struct XmlAttribute {
  std::string name;
  std::string value;
  spec::Place place;  // of the value
};

struct XmlElement {
  std::string name;
  spec::Place place;
  std::vector<XmlAttribute> attributes;
  std::vector<XmlElement> children;

  const XmlAttribute* find(std::string_view attribute) const;
};

struct XmlDocument {
  XmlElement root;
  std::string comments;  // all of them: machine types are named there
};

std::optional<XmlDocument> read_xml(std::uint32_t source, spec::Diagnostics& diagnostics);

}  // namespace weft::measured
