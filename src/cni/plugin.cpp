#include "cni/plugin.hpp"

namespace weft::cni {
namespace {

Done carry_out(Role role, const Request& request) {
  if (request.verb == Verb::del) return role == Role::ovs ? ovs_del(request) : frr_del(request);
  const auto attachment = parse_attachment(request);
  if (!attachment) return attachment.error();
  if (request.verb == Verb::add)
    return role == Role::ovs ? ovs_add(request, *attachment) : frr_add(request, *attachment);
  return role == Role::ovs ? ovs_check(request, *attachment) : frr_check(request, *attachment);
}

Reply failure(const Error& error, const std::string& version) {
  return {1, to_json(error, version).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

}  // namespace

Reply run_plugin(Role role, const Variable& variable, const std::string& input) {
  const auto request = parse_request(variable, input);
  if (!request) return failure(request.error(), kVersion);
  if (request->verb == Verb::version) return {0, supported_versions().dump() + "\n"};
  if (const Done failed = carry_out(role, *request)) return failure(*failed, request->version);
  if (request->verb != Verb::add) return {};
  nlohmann::json result = request->config["prevResult"];
  result["cniVersion"] = request->version;
  return {0, result.dump() + "\n"};
}

}  // namespace weft::cni
