#include "lab/chain.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "host/process.hpp"

namespace weft::lab {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

std::string find_plugin(const Attach& attach, const std::string& type) {
  for (const std::string& folder : attach.path)
    if (const std::string file = folder + "/" + type; ::access(file.c_str(), X_OK) == 0) return file;
  return "";
}

host::Finished call(const Attach& attach, const char* verb, const std::string& type, const ordered_json& plugin,
                    const json& before) {
  const std::string file = find_plugin(attach, type);
  if (file.empty()) return {127, fmt::format("there is no plugin {} in {}", type, fmt::join(attach.path, ", "))};
  ordered_json config = plugin;
  config["cniVersion"] = attach.list["cniVersion"];
  config["name"] = attach.list["name"];
  if (!before.is_null()) config["prevResult"] = before;
  host::Command command{{file}, attach.server_netns, config.dump()};
  command.environment = {
      fmt::format("CNI_COMMAND={}", verb),           fmt::format("CNI_CONTAINERID={}", attach.container),
      fmt::format("CNI_NETNS={}", attach.pod_netns), fmt::format("CNI_IFNAME={}", attach.interface),
      fmt::format("CNI_ARGS={}", attach.arguments),  fmt::format("CNI_PATH={}", fmt::join(attach.path, ":"))};
  command.errors_apart = true;
  return host::run(command);
}

// What a plugin says of its failure: JSON, if it keeps to the specification.
std::string words_of(const ordered_json& plugin, const host::Finished& done) {
  const json error = json::parse(done.text, nullptr, false);
  std::string words = error.is_object() ? error.value("msg", "") : done.text + done.errors;
  if (error.is_object() && !error.value("details", "").empty()) words += "; " + error.value("details", "");
  return fmt::format("{}: {}", plugin.value("type", ""), words.empty() ? fmt::format("exit {}", done.code) : words);
}

std::string del_first(const Attach& attach, std::size_t count, const json& result) {
  std::string failed;
  for (std::size_t i = count; i-- > 0;) {
    const ordered_json& plugin = attach.list["plugins"][i];
    const auto tell = [&](const std::string& type) {
      const host::Finished done = call(attach, "DEL", type, plugin, result);
      if (done.code != 0 && failed.empty()) failed = words_of(plugin, done);
    };
    tell(plugin.value("type", ""));
    // Where the namespace has died, Debian's plugins return at once and keep the address: its keeper is told directly.
    if (attach.pod_netns.empty() && plugin.contains("ipam")) tell(plugin["ipam"].value("type", ""));
  }
  return failed;
}

}  // namespace

Result<json, std::string> chain_add(const Attach& attach) {
  json result;
  for (std::size_t i = 0; i < attach.list["plugins"].size(); ++i) {
    const ordered_json& plugin = attach.list["plugins"][i];
    const host::Finished done = call(attach, "ADD", plugin.value("type", ""), plugin, result);
    json next = json::parse(done.text, nullptr, false);
    if (done.code == 0 && next.is_object()) {
      result = std::move(next);
      continue;
    }
    std::string words = words_of(plugin, done);
    if (const std::string left = del_first(attach, i + 1, result); !left.empty())
      words += fmt::format("; and it is not undone: {}", left);
    return Failure<std::string>(words);
  }
  return result;
}

std::string chain_del(const Attach& attach, const json& result) {
  return del_first(attach, attach.list["plugins"].size(), result);
}

std::string chain_check(const Attach& attach, const json& result) {
  for (const ordered_json& plugin : attach.list["plugins"])
    if (const host::Finished done = call(attach, "CHECK", plugin.value("type", ""), plugin, result); done.code != 0)
      return words_of(plugin, done);
  return "";
}

}  // namespace weft::lab
