#pragma once
// Runs a chain of CNI plugins as a container runtime does: one behind another, each with the result of the one before
// it; DEL in the opposite order.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace weft::lab {

struct Attach {
  nlohmann::ordered_json list;    // a network configuration list
  std::vector<std::string> path;  // where plugins are
  std::string server_netns;       // where they run
  std::string container;
  std::string pod_netns;  // a path; empty: it is gone
  std::string interface;
  std::string arguments;  // CNI_ARGS
};

// The result of the last plugin. Where one fails, those before it (and it) are told DEL, and its words are the error.
Result<nlohmann::json, std::string> chain_add(const Attach& attach);
// What failed; empty: nothing. All plugins are called, whatever one of them says.
std::string chain_del(const Attach& attach, const nlohmann::json& result);
std::string chain_check(const Attach& attach, const nlohmann::json& result);

}  // namespace weft::lab
