#include "lab/state.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/names.hpp"

namespace weft::lab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

// /run for root; elsewhere the user's own, if there is one.
fs::path root() {
  const char* user = std::getenv("XDG_RUNTIME_DIR");
  return fs::path(::access("/run", W_OK) != 0 && user != nullptr && *user != '\0' ? user : "/run") / "weft";
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Whole or not at all.
bool write_file(const fs::path& path, const std::string& text) {
  const fs::path draft = path.string() + ".new";
  {
    std::ofstream file(draft, std::ios::binary);
    if (!file.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) return false;
  }
  std::error_code failed;
  fs::rename(draft, path, failed);
  return !failed;
}

// Who was killed while it began another program may leave a child that holds the lock until it is that program.
host::Descriptor lock_in(const fs::path& folder) {
  constexpr int kTries = 100;
  constexpr std::chrono::milliseconds kBetween{10};
  host::Descriptor file(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  for (int i = 0; file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0; ++i) {
    if (i == kTries) return {};
    std::this_thread::sleep_for(kBetween);
  }
  if (!fs::exists(folder / "lock")) return {};  // who had it has taken the lab down
  return file;
}

std::string busy(const std::string& name) { return fmt::format("another weft is at work on lab {}", name); }

ordered_json to_json(const Device& device) {
  ordered_json reach = ordered_json::array();
  for (const Reach& each : device.reach)
    reach.push_back({{"interfaces", each.interfaces}, {"addresses", each.addresses}, {"any", each.any}});
  ordered_json rails = ordered_json::array();
  for (const RailOfServer& each : device.rails)
    rails.push_back({{"interface", each.interface}, {"nic", each.nic}, {"block", each.block}, {"rail", each.rail}});
  return {{"name", device.name}, {"tier", device.tier}, {"server", device.is_server},
          {"reach", reach},      {"rails", rails},      {"owner", device.owner}};
}

Device device_from(const json& from) {
  Device device{from.at("name"), from.at("tier"), from.at("server"), {}, {}, from.at("owner")};
  for (const json& each : from.at("rails"))
    device.rails.push_back({each.at("interface"), each.at("nic"), each.at("block"), each.at("rail")});
  for (const json& each : from.at("reach"))
    device.reach.push_back({each.at("interfaces"), each.at("addresses"), each.at("any")});
  return device;
}

ordered_json to_json(const Link& link) {
  return {{"a", link.a.device},
          {"a_interface", link.a.interface},
          {"b", link.b.device},
          {"b_interface", link.b.interface},
          {"planned", link.planned.count()},
          {"rate", link.rate.count()},
          {"nic", link.is_nic}};
}

Link link_from(const json& from) {
  return {{from.at("a"), from.at("a_interface")},
          {from.at("b"), from.at("b_interface")},
          Bandwidth(from.at("planned").get<std::int64_t>()),
          Bandwidth(from.at("rate").get<std::int64_t>()),
          from.at("nic")};
}

}  // namespace

Result<State, std::string> State::create(const std::string& name) {
  const fs::path folder = root() / name;
  std::error_code failed;
  fs::create_directories(folder.parent_path(), failed);
  if (fs::exists(folder / "journal"))
    return Failure<std::string>(
        fmt::format("lab {} is there already; `weft lab down --lab {}` removes it", name, name));
  fs::create_directory(folder, failed);
  if (failed) return Failure<std::string>(fmt::format("cannot make {}: {}", folder.string(), failed.message()));
  host::Descriptor lock = lock_in(folder);
  if (!lock) return Failure<std::string>(busy(name));
  return State(name, folder, std::move(lock));
}

Result<State, std::string> State::open(const std::string& name, Access access) {
  const fs::path folder = root() / name;
  if (!fs::exists(folder / "journal")) return Failure<std::string>(fmt::format("there is no lab '{}'", name));
  if (access == Access::looking) return State(name, folder, {});
  host::Descriptor lock = lock_in(folder);
  if (!lock) return Failure<std::string>(busy(name));
  return State(name, folder, std::move(lock));
}

std::vector<std::string> State::labs() {
  std::vector<std::string> names;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(root(), none))
    if (fs::exists(entry.path() / "journal")) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool State::journal(const std::vector<std::string>& namespaces) {
  const host::Descriptor file(::open((folder_ / "journal").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  std::string text;
  for (const std::string& each : namespaces) text += each + "\n";
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
         ::fsync(file.get()) == 0;
}

std::vector<std::string> State::namespaces() const {
  std::vector<std::string> all;
  std::istringstream lines(read_file(folder_ / "journal"));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("weft-") && line.find('/') == std::string::npos) all.push_back(line);
  return all;
}

bool State::forget(const std::string& netns) {
  std::string text;
  for (const std::string& each : namespaces())
    if (each != netns) text += each + "\n";
  return write_file(folder_ / "journal", text);
}

bool State::save(const Plan& plan) {
  ordered_json out = {{"name", plan.name},
                      {"cluster", plan.cluster},
                      {"frontend", plan.has_frontend},
                      {"planned", plan.planned.count()},
                      {"rate", plan.rate.count()}};
  for (const Device& device : plan.devices) out["devices"].push_back(to_json(device));
  for (const Link& link : plan.links) out["links"].push_back(to_json(link));
  return write_file(folder_ / "lab.json", out.dump(-1, ' ', false, json::error_handler_t::replace));
}

Result<Plan, std::string> State::plan() const {
  try {
    const json from = json::parse(read_file(folder_ / "lab.json"));
    Plan plan;
    plan.name = from.at("name");
    plan.cluster = from.at("cluster");
    plan.has_frontend = from.at("frontend");
    plan.planned = Bandwidth(from.at("planned").get<std::int64_t>());
    plan.rate = Bandwidth(from.at("rate").get<std::int64_t>());
    for (const json& each : from.at("devices")) plan.devices.push_back(device_from(each));
    for (const json& each : from.at("links")) plan.links.push_back(link_from(each));
    return plan;
  } catch (const json::exception&) {
    return Failure<std::string>(
        fmt::format("lab {} was not finished; `weft lab down --lab {}` removes what there is of it", name_, name_));
  }
}

bool State::save(const std::vector<Fault>& faults) {
  ordered_json out = ordered_json::array();
  for (const Fault& fault : faults)
    out.push_back({{"what", enum_name(fault.what)},
                   {"name", fault.name},
                   {"kind", enum_name(fault.kind)},
                   {"per_mille", fault.per_mille},
                   {"links", fault.links}});
  return write_file(folder_ / "faults.json", out.dump());
}

std::vector<Fault> State::faults() const {
  std::vector<Fault> all;
  const json from = json::parse(read_file(folder_ / "faults.json"), nullptr, false);
  if (!from.is_array()) return all;
  for (const json& each : from)
    all.push_back({*parse_enum<FaultPlace>(each.at("what").get<std::string>()), each.at("name"),
                   *parse_enum<FaultKind>(each.at("kind").get<std::string>()), each.at("per_mille"), each.at("links")});
  return all;
}

bool State::save(const std::vector<Pod>& pods) {
  ordered_json out = ordered_json::array();
  for (const Pod& pod : pods) {
    ordered_json interfaces = ordered_json::array();
    for (const PodInterface& each : pod.interfaces)
      interfaces.push_back({{"name", each.name},
                            {"rail", each.rail},
                            {"function", each.function},
                            {"representor", each.representor},
                            {"address", each.address}});
    out.push_back({{"name", pod.name}, {"tenant", pod.tenant}, {"server", pod.server}, {"interfaces", interfaces}});
  }
  return write_file(folder_ / "pods.json", out.dump());
}

std::vector<Pod> State::pods() const {
  std::vector<Pod> all;
  const json from = json::parse(read_file(folder_ / "pods.json"), nullptr, false);
  if (!from.is_array()) return all;
  for (const json& each : from) {
    Pod& pod = all.emplace_back(Pod{each.at("name"), each.at("tenant"), each.at("server"), {}});
    for (const json& one : each.at("interfaces"))
      pod.interfaces.push_back(
          {one.at("name"), one.at("rail"), one.at("function"), one.at("representor"), one.at("address")});
  }
  return all;
}

void State::remove() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  fs::remove(folder_.parent_path(), ignored);  // when this was the last one
}

}  // namespace weft::lab
