#include "app/sim_config.hpp"

#include <algorithm>

namespace weft::app {
namespace {

using transport::PacketType;
using transport::Protocol;

constexpr Bytes kTopoBuffer(64 << 20);  // htsim's files say nothing of a switch's buffer
constexpr std::int64_t kDeadlockCheck = 100'000'000;  // ps
constexpr std::int64_t kPicosecondsPerMetre = 5000;   // light in a cable

std::uint32_t u32(std::int64_t n) { return static_cast<std::uint32_t>(n); }
std::int64_t or_zero(const std::optional<Duration>& time) { return time.value_or(Duration(0)).count(); }
std::uint32_t percent(Share share) { return u32(share.count() / 10'000); }

transport::SrdConfig srd_config(const model::TransportSpec& spec) {
  transport::SrdConfig srd;
  srd.payload = u32(spec.mtu.value_or(Bytes(4096)).count());
  srd.header = u32(spec.header.count());
  srd.paths = spec.balance == "ecmp" ? 1 : u32(spec.paths);  // switches do not look at the path
  srd.burst = u32(spec.burst);
  srd.ack_every = u32(spec.ack_every);
  srd.bad_marks = u32(spec.bad_marks);
  srd.window = u32(spec.window.value_or(0));
  srd.delay_target = or_zero(spec.delay_target);
  srd.increase = u32(spec.increase);
  srd.trim_cut = u32(spec.trim_cut);
  srd.most_cut = percent(spec.most_cut);
  srd.reorder = or_zero(spec.reorder);
  srd.rto = or_zero(spec.rto);
  srd.not_ready_wait = or_zero(spec.not_ready_wait);
  srd.give_up = spec.give_up.count();
  srd.receive_messages = u32(spec.receive_messages);
  return srd;
}

transport::RoceConfig roce_config(const model::TransportSpec& spec) {
  transport::RoceConfig roce;
  const model::RoceSpec& own = spec.rocev2;
  roce.mtu = u32(std::min<std::int64_t>(4096, spec.mtu.value_or(Bytes(4096)).count()));
  roce.ack_every = u32(own.ack_every);
  roce.qps = u32(own.qps);
  roce.split = own.split;
  roce.recovery = own.recovery == "selective" ? transport::RoceConfig::Recovery::selective : transport::RoceConfig::Recovery::go_back_n;
  roce.control = own.control == "none" ? transport::RoceConfig::Control::none : transport::RoceConfig::Control::dcqcn;
  roce.window = u32(own.window.value_or(0));
  roce.ack_timeout = or_zero(own.ack_timeout);
  roce.retries = u32(own.retries);
  roce.cnp_interval = own.cnp_interval.count();
  roce.alpha_timer = own.alpha_timer.count();
  roce.increase_timer = own.increase_timer.count();
  roce.increase_bytes = static_cast<std::uint64_t>(own.increase_bytes.count());
  roce.fast_recovery = u32(own.fast_recovery);
  roce.additive_rate = static_cast<std::uint64_t>(own.additive_rate.value_or(Bandwidth(0)).count());
  roce.hyper_rate = static_cast<std::uint64_t>(own.hyper_rate.value_or(Bandwidth(0)).count());
  roce.least_rate = static_cast<std::uint64_t>(own.least_rate.count());
  return roce;
}

transport::TcpConfig tcp_config(const model::TransportSpec& spec) {
  transport::TcpConfig tcp;
  const model::TcpSpec& own = spec.tcp;
  if (spec.kind == "tcp" && spec.mtu) tcp.mtu = u32(std::max<std::int64_t>(576, spec.mtu->count()));
  tcp.control = own.control == "dctcp" ? transport::TcpConfig::Control::dctcp : transport::TcpConfig::Control::cubic;
  tcp.connections = u32(own.connections);
  tcp.initial_window = u32(own.initial_window);
  tcp.receive_window = u32(own.receive_window.count());
  tcp.rto_min = own.rto_min.count();
  tcp.delayed_ack = own.delayed_ack.count();
  tcp.tail_probe = own.tail_probe;
  tcp.pacing = own.pacing;
  tcp.ecn = own.ecn;
  tcp.idle_restart = own.idle_restart;
  tcp.plb_rounds = u32(own.plb_rounds);
  tcp.give_up = spec.give_up.count();
  return tcp;
}

transport::UetConfig uet_config(const model::TransportSpec& spec, bool trimming) {
  transport::UetConfig uet;
  const model::UetSpec& own = spec.uet;
  uet.payload = u32(spec.mtu.value_or(Bytes(4096)).count());
  uet.header = u32(spec.header.count());
  uet.paths = spec.balance == "ecmp" ? 1 : u32(spec.paths);
  uet.trimming = trimming;
  uet.ack_bytes = u32(own.ack_bytes.count());
  uet.recycle = u32(own.recycle);
  uet.most_window = percent(own.window);
  uet.target_delay = or_zero(own.delay_target);
  uet.proportional = u32(own.proportional);
  uet.fair = u32(own.fair);
  uet.rto = or_zero(own.rto);
  uet.give_up = spec.give_up.count();
  return uet;
}

sim::Balance balance_of(const std::string& name) {
  if (name == "ecmp") return sim::Balance::ecmp;
  if (name == "spray") return sim::Balance::spray;
  if (name == "flowlet") return sim::Balance::flowlet;
  if (name == "flowlet-global") return sim::Balance::flowlet_global;
  if (name == "adaptive") return sim::Balance::adaptive;
  if (name == "pinned") return sim::Balance::pinned;
  return sim::Balance::entropy;
}

sim::ExactConfig exact_config(const model::Cluster& cluster) {
  const model::SwitchingSpec& switching = cluster.file.switching;
  sim::ExactConfig exact;
  exact.on = switching.ports == "exact" || (switching.ports == "auto" && switching.flow_control != "none");
  exact.flow_control = switching.flow_control == "pfc"       ? sim::FlowControl::pause
                       : switching.flow_control == "credits" ? sim::FlowControl::credits
                       : switching.flow_control == "scheduled" ? sim::FlowControl::scheduled
                                                             : sim::FlowControl::none;
  if (exact.flow_control != sim::FlowControl::none) {
    exact.lossless = 0b10;  // data; what goes before it is small
    if (exact.flow_control != sim::FlowControl::scheduled) exact.deadlock_check = kDeadlockCheck;  // there nothing waits in a circle
  }
  exact.buffer = switching.buffer.value_or(cluster.file.fabric.kind == "topo" ? kTopoBuffer : Bytes(0)).count();
  exact.alpha = u32(switching.alpha.count() * 256 / 1'000'000);
  if (switching.headroom_for) exact.headroom_latency = std::max<std::int64_t>(1, switching.headroom_for->count() * kPicosecondsPerMetre / 1000);
  exact.reaction = switching.reaction.count();
  exact.nic_buffer = switching.nic_buffer.count();
  exact.watchdog = or_zero(switching.watchdog);
  return exact;
}

}  // namespace

Protocol protocol_of(const model::TransportSpec& transport) {
  if (transport.kind == "rocev2") return Protocol::rocev2;
  if (transport.kind == "tcp") return Protocol::tcp;
  if (transport.kind == "uet") return Protocol::uet;
  return Protocol::srd;
}

sim::SimConfig sim_config(const model::Cluster& cluster) {
  const model::TransportSpec& transport = cluster.file.transport;
  const model::SwitchingSpec& switching = cluster.file.switching;
  sim::SimConfig config;
  config.trimming = switching.full == "trim";
  config.protocol = protocol_of(transport);
  config.stack.used = 0;
  config.stack.use(config.protocol);
  config.stack.srd = srd_config(transport);
  config.stack.roce = roce_config(transport);
  config.stack.tcp = tcp_config(transport);
  config.stack.uet = uet_config(transport, config.trimming);
  config.header = config.stack.header_of(config.protocol);
  config.full_packet = config.stack.packet_of(config.protocol);
  config.cut_through = switching.forwarding.value_or("cut-through") == "cut-through";
  config.fifo = switching.classes == "one";
  config.queue_bytes = switching.queue.value_or(Bytes(0)).count();
  config.mark_from = u32(switching.mark_from.count());
  config.mark_to = u32(switching.mark_to.count());
  config.mark_most = u32(switching.mark_most.count());
  config.flowlet_gap = switching.flowlet_gap.count();
  config.load_interval = switching.load_interval.count();
  config.pins = config.stack.roce.qps;
  config.fast_cnp = or_zero(transport.rocev2.fast_cnp);
  config.balance = balance_of(transport.balance);
  config.exact = exact_config(cluster);
  if (config.exact.is_scheduled()) config.balance = sim::Balance::spray;  // cells take all ways, whatever a flow is
  return config;
}

}  // namespace weft::app
