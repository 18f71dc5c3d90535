// `weft render` and `weft place` as a person meets them: what is written where, and what is left alone.
#include <gtest/gtest.h>

#include "app/testing_verbs.hpp"

namespace weft::app {
namespace {

using namespace testing;
namespace fs = std::filesystem;

// Two units of two servers; the first unit is a tenant's.
const std::string kRails =
    "version: 1\n"
    "servers: {kind: hgx-h100, count: 4, nics: 2}\n"
    "fabric: {kind: rail-optimized, scalable_unit: 2, spines: 2, switch: tomahawk-4}\n"
    "tenants:\n"
    "  - {name: research, servers: 0..1}\n";

class Render : public Verbs {
 protected:
  RenderOptions options(const std::string& target, std::vector<std::string> set = {}) {
    RenderOptions made;
    made.input = input(false, kRails);
    made.input.set = std::move(set);
    made.target = target;
    made.output = out_dir().string();
    return made;
  }
  fs::path out_dir() const { return directory() / "out"; }
  std::string read(const std::string& path) const {
    std::ifstream stream(out_dir() / path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories((out_dir() / path).parent_path());
    std::ofstream(out_dir() / path, std::ios::binary) << text;
  }
};

TEST_F(Render, WritesATreeAndWritesItAgainWithoutAWord) {
  ASSERT_EQ(render(options("hosts"), console_), kFine) << err();
  EXPECT_EQ(err(), "wrote 3 files into " + out_dir().string() + "\n");
  const std::string first = read("hosts/cables.csv");
  ASSERT_EQ(render(options("hosts"), console_), kFine);
  EXPECT_EQ(err(), "wrote 0 files into " + out_dir().string() + ", 3 as they were\n");
  EXPECT_EQ(read("hosts/cables.csv"), first);
}

TEST_F(Render, WhatWasChangedByHandIsLeftAndNothingIsWritten) {
  ASSERT_EQ(render(options("hosts"), console_), kFine);
  write("hosts/cables.csv", "my own list\n");
  const std::string before = read("hosts/inventory.csv");
  err();
  EXPECT_EQ(render(options("hosts", {"servers.count=8"}), console_), kYourInput);
  const std::string said = err();
  EXPECT_TRUE(contains(said, "E0802")) << said;
  EXPECT_TRUE(contains(said, "hosts/cables.csv")) << said;
  EXPECT_EQ(read("hosts/cables.csv"), "my own list\n");
  EXPECT_EQ(read("hosts/inventory.csv"), before);
}

TEST_F(Render, AFileOfSomebodyElseIsInTheWay) {
  write("leaf0/frr.conf", "hostname precious\n");
  EXPECT_EQ(render(options("frr"), console_), kYourInput);
  EXPECT_EQ(read("leaf0/frr.conf"), "hostname precious\n");
  EXPECT_FALSE(fs::exists(out_dir() / "leaf1"));
}

TEST_F(Render, WhatIsNoLongerPartOfItGoesAway) {
  ASSERT_EQ(render(options("frr", {"servers.count=8"}), console_), kFine) << err();
  ASSERT_EQ(render(options("hosts", {"servers.count=8"}), console_), kFine);
  ASSERT_TRUE(fs::exists(out_dir() / "s7/frr.conf"));
  write("s6/notes.txt", "mine\n");
  err();
  // The tenant's servers stay, so four are enough.
  ASSERT_EQ(render(options("frr"), console_), kFine) << err();
  EXPECT_TRUE(contains(err(), "removed that are no longer part of it"));
  EXPECT_FALSE(fs::exists(out_dir() / "s7"));
  EXPECT_TRUE(fs::exists(out_dir() / "s6/notes.txt"));
  EXPECT_FALSE(fs::exists(out_dir() / "s6/frr.conf"));
  EXPECT_TRUE(contains(read("hosts/inventory.csv"), "\ns7,")) << "another target's files stay";
}

TEST_F(Render, WithoutADirectoryFilesGoToStdout) {
  RenderOptions to_stdout = options("nccl");
  to_stdout.output.clear();
  ASSERT_EQ(render(to_stdout, console_), kFine) << err();
  const std::string printed = out();
  EXPECT_TRUE(printed.starts_with("==> nccl/s-hgx-h100.xml <==\n")) << printed.substr(0, 80);
  EXPECT_TRUE(contains(printed, "\n==> nccl/s-hgx-h100.env <==\n"));
}

TEST_F(Render, JsonListsTheFiles) {
  RenderOptions listed = options("slurm");
  listed.input.json = true;
  ASSERT_EQ(render(listed, console_), kFine);
  const std::vector<nlohmann::json> all = records();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0]["record"], "rendered");
  EXPECT_EQ(all[0]["path"], "slurm/topology.conf");
  EXPECT_FALSE(all[0].contains("text"));
  EXPECT_EQ(all[0]["bytes"], read("slurm/topology.conf").size());
}

TEST_F(Render, TheDigestIsOfTheInput) {
  RenderOptions plain = options("nccl");
  plain.input.json = true;
  ASSERT_EQ(render(plain, console_), kFine);
  const std::string one = record()["input"];
  plain.input.set = {"servers.count=8"};
  ASSERT_EQ(render(plain, console_), kFine);
  EXPECT_NE(record()["input"], one);
}

TEST_F(Render, SaysWhatCannotBeRendered) {
  EXPECT_EQ(render(options("frr", {"fabric.switch=quantum-2"}), console_), kYourInput);
  const std::string said = err();
  EXPECT_TRUE(contains(said, "error E0801: quantum-2 is an InfiniBand switch")) << said;
}

class Place : public Verbs {
 protected:
  PlaceOptions options(std::uint32_t gpus, const std::string& tenant = "", bool json = true) {
    PlaceOptions made;
    made.input = input(json, kRails);
    made.gpus = gpus;
    made.tenant = tenant;
    return made;
  }
};

TEST_F(Place, ATenantGetsItsOwnServersAndOthersTheRest) {
  ASSERT_EQ(place(options(16, "research"), console_), kFine);
  const nlohmann::json own = record();
  EXPECT_EQ(own["units"], nlohmann::json::array({"su0"}));
  EXPECT_EQ(own["on"], "0..15");
  ASSERT_EQ(place(options(8), console_), kFine);
  const nlohmann::json rest = record();
  EXPECT_EQ(rest["servers"][0]["name"], "s2");
  EXPECT_EQ(rest["within"], "one server");
}

TEST_F(Place, NobodyGetsMoreThanIsTheirs) {
  PlaceOptions too_many = options(17, "research", false);
  EXPECT_EQ(place(too_many, console_), kYourInput);
  EXPECT_TRUE(contains(err(), "error E0803: 17 GPUs do not fit: there are 16 GPUs of tenant 'research'"));
  EXPECT_EQ(place(options(17, "", false), console_), kYourInput);
  EXPECT_TRUE(contains(err(), "there are 16 GPUs that no tenant owns"));
  EXPECT_EQ(place(options(1, "nobody", false), console_), kYourInput);
  EXPECT_TRUE(contains(err(), "there is no tenant 'nobody'"));
}

TEST_F(Place, GpusWithNicsOfTheirOwn) {
  PlaceOptions near = options(4, "research", false);
  near.nics_per_gpu = 1;
  ASSERT_EQ(place(near, console_), kFine);
  const std::string printed = out();
  EXPECT_TRUE(contains(printed, "4 GPUs on 2 servers, within one scalable unit (su0)\n  s0..s1     GPU 0,4\n"))
      << printed;
  EXPECT_TRUE(
      contains(printed, "traded off: 12 GPUs of these servers stay free, so that each of the job's has its NICs\n"))
      << printed;
  EXPECT_TRUE(contains(printed, "--on 0,4,8,12\n")) << printed;
}

}  // namespace
}  // namespace weft::app
