// In a network namespace of the test's own: of a user namespace where weft has no privileges, and skipped where
// the kernel gives neither.
#include "host/netlink.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "host/process.hpp"

namespace weft::host {
namespace {

bool alone() { return ::unshare(CLONE_NEWNET) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0; }

bool shell(const std::string& script) {
  const Finished done = run({.arguments = {"sh", "-ec", script}, .netns = "", .input = ""});
  EXPECT_EQ(done.code, 0) << done.text;
  return done.code == 0;
}

// What the kernel writes of its interfaces, by name: received bytes and packets, sent bytes and packets.
using Written = std::map<std::string, std::array<std::uint64_t, 4>>;
Written written() {
  Written all;
  std::ifstream file("/proc/thread-self/net/dev");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::istringstream numbers(line.substr(colon + 1));
    std::array<std::uint64_t, 16> all_of{};
    for (std::uint64_t& each : all_of) numbers >> each;
    const std::size_t begin = line.find_first_not_of(' ');
    all[line.substr(begin, colon - begin)] = {all_of[0], all_of[1], all_of[8], all_of[9]};
  }
  all.erase("lo");
  return all;
}

// Frames that nobody listens to.
void send_frames(const std::string& interface, int count, std::size_t bytes) {
  const Descriptor socket(::socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)));
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
  std::string frame(bytes, '\0');
  frame[12] = '\x88', frame[13] = '\xb5';  // for experiments
  for (int i = 0; i < count; ++i)
    ::sendto(socket.get(), frame.data(), frame.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to);
}

// Runs it in a process of its own: namespaces are left by ending.
class NetlinkAlone : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(alone() ? 0 : 1);
    int status = 1;
    ::waitpid(pid, &status, 0);
    possible_ = status == 0 && is_installed("ip") && is_installed("tc");
  }
  void in_a_namespace(const std::function<void(Netlink&)>& work) {
    if (!possible_) GTEST_SKIP() << "needs a network namespace of its own, ip and tc";
    const auto child = [&] {
      if (!alone()) ::_exit(2);
      const bool made = shell(
          "ip link add va type veth peer name vb; ip link add down type veth peer name other; ip link set va up; ip "
          "link set vb up; "
          "ip address add 10.9.0.1/24 dev va; ip address add 10.9.1.1/24 dev vb");
      auto netlink = Netlink::open_here();
      EXPECT_TRUE(netlink);
      if (made && netlink) work(*netlink);
      std::fflush(stdout);  // what failed
      ::_exit(HasFailure() ? 1 : 0);
    };
    EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
  }
  static bool possible_;
};
bool NetlinkAlone::possible_ = false;

TEST_F(NetlinkAlone, CountersAreTheKernelsOwn) {
  in_a_namespace([](Netlink& netlink) {
    send_frames("va", 5, 1000);
    send_frames("vb", 3, 600);
    // The kernel itself says a word now and then: until nothing came between.
    std::vector<InterfaceCounters> counted;
    Written before;
    do {
      before = written();
      counted = netlink.interfaces();
    } while (before != written());
    Written seen;
    for (const InterfaceCounters& each : counted) {
      seen[each.name] = {each.rx_bytes, each.rx_packets, each.tx_bytes, each.tx_packets};
      EXPECT_EQ(each.up, each.name == "va" || each.name == "vb") << each.name;
      EXPECT_EQ(each.drops, 0u);
      EXPECT_EQ(each.backlog, 0u);
    }
    EXPECT_EQ(seen, before) << "every interface but the loopback";
    EXPECT_GE(seen["vb"][0], 5'000u);
    EXPECT_GE(seen["va"][1], 3u);
  });
}

TEST_F(NetlinkAlone, APairKnowsItsOtherEnd) {
  in_a_namespace([](Netlink& netlink) {
    const auto a = netlink.pair("va");
    const auto b = netlink.pair("vb");
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->index, static_cast<int>(::if_nametoindex("va")));
    EXPECT_EQ(a->index, b->peer);
    EXPECT_EQ(a->peer, b->index);
    EXPECT_EQ(netlink.interface_paired(a->index, a->peer), "va");
    EXPECT_EQ(netlink.interface_paired(b->index, b->peer), "vb");
    EXPECT_FALSE(netlink.interface_paired(a->index, a->index));
    EXPECT_FALSE(netlink.pair("lo")) << "it is no end of a pair";
    EXPECT_FALSE(netlink.pair("nobody"));
  });
}

TEST_F(NetlinkAlone, HostRoutesNameTheirInterfaces) {
  in_a_namespace([](Netlink& netlink) {
    ASSERT_TRUE(
        shell("ip route add 10.8.0.1/32 via 10.9.0.2; ip route add 10.8.1.0/24 via 10.9.0.2; "
              "ip route add 10.8.0.2/32 nexthop via 10.9.1.2 nexthop via 10.9.0.2; "
              "ip route add 10.8.0.3/32 via 10.9.0.2 table 77"));
    EXPECT_EQ(netlink.host_routes(), (Routes{{"10.8.0.1", {"va"}}, {"10.8.0.2", {"va", "vb"}}}));
  });
}

TEST_F(NetlinkAlone, WhatAQueueDropsIsCounted) {
  in_a_namespace([](Netlink& netlink) {
    ASSERT_TRUE(shell("tc qdisc add dev va root pfifo limit 0; tc qdisc add dev vb root pfifo limit 9"));
    send_frames("va", 4, 100);
    send_frames("vb", 4, 100);
    for (const InterfaceCounters& each : netlink.interfaces()) {
      EXPECT_EQ(each.drops > 0, each.name == "va") << each.name;
      EXPECT_TRUE(each.name != "va" || each.drops >= 4);
    }
  });
}

TEST(Netlink, ANamespaceThatIsNotThereIsNotOpened) {
  EXPECT_FALSE(Netlink::open("no-such-namespace-of-weft"));
  EXPECT_FALSE(Netlink::open("/nowhere/namespace"));
}

}  // namespace
}  // namespace weft::host
