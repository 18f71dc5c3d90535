#include "experiment/packet_config.hpp"

#include <gtest/gtest.h>

namespace weft::experiment {
namespace {

using transport::Protocol;

model::Cluster cluster_with(const std::vector<std::string>& set) {
  spec::Diagnostics diagnostics;
  const model::Catalog catalog = model::Catalog::embedded(diagnostics);
  const std::uint32_t source = diagnostics.sources().add("test.weft.yaml",
                                                         "version: 1\nservers: {kind: hgx-h100, count: 2}\n"
                                                         "fabric: {kind: single-chassis, switch: tomahawk-4}\n");
  auto cluster = model::load_cluster(source, "test", {set}, catalog, diagnostics);
  EXPECT_TRUE(cluster) << spec::render_text(diagnostics, false);
  return cluster.value_or(model::Cluster{});
}

sim::SimConfig config_with(const std::vector<std::string>& set, const std::vector<TrafficStream>& streams = {}) {
  return packet_config(cluster_with(set), streams);
}

TEST(PacketConfig, SrdIsAsTheFileSays) {
  const transport::SrdConfig srd =
      config_with({"transport.mtu=3000B", "transport.paths=7", "transport.header=70B", "transport.burst=2",
                   "transport.ack_every=9", "transport.bad_marks=4", "transport.window=33",
                   "transport.delay_target=5us", "transport.increase=6", "transport.trim_cut=50",
                   "transport.most_cut=30%", "transport.reorder=11us", "transport.rto=12us",
                   "transport.not_ready_wait=13us", "transport.give_up=14ms", "transport.receive_messages=15"})
          .stack.srd;
  EXPECT_EQ(srd.payload, 3000u);
  EXPECT_EQ(srd.paths, 7u);
  EXPECT_EQ(srd.header, 70u);
  EXPECT_EQ(srd.burst, 2u);
  EXPECT_EQ(srd.ack_every, 9u);
  EXPECT_EQ(srd.bad_marks, 4u);
  EXPECT_EQ(srd.window, 33u);
  EXPECT_EQ(srd.delay_target, microseconds(5));
  EXPECT_EQ(srd.increase, 6u);
  EXPECT_EQ(srd.trim_cut, 50u);
  EXPECT_EQ(srd.most_cut, 30u);
  EXPECT_EQ(srd.reorder, microseconds(11));
  EXPECT_EQ(srd.rto, microseconds(12));
  EXPECT_EQ(srd.not_ready_wait, microseconds(13));
  EXPECT_EQ(srd.give_up, microseconds(14'000));
  EXPECT_EQ(srd.receive_messages, 15u);
  EXPECT_EQ(config_with({"transport.balance=ecmp"}).stack.srd.paths, 1u) << "switches do not look at the path";
}

// And what the simulator knows of the network does not change that.
TEST(PacketConfig, AProgramGuessesItsNetwork) {
  sim::SimConfig config = config_with({"servers.host.call=2us", "transport.paths=16", "transport.mtu=8000B"});
  config.stack.set_network(microseconds(7), nanoseconds(100), 1000);
  EXPECT_EQ(config.stack.srd.base_rtt, microseconds(100));
  EXPECT_EQ(config.stack.srd.packet_time.count(), 800 * config.stack.packet_of(Protocol::srd)) << "10 Gb/s";
  EXPECT_EQ(config.stack.srd.entropies, 16u) << "source ports that it has opened";
  sim::SimConfig told = config_with({});
  told.stack.set_network(microseconds(7), nanoseconds(100), 1000);
  EXPECT_EQ(told.stack.srd.base_rtt, microseconds(7));
  EXPECT_EQ(told.stack.srd.entropies, 0u);
}

TEST(PacketConfig, InfiniBandIsRoceInOtherPackets) {
  const sim::SimConfig roce = config_with({"transport.kind=rocev2"});
  const sim::SimConfig config = config_with({"fabric.switch=quantum-2"});
  EXPECT_EQ(config.protocol, Protocol::rocev2);
  EXPECT_EQ(config.stack.used, roce.stack.used);
  EXPECT_EQ(config.exact.flow_control, sim::FlowControl::credits);
  EXPECT_EQ(config.stack.roce.control, transport::RoceConfig::Control::none);
  EXPECT_EQ(roce.stack.roce.header, 14u + 4 + 20 + 8 + 12 + 4);
  EXPECT_EQ(config.stack.roce.header, 8u + 12 + 4 + 2) << "LRH, BTH, ICRC, VCRC";
  EXPECT_EQ(config.stack.roce.ack_bytes, config.stack.roce.header + 4) << "AETH";
  EXPECT_EQ(config.header, config.stack.roce.header);
}

TEST(PacketConfig, RoceIsAsTheFileSays) {
  const sim::SimConfig config = config_with({"transport.kind=rocev2",
                                             "transport.balance=ecmp",
                                             "transport.mtu=2KiB",
                                             "transport.rocev2.ack_every=9",
                                             "transport.rocev2.qps=3",
                                             "transport.rocev2.split=true",
                                             "transport.rocev2.recovery=selective",
                                             "transport.rocev2.control=none",
                                             "transport.rocev2.window=44",
                                             "transport.rocev2.ack_timeout=5us",
                                             "transport.rocev2.retries=6",
                                             "transport.rocev2.cnp_interval=7us",
                                             "transport.rocev2.alpha_timer=8us",
                                             "transport.rocev2.increase_timer=9us",
                                             "transport.rocev2.increase_bytes=10kB",
                                             "transport.rocev2.fast_recovery=4",
                                             "transport.rocev2.additive_rate=1Gbps",
                                             "transport.rocev2.hyper_rate=2Gbps",
                                             "transport.rocev2.least_rate=100Mbps",
                                             "transport.rocev2.fast_cnp=3us"});
  const transport::RoceConfig& roce = config.stack.roce;
  EXPECT_EQ(config.protocol, Protocol::rocev2);
  EXPECT_EQ(roce.mtu, 2048u);
  EXPECT_EQ(config_with({"transport.mtu=3000B"}).stack.roce.mtu, 2048u) << "NICs know powers of two";
  EXPECT_EQ(roce.ack_every, 9u);
  EXPECT_EQ(roce.qps, 3u);
  EXPECT_EQ(config.pins, 3u);
  EXPECT_TRUE(roce.split);
  EXPECT_EQ(roce.recovery, transport::RoceConfig::Recovery::selective);
  EXPECT_EQ(roce.control, transport::RoceConfig::Control::none);
  EXPECT_EQ(roce.window, 44u);
  EXPECT_EQ(roce.ack_timeout, microseconds(5));
  EXPECT_EQ(roce.retries, 6u);
  EXPECT_EQ(roce.cnp_interval, microseconds(7));
  EXPECT_EQ(roce.alpha_timer, microseconds(8));
  EXPECT_EQ(roce.increase_timer, microseconds(9));
  EXPECT_EQ(roce.increase_bytes, 10'000u);
  EXPECT_EQ(roce.fast_recovery, 4u);
  EXPECT_EQ(roce.additive_rate, 1'000'000'000u);
  EXPECT_EQ(roce.hyper_rate, 2'000'000'000u);
  EXPECT_EQ(roce.least_rate, 100'000'000u);
  EXPECT_EQ(config.fast_cnp, microseconds(3));
  EXPECT_EQ(config.balance, sim::Balance::ecmp);
}

TEST(PacketConfig, TcpIsAsTheFileSays) {
  const transport::TcpConfig tcp =
      config_with({"transport.kind=tcp", "transport.mtu=3000B", "transport.tcp.control=dctcp",
                   "transport.tcp.connections=3", "transport.tcp.initial_window=11",
                   "transport.tcp.receive_window=100kB", "transport.tcp.rto_min=3ms", "transport.tcp.timer_least=2ms",
                   "transport.tcp.delayed_ack=1ms", "transport.tcp.tail_probe=false", "transport.tcp.pacing=true",
                   "transport.tcp.ecn=true", "transport.tcp.idle_restart=true", "transport.tcp.plb_rounds=4",
                   "transport.give_up=14ms"})
          .stack.tcp;
  EXPECT_EQ(tcp.mtu, 3000u);
  EXPECT_EQ(tcp.control, transport::TcpConfig::Control::dctcp);
  EXPECT_EQ(tcp.connections, 3u);
  EXPECT_EQ(tcp.initial_window, 11u);
  EXPECT_EQ(tcp.receive_window, 100'000u);
  EXPECT_EQ(tcp.rto_min, microseconds(3'000));
  EXPECT_EQ(tcp.timer_least, microseconds(2'000));
  EXPECT_EQ(tcp.delayed_ack, microseconds(1'000));
  EXPECT_FALSE(tcp.tail_probe);
  EXPECT_TRUE(tcp.pacing);
  EXPECT_TRUE(tcp.ecn);
  EXPECT_TRUE(tcp.idle_restart);
  EXPECT_EQ(tcp.plb_rounds, 4u);
  EXPECT_EQ(tcp.give_up, microseconds(14'000));
}

TEST(PacketConfig, UetIsAsTheFileSays) {
  const transport::UetConfig uet =
      config_with({"transport.kind=uet", "transport.mtu=3000B", "transport.header=70B", "transport.paths=7",
                   "transport.uet.ack_bytes=9kB", "transport.uet.recycle=5", "transport.uet.window=120%",
                   "transport.uet.delay_target=4us", "transport.uet.proportional=6", "transport.uet.fair=11",
                   "transport.uet.rto=13us", "transport.give_up=14ms"})
          .stack.uet;
  EXPECT_EQ(uet.payload, 3000u);
  EXPECT_EQ(uet.header, 70u);
  EXPECT_EQ(uet.paths, 7u);
  EXPECT_EQ(uet.ack_bytes, 9000u);
  EXPECT_EQ(uet.recycle, 5u);
  EXPECT_EQ(uet.most_window, 120u);
  EXPECT_EQ(uet.target_delay, microseconds(4));
  EXPECT_EQ(uet.proportional, 6u);
  EXPECT_EQ(uet.fair, 11u);
  EXPECT_EQ(uet.rto, microseconds(13));
  EXPECT_EQ(uet.give_up, microseconds(14'000));
}

TEST(PacketConfig, FailoverShortensThePatienceOfAll) {
  const sim::SimConfig config = config_with({"transport.give_up=14ms", "transport.failover=3ms"});
  EXPECT_EQ(config.give_up, microseconds(14'000));
  EXPECT_EQ(config.failover, microseconds(3'000));
  EXPECT_EQ(config.stack.srd.give_up, config.failover);
  EXPECT_EQ(config.stack.tcp.give_up, config.failover);
  EXPECT_EQ(config_with({"transport.give_up=14ms"}).failover.count(), 14'000'000'000);
}

TEST(PacketConfig, SwitchesAreAsTheFileSays) {
  const sim::SimConfig config = config_with(
      {"switching.forwarding=store-and-forward", "switching.classes=one", "switching.queue=100kB",
       "switching.mark_from=10%", "switching.mark_to=50%", "switching.mark_most=20%", "switching.flowlet_gap=3us",
       "switching.load_interval=4us", "switching.full=trim", "transport.balance=flowlet"});
  EXPECT_FALSE(config.cut_through);
  EXPECT_TRUE(config.fifo);
  EXPECT_EQ(config.queue_bytes, 100'000);
  EXPECT_EQ(config.mark_from, 100'000u);
  EXPECT_EQ(config.mark_to, 500'000u);
  EXPECT_EQ(config.mark_most, 200'000u);
  EXPECT_EQ(config.flowlet_gap, microseconds(3));
  EXPECT_EQ(config.load_interval, microseconds(4));
  EXPECT_TRUE(config.trimming);
  EXPECT_EQ(config.balance, sim::Balance::flowlet);
  EXPECT_FALSE(config.exact.on);
  EXPECT_TRUE(config_with({"switching.flow_control=pfc", "switching.full=drop"}).exact.on) << "pauses need real queues";
}

TrafficStream stream(const std::string& transport, const std::string& service, const std::string& verb = "send") {
  TrafficStream out;
  out.run.transport = parse_enum<model::TransportKind>(transport);
  out.run.service = service;
  out.run.verb = parse_enum<model::Verb>(verb).value();
  return out;
}

// Streams of one protocol in several services each get a stack of their own, and those of one service share it.
TEST(PacketConfig, AServiceHasALaneOfItsOwn) {
  const sim::SimConfig config = config_with({"switching.services=[{name: a}, {name: b}, {name: c}]"},
                                            {stream("srd", "a"), stream("srd", "b"), stream("tcp", "b", "write"),
                                             stream("srd", "c"), stream("srd", "b", "read"), stream("srd", "a")});
  EXPECT_EQ(config.streams, (std::vector<Protocol>{Protocol::srd, Protocol::srd, Protocol::tcp, Protocol::srd,
                                                   Protocol::srd, Protocol::srd}));
  EXPECT_EQ(config.lanes, (std::vector<std::uint8_t>{0, 1, 0, 2, 1, 0}));
  EXPECT_EQ(config.more_stacks.size(), 2u);
  EXPECT_EQ(config.verbs[2], transport::Op::write);
  EXPECT_EQ(config.verbs[4], transport::Op::read);
  EXPECT_EQ(config.exact.classes, 4u) << "acknowledgements, and one for each";
}

}  // namespace
}  // namespace weft::experiment
