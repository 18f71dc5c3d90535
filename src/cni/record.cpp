#include "cni/record.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace weft::cni {
namespace {

namespace fs = std::filesystem;

std::string ending(Role role) { return role == Role::ovs ? ".ovs.json" : ".frr.json"; }

host::Descriptor lock_file(const fs::path& path, int how) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  host::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file || ::flock(file.get(), how) != 0) return {};
  return file;
}

std::optional<Record> read(const fs::path& path) {
  std::ifstream file(path);
  const auto from = nlohmann::json::parse(file, nullptr, false);
  if (!from.is_object()) return std::nullopt;
  const auto text = [&](const char* key) { return from.value(key, std::string()); };
  return Record{text("container"), text("interface"), text("tenant"), text("address"),
                text("mac"),       text("bridge"),    text("port"),   text("uplink")};
}

}  // namespace

std::uint64_t Record::cookie() const { return tenant_of(container + "/" + interface).number; }

fs::path Records::path(Role role, const std::string& container, const std::string& interface) const {
  return folder_ / fmt::format("{}+{}{}", container, interface, ending(role));  // neither has a '+'
}

host::Descriptor Records::lock() const { return lock_file(folder_ / "lock", LOCK_EX); }
host::Descriptor Records::become_agent() const { return lock_file(folder_ / "agent.lock", LOCK_EX | LOCK_NB); }
bool Records::has_agent() const { return !become_agent(); }

std::optional<Record> Records::find(Role role, const std::string& container, const std::string& interface) const {
  return read(path(role, container, interface));
}

std::vector<Record> Records::all(Role role) const {
  std::vector<fs::path> paths;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, none))
    if (entry.path().string().ends_with(ending(role))) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Record> records;
  for (const fs::path& each : paths)
    if (auto record = read(each)) records.push_back(std::move(*record));
  return records;
}

bool Records::save(Role role, const Record& record) const {
  const nlohmann::ordered_json out = {{"container", record.container},
                                      {"interface", record.interface},
                                      {"tenant", record.tenant},
                                      {"address", record.address},
                                      {"mac", record.mac},
                                      {"bridge", record.bridge},
                                      {"port", record.port},
                                      {"uplink", record.uplink}};
  const fs::path final = path(role, record.container, record.interface);
  const fs::path draft = final.string() + ".new";
  {
    std::ofstream file(draft);
    if (!(file << out.dump() << "\n").flush()) return false;
  }
  std::error_code failed;
  fs::rename(draft, final, failed);
  return !failed;
}

void Records::erase(Role role, const Record& record) const {
  std::error_code none;
  fs::remove(path(role, record.container, record.interface), none);
}

}  // namespace weft::cni
