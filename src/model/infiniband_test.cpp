#include "model/infiniband.hpp"

#include <gtest/gtest.h>

#include "model/load.hpp"

namespace weft::model {
namespace {

struct Answer {
  std::optional<Cluster> cluster;
  std::string text;
  TransportKind kind() const { return cluster->file.transport.kind; }
  FlowControl flow_control() const { return cluster->file.switching.flow_control; }
};

Answer load(const std::string& box, const std::string& rest = "", const std::string& server = "hgx-h200") {
  spec::Diagnostics diagnostics;
  const Catalog catalog = Catalog::embedded(diagnostics);
  const std::uint32_t source = diagnostics.sources().add(
      "t.weft.yaml",
      "version: 1\nservers: {kind: " + server + ", count: 4}\nfabric: {kind: tor-clos, switch: " + box + "}\n" + rest);
  Answer answer{load_cluster(source, "t", {}, catalog, diagnostics), ""};
  answer.text = spec::render_text(diagnostics, false);
  return answer;
}

TEST(InfiniBand, IsWhatItsSwitchesAre) {
  for (const char* box : {"quantum-2", "quantum-x800"}) {
    const Answer answer = load(box);
    ASSERT_TRUE(answer.cluster) << answer.text;
    EXPECT_EQ(answer.kind(), TransportKind::infiniband) << box;
    EXPECT_EQ(answer.flow_control(), FlowControl::credits) << box;
    EXPECT_EQ(answer.cluster->file.transport.rocev2.control, RoceControl::none) << box;
  }
  EXPECT_EQ(load("tomahawk-5").kind(), TransportKind::srd);
  EXPECT_EQ(load("tomahawk-5").flow_control(), FlowControl::none);
}

TEST(InfiniBand, IsWhatCreditsAre) {
  EXPECT_EQ(load("tomahawk-5", "switching: {flow_control: credits}\n").kind(), TransportKind::infiniband);
  EXPECT_EQ(load("tomahawk-5", "switching: {flow_control: pfc}\n").kind(), TransportKind::srd);
}

TEST(InfiniBand, LeavesAloneWhatIsWritten) {
  EXPECT_EQ(load("quantum-2", "transport: {kind: srd}\n").kind(), TransportKind::srd);
  EXPECT_EQ(load("quantum-2", "transport: {kind: srd}\n").flow_control(), FlowControl::none);
  const Answer dcqcn = load("quantum-2", "transport: {rocev2: {control: dcqcn}}\n");
  EXPECT_EQ(dcqcn.cluster->file.transport.rocev2.control, RoceControl::dcqcn);
  EXPECT_EQ(load("tomahawk-5", "switching: {flow_control: pfc}\ntransport: {kind: rocev2}\n")
                .cluster->file.transport.rocev2.control,
            RoceControl::dcqcn);
  EXPECT_EQ(load("{kind: quantum-2, link_layer: ethernet}").kind(), TransportKind::srd);
}

TEST(InfiniBand, SaysThatEthernetsTransportsAreForeignThere) {
  for (const char* kind : {"srd", "rocev2", "uet"}) {
    const std::string transport = std::string("transport: {kind: ") + kind + "}\n";
    EXPECT_NE(load("quantum-2", transport).text.find("W0517"), std::string::npos) << kind;
    EXPECT_EQ(load("tomahawk-5", transport).text.find("W0517"), std::string::npos) << kind;
    EXPECT_EQ(load("quantum-2", transport, "p5.48xlarge").text.find("W0517"), std::string::npos) << kind;
  }
  EXPECT_EQ(load("quantum-2", "transport: {kind: tcp}\n").text.find("W0517"), std::string::npos);
  EXPECT_EQ(load("quantum-2").text.find("W0517"), std::string::npos);
}

TEST(InfiniBand, IsNotWhatEfaSpeaks) {
  EXPECT_EQ(load("quantum-2", "", "p5.48xlarge").kind(), TransportKind::srd);
  EXPECT_EQ(load("tomahawk-5", "switching: {flow_control: credits}\n", "p5.48xlarge").kind(), TransportKind::srd);
}

TEST(InfiniBand, NeedsCreditsAndSaysWhatToWrite) {
  const Answer ethernet = load("tomahawk-5", "transport: {kind: infiniband}\n");
  EXPECT_FALSE(ethernet.cluster);
  EXPECT_NE(ethernet.text.find("InfiniBand's links have credits, but flow_control is none"), std::string::npos);
  EXPECT_NE(ethernet.text.find("fabric.switch: quantum-2"), std::string::npos) << ethernet.text;
  const Answer paused = load("quantum-2", "switching: {flow_control: pfc}\n");
  EXPECT_NE(paused.text.find("t.weft.yaml:4:27"), std::string::npos) << paused.text;
  EXPECT_NE(paused.text.find("flow_control: credits"), std::string::npos) << paused.text;
  EXPECT_TRUE(load("tomahawk-5", "transport: {kind: infiniband}\nswitching: {flow_control: credits}\n").cluster);
}

TEST(InfiniBand, KnowsFiveSizesOfPackets) {
  EXPECT_NE(load("quantum-2", "transport: {mtu: 9000B}\n").text.find("'mtu' of InfiniBand cannot be 9"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::model
