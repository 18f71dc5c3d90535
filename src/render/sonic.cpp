// SONiC's config_db.json for every switch: what a switch needs beyond its own identity (hwsku, platform, MAC,
// management address), to be loaded over the one it came with: config load, or sonic-cfggen -j.
//
// Tables and fields are those of SONiC 202505 with its FRR management framework, which configures BGP unnumbered. The
// classes of traffic are qos.hpp's, alike on hosts.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "model/headroom.hpp"
#include "render/qos.hpp"
#include "render/render.hpp"

namespace weft::render {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMap = "WEFT";
constexpr std::int64_t kMtu = 9100;
constexpr Bandwidth kFastest = gigabits_per_second(800);  // sonic-port.yang
constexpr std::int64_t kLeastWatchdog = 100;              // ms; sonic-pfcwd.yang
constexpr std::int64_t kMostWatchdog = 5000;
constexpr std::int64_t kWatchdog = 200;  // SONiC's own default

// A class of traffic: its number is its queue, priority group and PFC priority.
struct Class {
  std::string name;
  std::uint32_t number = 0;
  std::vector<std::uint32_t> dscp;
  std::int64_t weight = 0;  // 0: strictly first
  bool lossless = false;
  bool marked = false;  // ECN; what does not know it is dropped there instead
};

// Without services RDMA has nearly everything, and what else there is gets through; with them, each has a class.
std::vector<Class> classes_of(const model::SwitchingSpec& switching) {
  const bool pause = switching.flow_control == model::FlowControl::pause;
  std::vector<Class> classes;
  if (switching.services.empty()) {
    classes = {{"other", kOtherClass, {}, 10, false, false}, {"rdma", kRdmaClass, {kRdmaDscp}, 90, pause, true}};
  } else {
    std::vector<std::uint32_t> lossless = {3, 4, 2, 5};
    std::vector<std::uint32_t> lossy = {0, 1, 5, 2, 4, 3};
    std::int64_t weights = 0;
    for (const model::ServiceSpec& service : switching.services) weights += service.weight.value_or(1);
    for (const model::ServiceSpec& service : switching.services) {
      auto& numbers = service.lossless ? lossless : lossy;
      const std::uint32_t number = numbers.empty() ? 7u : numbers.front();
      std::erase(lossless, number);
      std::erase(lossy, number);
      const std::uint32_t dscp = number == kRdmaClass ? kRdmaDscp : number * 8;
      classes.push_back(
          {service.name, number, number == kOtherClass ? std::vector<std::uint32_t>{} : std::vector{dscp},
           std::max<std::int64_t>(1, service.weight.value_or(1) * 100 / std::max<std::int64_t>(1, weights)),
           service.lossless && pause, service.lossless});
    }
  }
  classes.push_back({"cnp", kCnpClass, {kCnpDscp}, 0, false, false});
  return classes;
}

std::string number(std::int64_t value) { return fmt::format("{}", value); }

std::string alias(const Port& port) {
  std::string text = fmt::format("etp{}", port.panel + 1);
  if (port.breakout > 1) text += static_cast<char>('a' + port.part);
  return text;
}

// A switch in its tables.
class Switch {
 public:
  Switch(const Addressing& plan, std::uint32_t index, const SwitchNumbers& numbers, Duration round_trip)
      : plan_(plan),
        index_(index),
        numbers_(numbers),
        round_trip_(round_trip),
        switching_(plan.fabric().cluster().file.switching),
        kind_(plan.switch_kind(index)),
        classes_(plan.is_frontend(index) ? std::vector<Class>{} : classes_of(switching_)),
        ports_(plan.switch_ports(index)) {}

  std::string write() {
    metadata();
    for (const Port& port : ports_) add_port(port);
    bgp();
    if (!classes_.empty()) qos();
    return db_.dump(4) + "\n";
  }

 private:
  // The frontend carries no RDMA and keeps what its switches come with.
  void qos() {
    maps();
    schedulers();
    buffers();
    for (const Port& port : ports_)
      if (port.connected) qos_of(port);
    watchdog();
  }

