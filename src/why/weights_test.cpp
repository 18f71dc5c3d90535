// Weights decide which cause comes first: a sign that is turned round or a weight that is ten times what it was must
// not go unseen.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "why/evidence.hpp"

namespace weft::why {
namespace {

struct Against {
  Cause cause;
  double weight;
  std::string_view reason;
};

constexpr Against kAgainst[] = {
    {Cause::nothing_wrong, 1.5, "the model agrees with who expected it"},
    {Cause::nothing_wrong, 3, "the machine gives it when it is told to"},
    {Cause::nothing_wrong, 3, "the machine gives it when it is told to"},
    {Cause::no_gpudirect, 5, "NCCL marks each connection"},
    {Cause::dma_redirected, 1.5, "nothing is translated"},
    {Cause::dma_redirected, 1.5, "there is nothing to redirect"},
    {Cause::p2p_off, 3, "NCCL marks each connection"},
    {Cause::p2p_off, 0.7, "that seldom fails without a word"},
    {Cause::shm_off, 1.5, "they do without it"},
    {Cause::pcie_down, 1.5, "NCCL read it from the device"},
    {Cause::slow_nic, 1.5, "one NIC sends to another as fast as it should"},
    {Cause::pcie_down, 0.7, "one NIC sends to another as fast as it should"},
    {Cause::lossy, 0.7, "one NIC sends to another as fast as it should"},
    {Cause::nic_unused, 5, "the log names those it uses"},
    {Cause::socket_fallback, 5, "NCCL names the network"},
    {Cause::socket_fallback, 5, "NCCL names the network"},
    {Cause::socket_fallback, 1.5, "NCCL names the network"},
    {Cause::ecmp, 0.7, "then there is no uplink to collide on"},
    {Cause::oversubscribed, 0.7, "then no uplink is crossed"},
    {Cause::algorithm, 1.5, "left alone, NCCL chooses well"},
    {Cause::protocol, 1.5, "left alone, NCCL chooses well"},
    {Cause::few_channels, 1.5, "left alone, NCCL takes enough"},
    {Cause::nvls_off, 5, "it is on"},
    {Cause::virtual_machine, 1.5, "then they are not hidden"},
    {Cause::old_nccl, 1.5, "a current version"},
};

TEST(EvidenceWeights, AreOfFourGrades) {
  for (const Weight& each : weights()) {
    const double size = std::abs(each.weight);
    EXPECT_TRUE(size == 5 || size == 3 || size == 1.5 || size == 0.7) << info(each.cause).id << ": " << each.reason;
  }
}

TEST(EvidenceWeights, SpeakAgainstACauseOnlyWhereThatIsMeant) {
  std::size_t against = 0;
  for (const Weight& each : weights()) {
    if (each.weight > 0) continue;
    ++against;
    EXPECT_TRUE(std::any_of(std::begin(kAgainst), std::end(kAgainst),
                            [&](const Against& known) {
                              return known.cause == each.cause && known.weight == -each.weight &&
                                     known.reason == each.reason;
                            }))
        << info(each.cause).id << ": " << each.reason;
  }
  EXPECT_EQ(against, std::size(kAgainst));
}

// What a program says outright outweighs what somebody has seen before, and both any hint.
TEST(EvidenceWeights, OfWhatIsSaidOutrightAreTheHeaviest) {
  const auto weight_of = [](Cause cause, std::string_view reason) {
    for (const Weight& each : weights())
      if (each.cause == cause && each.reason == reason) return each.weight;
    return 0.0;
  };
  EXPECT_EQ(weight_of(Cause::misread, "the expected figure is there, in the other column"), 5);
  EXPECT_EQ(weight_of(Cause::no_gpudirect, "NCCL marks each connection"), 5);
  EXPECT_EQ(weight_of(Cause::no_gpudirect, "that level allows it nowhere"), 5);
  EXPECT_EQ(weight_of(Cause::p2p_off, "NCCL may not use it"), 5);
  EXPECT_EQ(weight_of(Cause::mnnvl_off, "that switches it off"), 5);
  EXPECT_EQ(weight_of(Cause::pcie_down, "parts of one kind should be joined alike"), 5);
  EXPECT_EQ(weight_of(Cause::socket_fallback, "NCCL names the network"), 5);
  EXPECT_EQ(weight_of(Cause::socket_fallback, "then sockets are all there is"), 5);
  EXPECT_EQ(weight_of(Cause::socket_fallback, "that forces it"), 5);
  EXPECT_EQ(weight_of(Cause::nvls_off, "that switches it off"), 5);
  EXPECT_EQ(weight_of(Cause::pxn_off, "that switches it off"), 5);
  EXPECT_EQ(weight_of(Cause::separate_jobs, "one job has one rank 0"), 5);
  EXPECT_EQ(weight_of(Cause::nothing_wrong, "nobody gets more than the machine has"), 3);
  EXPECT_EQ(weight_of(Cause::nothing_wrong, "what was hoped for is there"), 3);
  EXPECT_EQ(weight_of(Cause::misread, "small sizes are bound by latency: their average means nothing"), 3);
  EXPECT_EQ(weight_of(Cause::misread, "networks are sold in bits and measured in bytes"), 3);
  EXPECT_EQ(weight_of(Cause::no_gpudirect, "that switches it off on EFA"), 3);
  EXPECT_EQ(weight_of(Cause::no_gpudirect, "it needs that module, or DMA-BUF"), 3);
  EXPECT_EQ(weight_of(Cause::no_gpudirect, "NCCL asked the driver"), 3);
  EXPECT_EQ(weight_of(Cause::far_nic, "every byte crosses the CPU"), 3);
  EXPECT_EQ(weight_of(Cause::far_nic, "one NUMA node per socket halves what host memory gives to I/O"), 3);
  EXPECT_EQ(weight_of(Cause::dma_redirected, "ACS sends peer traffic up to the root"), 3);
  EXPECT_EQ(weight_of(Cause::p2p_off, "that is where data go without it"), 3);
  EXPECT_EQ(weight_of(Cause::cpu_path, "a CPU forwards less between NICs than it copies through memory"), 3);
  EXPECT_EQ(weight_of(Cause::cpu_path, "one NUMA node per socket halves what host memory gives to I/O"), 3);
  EXPECT_EQ(weight_of(Cause::mnnvl_off, "NVLink between servers needs that daemon"), 3);
  EXPECT_EQ(weight_of(Cause::mnnvl_off, "it is made of that memory"), 3);
  EXPECT_EQ(weight_of(Cause::shm_off, "what is not P2P then goes over the network"), 3);
  EXPECT_EQ(weight_of(Cause::shm_off, "containers get 64 MB of it"), 5);
  EXPECT_EQ(weight_of(Cause::dma_redirected, "what the NIC asked for went elsewhere"), 3);
  EXPECT_EQ(weight_of(Cause::dma_redirected, "virtual machines run with ACS, and NICs need ATS then"), 1.5);
  EXPECT_EQ(weight_of(Cause::socket_fallback, "nobody says that there is another"), 1.5);
  EXPECT_EQ(weight_of(Cause::socket_fallback, "nobody hopes for that of TCP"), 3);
  EXPECT_EQ(weight_of(Cause::cpu_binding, "launchers bind processes to cores"), 3);
  EXPECT_EQ(weight_of(Cause::ecmp, "some pairs share an uplink, others do not"), 1.5);
  EXPECT_EQ(weight_of(Cause::pcie_down, "the kernel compares what it is with what it could be"), 3);
  EXPECT_EQ(weight_of(Cause::nvlink_down, "the driver says so"), 3);
  EXPECT_EQ(weight_of(Cause::nic_unused, "a channel goes through one of them"), 3);
  EXPECT_EQ(weight_of(Cause::slow_nic, "the port says so"), 3);
  EXPECT_EQ(weight_of(Cause::socket_fallback, "without its plugin NCCL has only sockets there"), 3);
  EXPECT_EQ(weight_of(Cause::socket_fallback, "a container without its devices has only sockets"), 3);
  EXPECT_EQ(weight_of(Cause::ecmp, "somebody saw it"), 3);
  EXPECT_EQ(weight_of(Cause::oversubscribed, "somebody knows it"), 3);
  EXPECT_EQ(weight_of(Cause::lossy, "counters do not lie"), 3);
  EXPECT_EQ(weight_of(Cause::lossy, "what waits for time-outs does so more as more is in flight"), 3);
  EXPECT_EQ(weight_of(Cause::nic_settings, "it cuts what is in flight per queue pair"), 3);
  EXPECT_EQ(weight_of(Cause::algorithm, "that forces it"), 3);
  EXPECT_EQ(weight_of(Cause::nvls_off, "NCCL counts its channels"), 3);
  EXPECT_EQ(weight_of(Cause::protocol, "with one protocol a larger message never takes less time"), 3);
  EXPECT_EQ(weight_of(Cause::protocol, "that forces it"), 3);
  EXPECT_EQ(weight_of(Cause::few_channels, "a channel is one CTA with a rate of its own"), 3);
  EXPECT_EQ(weight_of(Cause::virtual_machine, "it is said"), 3);
  EXPECT_EQ(weight_of(Cause::slow_rank, "somebody saw it"), 3);
  EXPECT_EQ(weight_of(Cause::slow_rank, "the others wait for it"), 3);
  EXPECT_EQ(weight_of(Cause::slow_rank, "what slow runs have in common makes them slow"), 3);
  EXPECT_EQ(weight_of(Cause::rails_apart, "queue pairs fail where nothing joins two NICs"), 3);
  EXPECT_EQ(weight_of(Cause::cpu_binding, "proxy threads need cores of their own"), 3);
  EXPECT_EQ(weight_of(Cause::dma_redirected, "between NIC and GPU it fails"), 3);
  EXPECT_EQ(weight_of(Cause::p2p_off, "between GPUs it fails or is slow"), 3);
  EXPECT_EQ(weight_of(Cause::p2p_off, "containers that hide GPUs from each other hide NVLink, too"), 3);
  EXPECT_EQ(weight_of(Cause::virtual_machine, "what helps says what is wrong"), 3);
  EXPECT_EQ(weight_of(Cause::cpu_binding, "what helps says what is wrong"), 3);
  EXPECT_EQ(weight_of(Cause::old_nccl, "somebody compared them"), 3);
  EXPECT_EQ(weight_of(Cause::uneven_ranks, "NCCL marks each connection"), 3);
  EXPECT_EQ(weight_of(Cause::old_nccl, "versions of 2018 to 2020"), 3);
}

}  // namespace
}  // namespace weft::why
