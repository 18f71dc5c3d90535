#include "cni/request.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weft::cni {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Fail = Failure<Error>;

// All of these have results of the same shape, so a result that came in goes out as it is.
constexpr std::array<const char*, 4> kVersions = {"0.3.0", "0.3.1", "0.4.0", "1.0.0"};
constexpr std::size_t kLongestInterface = 15;
constexpr std::size_t kLongestName = 253;  // of a namespace it is 63; of a container whatever a runtime likes

bool is_letter_or_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// As the specification has identifiers of containers.
bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= kLongestName && is_letter_or_digit(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '_' || c == '.' || c == '-'; });
}

Fail environment(const std::string& message) { return Fail({Code::invalid_environment, message}); }
Fail configuration(const std::string& message) { return Fail({Code::invalid_configuration, message}); }

std::optional<Verb> verb_of(const std::string& command) {
  if (command == "ADD") return Verb::add;
  if (command == "DEL") return Verb::del;
  if (command == "CHECK") return Verb::check;
  if (command == "VERSION") return Verb::version;
  return std::nullopt;
}

// IgnoreUnknown=1;K8S_POD_NAMESPACE=research;K8S_POD_NAME=gpu-pod
std::string argument(const std::string& arguments, const std::string& name) {
  for (std::size_t at = 0; at < arguments.size();) {
    const std::size_t end = std::min(arguments.find(';', at), arguments.size());
    const std::string pair = arguments.substr(at, end - at);
    if (pair.starts_with(name + "=")) return pair.substr(name.size() + 1);
    at = end + 1;
  }
  return "";
}

std::string text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool is_mac(const std::string& text) {
  if (text.size() != 17) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (i % 3 == 2 ? text[i] != ':' : !std::isxdigit(static_cast<unsigned char>(text[i]))) return false;
  return true;
}

}  // namespace

ordered_json to_json(const Error& error, const std::string& version) {
  ordered_json out = {{"cniVersion", version}, {"code", static_cast<int>(error.code)}, {"msg", error.message}};
  if (!error.details.empty()) out["details"] = error.details;
  return out;
}

ordered_json supported_versions() { return {{"cniVersion", kVersion}, {"supportedVersions", kVersions}}; }

bool is_interface_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestInterface && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '_' || c == '.' || c == '-'; });
}

Result<Request, Error> parse_request(const Variable& variable, const std::string& input) {
  Request request;
  const auto command = variable("CNI_COMMAND");
  const auto verb = verb_of(command.value_or(""));
  if (!verb)
    return environment(fmt::format("CNI_COMMAND is '{}', not ADD, DEL, CHECK or VERSION", command.value_or("")));
  request.verb = *verb;
  if (request.verb == Verb::version) return request;

  request.config = json::parse(input, nullptr, false);
  if (!request.config.is_object()) return Fail({Code::not_decoded, "the configuration on stdin is no JSON object"});
  request.version = text_in(request.config, "cniVersion");
  if (std::find(kVersions.begin(), kVersions.end(), request.version) == kVersions.end())
    return Fail({Code::incompatible_version,
                 fmt::format("cniVersion '{}' is not among {}", request.version, fmt::join(kVersions, ", "))});
  request.container = variable("CNI_CONTAINERID").value_or("");
  if (!is_name(request.container)) return environment("CNI_CONTAINERID is missing, or no identifier");
  request.interface = variable("CNI_IFNAME").value_or("");
  if (!is_interface_name(request.interface)) return environment("CNI_IFNAME is missing, or no name of an interface");
  request.netns = variable("CNI_NETNS").value_or("");
  if (request.verb != Verb::del && !request.netns.starts_with('/')) return environment("CNI_NETNS is no path");
  request.pod_namespace = argument(variable("CNI_ARGS").value_or(""), "K8S_POD_NAMESPACE");
  if (request.verb != Verb::del && !is_name(request.pod_namespace))
    return environment("CNI_ARGS has no K8S_POD_NAMESPACE: without it nobody knows whose pod this is");
  if (request.verb == Verb::check && request.config.find("prevResult") == request.config.end())
    return configuration("CHECK needs the prevResult of ADD");
  return request;
}

Result<Attachment, Error> parse_attachment(const Request& request) {
  const auto result = request.config.find("prevResult");
  if (result == request.config.end() || !result->is_object())
    return configuration(
        "no prevResult: this plugin stands behind one that makes an interface and gives it an address");
  const json none = json::array();
  const auto list = [&](const char* key) -> const json& {
    const auto found = result->find(key);
    return found != result->end() && found->is_array() ? *found : none;
  };
  Attachment attachment;
  std::optional<std::size_t> inside;
  const json& interfaces = list("interfaces");
  for (std::size_t i = 0; i < interfaces.size(); ++i) {
    const std::string name = text_in(interfaces[i], "name");
    if (text_in(interfaces[i], "sandbox").empty()) {
      // A bridge may be named as well; the interface's own end comes last.
      if (is_interface_name(name)) attachment.host_interface = name;
    } else if (name == request.interface) {
      inside = i;
      attachment.mac = text_in(interfaces[i], "mac");
    }
  }
  if (!inside) return configuration(fmt::format("prevResult has no interface {} in the pod", request.interface));
  if (!is_mac(attachment.mac)) return configuration(fmt::format("prevResult has no MAC of {}", request.interface));
  for (const json& each : list("ips")) {
    if (const auto index = each.find("interface"); index != each.end() && *index != *inside) continue;
    const std::string address = text_in(each, "address");
    const std::string bare = address.substr(0, address.find('/'));
    in_addr parsed{};
    if (::inet_pton(AF_INET, bare.c_str(), &parsed) != 1) continue;
    if (!attachment.address.empty()) return configuration("the interface has more than one IPv4 address");
    attachment.address = bare;
  }
  if (attachment.address.empty())
    return configuration(
        fmt::format("prevResult has no IPv4 address for {}: is an IPAM plugin in the chain?", request.interface));
  return attachment;
}

Result<std::string, Error> directory(const Request& request, const char* key, const std::string& otherwise) {
  const auto found = request.config.find(key);
  if (found == request.config.end()) return otherwise;
  if (!found->is_string() || !found->get<std::string>().starts_with('/'))
    return configuration(fmt::format("{} is no path of a directory", key));
  return found->get<std::string>();
}

}  // namespace weft::cni
