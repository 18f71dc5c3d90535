#pragma once
// FRR's daemons of a device: starting them from the rendered files, and asking them.

#include <filesystem>
#include <string>
#include <vector>

#include "host/process.hpp"

namespace weft::lab {

inline constexpr const char* kFrrDirectory = "/usr/lib/frr";

// zebra first: the others connect to it. `daemons`: the rendered file of that name.
std::vector<std::string> frr_daemons(std::string_view daemons, bool is_server);
host::Command daemon_command(const std::string& daemon, const std::filesystem::path& folder, const std::string& netns);

struct Session {
  std::string interface;
  std::string state;  // Established, Active, ...
  bool up = false;
};
std::vector<Session> parse_sessions(const std::string& json);
std::vector<Session> sessions(const std::filesystem::path& folder);

}  // namespace weft::lab
