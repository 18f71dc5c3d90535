#include "cni/ovs.hpp"

#include <fmt/format.h>

#include <charconv>

namespace weft::cni {
namespace {

constexpr const char* kSeconds = "20";  // that OvS may take for an answer

std::string line_of(const host::Finished& done) {
  const std::string text = done.code == 0 ? done.text : "";
  std::string line = text.substr(0, text.find('\n'));
  std::erase(line, '"');
  return line;
}

std::string problem(const host::Finished& done) {
  return done.errors.empty() ? fmt::format("exit {}", done.code) : done.errors;
}

}  // namespace

host::Finished Ovs::database(std::vector<std::string> words) const {
  host::Command command{{"ovs-vsctl", "-t", kSeconds, "--db=unix:" + (folder_ / "db.sock").string()}, "", ""};
  command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  command.errors_apart = true;
  return host::run(command);
}

std::string Ovs::change_flows(const std::string& bridge, const std::string& changes) const {
  host::Command command{{"ovs-ofctl", "-t", kSeconds, "-O", "OpenFlow14", "--bundle", "add-flows",
                         (folder_ / (bridge + ".mgmt")).string(), "-"},
                        "",
                        changes};
  command.errors_apart = true;
  const host::Finished done = host::run(command);
  return done.code == 0 ? "" : "ovs-ofctl: " + problem(done);
}

std::string Ovs::dump_flows(const std::string& bridge, const std::string& which) const {
  host::Command command{
      {"ovs-ofctl", "-t", kSeconds, "-O", "OpenFlow14", "dump-flows", (folder_ / (bridge + ".mgmt")).string()}, "", ""};
  if (!which.empty()) command.arguments.push_back(which);
  command.errors_apart = true;
  return host::run(command).text;
}

bool Ovs::has_bridge(const std::string& bridge) const { return database({"br-exists", bridge}).code == 0; }

Result<std::uint32_t, std::string> Ovs::add_port(const std::string& bridge, const std::string& port) const {
  const host::Finished done = database({"--may-exist", "add-port", bridge, port});
  if (done.code != 0) return Failure<std::string>("ovs-vsctl: " + problem(done));
  return number_of(port);
}

Result<std::uint32_t, std::string> Ovs::number_of(const std::string& port) const {
  const std::string number = line_of(database({"get", "interface", port, "ofport"}));
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size())  // -1: it cannot be opened
    return Failure<std::string>(
        fmt::format("Open vSwitch cannot use {}: {}", port, line_of(database({"get", "interface", port, "error"}))));
  return value;
}

std::string Ovs::bridge_of(const std::string& port) const { return line_of(database({"port-to-br", port})); }

std::string Ovs::mac_of(const std::string& bridge) const {
  std::string mac = line_of(database({"--if-exists", "get", "bridge", bridge, "other-config:hwaddr"}));
  if (!mac.empty()) return mac;
  mac = line_of(database({"get", "interface", bridge, "mac_in_use"}));
  return mac.empty() || database({"set", "bridge", bridge, fmt::format("other-config:hwaddr=\"{}\"", mac)}).code != 0
             ? ""
             : mac;
}

bool Ovs::is_in_user_space(const std::string& bridge) const {
  return line_of(database({"get", "bridge", bridge, "datapath_type"})) == "netdev";
}

}  // namespace weft::cni
