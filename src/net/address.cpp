#include "net/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netdb.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/hash.hpp"

namespace weft::net {
namespace {

const sockaddr_in& v4(const sockaddr_storage& storage) { return reinterpret_cast<const sockaddr_in&>(storage); }
const sockaddr_in6& v6(const sockaddr_storage& storage) { return reinterpret_cast<const sockaddr_in6&>(storage); }
sockaddr_in& v4(sockaddr_storage& storage) { return reinterpret_cast<sockaddr_in&>(storage); }
sockaddr_in6& v6(sockaddr_storage& storage) { return reinterpret_cast<sockaddr_in6&>(storage); }

}  // namespace

Address::Address(const sockaddr* address, socklen_t length)
    : length_(std::min<socklen_t>(length, sizeof(sockaddr_storage))) {
  std::memcpy(&storage_, address, length_);
}

Address Address::any(int family, std::uint16_t port) {
  Address address;
  address.storage_.ss_family = static_cast<sa_family_t>(family);
  address.length_ = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  address.set_port(port);
  return address;
}

Result<Address, std::string> Address::parse(std::string_view text, std::uint16_t port) {
  std::string host(text);
  const std::size_t colon = text.rfind(':');
  const bool bracketed = text.starts_with('[');
  if (bracketed || (colon != std::string_view::npos && text.find(':') == colon)) {
    std::optional<std::string_view> digits;
    if (bracketed) {
      const std::size_t end = text.find(']');
      if (end == std::string_view::npos) return Failure<std::string>(fmt::format("'{}' lacks a ']'", text));
      host = std::string(text.substr(1, end - 1));
      const std::string_view behind = text.substr(end + 1);
      if (behind.starts_with(':'))
        digits = behind.substr(1);
      else if (!behind.empty())
        return Failure<std::string>(fmt::format("'{}': behind the ']' stands ':' and a port, or nothing", text));
    } else {
      host = std::string(text.substr(0, colon));
      digits = text.substr(colon + 1);
    }
    if (digits) {
      const auto [last, error] = std::from_chars(digits->data(), digits->data() + digits->size(), port);
      if (error != std::errc() || last != digits->data() + digits->size())
        return Failure<std::string>(fmt::format("'{}' is no port: a number from 0 to 65535", *digits));
    }
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0)
    return Failure<std::string>(fmt::format("'{}': {}", host, gai_strerror(error)));
  Address address(found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  address.set_port(port);
  return address;
}

std::uint16_t Address::port() const {
  return ntohs(family() == AF_INET6 ? v6(storage_).sin6_port : v4(storage_).sin_port);
}

void Address::set_port(std::uint16_t port) {
  (family() == AF_INET6 ? v6(storage_).sin6_port : v4(storage_).sin_port) = htons(port);
}

std::span<const std::uint8_t> Address::ip() const {
  if (family() == AF_INET6) return {reinterpret_cast<const std::uint8_t*>(&v6(storage_).sin6_addr), 16};
  return {reinterpret_cast<const std::uint8_t*>(&v4(storage_).sin_addr), 4};
}

Address Address::with(std::span<const std::uint8_t, 16> ip, std::uint16_t port) const {
  Address out = *this;
  void* const at = family() == AF_INET6 ? static_cast<void*>(&v6(out.storage_).sin6_addr)
                                        : static_cast<void*>(&v4(out.storage_).sin_addr);
  std::memcpy(at, ip.data(), this->ip().size());
  out.set_port(port);
  return out;
}

std::string Address::host() const {
  char text[INET6_ADDRSTRLEN + IF_NAMESIZE + 1] = "";
  if (family() != AF_INET6) return inet_ntop(AF_INET, &v4(storage_).sin_addr, text, sizeof text);
  std::string out = inet_ntop(AF_INET6, &v6(storage_).sin6_addr, text, sizeof text);
  char name[IF_NAMESIZE];
  if (v6(storage_).sin6_scope_id != 0 && if_indextoname(v6(storage_).sin6_scope_id, name) != nullptr)
    out += fmt::format("%{}", name);
  return out;
}

std::string Address::name() const {
  char name[NI_MAXHOST] = "";
  return getnameinfo(get(), length(), name, sizeof name, nullptr, 0, NI_NAMEREQD) == 0 ? name : "";
}

std::string Address::text() const {
  return family() == AF_INET6 ? fmt::format("[{}]:{}", host(), port()) : fmt::format("{}:{}", host(), port());
}

bool Address::operator==(const Address& other) const {
  return family() == other.family() && port() == other.port() && std::ranges::equal(ip(), other.ip()) &&
         (family() != AF_INET6 || v6(storage_).sin6_scope_id == v6(other.storage_).sin6_scope_id);
}

std::size_t AddressHash::operator()(const Address& address) const {
  std::uint64_t hash = address.port();
  for (const std::uint8_t byte : address.ip()) hash = mix64(hash ^ byte);
  return hash;
}

}  // namespace weft::net
