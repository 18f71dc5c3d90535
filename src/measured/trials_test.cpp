#include "measured/trials.hpp"

#include <gtest/gtest.h>

#include <map>

#include "measured/environment.hpp"

namespace weft::measured {
namespace {

// name=value of what helps, with ! before what does not.
std::string told(std::string_view line) {
  std::string made;
  for (const Trial& each : trials_of(line))
    made += (made.empty() ? "" : " ") + std::string(each.helps ? "" : "!") + each.name +
            (each.value.empty() ? "" : "=" + each.value);
  return made;
}

TEST(Trials, SayWhatHelps) {
  EXPECT_EQ(told("In the NCCL test, adding the parameter NCCL_NET_GDR_LEVEL=0 worked."), "NCCL_NET_GDR_LEVEL=0");
  EXPECT_EQ(told("With `NCCL_P2P_DISABLE=1` it is fast"), "NCCL_P2P_DISABLE=1");
  EXPECT_EQ(told("Setting NCCL_MIN_NCHANNELS to 16 solved it. Thanks"), "NCCL_MIN_NCHANNELS=16");
  EXPECT_EQ(told("I confirmed that it works by setting the variable NCCL_P2P_DISABLE =1 ."), "NCCL_P2P_DISABLE=1");
  EXPECT_EQ(told("with --bind-to none the latency is normal"), "--bind-to=none");
  EXPECT_EQ(told("the latency improved with --cpu-bind=none, NCCL_IGNORE_CPU_AFFINITY=1"),
            "NCCL_IGNORE_CPU_AFFINITY=1 --cpu-bind=none");
}

// What denies turns it round, twice is as before.
TEST(Trials, SayWhatDoesNot) {
  EXPECT_EQ(told("set NCCL_P2P_LEVEL=PHB does not solve the problem"), "!NCCL_P2P_LEVEL=PHB");
  EXPECT_EQ(told("NCCL_IB_TC=106 hasn't helped"), "!NCCL_IB_TC=106");
  EXPECT_EQ(told("please help with NCCL_IB_TC=106"), "");
  EXPECT_EQ(told("NCCL_IB_TC=106 didn't make it faster"), "!NCCL_IB_TC=106");
  EXPECT_EQ(told("Without NCCL_TOPO_FILE NCCL does not reach that"), "NCCL_TOPO_FILE");
}

// Commands, questions, rows of figures and sentences that go on are none.
TEST(Trials, AreNotWhatSaysMoreOrLess) {
  EXPECT_EQ(told("mpirun -x NCCL_P2P_DISABLE=1 ./fast"), "");
  EXPECT_EQ(told("Does NCCL_P2P_DISABLE=1 make it faster?"), "");
  EXPECT_EQ(told("NCCL_IB_HCA=mlx5_0 works but is slow"), "");
  EXPECT_EQ(told("n1:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 0 works."), "");
  EXPECT_EQ(told("it works well; NCCL_DEBUG=INFO"), "");
}

// What works slowly without something gets around what is wrong; of a choice it says nothing.
TEST(Trials, ThatGetThroughSlowlySayWhatFails) {
  EXPECT_EQ(told("after setting NCCL_NET_GDR_LEVEL=0 it works but slow"), "NCCL_NET_GDR_LEVEL=0");
  EXPECT_EQ(told("With NCCL_P2P_DISABLE=1 it works but is much slower"), "NCCL_P2P_DISABLE=1");
  EXPECT_EQ(told("NCCL_P2P_DISABLE=0 works but is slow"), "");
  EXPECT_EQ(told("NCCL_NET_GDR_LEVEL=0 does not work but is slow"), "");
  std::map<std::string, std::string> found;
  collect_environment("after setting NCCL_NET_GDR_LEVEL=0 it works but slow", found);
  EXPECT_TRUE(found.empty()) << "it is not the job's";
}

// A setting that was tried is not the job's.
TEST(Trials, AreNoSettingsOfTheJob) {
  std::map<std::string, std::string> found;
  collect_environment("NCCL_ALGO=Ring. With NCCL_NET_GDR_LEVEL=0 it works. NCCL_IB_HCA=mlx5_0", found);
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}, {"NCCL_IB_HCA", "mlx5_0"}}));
}

}  // namespace
}  // namespace weft::measured
