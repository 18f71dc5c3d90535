#pragma once
// Whose a pod is. The name is the pod's namespace; its number is told to all servers with the pod's address, as a large
// community of BGP (RFC 8092), so that no other way between servers is needed.
//
// The number is 64 bits of a cryptographic hash: nobody can choose a name that has another's number.

#include <cstdint>
#include <string>

namespace weft::cni {

// A private AS number that stands for "tenants" in large communities.
inline constexpr std::uint32_t kTenantAdministrator = 4'290'000'000;

struct Tenant {
  std::string name;
  std::uint64_t number = 0;

  std::string community() const;  // 4290000000:HIGH:LOW
  std::string route_map() const;  // WEFT-TENANT-16 hex digits
};
Tenant tenant_of(const std::string& name);

}  // namespace weft::cni
