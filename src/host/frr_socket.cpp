#include "host/frr_socket.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <sstream>

#include "host/descriptor.hpp"

namespace weft::host {
namespace {

constexpr int kAnswerMilliseconds = 5000;

Descriptor connect_to(const std::filesystem::path& folder, const std::string& daemon) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = (folder / (daemon + ".vty")).string();
  if (path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  return socket;
}

struct Answer {
  std::string text;
  bool accepted = false;
};

// vtysh's protocol: a command ends in a zero byte; the answer in three of them and a result, 0 for success.
std::optional<Answer> say(const Descriptor& socket, const std::string& command) {
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
      return Answer{answer.substr(0, answer.find('\0')), answer.back() == '\0'};
  }
}

}  // namespace

std::optional<std::string> ask_daemon(const std::filesystem::path& folder, const std::string& daemon,
                                      const std::string& command) {
  const Descriptor socket = connect_to(folder, daemon);
  // A configuration is shown only to who may change it.
  if (!socket || !say(socket, "enable")) return std::nullopt;
  auto answer = say(socket, command);
  return answer ? std::optional(std::move(answer->text)) : std::nullopt;
}

std::string configure_daemon(const std::filesystem::path& folder, const std::string& daemon,
                             const std::vector<std::string>& lines) {
  const Descriptor socket = connect_to(folder, daemon);
  if (!socket) return fmt::format("{} does not listen in {}", daemon, folder.string());
  std::vector<std::string> all = {"enable", "configure terminal"};
  all.insert(all.end(), lines.begin(), lines.end());
  for (const std::string& line : all) {
    const auto answer = say(socket, line);
    if (!answer) return fmt::format("{} does not answer", daemon);
    if (!answer->accepted) return fmt::format("{} refuses '{}': {}", daemon, line, answer->text);
  }
  return "";
}

std::string complaints(const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    for (const char* sign : {"Unknown", "not exist", "nvalid", "rror", "ncomplete", "mbiguous"})
      if (line.find(sign) != std::string::npos) return line;
  return "";
}

}  // namespace weft::host
