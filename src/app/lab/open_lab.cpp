#include "app/lab/open_lab.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace weft::app {

int refuse_lab(const LabOptions& options, const std::string& text, int code, Console& console) {
  const std::string line = text.substr(0, text.find_last_not_of('\n') + 1);
  if (options.json) {
    const nlohmann::ordered_json record = {{"record", "error"}, {"version", 1}, {"message", line}};
    console.out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  } else {
    console.err << line << "\n";
  }
  return code;
}

std::optional<std::string> chosen_lab(const LabOptions& options, Console& console) {
  const std::vector<std::string> labs = lab::State::labs();
  if (!options.lab.empty()) return options.lab;
  if (labs.size() == 1) return labs.front();
  refuse_lab(options, labs.empty() ? "there is no lab; `weft lab up` makes one" : "which lab? --lab " + either(labs),
             kYourInput, console);
  return std::nullopt;
}

std::optional<std::string> OpenLab::netns(const std::string& name) const {
  const auto pods = state.pods();
  const bool known = plan.find(name) != nullptr ||
                     std::any_of(pods.begin(), pods.end(), [&](const lab::Pod& pod) { return pod.name == name; });
  return known ? std::optional(plan.netns(name)) : std::nullopt;
}

std::optional<OpenLab> open_lab(const LabOptions& options, lab::State::Access access, Console& console) {
  const auto name = chosen_lab(options, console);
  if (!name) return std::nullopt;
  auto state = lab::State::open(*name, access);
  if (!state) {
    refuse_lab(options, state.error(), kYourInput, console);
    return std::nullopt;
  }
  auto plan = state->plan();
  if (!plan) {
    refuse_lab(options, plan.error(), kYourInput, console);
    return std::nullopt;
  }
  return OpenLab{std::move(*state), std::move(*plan)};
}

}  // namespace weft::app
