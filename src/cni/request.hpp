#pragma once
// What a container runtime asks of a CNI plugin (CNI specification 1.0): variables of the environment and a
// configuration on stdin. Both are taken for hostile until they were checked here.

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace weft::cni {

// Of the specification's section 5; 100 and above are a plugin's own.
enum class Code : int {
  incompatible_version = 1,
  unknown_container = 3,
  invalid_environment = 4,
  io_failure = 5,
  not_decoded = 6,
  invalid_configuration = 7,
  try_again_later = 11,
  refused = 100,  // what was asked for contradicts what is there
  not_as_added = 101,
};

struct Error {
  Code code;
  std::string message;
  std::string details = {};
};
nlohmann::ordered_json to_json(const Error& error, const std::string& version);

inline constexpr const char* kVersion = "1.0.0";
nlohmann::ordered_json supported_versions();

enum class Verb { add, del, check, version };

struct Request {
  Verb verb = Verb::version;
  std::string version = kVersion;  // of the configuration
  std::string container;
  std::string interface;  // in the pod: net1
  std::string netns;      // a path; may be empty for DEL
  std::string pod_namespace;
  nlohmann::json config;
};

using Variable = std::function<std::optional<std::string>(const char* name)>;
Result<Request, Error> parse_request(const Variable& variable, const std::string& input);

// The interface that the plugins before this one made, and the address that it was given.
struct Attachment {
  std::string address;         // IPv4, without its prefix length
  std::string mac;             // in the pod
  std::string host_interface;  // the other end, where the result names one
};
Result<Attachment, Error> parse_attachment(const Request& request);

// A key of the configuration that names a directory or an interface; `otherwise` where it is not there.
Result<std::string, Error> directory(const Request& request, const char* key, const std::string& otherwise);
bool is_interface_name(const std::string& name);

}  // namespace weft::cni
