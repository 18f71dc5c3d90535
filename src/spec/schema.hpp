#pragma once
// Views of a field table: JSON Schema for editors, a reference page for people.

#include <string>

#include "spec/fields.hpp"

namespace weft::spec {

// JSON Schema (draft 2020-12) of a document described by `root`.
std::string json_schema(const Table& root, const std::string& title);

// Markdown: one section per mapping, one row per key. `intro` opens the page.
std::string reference_page(const Table& root, const std::string& intro);

// Markdown: every error with its explanation.
std::string errors_page();

}  // namespace weft::spec
