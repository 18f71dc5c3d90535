#include "experiment/packet_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <numeric>

#include "base/text.hpp"
#include "fabric/networks.hpp"

namespace weft::experiment {
namespace {

using spec::Error;
using transport::PacketType;
using transport::Protocol;

constexpr Bytes kTopoBuffer(64 << 20);  // htsim's files say nothing of a switch's buffer
constexpr Duration kDeadlockCheck = microseconds(100);
constexpr std::uint32_t kFirstService = 1;  // class 0 is for acknowledgements and trimmed headers
constexpr std::size_t kMostServices = sim::kMostClasses - kFirstService;
constexpr std::int64_t kPicosecondsPerMetre = 5000;  // light in a cable
constexpr std::int64_t kMostBurst = 64;              // of SRD

std::uint32_t u32(std::int64_t n) { return static_cast<std::uint32_t>(n); }
Duration or_zero(const std::optional<Duration>& time) { return time.value_or(Duration(0)); }
std::uint32_t percent(Share share) { return u32(share.count() / 10'000); }

transport::SrdConfig srd_config(const model::TransportSpec& spec) {
  transport::SrdConfig srd;
  srd.payload = u32(spec.mtu.value_or(Bytes(4096)).count());
  srd.header = u32(spec.header.count());
  srd.paths = spec.balance == model::Balance::ecmp ? 1 : u32(spec.paths);  // switches do not look at the path
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
  srd.give_up = spec.give_up;
  srd.receive_messages = u32(spec.receive_messages);
  srd.tell_writes = true;
  return srd;
}

transport::RoceConfig::Recovery recovery_of(model::RoceRecovery recovery) {
  switch (recovery) {
    case model::RoceRecovery::go_back_n:
      return transport::RoceConfig::Recovery::go_back_n;
    case model::RoceRecovery::selective:
      return transport::RoceConfig::Recovery::selective;
  }
  std::abort();
}

transport::RoceConfig::Control control_of(model::RoceControl control) {
  switch (control) {
    case model::RoceControl::dcqcn:
      return transport::RoceConfig::Control::dcqcn;
    case model::RoceControl::none:
      return transport::RoceConfig::Control::none;
  }
  std::abort();
}

transport::TcpConfig::Control control_of(model::TcpControl control) {
  switch (control) {
    case model::TcpControl::cubic:
      return transport::TcpConfig::Control::cubic;
    case model::TcpControl::dctcp:
      return transport::TcpConfig::Control::dctcp;
  }
  std::abort();
}

transport::RoceConfig roce_config(const model::TransportSpec& spec) {
  transport::RoceConfig roce;
  const model::RoceSpec& own = spec.rocev2;
  roce.mtu = std::bit_floor(u32(std::min<std::int64_t>(4096, spec.mtu.value_or(Bytes(4096)).count())));  // as NICs do
  roce.ack_every = u32(own.ack_every);
  roce.qps = u32(own.qps);
  roce.split = own.split;
  roce.recovery = recovery_of(own.recovery);
  roce.control = control_of(own.control);
  roce.window = u32(own.window.value_or(0));
  roce.ack_timeout = or_zero(own.ack_timeout);
  roce.retries = u32(own.retries);
  roce.cnp_interval = own.cnp_interval;
  roce.alpha_timer = own.alpha_timer;
  roce.increase_timer = own.increase_timer;
  roce.increase_bytes = static_cast<std::uint64_t>(own.increase_bytes.count());
  roce.fast_recovery = u32(own.fast_recovery);
  roce.additive_rate = static_cast<std::uint64_t>(own.additive_rate.value_or(Bandwidth(0)).count());
  roce.hyper_rate = static_cast<std::uint64_t>(own.hyper_rate.value_or(Bandwidth(0)).count());
  roce.least_rate = static_cast<std::uint64_t>(own.least_rate.count());
  return roce;
}

// InfiniBand's packets (volume 1, chapter 5): LRH 8, BTH 12, ICRC 4, VCRC 2 instead of Ethernet's, IP's and UDP's.
void use_infiniband_headers(transport::RoceConfig& roce) {
  constexpr std::uint32_t kHeader = 26;
  const std::uint32_t less = roce.header - kHeader;
  roce.header -= less;
  roce.ack_bytes -= less;
  roce.cnp_bytes -= less;
}

bool carries_infiniband(const model::TransportSpec& transport, std::span<const TrafficStream> streams) {
  const auto is = [&](const TrafficStream& each) {
    return each.run.transport.value_or(transport.kind) == model::TransportKind::infiniband;
  };
  return streams.empty() ? transport.kind == model::TransportKind::infiniband
                         : std::any_of(streams.begin(), streams.end(), is);
}

transport::TcpConfig tcp_config(const model::TransportSpec& spec) {
  transport::TcpConfig tcp;
  const model::TcpSpec& own = spec.tcp;
  if (spec.kind == model::TransportKind::tcp && spec.mtu) tcp.mtu = u32(std::max<std::int64_t>(576, spec.mtu->count()));
  tcp.control = control_of(own.control);
  tcp.connections = u32(own.connections);
  tcp.initial_window = u32(own.initial_window);
  tcp.receive_window = u32(own.receive_window.count());
  tcp.rto_min = own.rto_min;
  tcp.timer_least = own.timer_least;
  tcp.delayed_ack = own.delayed_ack;
  tcp.tail_probe = own.tail_probe;
  tcp.pacing = own.pacing;
  tcp.ecn = own.ecn;
  tcp.idle_restart = own.idle_restart;
  tcp.plb_rounds = u32(own.plb_rounds);
  tcp.give_up = spec.give_up;
  return tcp;
}

// A segment stands in an SRD packet with the headers that TCP and IP would give it.
transport::SrdConfig tcp_over_srd_config(const model::TransportSpec& spec) {
  constexpr std::int64_t kMtu = 8900;  // AWS, EC2 user guide: the most that ENA Express takes
  const std::uint32_t headers = transport::TcpConfig().headers;
  transport::SrdConfig srd = srd_config(spec);
  const std::int64_t mtu = spec.kind == model::TransportKind::tcp_over_srd && spec.mtu
                               ? std::max<std::int64_t>(576, spec.mtu->count())
                               : kMtu;
  srd.payload = u32(mtu) - headers;
  srd.header += headers;
  return srd;
}

transport::UetConfig uet_config(const model::TransportSpec& spec, bool trimming) {
  transport::UetConfig uet;
  const model::UetSpec& own = spec.uet;
  uet.payload = u32(spec.mtu.value_or(Bytes(4096)).count());
  uet.header = u32(spec.header.count());
  uet.paths = spec.balance == model::Balance::ecmp ? 1 : u32(spec.paths);
  uet.trimming = trimming;
  uet.ack_bytes = u32(own.ack_bytes.count());
  uet.recycle = u32(own.recycle);
  uet.most_window = percent(own.window);
  uet.target_delay = or_zero(own.delay_target);
  uet.proportional = u32(own.proportional);
  uet.fair = u32(own.fair);
  uet.rto = or_zero(own.rto);
  uet.give_up = spec.give_up;
  return uet;
}

// Who may go by another NIC need not wait as long as who would fail.
void set_failover(sim::SimConfig& config, const model::TransportSpec& spec) {
  config.give_up = spec.give_up;
  config.failover = spec.failover.value_or(spec.give_up);
  if (!spec.failover) return;
  config.stack.for_each([&](const transport::Description&, auto& own) {
    if constexpr (requires { own.give_up; }) own.give_up = config.failover;
  });
}

// Services stand one behind another, each with as many classes as it has channels.
std::uint32_t class_of_service(const model::SwitchingSpec& switching, std::uint32_t channels, std::size_t service) {
  std::uint32_t cls = kFirstService;
  for (std::size_t i = 0; i < service; ++i) cls += switching.services[i].lossless ? channels : 1;
  return cls;
}

void set_services(sim::ExactConfig& exact, const model::SwitchingSpec& switching) {
  exact.classes = kFirstService;
  exact.lossless = 0;
  std::int64_t divisor = 0;
  for (const model::ServiceSpec& service : switching.services) divisor = std::gcd(divisor, service.weight.value_or(0));
  for (const model::ServiceSpec& service : switching.services) {
    for (std::uint32_t i = 0; i < (service.lossless ? exact.channels : 1); ++i) {
      if (exact.classes == sim::kMostClasses) return;  // complained about
      const std::uint32_t cls = exact.classes++;
      // A turn is as many packets as the weight says: 60 and 40 are 3 and 2, so that nobody waits longer than it must.
      if (service.weight) exact.weight[cls] = u32(*service.weight / divisor);
      if (service.lossless) exact.lossless = static_cast<std::uint8_t>(exact.lossless | 1u << cls);
    }
  }
}

sim::ExactConfig exact_config(const model::Cluster& cluster) {
  const model::SwitchingSpec& switching = cluster.file.switching;
  sim::ExactConfig exact;
  exact.flow_control = switching.flow_control;
  const bool needed = exact.flow_control != sim::FlowControl::none || switching.services.size() > 1;
  exact.on = switching.ports == model::PortModel::exact || (switching.ports == model::PortModel::by_need && needed);
  exact.channels = virtual_channels(cluster);
  if (exact.flow_control != sim::FlowControl::none) {
    exact.lossless = static_cast<std::uint8_t>(((1u << exact.channels) - 1) << kFirstService);  // data: all but small
    exact.classes = kFirstService + exact.channels;
    if (exact.flow_control != sim::FlowControl::scheduled)
      exact.deadlock_check = kDeadlockCheck;  // there nothing waits in a circle
  }
  if (!switching.services.empty()) set_services(exact, switching);
  exact.buffer =
      switching.buffer.value_or(cluster.file.fabric.kind == model::FabricKind::topo ? kTopoBuffer : Bytes(0)).count();
  exact.alpha = u32(switching.alpha.count() * 256 / 1'000'000);
  if (switching.headroom_for)
    exact.headroom_latency =
        Duration(std::max<std::int64_t>(1, switching.headroom_for->count() * kPicosecondsPerMetre / 1000));
  exact.reaction = switching.reaction;
  exact.nic_buffer = switching.nic_buffer.count();
  exact.watchdog = or_zero(switching.watchdog);
  return exact;
}

// Which of the services a stream travels in; nothing: none of that name.
std::optional<std::uint32_t> service_of(const model::SwitchingSpec& switching, const TrafficStream& stream) {
  if (!stream.run.service) return 0;
  for (std::uint32_t i = 0; i < switching.services.size(); ++i)
    if (switching.services[i].name == *stream.run.service) return i;
  return std::nullopt;
}

// Everything of a protocol in a lane but what goes first travels in one class.
void serve(sim::ExactConfig& exact, std::uint32_t lane, Protocol protocol, std::uint32_t cls) {
  for (std::uint32_t i = 0; i < transport::kPacketTypes; ++i) {
    const auto type = static_cast<PacketType>(i);
    if (transport::protocol_of(type) == protocol && !transport::goes_first(type))
      exact.class_of[lane << 4 | i] = static_cast<std::uint8_t>(cls);
  }
}

// Streams of one protocol in several services are carried by a stack for each: the first service by the first stack, as
// all are where each protocol has one service, any other by a stack of its own.
void set_lanes(sim::SimConfig& config, const model::SwitchingSpec& switching,
               const std::vector<std::uint32_t>& services) {
  std::array<std::optional<std::uint32_t>, transport::kProtocols> first;
  std::array<std::uint8_t, kMostServices> lane_of{};
  for (std::size_t i = 0; i < services.size(); ++i) {
    const Protocol protocol = config.streams[i];
    auto& usual = first[static_cast<std::size_t>(protocol)];
    if (!usual) usual = services[i];
    std::uint8_t lane = 0;
    if (*usual != services[i]) {
      std::uint8_t& known = lane_of[services[i]];
      if (known == 0) {
        config.more_stacks.push_back(0);
        known = static_cast<std::uint8_t>(config.more_stacks.size());
      }
      lane = known;
      std::uint8_t& protocols = config.more_stacks[lane - 1u];
      protocols = static_cast<std::uint8_t>(protocols | 1 << static_cast<int>(protocol));
    }
    config.lanes.push_back(lane);
    serve(config.exact, lane, protocol, class_of_service(switching, config.exact.channels, services[i]));
  }
}

}  // namespace

std::uint32_t needed_channels(const model::Cluster& cluster) {
  const sim::FlowControl control = cluster.file.switching.flow_control;
  const fabric::AnyNetwork network = fabric::network_of(cluster.shape);
  if (std::holds_alternative<std::monostate>(network)) return 1;
  if (control != sim::FlowControl::pause && control != sim::FlowControl::credits) return 1;
  return fabric::visit_network(network, [](const auto& each) { return each.lossless_channels(); });
}

std::uint32_t virtual_channels(const model::Cluster& cluster) {
  const std::uint32_t needed = needed_channels(cluster);
  return needed > 1 ? u32(cluster.file.switching.virtual_channels.value_or(needed)) : 1;
}

namespace {

// RoCE is InfiniBand's reliable connection in other packets, so one engine is both.
constexpr std::string_view engine_of(model::TransportKind kind) {
  return enum_name(kind == model::TransportKind::infiniband ? model::TransportKind::rocev2 : kind);
}

// The file and the list name the same transports, InfiniBand aside.
static_assert([] {
  for (const auto& each : names_of(model::TransportKind{}))
    if (!transport::protocol_named(engine_of(each.value))) return false;
  return names_of(model::TransportKind{}).size() == transport::kDescriptions.size() + 1;
}());

}  // namespace

const transport::Description& description_of(model::TransportKind kind) {
  return transport::describe(transport::protocol_named(engine_of(kind)).value());
}

transport::Op op_of(model::Verb verb) {
  switch (verb) {
    case model::Verb::send:
    case model::Verb::tagged:
      return transport::Op::send;
    case model::Verb::write:
      return transport::Op::write;
    case model::Verb::read:
      return transport::Op::read;
  }
  std::abort();
}

sim::SimConfig packet_config(const model::Cluster& cluster, std::span<const TrafficStream> streams) {
  const model::TransportSpec& transport = cluster.file.transport;
  const model::SwitchingSpec& switching = cluster.file.switching;
  sim::SimConfig config;
  config.trimming = switching.full == model::WhenFull::trim;
  config.protocol = description_of(transport.kind).protocol;
  config.stack.used = 0;
  config.stack.srd = srd_config(transport);
  for (const model::Group& each : cluster.groups) {
    if (!each.spec.host) continue;
    // A program is not told what its network is like, and what it may number paths by are source ports that it has
    // opened.
    config.stack.srd.guess_network();
    config.stack.srd.entropies = config.stack.srd.paths;
    if (transport.burst == 1)  // who pays for each call sends trains
      config.stack.srd.burst =
          u32(std::clamp<std::int64_t>(each.spec.host->train.count() / config.stack.srd.payload, 1, kMostBurst));
  }
  config.stack.roce = roce_config(transport);
  if (carries_infiniband(transport, streams)) use_infiniband_headers(config.stack.roce);
  config.stack.tcp = tcp_config(transport);
  config.stack.uet = uet_config(transport, config.trimming);
  config.stack.tcp_over_srd = tcp_over_srd_config(transport);
  config.stack.raw = {config.stack.srd.payload, config.stack.srd.header, config.stack.srd.paths};
  for (const TrafficStream& stream : streams)
    config.streams.push_back(description_of(stream.run.transport.value_or(transport.kind)).protocol);
  for (const TrafficStream& stream : streams) config.verbs.push_back(op_of(stream.run.verb));
  for (const TrafficStream& stream : streams) config.tagged.push_back(stream.run.verb == model::Verb::tagged);
  for (const Protocol protocol : config.streams) config.stack.use(protocol);
  if (streams.empty()) config.stack.use(config.protocol);
  config.header = config.stack.shortest_header();
  config.full_packet = config.stack.longest_packet();
  config.cut_through = switching.forwarding != model::Forwarding::store_and_forward;
  config.fifo = switching.classes == model::PortClasses::one;
  config.queue_bytes = switching.queue.value_or(Bytes(0)).count();
  config.mark_from = u32(switching.mark_from.count());
  config.mark_to = u32(switching.mark_to.count());
  config.mark_most = u32(switching.mark_most.count());
  config.flowlet_gap = switching.flowlet_gap;
  config.load_interval = switching.load_interval;
  config.pins = config.stack.roce.qps;
  config.fast_cnp = or_zero(transport.rocev2.fast_cnp);
  config.balance = transport.balance;
  config.exact = exact_config(cluster);
  set_failover(config, transport);
  if (config.exact.is_scheduled()) config.balance = sim::Balance::spray;  // cells take all ways, whatever a flow is
  std::vector<std::uint32_t> services;
  for (const TrafficStream& stream : streams)
    services.push_back(
        std::min(service_of(switching, stream).value_or(0), u32(kMostServices - 1)));  // more are complained about
  set_lanes(config, switching, services);
  return config;
}

void check_services(Design& design, std::span<const TrafficStream> streams) {
  spec::Diagnostics& diagnostics = design.diagnostics();
  const model::SwitchingSpec& switching = design.cluster().file.switching;
  const auto refuse = [&](const std::string& what, const std::string& help) {
    diagnostics.add(Error::contradiction, design.place("switching", "services"), what, help);
  };
  std::vector<std::string> names;
  bool any_lossless = false;
  for (const model::ServiceSpec& service : switching.services) {
    if (std::find(names.begin(), names.end(), service.name) != names.end())
      refuse(fmt::format("two services are called '{}'", service.name), "a name for each");
    names.push_back(service.name);
    any_lossless = any_lossless || service.lossless;
  }
  const std::uint32_t channels = virtual_channels(design.cluster());
  const std::uint32_t classes =
      names.empty() ? kFirstService + channels : class_of_service(switching, channels, names.size());
  if (names.size() > kMostServices)
    refuse(fmt::format("there are {} services", names.size()), fmt::format("at most {}", kMostServices));
  else if (classes > sim::kMostClasses)
    refuse(fmt::format("a port has {} classes: one for acknowledgements leaves {}, and {} are needed, {} for each "
                       "lossless service",
                       sim::kMostClasses, kMostServices, classes - kFirstService, channels),
           "fewer services that are lossless, or virtual_channels: fewer");
  if (switching.virtual_channels && needed_channels(design.cluster()) == 1)
    diagnostics.add(Error::contradiction, design.place("switching", "virtual_channels"),
                    "virtual channels are for a Dragonfly of several groups with flow_control: pfc or credits",
                    "no virtual_channels: nothing can wait in a circle here");
  if (any_lossless && switching.flow_control == model::FlowControl::none)
    refuse("a service is lossless, but flow_control is none", "flow_control: pfc");
  if (!names.empty() && !any_lossless && switching.flow_control != model::FlowControl::none)
    refuse(fmt::format("flow_control is {}, but no service is lossless", enum_name(switching.flow_control)),
           "lossless: true for one of them");
  if (names.size() > 1 && switching.classes == model::PortClasses::one)
    refuse("several services, but classes: one", "classes: two");
  if (names.size() > 1 && switching.ports == model::PortModel::computed)
    refuse("computed ports have no services", "ports: exact");
  for (const TrafficStream& stream : streams) {
    const auto service = service_of(switching, stream);
    if (!service) {
      const auto guess = did_you_mean(*stream.run.service, names);
      diagnostics.add(Error::bad_reference, stream.run.places.of("service"),
                      fmt::format("stream '{}' asks for the service '{}', which is not there", stream.run.name,
                                  *stream.run.service),
                      guess           ? fmt::format("did you mean {}?", *guess)
                      : names.empty() ? "a list switching.services"
                                      : fmt::format("one of {}", either(names)));
    }
  }
}

}  // namespace weft::experiment
