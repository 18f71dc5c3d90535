// `weft sim` as a person meets it.
#include <nlohmann/json.hpp>

#include "golden.hpp"

namespace weft::golden {
namespace {

TEST(Sim, WhatIsNotCoveredIsSaidBeforeItStarts) {
  const auto error = [](const std::string& example, const std::vector<std::string>& more) {
    const InDirectory here(kSource / "examples" / example);
    std::vector<std::string> arguments = {"sim"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = weft(arguments);
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  EXPECT_NE(error("01-acp-2-nics", {}).find("transport 'rocev2' is not simulated yet"), std::string::npos);
  EXPECT_NE(error("08-two-sites", {}).find("E0413"), std::string::npos);
  EXPECT_NE(error("04-rail-only", {}).find("needs NVLink to change its rail"), std::string::npos);
  EXPECT_NE(error("09-dragonfly", {"--set", "fabric.routing=valiant"}).find("only minimal"), std::string::npos);
  EXPECT_NE(error("05-p5-tor-clos", {"--size", "many"}).find("for example --size 2MB"), std::string::npos);
  EXPECT_NE(error("05-p5-tor-clos", {"--nodes", "999999"}).find("the cluster has 512 GPUs"), std::string::npos);
  EXPECT_NE(error("05-p5-tor-clos", {"--matrix", "nowhere.cm"}).find("no such file"), std::string::npos);
}

TEST(Sim, AMatrixWithTriggersRunsAndChainsItsFlows) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  std::ofstream("chain.cm") << "Nodes 64\nConnections 3\nTriggers 2\n"
                               "0->9 id 1 start 0 size 98304 send_done_trigger 1\n"
                               "9->33 id 2 trigger 1 size 98304 recv_done_trigger 2\n"
                               "33->1 id 3 trigger 2 size 98304\n"
                               "trigger id 1 oneshot\ntrigger id 2 oneshot\n";
  const std::string cluster = (kSource / "examples/05-p5-tor-clos/cluster.weft.yaml").string();
  const Outcome outcome = weft({"sim", cluster, "--matrix", "chain.cm", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto record = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(record["flows"], 3);
  // Three in a row: the whole takes longer than twice the longest, and each is alone on its way.
  EXPECT_GT(record["end_ps"].get<double>(), 2 * record["fct_max_ps"].get<double>());
  EXPECT_EQ(record["slowdown_max"], 1.0);
}

TEST(Sim, AFlowThatNeverStartsIsAFailure) {
  const Scratch scratch;
  const InDirectory here(scratch.path());
  std::ofstream("stuck.cm") << "Nodes 2\n0->1 id 1 trigger 1 size 1\ntrigger id 1 oneshot\n";
  const std::string cluster = (kSource / "examples/05-p5-tor-clos/cluster.weft.yaml").string();
  EXPECT_EQ(weft({"sim", cluster, "--matrix", "stuck.cm"}).code, 1);
}

}  // namespace
}  // namespace weft::golden
