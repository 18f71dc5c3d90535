#pragma once
// FRR's daemons, asked and told through their sockets.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace weft::host {

// Asks a daemon as vtysh would, and faster; nullopt: nobody answers.
std::optional<std::string> ask_daemon(const std::filesystem::path& folder, const std::string& daemon,
                                      const std::string& command);

// Lines of configuration, one behind another. What failed; empty: nothing.
std::string configure_daemon(const std::filesystem::path& folder, const std::string& daemon,
                             const std::vector<std::string>& lines);

// What FRR said of a configuration that it did not like; empty: nothing.
std::string complaints(const std::string& vtysh_output);

}  // namespace weft::host
