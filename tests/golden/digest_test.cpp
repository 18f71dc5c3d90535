// Equal seed, equal digest: on every example, with 1, 2 and 8 threads, by every compiler and at every level of
// optimisation. The digests are written down; each build that runs this test compares with the same file.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "golden.hpp"

namespace weft::golden {
namespace {

// What the simulator covers of an example: SRD within one site, minimal routes.
std::vector<std::string> command_for(const std::filesystem::path& example, const std::string& threads) {
  return {"sim",
          (example / "cluster.weft.yaml").string(),
          "--gpus",
          "24",
          "--pattern",
          "all-to-all",
          "--size",
          "60kB",
          "--json",
          "--threads",
          threads,
          "--set",
          "transport.kind=srd",
          "--set",
          "transport.balance=entropy",
          "--fault",
          "s0/nic0,kind=lossy,share=0.5%"};
}

TEST(Digest, IsTheSameForEveryThreadCountAndBuild) {
  std::vector<std::filesystem::path> examples;
  for (const auto& item : std::filesystem::directory_iterator(kSource / "examples"))
    if (std::filesystem::exists(item.path() / "cluster.weft.yaml")) examples.push_back(item.path());
  std::sort(examples.begin(), examples.end());
  std::string text;
  std::size_t simulated = 0;
  for (const std::filesystem::path& example : examples) {
    std::vector<std::string> digests;
    for (const std::string threads : {"1", "2", "8"}) {
      std::vector<std::string> command = command_for(example, threads);
      Outcome outcome = weft(command);
      if (outcome.code == 2) {  // its servers have other names
        command.resize(command.size() - 2);
        outcome = weft(command);
      }
      const auto record = nlohmann::json::parse(outcome.out, nullptr, false);
      digests.push_back(outcome.code == 0 && record.contains("digest") ? record["digest"].get<std::string>()
                                                                       : "exit code " + std::to_string(outcome.code));
    }
    EXPECT_EQ(digests[0], digests[1]) << example;
    EXPECT_EQ(digests[0], digests[2]) << example;
    simulated += digests[0].size() == 16;
    text += example.filename().string() + " " + digests[0] + "\n";
  }
  EXPECT_GE(simulated, 8u) << text;
  expect_file(kSource / "tests/golden/digests.txt", text);
}

}  // namespace
}  // namespace weft::golden
