#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "host/descriptor.hpp"
#include "lab/metrics.hpp"

namespace weft::lab {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLookAtSessionsEvery{1};
constexpr int kRequestMilliseconds = 500;  // that a client may take to say what it wants
constexpr std::size_t kLongestRequest = 8192;

// A request, an answer, the end: all that Prometheus needs.
void answer(Sampler& sampler, const host::Descriptor& client) {
  std::string request;
  while (request.find("\r\n\r\n") == std::string::npos && request.size() < kLongestRequest) {
    pollfd ready{client.get(), POLLIN, 0};
    char buffer[2048];
    if (::poll(&ready, 1, kRequestMilliseconds) <= 0) return;
    const ssize_t got = ::recv(client.get(), buffer, sizeof buffer, 0);
    if (got <= 0) return;
    request.append(buffer, static_cast<std::size_t>(got));
  }
  const bool known = request.starts_with("GET /metrics ") || request.starts_with("GET / ");
  const std::string body = known ? sampler.scrape() : "there is only /metrics\n";
  const std::string text = fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      known ? "200 OK" : "404 Not Found", body.size(), body);
  for (std::size_t at = 0; at < text.size();) {
    pollfd ready{client.get(), POLLOUT, 0};
    if (::poll(&ready, 1, kRequestMilliseconds) <= 0) return;
    const ssize_t sent = ::send(client.get(), text.data() + at, text.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) return;
    at += static_cast<std::size_t>(sent);
  }
}

}  // namespace

std::string serve_metrics(Sampler& sampler, const std::string& address, std::uint16_t port, const volatile bool& stop) {
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_port = htons(port);
  if (::inet_pton(AF_INET, address.c_str(), &local.sin_addr) != 1)
    return fmt::format("'{}' is no IPv4 address", address);
  const host::Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0 ||
      ::listen(listener.get(), 16) != 0)
    return fmt::format("cannot listen at {}:{}: {}", address, port, std::strerror(errno));
  Clock::time_point next_sample = Clock::now();
  Clock::time_point next_look = next_sample + kLookAtSessionsEvery;
  while (!stop) {
    // Rounded up: the last part of a millisecond would be spent asking whether it is over.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_sample - Clock::now());
    pollfd ready{listener.get(), POLLIN, 0};
    const int wait = static_cast<int>(std::max<std::int64_t>(0, left.count()));
    if (::poll(&ready, 1, wait) > 0) {
      const host::Descriptor client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client) answer(sampler, client);
    }
    if (Clock::now() >= next_sample) {
      sampler.sample();
      next_sample = Clock::now() + sampler.interval();
    }
    if (Clock::now() >= next_look) {
      sampler.look();
      next_look = Clock::now() + kLookAtSessionsEvery;
    }
  }
  return "";
}

}  // namespace weft::lab
