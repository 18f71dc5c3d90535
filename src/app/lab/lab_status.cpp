#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "app/lab/open_lab.hpp"
#include "base/text.hpp"
#include "lab/pods.hpp"
#include "report/table.hpp"

namespace weft::app {
namespace {

using nlohmann::ordered_json;

// Everything that is shown, as it was found.
struct View {
  const lab::Plan& plan;
  lab::Status status;
  std::vector<std::map<std::string, host::InterfaceCounters>> counters;  // by device and interface
  std::vector<lab::Fault> faults;
  std::vector<lab::Pod> pods;
  std::map<std::string, std::map<std::string, cni::Drops>> drops;  // by server and tenant

  const host::InterfaceCounters& of(const lab::End& end) const {
    static const host::InterfaceCounters none;
    const auto found = counters[end.device].find(end.interface);
    return found == counters[end.device].end() ? none : found->second;
  }
  std::string faults_of(std::uint32_t link) const {
    std::vector<std::string> texts;
    for (const lab::Fault& fault : faults)
      if (std::find(fault.links.begin(), fault.links.end(), link) != fault.links.end()) texts.push_back(fault.text());
    return fmt::format("{}", fmt::join(texts, "; "));
  }
};

// On a terminal with few columns the other end's interface is what can be missed.
std::string link_name(const lab::Plan& plan, const lab::Link& link, std::size_t width) {
  constexpr std::size_t kWide = 100;
  const std::string name =
      fmt::format("{}/{} {}", plan.devices[link.a.device].name, link.a.interface, plan.devices[link.b.device].name);
  return width > 0 && width < kWide ? name : name + "/" + link.b.interface;
}

void print_head(const View& view, Console& console) {
  std::size_t routes = 0;
  for (const lab::DeviceStatus& device : view.status.devices) routes += device.routes;
  console.out << fmt::format("lab {}, cluster '{}': {}, {}, {} stand for {}\n", view.plan.name, view.plan.cluster,
                             counted(static_cast<std::int64_t>(view.plan.devices.size()), "device"),
                             counted(static_cast<std::int64_t>(view.plan.links.size()), "link"), exact(view.plan.rate),
                             exact(view.plan.planned));
  console.out << fmt::format("{} of {} ends of sessions are up, {} of {} routes are as planned\n",
                             view.status.sessions_up(), view.status.sessions.size(),
                             routes - view.status.routes_wrong(), routes);
  for (const lab::Fault& fault : view.faults) console.out << fmt::format("broken: {}\n", fault.text());
}

void print_devices(const View& view, Console& console) {
  report::Table table(
      {{"device"}, {"tier"}, {"sessions", true}, {"equal paths", true}, {"routes", true}, {"first that differs"}});
  for (std::size_t i = 0; i < view.plan.devices.size(); ++i) {
    const lab::Device& device = view.plan.devices[i];
    const lab::DeviceStatus& status = view.status.devices[i];
    table.add({device.name, device.tier, fmt::format("{}/{}", status.sessions_up, status.sessions),
               fmt::format("{}/{}", status.width, device.planned_width()),
               fmt::format("{}/{}", status.routes_right, status.routes), status.first_wrong});
  }
  console.out << "\n" << table.text(console.width, console.colour_out, true);
}

void print_links(const View& view, Console& console) {
  report::Table table(
      {{"link"}, {"rate", true}, {"sent", true}, {"received", true}, {"drops", true}, {"waiting", true}, {"state"}});
  for (std::uint32_t i = 0; i < view.plan.links.size(); ++i) {
    const lab::Link& link = view.plan.links[i];
    const host::InterfaceCounters& a = view.of(link.a);
    const host::InterfaceCounters& b = view.of(link.b);
    const std::string fault = view.faults_of(i);
    table.add({link_name(view.plan, link, console.width), exact(link.rate),
               brief(Bytes(static_cast<std::int64_t>(a.tx_bytes))), brief(Bytes(static_cast<std::int64_t>(b.tx_bytes))),
               grouped(static_cast<std::int64_t>(a.drops + b.drops)),
               brief(Bytes(static_cast<std::int64_t>(a.backlog + b.backlog))),
               !fault.empty() ? fault : (a.up && b.up ? "up" : "down")});
  }
  console.out << "\n" << table.text(console.width, console.colour_out);
}

std::vector<std::string> addresses_of(const lab::Pod& pod) {
  std::vector<std::string> all;
  for (const lab::PodInterface& each : pod.interfaces) all.push_back(each.address.empty() ? "none" : each.address);
  return all;
}

void print_pods(const View& view, Console& console) {
  if (view.pods.empty()) return;
  report::Table pods({{"pod"}, {"tenant"}, {"server"}, {"addresses"}});
  for (const lab::Pod& pod : view.pods)
    pods.add({pod.name, pod.tenant, pod.server, fmt::format("{}", fmt::join(addresses_of(pod), ", "))});
  console.out << "\n" << pods.text(console.width, console.colour_out);
  report::Table drops({{"server"}, {"tenant"}, {"spoofed", true}, {"from others", true}, {"to others", true}});
  for (const auto& [server, by_tenant] : view.drops)
    for (const auto& [tenant, dropped] : by_tenant)
      drops.add({server, tenant, grouped(static_cast<std::int64_t>(dropped.spoofed)),
                 grouped(static_cast<std::int64_t>(dropped.from_others)),
                 grouped(static_cast<std::int64_t>(dropped.to_others))});
  console.out << "\nOpen vSwitch dropped, in packets:\n" << drops.text(console.width, console.colour_out);
}

void print_differences(const View& view, Console& console) {
  report::Facts facts;
  for (const lab::Overlay& each : lab::overlays(view.plan))
    facts.add(each.what, fmt::format("{} instead of {}: {}", each.lab, each.rendered, each.why));
  facts.add("not exercised", fmt::format("{}", fmt::join(lab::not_exercised(), "; ")));
  console.out << "\nother than rendered:\n" << facts.text(console.width, console.colour_out);
}

void print_records(const View& view, Console& console) {
  const auto print = [&](ordered_json record) {
    console.out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  };
  ordered_json overlays = ordered_json::array();
  for (const lab::Overlay& each : lab::overlays(view.plan))
    overlays.push_back({{"what", each.what}, {"rendered", each.rendered}, {"lab", each.lab}, {"why", each.why}});
  ordered_json faults = ordered_json::array();
  for (const lab::Fault& fault : view.faults) faults.push_back(fault.text());
  print({{"record", "lab"},
         {"version", 1},
         {"lab", view.plan.name},
         {"cluster", view.plan.cluster},
         {"rate_bps", view.plan.rate.count()},
         {"stands_for_bps", view.plan.planned.count()},
         {"sessions_up", view.status.sessions_up()},
         {"sessions", view.status.sessions.size()},
         {"routes_wrong", view.status.routes_wrong()},
         {"faults", faults},
         {"overlays", overlays},
         {"not_exercised", lab::not_exercised()}});
  for (std::size_t i = 0; i < view.plan.devices.size(); ++i) {
    const lab::DeviceStatus& status = view.status.devices[i];
    print({{"record", "lab_device"},
           {"version", 1},
           {"device", view.plan.devices[i].name},
           {"tier", view.plan.devices[i].tier},
           {"netns", view.plan.netns(static_cast<std::uint32_t>(i))},
           {"sessions_up", status.sessions_up},
           {"sessions", status.sessions},
           {"equal_paths", status.width},
           {"equal_paths_planned", view.plan.devices[i].planned_width()},
           {"routes_right", status.routes_right},
           {"routes", status.routes}});
  }
  for (const lab::SessionStatus& session : view.status.sessions)
    print({{"record", "lab_session"},
           {"version", 1},
           {"device", view.plan.devices[session.device].name},
           {"interface", session.interface},
           {"peer", session.peer},
           {"state", session.state},
           {"up", session.up}});
  for (const lab::Pod& pod : view.pods)
    print({{"record", "lab_pod"},
           {"version", 1},
           {"pod", pod.name},
           {"tenant", pod.tenant},
           {"server", pod.server},
           {"addresses", addresses_of(pod)}});
  for (const auto& [server, by_tenant] : view.drops)
    for (const auto& [tenant, dropped] : by_tenant)
      print({{"record", "lab_tenant_drops"},
             {"version", 1},
             {"device", server},
             {"tenant", tenant},
             {"spoofed", dropped.spoofed},
             {"from_others", dropped.from_others},
             {"to_others", dropped.to_others}});
  for (std::uint32_t i = 0; i < view.plan.links.size(); ++i) {
    const lab::Link& link = view.plan.links[i];
    const auto end = [&](const lab::End& each) {
      const host::InterfaceCounters& c = view.of(each);
      return ordered_json{{"device", view.plan.devices[each.device].name},
                          {"interface", each.interface},
                          {"up", c.up},
                          {"tx_bytes", c.tx_bytes},
                          {"tx_packets", c.tx_packets},
                          {"drops", c.drops},
                          {"waiting_bytes", c.backlog}};
    };
    print({{"record", "lab_link"},
           {"version", 1},
           {"rate_bps", link.rate.count()},
           {"stands_for_bps", link.planned.count()},
           {"ends", {end(link.a), end(link.b)}},
           {"fault", view.faults_of(i)}});
  }
}

}  // namespace

int lab_status(const LabOptions& options, Console& console) {
  const auto lab = open_lab(options, lab::State::Access::looking, console);
  if (!lab) return kYourInput;
  if (const std::string why = lab::why_not_enter(); !why.empty())
    return refuse_lab(options, why, kThisMachine, console);
  lab::Observer observer(lab->plan, lab->state);
  View view{lab->plan, observer.look(), {}, lab->state.faults(), lab->state.pods(), {}};
  for (const lab::Pod& pod : view.pods)
    if (!view.drops.contains(pod.server))
      view.drops[pod.server] = lab::drops_by_tenant(lab->plan, lab->state, pod.server, view.pods);
  for (auto& device : observer.counters()) {
    auto& by_name = view.counters.emplace_back();
    for (host::InterfaceCounters& each : device) by_name.emplace(each.name, each);
  }
  if (options.json) {
    print_records(view, console);
    return kFine;
  }
  print_head(view, console);
  print_devices(view, console);
  print_links(view, console);
  print_pods(view, console);
  print_differences(view, console);
  return kFine;
}

}  // namespace weft::app
