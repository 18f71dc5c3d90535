#include "lab/frr.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lab/descriptor.hpp"

namespace weft::lab {
namespace {

constexpr int kAnswerMilliseconds = 5000;

}  // namespace

std::vector<std::string> frr_daemons(std::string_view daemons, bool is_server) {
  std::vector<std::string> names = {"zebra"};
  // Only servers have static routes (addresses of pods that are not there).
  if (is_server) names.push_back("staticd");
  for (const std::string name : {"bgpd", "bfdd"})
    if (daemons.find("\n" + name + "=yes\n") != std::string_view::npos) names.push_back(name);
  return names;
}

Command daemon_command(const std::string& daemon, const std::filesystem::path& folder, const std::string& netns) {
  const std::string run = folder.string();
  Command command{{fmt::format("{}/{}", kFrrDirectory, daemon), "-z", run + "/zserv.api", "--vty_socket", run, "-i",
                   fmt::format("{}/{}.pid", run, daemon), "-P", "0"},
                  netns,
                  ""};
  if (daemon == "zebra") command.arguments.insert(command.arguments.end(), {"-s", "90000000"});
  if (daemon == "bfdd") command.arguments.insert(command.arguments.end(), {"--bfdctl", run + "/bfdd.sock"});
  return command;
}

// vtysh's protocol: a command ends in a zero byte; the answer in three of them and a result.
std::optional<std::string> ask_daemon(const std::filesystem::path& folder, const std::string& daemon,
                                      const std::string& command) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = (folder / (daemon + ".vty")).string();
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return std::nullopt;
  if (::send(socket.get(), command.c_str(), command.size() + 1, MSG_NOSIGNAL) < 0) return std::nullopt;
  std::string answer;
  char buffer[65536];
  for (;;) {
    pollfd ready{socket.get(), POLLIN, 0};
    if (::poll(&ready, 1, kAnswerMilliseconds) <= 0) return std::nullopt;
    const ssize_t got = ::read(socket.get(), buffer, sizeof buffer);
    if (got <= 0) return std::nullopt;
    answer.append(buffer, static_cast<std::size_t>(got));
    if (answer.size() >= 4 && answer.compare(answer.size() - 4, 3, std::string(3, '\0')) == 0)
      return answer.substr(0, answer.find('\0'));
  }
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
  const auto answer = ask_daemon(folder, "bgpd", "show bgp ipv4 unicast summary json");
  return answer ? parse_sessions(*answer) : std::vector<Session>();
}

std::string complaints(const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    for (const char* sign : {"Unknown", "not exist", "nvalid", "rror", "ncomplete", "mbiguous"})
      if (line.find(sign) != std::string::npos) return line;
  return "";
}

}  // namespace weft::lab
