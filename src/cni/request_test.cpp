#include "cni/request.hpp"

#include <gtest/gtest.h>

#include <map>

#include "cni/plugin.hpp"

namespace weft::cni {
namespace {

using Environment = std::map<std::string, std::string>;

const Environment kAdd = {{"CNI_COMMAND", "ADD"},
                          {"CNI_CONTAINERID", "lab-a0"},
                          {"CNI_NETNS", "/run/netns/a0"},
                          {"CNI_IFNAME", "net1"},
                          {"CNI_ARGS", "IgnoreUnknown=1;K8S_POD_NAMESPACE=research;K8S_POD_NAME=a0"}};

Variable from(const Environment& environment) {
  return [environment](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  };
}

Environment with(Environment environment, const std::string& name, const std::string& value) {
  environment[name] = value;
  return environment;
}

std::string config(const std::string& more) {
  return R"({"cniVersion":"1.0.0","name":"sriov-pf1-vf","type":"ovs-provider","bridge":"br-pf1")" + more + "}";
}

const std::string kResult =
    R"(,"prevResult":{"cniVersion":"1.0.0","interfaces":[{"name":"net1","mac":"0a:58:0a:80:00:02","sandbox":"/run/netns/a0"}],)"
    R"("ips":[{"interface":0,"address":"10.128.0.2/28","gateway":"10.128.0.1"}]})";

int code_of(const Reply& reply) { return nlohmann::json::parse(reply.text).at("code"); }

TEST(CniRequest, IsReadFromEnvironmentAndStdin) {
  const auto request = parse_request(from(kAdd), config(kResult));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->verb, Verb::add);
  EXPECT_EQ(request->pod_namespace, "research");
  const auto attachment = parse_attachment(*request);
  ASSERT_TRUE(attachment) << attachment.error().message;
  EXPECT_EQ(attachment->address, "10.128.0.2");
  EXPECT_EQ(attachment->mac, "0a:58:0a:80:00:02");
  EXPECT_EQ(attachment->host_interface, "");
}

// ovs-cni names the representor beside the pod's interface.
TEST(CniRequest, TheHostsEndIsTheInterfaceOutsideThePod) {
  const auto request = parse_request(
      from(kAdd),
      config(
          R"(,"prevResult":{"interfaces":[{"name":"rep3"},{"name":"net1","mac":"0a:58:0a:80:00:02","sandbox":"/x"}],)"
          R"("ips":[{"interface":1,"address":"10.128.0.2/28"},{"interface":1,"address":"fd00::2/64"}]})"));
  ASSERT_TRUE(request);
  EXPECT_EQ(parse_attachment(*request)->host_interface, "rep3");
}

TEST(CniRequest, VersionNeedsNothing) {
  const Reply reply = run_plugin(Role::ovs, from({{"CNI_COMMAND", "VERSION"}}), "");
  EXPECT_EQ(reply.exit_code, 0);
  EXPECT_EQ(nlohmann::json::parse(reply.text).at("supportedVersions").back(), "1.0.0");
}

TEST(CniRequest, ErrorsAreJsonWithTheSpecificationsCodes) {
  const struct {
    Environment environment;
    std::string input;
    int code;
  } cases[] = {
      {{}, "", 4},
      {with(kAdd, "CNI_COMMAND", "PLEASE"), config(kResult), 4},
      {with(kAdd, "CNI_CONTAINERID", "../../etc"), config(kResult), 4},
      {with(kAdd, "CNI_CONTAINERID", ""), config(kResult), 4},
      {with(kAdd, "CNI_IFNAME", "net1/../x"), config(kResult), 4},
      {with(kAdd, "CNI_IFNAME", "a-name-that-is-too-long"), config(kResult), 4},
      {with(kAdd, "CNI_NETNS", ""), config(kResult), 4},
      {with(kAdd, "CNI_ARGS", "K8S_POD_NAME=a0"), config(kResult), 4},
      {with(kAdd, "CNI_ARGS", "K8S_POD_NAMESPACE=a b"), config(kResult), 4},
      {kAdd, "no JSON", 6},
      {kAdd, "[]", 6},
      {kAdd, R"({"cniVersion":"0.1.0"})", 1},
      {kAdd, R"({"cniVersion":7})", 1},
      {kAdd, config(""), 7},
      {kAdd, config(R"(,"prevResult":{"interfaces":[],"ips":[]})"), 7},
      {kAdd, config(R"(,"prevResult":{"interfaces":"x","ips":7})"), 7},
      {kAdd, config(R"(,"prevResult":{"interfaces":[7,{"name":"net1","mac":"x","sandbox":"/x"}]})"), 7},
      {with(kAdd, "CNI_COMMAND", "CHECK"), config(""), 7},
      {kAdd, config(kResult + R"(,"ovsDir":"relative")"), 7},
  };
  for (const auto& each : cases) {
    const Reply reply = run_plugin(Role::ovs, from(each.environment), each.input);
    EXPECT_NE(reply.exit_code, 0) << each.input;
    EXPECT_EQ(code_of(reply), each.code) << reply.text << each.input;
  }
}

TEST(CniRequest, DelOfWhatWasNeverAddedIsFine) {
  const std::string input =
      R"({"cniVersion":"1.0.0","name":"n","bridge":"br","stateDir":")" + ::testing::TempDir() + R"(weft-cni-test"})";
  Environment environment = with(kAdd, "CNI_COMMAND", "DEL");
  environment["CNI_NETNS"] = "";
  environment["CNI_ARGS"] = "";
  for (const Role role : {Role::ovs, Role::frr}) {
    const Reply reply = run_plugin(role, from(environment), input);
    EXPECT_EQ(reply.exit_code, 0) << reply.text;
    EXPECT_EQ(reply.text, "");
  }
}

}  // namespace
}  // namespace weft::cni
