#include "cni/tenant.hpp"

#include <fmt/format.h>
#include <sodium.h>

namespace weft::cni {

std::string Tenant::community() const {
  return fmt::format("{}:{}:{}", kTenantAdministrator, number >> 32, number & 0xffffffff);
}

std::string Tenant::route_map() const { return fmt::format("WEFT-TENANT-{:016x}", number); }

Tenant tenant_of(const std::string& name) {
  Tenant tenant{name, 0};
  unsigned char hash[crypto_generichash_BYTES];
  crypto_generichash(hash, sizeof hash, reinterpret_cast<const unsigned char*>(name.data()), name.size(), nullptr, 0);
  for (int i = 0; i < 8; ++i) tenant.number = tenant.number << 8 | hash[i];
  return tenant;
}

}  // namespace weft::cni
