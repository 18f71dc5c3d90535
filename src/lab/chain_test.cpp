#include "lab/chain.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace weft::lab {
namespace {

using nlohmann::json;

// Plugins that are shell scripts: each writes down how it was called, then says what it is to say.
class Chain : public ::testing::Test {
 protected:
  Chain() : folder_(std::filesystem::temp_directory_path() / ("weft-chain-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    attach_.list = {{"cniVersion", "1.0.0"}, {"name", "net"}, {"plugins", json::array()}};
    attach_.path = {(folder_ / "nowhere").string(), folder_.string()};
    attach_.container = "pod7";
    attach_.pod_netns = "/run/netns/pod7";
    attach_.interface = "net1";
    attach_.arguments = "A=1";
  }
  ~Chain() override { std::filesystem::remove_all(folder_); }

  void plugin(const std::string& type, const std::string& body, bool in_chain = true) {
    const std::filesystem::path file = folder_ / type;
    std::ofstream(file) << "#!/bin/sh\necho \"$CNI_COMMAND " << type << "\" >> " << (folder_ / "calls").string()
                        << "\ncat > " << (folder_ / (type + ".in")).string() << "\n"
                        << body << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    if (in_chain) attach_.list["plugins"].push_back({{"type", type}});
  }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }

  std::filesystem::path folder_;
  Attach attach_;
};

TEST_F(Chain, EachHasTheResultOfTheOneBefore) {
  plugin("first", R"(echo '{"ips": [1]}')");
  plugin("second", R"(echo "{\"seen\": \"$CNI_CONTAINERID $CNI_NETNS $CNI_IFNAME $CNI_ARGS\"}")");
  const auto result = chain_add(attach_);
  ASSERT_TRUE(result.has_value()) << result.error();
  EXPECT_EQ(*result, (json{{"seen", "pod7 /run/netns/pod7 net1 A=1"}}));
  EXPECT_EQ(read("calls"), "ADD first\nADD second\n");
  EXPECT_FALSE(json::parse(read("first.in")).contains("prevResult"));
  const json given = json::parse(read("second.in"));
  EXPECT_EQ(given["prevResult"], (json{{"ips", {1}}}));
  EXPECT_EQ(given["name"], "net");
  EXPECT_EQ(given["cniVersion"], "1.0.0");
}

TEST_F(Chain, WhereOneFailsItAndThoseBeforeItAreUndone) {
  plugin("first", "echo '{}'");
  plugin("second", R"([ $CNI_COMMAND = DEL ] || { echo '{"msg": "no room", "details": "of 2"}'; exit 1; })");
  plugin("third", "echo '{}'");
  const auto result = chain_add(attach_);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error(), "second: no room; of 2");
  EXPECT_EQ(read("calls"), "ADD first\nADD second\nDEL second\nDEL first\n");
}

TEST_F(Chain, WhatIsNotUndoneIsSaid) {
  plugin("first", "[ $CNI_COMMAND = ADD ] && echo '{}' || { echo stuck >&2; exit 2; }");
  plugin("second", "[ $CNI_COMMAND = DEL ] || exit 3");
  const auto result = chain_add(attach_);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error(), "second: exit 3; and it is not undone: first: stuck\n");
}

TEST_F(Chain, SuccessWithoutAResultIsAFailure) {
  plugin("first", "[ $CNI_COMMAND = DEL ] || echo nonsense");
  const auto result = chain_add(attach_);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error(), "first: nonsense\n");
}

TEST_F(Chain, APluginThatIsNotThereIsNamedWithWhereItWasLookedFor) {
  attach_.list["plugins"].push_back({{"type", "gone"}});
  const auto result = chain_add(attach_);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().find("there is no plugin gone in " + attach_.path[0] + ", " + attach_.path[1]),
            std::string::npos)
      << result.error();
}

TEST_F(Chain, DelGoesBackwardsAndOnAfterAFailure) {
  plugin("first", "true");
  plugin("second", R"(echo '{"msg": "busy"}'; exit 1)");
  plugin("third", "true");
  EXPECT_EQ(chain_del(attach_, json{{"was", 1}}), "second: busy");
  EXPECT_EQ(read("calls"), "DEL third\nDEL second\nDEL first\n");
  EXPECT_EQ(json::parse(read("first.in"))["prevResult"], (json{{"was", 1}}));
}

TEST_F(Chain, TheKeeperOfAddressesIsToldWhereThePodIsGone) {
  plugin("bridge", "true");
  plugin("keeper", "true", false);
  attach_.list["plugins"][0]["ipam"] = {{"type", "keeper"}};
  EXPECT_EQ(chain_del(attach_, {}), "");
  EXPECT_EQ(read("calls"), "DEL bridge\n");
  attach_.pod_netns.clear();
  EXPECT_EQ(chain_del(attach_, {}), "");
  EXPECT_EQ(read("calls"), "DEL bridge\nDEL bridge\nDEL keeper\n");
}

TEST_F(Chain, CheckEndsAtTheFirstThatFails) {
  plugin("first", "true");
  plugin("second", R"(echo '{"msg": "gone"}'; exit 1)");
  plugin("third", "true");
  EXPECT_EQ(chain_check(attach_, {}), "second: gone");
  EXPECT_EQ(read("calls"), "CHECK first\nCHECK second\n");
}

}  // namespace
}  // namespace weft::lab
