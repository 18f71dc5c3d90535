#pragma once
// What the tests of verbs share: a cluster file of their own, and what a verb prints.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "app/commands.hpp"

namespace weft::app::testing {

// Eight GPUs and NICs a server, two servers a leaf, half of the leaf's rate above it.
inline const std::string kFourServers =
    "version: 1\n"
    "servers: {kind: hgx-h100, count: 4}\n"
    "fabric: {kind: tor-clos, switch: tomahawk-4, servers_per_leaf: 2, oversubscription: 2,\n"
    "         spine_link: {rate: 400Gbps, cable: 20m}}\n";

class Verbs : public ::testing::Test {
 protected:
  Verbs() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-verbs-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~Verbs() override { std::filesystem::remove_all(directory_); }

  std::string file(const std::string& name, const std::string& text) {
    const std::filesystem::path path = directory_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  InputOptions input(bool json, const std::string& text = kFourServers) {
    return {.file = file("test.weft.yaml", text), .topology = {}, .set = {}, .catalog = {}, .json = json};
  }
  std::filesystem::path directory() const { return directory_; }

  std::string out() { return std::exchange(out_, std::ostringstream{}).str(); }
  std::string err() { return std::exchange(err_, std::ostringstream{}).str(); }
  // The first record, or all of them: one a line.
  nlohmann::json record() { return records().at(0); }
  std::vector<nlohmann::json> records() {
    std::vector<nlohmann::json> all;
    std::istringstream lines(out());
    for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }

  std::ostringstream out_;
  std::ostringstream err_;
  Console console_{out_, err_, false, false, 0, 0};

 private:
  std::filesystem::path directory_;
};

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace weft::app::testing
