#include "lab/frr.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "host/frr_socket.hpp"

namespace weft::lab {
std::vector<std::string> frr_daemons(std::string_view daemons, bool is_server) {
  std::vector<std::string> names = {"zebra"};
  // Only servers have static routes (addresses of pods that are not there).
  if (is_server) names.push_back("staticd");
  for (const std::string name : {"bgpd", "bfdd"})
    if (daemons.find("\n" + name + "=yes\n") != std::string_view::npos) names.push_back(name);
  return names;
}

host::Command daemon_command(const std::string& daemon, const std::filesystem::path& folder, const std::string& netns) {
  const std::string run = folder.string();
  host::Command command{{fmt::format("{}/{}", kFrrDirectory, daemon), "-z", run + "/zserv.api", "--vty_socket", run,
                         "-i", fmt::format("{}/{}.pid", run, daemon), "-P", "0"},
                        netns,
                        ""};
  if (daemon == "zebra") command.arguments.insert(command.arguments.end(), {"-s", "90000000"});
  if (daemon == "bfdd") command.arguments.insert(command.arguments.end(), {"--bfdctl", run + "/bfdd.sock"});
  return command;
}

std::vector<Session> parse_sessions(const std::string& text) {
  std::vector<Session> all;
  const auto from = nlohmann::json::parse(text, nullptr, false);
  if (!from.is_object() || !from.contains("peers") || !from["peers"].is_object()) return all;
  for (const auto& [interface, peer] : from["peers"].items()) {
    const std::string state = peer.value("state", "");
    all.push_back({interface, state, state == "Established"});
  }
  return all;
}

std::vector<Session> sessions(const std::filesystem::path& folder) {
  const auto answer = host::ask_daemon(folder, "bgpd", "show bgp ipv4 unicast summary json");
  return answer ? parse_sessions(*answer) : std::vector<Session>();
}

}  // namespace weft::lab
