#include "net/doctor.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::net {
namespace {

using State = Finding::State;

Machine healthy() {
  Machine machine;
  machine.receive_buffer = machine.send_buffer = 64 << 20;
  machine.sends_trains = machine.takes_trains = machine.timestamps = true;
  machine.hash_policy = machine.hash_policy_v6 = 1;
  machine.first_port = 32768;
  machine.last_port = 60999;
  machine.open_files = 4096;
  machine.cores = 2;
  machine.interfaces = {{"eth0", 9000, 1, 1, 0}};
  return machine;
}

Finding of(const Machine& machine, const std::string& check) {
  for (const Finding& each : judge(machine, 7791))
    if (each.check == check) return each;
  ADD_FAILURE() << "nothing is said of " << check;
  return {};
}

TEST(Doctor, AMachineThatLacksNothingIsFine) {
  for (const Finding& each : judge(healthy(), 7791)) {
    EXPECT_EQ(each.state, State::fine) << each.check;
    EXPECT_FALSE(each.found.empty()) << each.check;
    EXPECT_TRUE(each.command.empty()) << each.check;
  }
}

// Each thing that can be wrong is found by itself, said with a reason, and answered with something to type.
TEST(Doctor, WhatIsWrongIsNamedWithWhatToType) {
  const auto broken = [](auto change) {
    Machine machine = healthy();
    change(machine);
    return machine;
  };
  const auto lacks = [](const Machine& machine, const std::string& check, const std::string& types) {
    for (const Finding& each : judge(machine, 7791)) {
      const bool is_it = each.check == check;
      EXPECT_EQ(each.state == State::lacks, is_it) << each.check << " with a broken " << check;
      if (!is_it) continue;
      EXPECT_FALSE(each.why.empty()) << check;
      EXPECT_NE(each.command.find(types), std::string::npos) << each.command;
    }
  };
  lacks(broken([](Machine& m) { m.receive_buffer = 425984; }), "socket_buffers", "net.core.rmem_max=33554432");
  lacks(broken([](Machine& m) { m.send_buffer = 425984; }), "socket_buffers", "net.core.wmem_max=33554432");
  lacks(broken([](Machine& m) { m.sends_trains = false; }), "trains", "uname");
  lacks(broken([](Machine& m) { m.takes_trains = false; }), "trains", "uname");
  lacks(broken([](Machine& m) { m.timestamps = false; }), "timestamps", "");
  lacks(broken([](Machine& m) { m.last_port = m.first_port + 99; }), "source_ports", "ip_local_port_range");
  lacks(broken([](Machine& m) { m.open_files = 256; }), "open_files", "ulimit");
  lacks(broken([](Machine& m) { m.interfaces[0].coalesces = 0; }), "interface eth0", "ethtool -K eth0 gso on gro on");
  lacks(broken([](Machine& m) {
          m.hash_policy = 0;
          m.forwards = true;
        }),
        "hash_policy", "fib_multipath_hash_policy=1");
}

TEST(Doctor, WhatMayBeMeantSoIsANote) {
  Machine machine = healthy();
  machine.hash_policy = 2;
  machine.interfaces[0].mtu = 1500;
  machine.port_trouble = "cannot listen at 0.0.0.0:7791: Address already in use";
  EXPECT_EQ(of(machine, "hash_policy").state, State::note);
  EXPECT_EQ(of(machine, "interface eth0").state, State::note);
  EXPECT_NE(of(machine, "interface eth0").command.find("mtu 9000"), std::string::npos);
  EXPECT_EQ(of(machine, "listening_port").state, State::note);
  machine.interfaces = {{"eth0", 9000, 1, 1, 1}, {"eth1", 9000, 1, 1, 2}};
  EXPECT_EQ(of(machine, "interface eth0").state, State::note);
  EXPECT_EQ(of(machine, "interface eth1").state, State::fine);
}

// Whatever this machine is like, looking at it finds sockets that work.
TEST(Doctor, LooksAtThisMachine) {
  const Machine machine = look(0);
  EXPECT_EQ(machine.loopback_trouble, "");
  EXPECT_TRUE(machine.sends_trains);
  EXPECT_TRUE(machine.timestamps);
  EXPECT_GT(machine.receive_buffer, 0);
  EXPECT_GT(machine.send_buffer, 0);
  EXPECT_GT(machine.cores, 0);
  EXPECT_GT(machine.open_files, 0);
  EXPECT_EQ(machine.port_trouble, "");
}

TEST(Doctor, BuffersAreInMebibytesFromOneOn) {
  Machine machine = healthy();
  machine.receive_buffer = 2 << 20;  // the kernel says twice what was asked for
  machine.send_buffer = (2 << 20) - 2;
  EXPECT_EQ(of(machine, "socket_buffers").found, "1 MiB to receive, 1023 KiB to send");
  EXPECT_EQ(of(healthy(), "socket_buffers").found, "32 MiB to receive, 32 MiB to send");
}

}  // namespace
}  // namespace weft::net
