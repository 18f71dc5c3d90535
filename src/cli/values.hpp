#pragma once
// What may stand behind an option, or as the first word of a verb: for completion.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace weft::cli {

enum class Follows { nothing, words, file, directory, key_and_value, anything };
struct Values {
  Follows what = Follows::anything;
  std::vector<std::string> words = {};
};

Values values_of(const CLI::App& verb, const CLI::Option& option);
// Words that may be the first argument of a verb, beside files.
std::vector<std::string> first_words(const std::string& verb);
// Whether arguments without a name are files.
bool takes_files(const std::string& verb);
// Keys of --fault PART,KEY=VALUE with the words that each takes.
std::vector<std::string> fault_kinds();

}  // namespace weft::cli
