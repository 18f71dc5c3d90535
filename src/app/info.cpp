// The commands that read no cluster: schema, explain, version.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/build_info.hpp"
#include "app/commands.hpp"
#include "app/session.hpp"
#include "base/text.hpp"
#include "model/cluster_file.hpp"
#include "report/table.hpp"
#include "spec/codes.hpp"
#include "spec/schema.hpp"

namespace weft::app {

int schema(SchemaView view, Console& console) {
  switch (view) {
    case SchemaView::json_schema:
      console.out << model::cluster_file_schema();
      break;
    case SchemaView::reference:
      console.out << model::cluster_file_reference();
      break;
    case SchemaView::errors:
      console.out << spec::errors_page();
      break;
  }
  return kFine;
}

int explain(const std::string& code, bool json, Console& console) {
  const spec::ErrorInfo* error = spec::find_error(code);
  if (error == nullptr) {
    std::vector<std::string> codes;
    for (const auto& known : spec::all_errors()) codes.emplace_back(known.code);
    const auto guess = did_you_mean(code, codes);
    console.err << fmt::format("there is no error {}{}; codes run from {} to {}\n", code,
                               guess ? fmt::format(" (did you mean {}?)", *guess) : "", codes.front(), codes.back());
    return kYourInput;
  }
  if (json) {
    console.out << nlohmann::ordered_json({{"record", "explanation"},
                                           {"version", 1},
                                           {"code", error->code},
                                           {"title", error->title},
                                           {"explanation", error->explanation}})
                       .dump()
                << "\n";
    return kFine;
  }
  report::Facts facts;
  facts.add(std::string(error->code), std::string(error->title));
  facts.add("", std::string(error->explanation));
  console.out << facts.text(console.width > 0 ? console.width : 80, console.colour_out);
  return kFine;
}

int version(bool json, Console& console) {
  const auto& [version, commit, compiler] = build_info();
  if (json) {
    console.out
        << nlohmann::ordered_json(
               {{"record", "weft"}, {"version", 1}, {"weft", version}, {"commit", commit}, {"compiler", compiler}})
               .dump()
        << "\n";
  } else {
    console.out << fmt::format("weft {} ({}, {})\n", version, commit, compiler);
  }
  return kFine;
}

}  // namespace weft::app
