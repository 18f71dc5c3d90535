#include "cli/key_paths.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/cluster_file.hpp"

namespace weft::cli {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kDeepest = 4;  // servers.scale_up.link.rate

class Walk {
 public:
  explicit Walk(const Json& schema) : schema_(schema) {}

  // All keys at and below a node; the single of "one, or a list of them" stands for both.
  void visit(const Json& node, const std::string& path, std::size_t depth) {
    if (depth > kDeepest) return;
    if (const auto ref = node.find("$ref"); ref != node.end())
      visit(schema_.at(Json::json_pointer(ref->get<std::string>().substr(1))), path, depth);
    for (const Json& each : node.value("anyOf", Json::array()))
      if (!each.contains("items")) visit(each, path, depth);
    const Json keys = node.value("properties", Json::object());
    for (const auto& [key, child] : keys.items()) visit(child, path.empty() ? key : path + "." + key, depth + 1);
    if (!keys.empty() || path.empty() || node.contains("$ref") || node.contains("anyOf")) return;
    KeyPath made{path, {}};
    for (const Json& word : node.value("enum", Json::array()))
      if (word.is_string()) made.values.push_back(word);
    const auto known =
        std::find_if(paths.begin(), paths.end(), [&](const KeyPath& other) { return other.path == path; });
    if (known == paths.end())
      paths.push_back(std::move(made));
    else if (known->values.empty())
      known->values = std::move(made.values);
  }

  std::vector<KeyPath> paths;

 private:
  const Json& schema_;
};

}  // namespace

std::vector<KeyPath> key_paths() {
  const Json schema = Json::parse(model::cluster_file_schema());
  Walk walk(schema);
  for (const auto& [key, child] : schema.at("properties").items())
    if (key != "run" && key != "version" && key != "faults" && key != "tenants") walk.visit(child, key, 1);
  return std::move(walk.paths);
}

}  // namespace weft::cli