  void metadata() {
    const fabric::Clos* clos = plan_.is_frontend(index_) ? nullptr : plan_.fabric().clos();
    const std::uint32_t local = index_ % plan_.fabric().switches_per_plane();
    std::string type = "ToRRouter";
    if (clos != nullptr && clos->position(local).tier == fabric::Clos::Tier::spine) type = "LeafRouter";
    if (clos != nullptr && clos->position(local).tier > fabric::Clos::Tier::spine) type = "SpineRouter";
    db_["DEVICE_METADATA"]["localhost"] = {
        {"hostname", plan_.switch_name(index_)},      {"type", type},
        {"bgp_asn", number(plan_.switch_as(index_))}, {"docker_routing_config_mode", "unified"},
        {"frr_mgmt_framework_config", "true"},        {"default_pfcwd_status", any_lossless() ? "enable" : "disable"}};
    const std::string loopback = dotted(plan_.switch_loopback(index_)) + "/32";
    db_["LOOPBACK_INTERFACE"] = {{"Loopback0", Json::object()}, {"Loopback0|" + loopback, Json::object()}};
  }

  // Lanes are numbered from 1 in the order of the front panel, as most platforms have it.
  void add_port(const Port& port) {
    const std::uint32_t first = static_cast<std::uint32_t>(std::stoul(port.interface.substr(8)));
    std::vector<std::uint32_t> lanes;
    for (std::uint32_t i = 0; i < port.lanes; ++i) lanes.push_back(first + i + 1);
    const std::int64_t speed = port.wire.rate.count() / 1'000'000;
    Json fields = {{"alias", alias(port)},
                   {"index", number(port.panel + 1)},
                   {"lanes", fmt::format("{}", fmt::join(lanes, ","))},
                   {"speed", number(speed)},
                   {"mtu", number(kMtu)},
                   {"fec", speed >= 100'000 ? "rs" : "none"},
                   {"admin_status", port.connected ? "up" : "down"}};
    if (port.connected) {
      fields["description"] = fmt::format("{} {}", port.peer, port.peer_interface);
      db_["INTERFACE"][port.interface] = {{"ipv6_use_link_local_only", "enable"}};
      db_["CABLE_LENGTH"][std::string(kMap)][port.interface] = fmt::format("{}m", (port.cable.count() + 999) / 1000);
    }
    if (port.breakout > 1) fields["subport"] = number(port.part + 1);
    db_["PORT"][port.interface] = fields;
    if (port.part == 0)
      db_["BREAKOUT_CFG"][port.interface] = {
          {"brkout_mode", fmt::format("{}x{}G", port.breakout, port.wire.rate.count() / 1'000'000'000)}};
  }

  void bgp() {
    db_["BGP_GLOBALS"]["default"] = {{"local_asn", number(plan_.switch_as(index_))},
                                     {"router_id", dotted(plan_.switch_loopback(index_))},
                                     {"load_balance_mp_relax", "true"},
                                     {"log_nbr_state_changes", "true"}};
    db_["BGP_GLOBALS_AF"]["default|ipv4_unicast"] = {{"max_ebgp_paths", number(plan_.ecmp_width(index_))}};
    db_["BGP_GLOBALS_AF_NETWORK"][fmt::format("default|ipv4_unicast|{}/32", dotted(plan_.switch_loopback(index_)))] =
        Json::object();
    // FRR gives and takes nothing on a session of eBGP that has no policy (RFC 8212); the framework cannot turn that
    // off.
    db_["ROUTE_MAP_SET"]["ALL"] = Json::object();
    db_["ROUTE_MAP"]["ALL|10"] = {{"route_operation", "permit"}};
    for (const Port& port : ports_) {
      if (!port.connected) continue;
      const std::string group = peer_group(port);
      db_["BGP_PEER_GROUP"]["default|" + group] = {{"peer_type", "external"}, {"bfd", "true"}};
      db_["BGP_PEER_GROUP_AF"]["default|" + group + "|ipv4_unicast"] = {
          {"admin_status", "up"}, {"route_map_in", Json::array({"ALL"})}, {"route_map_out", Json::array({"ALL"})}};
      db_["BGP_NEIGHBOR"]["default|" + port.interface] = {{"peer_group_name", group}, {"peer_type", "external"}};
      Json family = {{"admin_status", "up"}};
      if (port.peer_is_server) {
        const std::string list = "FROM-" + port.interface;
        family["prefix_list_in"] = list;
        db_["PREFIX_SET"][list] = {{"mode", "IPv4"}};
        db_["PREFIX"][fmt::format("{}|5|{}|{}", list, plan_.announced_by(port).text(),
                                  port.frontend ? "exact" : "32..32")] = {{"action", "permit"}};
      }
      db_["BGP_NEIGHBOR_AF"]["default|" + port.interface + "|ipv4_unicast"] = family;
    }
  }

  void maps() {
    const std::string name(kMap);
    for (std::uint32_t dscp = 0; dscp < 64; ++dscp) {
      std::uint32_t to = kOtherClass;
      for (const Class& each : classes_)
        if (std::find(each.dscp.begin(), each.dscp.end(), dscp) != each.dscp.end()) to = each.number;
      db_["DSCP_TO_TC_MAP"][name][number(dscp)] = number(to);
    }
    for (std::uint32_t tc = 0; tc < 8; ++tc) {
      const bool lossless = std::any_of(classes_.begin(), classes_.end(),
                                        [&](const Class& each) { return each.number == tc && each.lossless; });
      db_["TC_TO_QUEUE_MAP"][name][number(tc)] = number(tc);
      db_["TC_TO_PRIORITY_GROUP_MAP"][name][number(tc)] = number(lossless ? tc : 0);
      db_["MAP_PFC_PRIORITY_TO_QUEUE"][name][number(tc)] = number(tc);
    }
  }

  void schedulers() {
    for (const Class& each : classes_) {
      Json fields = {{"type", each.weight == 0 ? "STRICT" : "DWRR"}};
      if (each.weight > 0) fields["weight"] = number(each.weight);
      db_["SCHEDULER"][scheduler(each)] = fields;
    }
  }

  // What a port still takes after its pause, by the function that `weft check` uses.
  Bytes headroom(const Port& port) const {
    return model::pfc_headroom(port.wire.rate, port.wire.latency, numbers_.frame, switching_.reaction);
  }

  void buffers() {
    const std::int64_t buffer = switching_.buffer.value_or(kind_.buffer).count();
    const auto lossless =
        std::count_if(classes_.begin(), classes_.end(), [](const Class& each) { return each.lossless; });
    std::int64_t held = 0;
    for (const Port& port : ports_)
      if (port.connected) held += headroom(port).count() * lossless;
    const std::int64_t shared = std::max<std::int64_t>(0, buffer - held);
    Json ingress = {{"type", "ingress"}, {"mode", "dynamic"}, {"size", number(shared)}};
    if (lossless > 0) ingress["xoff"] = number(held);
    db_["BUFFER_POOL"] = {{"ingress_pool", ingress},
                          {"egress_lossless_pool", {{"type", "egress"}, {"mode", "static"}, {"size", number(buffer)}}},
                          {"egress_lossy_pool", {{"type", "egress"}, {"mode", "dynamic"}, {"size", number(shared)}}}};
    // A queue takes 2^n times the free buffer.
    const double alpha = static_cast<double>(switching_.alpha.count()) / 1'000'000;
    threshold_ = alpha > 0 ? std::clamp(static_cast<int>(std::lround(std::log2(alpha))), -8, 7) : 0;
    db_["BUFFER_PROFILE"]["ingress_lossy_profile"] = {
        {"pool", "ingress_pool"}, {"size", "0"}, {"dynamic_th", number(threshold_)}};
    db_["BUFFER_PROFILE"]["egress_lossy_profile"] = {
        {"pool", "egress_lossy_pool"}, {"size", "0"}, {"dynamic_th", number(threshold_)}};
    if (lossless > 0)
      db_["BUFFER_PROFILE"]["egress_lossless_profile"] = {
          {"pool", "egress_lossless_pool"}, {"size", "0"}, {"static_th", number(buffer)}};
  }

  void qos_of(const Port& port) {
    const std::string name(kMap);
    std::vector<std::uint32_t> paused;
    db_["BUFFER_PG"][port.interface + "|0"] = {{"profile", "ingress_lossy_profile"}};
    for (const Class& each : classes_) {
      Json queue = {{"scheduler", scheduler(each)}};
      if (each.marked) queue["wred_profile"] = marking_of(port);
      db_["QUEUE"][fmt::format("{}|{}", port.interface, each.number)] = queue;
      db_["BUFFER_QUEUE"][fmt::format("{}|{}", port.interface, each.number)] = {
          {"profile", each.lossless ? "egress_lossless_profile" : "egress_lossy_profile"}};
      if (!each.lossless) continue;
      paused.push_back(each.number);
      db_["BUFFER_PG"][fmt::format("{}|{}", port.interface, each.number)] = {{"profile", lossless_of(port)}};
    }
    Json fields = {{"dscp_to_tc_map", name}, {"tc_to_queue_map", name}, {"tc_to_pg_map", name}};
    if (!paused.empty()) {
      fields["pfc_to_queue_map"] = name;
      fields["pfc_enable"] = fmt::format("{}", fmt::join(paused, ","));
      fields["pfcwd_sw_enable"] = fields["pfc_enable"];
    }
    db_["PORT_QOS_MAP"][port.interface] = fields;
  }

  // One profile for all ports of a rate and cable.
  std::string lossless_of(const Port& port) {
    const std::string name = fmt::format("pg_lossless_{}_{}m_profile", port.wire.rate.count() / 1'000'000,
                                         (port.cable.count() + 999) / 1000);
    db_["BUFFER_PROFILE"][name] = {{"pool", "ingress_pool"},
                                   {"size", number(numbers_.frame.count())},
                                   {"xon", number(0)},
                                   {"xon_offset", number(2 * numbers_.frame.count())},
                                   {"xoff", number(headroom(port).count())},
                                   {"dynamic_th", number(threshold_)}};
    return name;
  }

  std::string marking_of(const Port& port) {
    const std::string name = fmt::format("ecn-{}", port.wire.rate.count() / 1'000'000);
    const Marking mark = marking(switching_, port.wire.rate, round_trip_);
    Json fields = {{"ecn", "ecn_all"}};
    for (const std::string colour : {"green", "yellow", "red"}) {
      fields["wred_" + colour + "_enable"] = "true";
      fields[colour + "_min_threshold"] = number(mark.from.count());
      fields[colour + "_max_threshold"] = number(mark.to.count());
      fields[colour + "_drop_probability"] = number(mark.most_percent);
    }
    db_["WRED_PROFILE"][name] = fields;
    return name;
  }

  void watchdog() {
    if (!any_lossless()) return;
    const std::int64_t wanted = switching_.watchdog ? switching_.watchdog->count() / 1'000'000'000 : kWatchdog;
    const std::int64_t time = std::clamp(wanted, kLeastWatchdog, kMostWatchdog);
    db_["PFC_WD"]["GLOBAL"] = {{"POLL_INTERVAL", number(std::min(time, kWatchdog))}};
    for (const Port& port : ports_)
      if (port.connected)
        db_["PFC_WD"][port.interface] = {
            {"action", "drop"}, {"detection_time", number(time)}, {"restoration_time", number(time)}};
  }

  bool any_lossless() const {
    return std::any_of(classes_.begin(), classes_.end(), [](const Class& each) { return each.lossless; });
  }
  static std::string scheduler(const Class& each) { return "scheduler." + each.name; }

  const Addressing& plan_;
  std::uint32_t index_;
  SwitchNumbers numbers_;
  Duration round_trip_;
  const model::SwitchingSpec& switching_;
  const model::SwitchKind& kind_;
  std::vector<Class> classes_;
  std::vector<Port> ports_;
  int threshold_ = 0;
  Json db_;
};

}  // namespace

Result<std::vector<File>, Refusal> sonic_files(const Addressing& plan, const SwitchNumbers& numbers) {
  const fabric::Fabric& fabric = plan.fabric();
  const model::FlowControl control = fabric.cluster().file.switching.flow_control;
  if (control == model::FlowControl::credits || control == model::FlowControl::scheduled)
    return Failure<Refusal>(
        Refusal{fmt::format("flow control '{}' is configured by its vendor's own tables", enum_name(control)),
                "switching.flow_control: pfc or none"});
  const Duration round_trip = longest_round_trip(fabric);
  std::vector<File> files;
  std::vector<std::uint32_t> one_of_each;
  for (const fabric::SwitchTier& tier : fabric.tiers())
    if (tier.count > 0) one_of_each.push_back(tier.first);
  if (plan.switches() > plan.fabric_switches()) one_of_each.push_back(plan.fabric_switches());
  for (const std::uint32_t index : one_of_each)
    for (const Port& port : plan.switch_ports(index))
      if (port.wire.rate > kFastest)
        return Failure<Refusal>(Refusal{fmt::format("{} has links of {}, and SONiC 202505 knows none above {}",
                                                    plan.switch_name(index), exact(port.wire.rate), exact(kFastest)),
                                        "slower links, more of them in parallel"});
  for (std::uint32_t i = 0; i < plan.switches(); ++i)
    files.push_back({plan.switch_name(i) + "/config_db.json", Switch(plan, i, numbers, round_trip).write()});
  return files;
}

}  // namespace weft::render
