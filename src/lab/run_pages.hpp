#pragma once
// What `weft run` between ends of the lab tells of its paths (`--metrics`), put together for `lab metrics`.

#include <string>
#include <vector>

#include "lab/state.hpp"

namespace weft::lab {

struct RunPage {
  std::string from;
  std::string to;
  std::string text;  // Prometheus' format
};

std::filesystem::path run_page(const State& state, const std::string& from, const std::string& to);
std::vector<RunPage> run_pages(const State& state);

// One page of many: each family once, its samples with the ends as labels.
std::string merged(const std::vector<RunPage>& pages);

}  // namespace weft::lab
