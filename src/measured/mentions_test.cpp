#include "measured/mentions.hpp"

#include <gtest/gtest.h>

#include "measured/nccl_log.hpp"

namespace weft::measured {
namespace {

std::map<Mention, LogCount> mentions_in(const std::string& text) {
  spec::Diagnostics notes;
  const auto log = read_nccl_log(notes.sources().add("dmesg.txt", "NCCL version 2.21.5+cuda12.4\n" + text), notes);
  return log ? log->mentions : std::map<Mention, LogCount>{};
}

TEST(Mentions, AreFoundWhereHostsSayThem) {
  const auto found = mentions_in(
      "\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x16\n"
      "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+\n"
      "[    0.5] iommu: Default domain type: Translated\n");
  EXPECT_EQ(found.size(), 3u);
  EXPECT_EQ(found.at(Mention::link_downgraded).first.line, 2u);
  EXPECT_TRUE(found.contains(Mention::iommu_on));
}

TEST(Mentions, AreNotFoundInWhatDeniesThem) {
  EXPECT_TRUE(mentions_in("no VM, ACS off, IOMMU off\n").empty());
  EXPECT_TRUE(mentions_in("LnkSta: Speed 32GT/s, Width x16\n").empty());
}

TEST(Mentions, MakeATextALogOfItsOwn) {
  spec::Diagnostics notes;
  EXPECT_FALSE(read_nccl_log(notes.sources().add("notes.txt", "nvidia_peermem not loaded\n"), notes)->says_nothing);
  EXPECT_TRUE(read_nccl_log(notes.sources().add("notes.txt", "all is well\n"), notes)->says_nothing);
}

// Persons say it in any order; the clause that has the subject decides.
TEST(Mentions, OfPersonsAreFoundByTheirClause) {
  const auto says = [](const std::string& text, Mention mention) { return mentions_in(text + "\n").contains(mention); };
  EXPECT_TRUE(says("we found that ACS was enabled on the switches", Mention::acs_on));
  EXPECT_TRUE(says("I've not set up the nv_peer_memory module, see below", Mention::peermem_missing));
  EXPECT_TRUE(says("lsmod shows no nvidia_peermem", Mention::peermem_missing));
  EXPECT_TRUE(says("PFC isn't configured on the leaf", Mention::loss));
  EXPECT_TRUE(says("the nvidia-fabricmanager service has failed", Mention::nvlink_inactive));
  EXPECT_TRUE(says("QEMU/KVM guest with SR-IOV", Mention::virtual_machine));
  EXPECT_FALSE(says("nvidia_peermem loaded, no socket fallback", Mention::peermem_missing));
  EXPECT_FALSE(says("it is not running inside a VM", Mention::virtual_machine));
  EXPECT_FALSE(says("ACS is disabled, PFC and ECN on", Mention::acs_on));
  EXPECT_FALSE(says("ACS is disabled, PFC and ECN on", Mention::loss));
  EXPECT_FALSE(says("packs of vmlinuz", Mention::virtual_machine)) << "whole words only";
}

TEST(Mentions, OfContainersReleasesAndPeers) {
  const auto says = [](const std::string& text, Mention mention) { return mentions_in(text + "\n").contains(mention); };
  EXPECT_TRUE(says("When 8 containers are scheduled on the same node it is slower", Mention::isolated));
  EXPECT_TRUE(says("two dockers in one host", Mention::isolated));
  EXPECT_FALSE(says("a container on each of 8 nodes", Mention::isolated));
  EXPECT_TRUE(says("all-reduce is slower on NCCL v2.20.5 compared to 2.18.5", Mention::slower_release));
  EXPECT_FALSE(says("slower than with NCCL 2.20.5, CUDA 12.4 and driver 550.2", Mention::slower_release));
  EXPECT_FALSE(says("NCCL 2.20.5 and 2.18.5 give the same", Mention::slower_release));
  EXPECT_FALSE(says("NCCL 2.20.5: slow, 2.20.3: slow", Mention::slower_release));
  EXPECT_TRUE(says("Got completion from peer 172.17.0.3<4957> with error 12, opcode 1, len 0, vendor err 129",
                   Mention::unreachable));
  EXPECT_TRUE(says("fi_getinfo: -61 (No data available)", Mention::rdma_missing));
  EXPECT_TRUE(says("    214 DMA-FQ", Mention::iommu_on)) << "cat /sys/kernel/iommu_groups/*/type | sort | uniq -c";
}

TEST(Mentions, OfErrorsCardsAndComparisons) {
  const auto says = [](const std::string& text, Mention mention) { return mentions_in(text + "\n").contains(mention); };
  EXPECT_TRUE(says("Got completion from peer fe80::1%ib0<1> with error 4, opcode 1, len 1, vendor err 81 (Send)",
                   Mention::protection_error));
  EXPECT_FALSE(says("Got completion with error 12, opcode 4, len 4, vendor err 129", Mention::protection_error));
  EXPECT_TRUE(says("3 servers with 8 x RTX 5090 each", Mention::consumer_gpu));
  EXPECT_FALSE(says("RTX 6000 Ada", Mention::consumer_gpu));
  EXPECT_TRUE(says("My CPU is AMD EPYC 7543 32-Core", Mention::epyc));
  EXPECT_TRUE(says("it is slow with mpirun compared with without mpirun", Mention::slower_by_launcher));
  EXPECT_FALSE(says("it runs without mpirun", Mention::slower_by_launcher));
  EXPECT_TRUE(says("between nodes 1 + 2 it is 25 GB/s, between 1 + 3 39 GB/s", Mention::pairs_differ));
  EXPECT_FALSE(says("between nodes 1 + 2 it is 38 GB/s, between 1 + 3 39 GB/s", Mention::pairs_differ));
  EXPECT_FALSE(says("25 GB/s with one size, 39 GB/s with another", Mention::pairs_differ));
}

// What hangs under a switch does not hang, and what programs print of ports is read.
TEST(Mentions, OfPlacesAreNoHangs) {
  const auto says = [](const std::string& text, Mention mention) { return mentions_in(text + "\n").contains(mention); };
  EXPECT_FALSE(says("two GPUs hang under each PCIe switch", Mention::hang));
  EXPECT_FALSE(says("the NIC hangs off the CPU", Mention::hang));
  EXPECT_TRUE(says("all_reduce_perf hangs after 1 MiB", Mention::hang));
  EXPECT_TRUE(says("it hung", Mention::hang));
  EXPECT_TRUE(says("the model \"freeze\"(stuck) with 4 GPUs", Mention::hang));
  EXPECT_TRUE(says("ncclAllReduce deadlocks", Mention::hang));
  EXPECT_TRUE(
      says("watchdog caught collective operation timeout: worknccl(seqnum=1204, optype=allreduce, "
           "timeout(ms)=600000) ran for 600028 milliseconds before timing out.",
           Mention::timed_out));
  EXPECT_FALSE(says("NCCL_IB_TIMEOUT set by environment to 22", Mention::timed_out));
  EXPECT_TRUE(
      says("n1:7:9 [0] misc/ibvwrap.cc:262 NCCL WARN Call to ibv_modify_qp failed with error Connection timed out",
           Mention::unreachable));
  EXPECT_TRUE(says("mpirun --bind-to core -np 16 all_reduce_perf", Mention::bound));
}

TEST(Mentions, OfRdmaDevicesAreOfTheirAbsence) {
  const auto says = [](const std::string& text) { return mentions_in(text + "\n").contains(Mention::rdma_missing); };
  EXPECT_TRUE(says("0 HCAs found:")) << "ibv_devinfo -l";
  EXPECT_TRUE(says("No IB devices found")) << "ibv_devinfo";
  EXPECT_TRUE(says("WARNING: /dev/infiniband is missing. RDMA will not work."));
  EXPECT_FALSE(says("10 HCAs found:"));
  EXPECT_FALSE(says("the pod mounts /dev/infiniband"));
}

TEST(Mentions, OfABusThatIsHiddenAreNcclsOwn) {
  EXPECT_TRUE(mentions_in("h:1:2 [2] NCCL INFO Could not find real path of /sys/class/pci_bus/0000:6f/../../x\n")
                  .contains(Mention::hidden_bus));
}

}  // namespace
}  // namespace weft::measured
