#include "lab/pods.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <thread>

#include "base/text.hpp"
#include "cni/ovs.hpp"
#include "cni/record.hpp"
#include "host/netlink.hpp"
#include "host/process.hpp"
#include "lab/chain.hpp"

namespace weft::lab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Error = Failure<std::string>;

constexpr const char* kPlugins = "/usr/lib/cni";  // Debian's
constexpr const char* kSchema = "/usr/share/openvswitch/vswitch.ovsschema";
constexpr milliseconds kDaemonsMayTake{60'000};
constexpr milliseconds kLookEvery{100};
constexpr int kPriority = -10;  // of what is run instead of hardware
constexpr std::size_t kLongestName = 40;
constexpr std::uint32_t kLongestBlock = 30;  // prefix length that leaves a pod an address beside the NIC's

std::uint32_t device_number(const Plan& plan, const std::string& server) {
  return static_cast<std::uint32_t>(plan.find(server) - plan.devices.data());
}

fs::path state_folder(const State& state, const std::string& server) { return state.folder(server) / "cni"; }

template <class IsTrue>
bool within_time(milliseconds most, IsTrue is_true) {
  const Clock::time_point until = Clock::now() + most;
  while (!is_true()) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

// Open vSwitch of one server, with its bridges and the agent; from nothing, or what is missing of it.
class Switching {
 public:
  Switching(const Plan& plan, const State& state, const std::string& server)
      : device_(*plan.find(server)),
        number_(device_number(plan, server)),
        netns_(plan.netns(server)),
        folder_(ovs_folder(state, server)),
        cni_(state_folder(state, server)),
        frr_(state.folder(server)),
        ovs_(folder_) {}

  std::string start(const std::string& cni) {
    std::error_code none;
    fs::create_directories(folder_, none);
    std::string failed = start_database();
    if (failed.empty()) failed = start_switch();
    for (std::uint32_t rail = 0; failed.empty() && rail < device_.rails.size(); ++rail) failed = add_bridge(rail);
    if (failed.empty()) failed = start_agent(cni);
    return failed;
  }

 private:
  std::string start_daemon(std::vector<std::string> arguments, const std::string& name) {
    host::Command command{std::move(arguments), netns_, ""};
    command.environment = {"OVS_RUNDIR=" + folder_.string(), "OVS_LOGDIR=" + folder_.string(),
                           "OVS_DBDIR=" + folder_.string()};
    const pid_t pid = host::start(command, (folder_ / (name + ".out")).string());
    if (pid < 0) return "cannot start " + name;
    // It stands for a NIC, whose packets wait for no program of the host.
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(pid), kPriority);
    return "";
  }

  bool database_answers() { return ovs_.database({"--no-wait", "list-br"}).code == 0; }

  std::string start_database() {
    const std::string file = (folder_ / "conf.db").string();
    if (fs::exists(folder_ / "db.sock") && database_answers()) return "";
    if (!fs::exists(file))
      if (const host::Finished done = host::run({{"ovsdb-tool", "create", file, kSchema}, "", ""}); done.code != 0)
        return "ovsdb-tool: " + done.text;
    const std::string socket = (folder_ / "db.sock").string();
    if (std::string failed = start_daemon({"ovsdb-server", file, "--remote=punix:" + socket,
                                           "--unixctl=" + (folder_ / "ovsdb.ctl").string(), "--no-chdir"},
                                          "ovsdb-server");
        !failed.empty())
      return failed;
    if (!within_time(kDaemonsMayTake, [&] { return fs::exists(socket) && database_answers(); }))
      return fmt::format("ovsdb-server of {} does not come up; its words are in {}", device_.name, folder_.string());
    return ovs_.database({"--no-wait", "init"}).code == 0 ? "" : "ovs-vsctl cannot init the database";
  }

  std::string start_switch() {
    if (switch_is_there()) return "";
    return start_daemon({"ovs-vswitchd", "unix:" + (folder_ / "db.sock").string(), "--disable-system",
                         "--unixctl=" + (folder_ / "vswitchd.ctl").string(), "--no-chdir"},
                        "ovs-vswitchd");
  }

  bool switch_is_there() {
    return fs::exists(folder_ / "vswitchd.ctl") &&
           host::run({{"ovs-appctl", "-T", "5", "-t", (folder_ / "vswitchd.ctl").string(), "version"}, "", ""}).code ==
               0;
  }

  std::string add_bridge(std::uint32_t rail) {
    const std::string bridge = bridge_of(device_.rails[rail]);
    // By position, and none that another machine has: locally administered.
    const std::string mac = fmt::format("02:77:{:02x}:{:02x}:{:02x}:{:02x}", number_ >> 16 & 0xff, number_ >> 8 & 0xff,
                                        number_ & 0xff, rail);
    const host::Finished done =
        ovs_.database({"--may-exist", "add-br", bridge, "--", "set", "bridge", bridge, "datapath_type=netdev",
                       "fail_mode=secure", fmt::format("other-config:hwaddr=\"{}\"", mac), "--", "set", "interface",
                       bridge, fmt::format("mtu_request={}", kMtu)});
    if (done.code != 0) return fmt::format("ovs-vsctl add-br {}: {}", bridge, done.errors);
    // Rails are IPv4.
    host::within(netns_, [&] { std::ofstream("/proc/sys/net/ipv6/conf/" + bridge + "/disable_ipv6") << "1"; });
    const host::Finished up = host::run({{"ip", "link", "set", bridge, "up"}, netns_, ""});
    return up.code == 0 ? "" : fmt::format("ip link set {} up: {}", bridge, up.text);
  }

  std::string start_agent(const std::string& cni) {
    const cni::Records records(cni_);
    if (records.has_agent()) return "";
    if (std::string failed = start_daemon(
            {cni, "agent", "--state", cni_.string(), "--ovs", folder_.string(), "--frr", frr_.string()}, "agent");
        !failed.empty())
      return failed;
    return within_time(kDaemonsMayTake, [&] { return records.has_agent(); }) ? "" : "weft-cni agent does not come up";
  }

  const Device& device_;
  std::uint32_t number_;
  std::string netns_;
  fs::path folder_;
  fs::path cni_;
  fs::path frr_;
  cni::Ovs ovs_;
};

// Links by the names of the roles, where the chain looks for plugins.
std::string link_roles(const State& state, const std::string& cni) {
  const fs::path folder = state.folder() / "plugins";
  std::error_code failed;
  fs::create_directories(folder, failed);
  for (const char* role : {"ovs-provider", "frr-provider"}) {
    fs::remove(folder / role, failed);
    fs::create_symlink(cni, folder / role, failed);
    if (failed) return fmt::format("cannot make {}: {}", (folder / role).string(), failed.message());
  }
  return "";
}

Attach attach_of(const Plan& plan, const State& state, const Pod& pod, const PodInterface& interface) {
  return {chain_of(plan, state, pod, interface),
          {(state.folder() / "plugins").string(), kPlugins},
          plan.netns(pod.server),
          fmt::format("{}-{}", plan.name, pod.name),
          fs::exists("/run/netns/" + plan.netns(pod.name)) ? "/run/netns/" + plan.netns(pod.name) : "",
          interface.name,
          fmt::format("IgnoreUnknown=1;K8S_POD_NAMESPACE={};K8S_POD_NAME={}", pod.tenant, pod.name)};
}

fs::path result_file(const State& state, const Pod& pod, const PodInterface& interface) {
  return state.folder(pod.server) / "cni" / fmt::format("{}-{}.result", pod.name, interface.name);
}

json read_result(const State& state, const Pod& pod, const PodInterface& interface) {
  std::ifstream file(result_file(state, pod, interface));
  json result = json::parse(file, nullptr, false);
  return result.is_object() ? result : json();
}

std::string address_in(const json& result) {
  if (!result.contains("ips") || !result["ips"].is_array() || result["ips"].empty()) return "";
  const std::string text = result["ips"][0].value("address", "");
  return text.substr(0, text.find('/'));
}

// A pair in place of a virtual function and its representor, then the chain.
std::string add_interface(const Plan& plan, const State& state, const Pod& pod, PodInterface& interface) {
  const host::Finished made =
      host::run({{"ip", "link", "add", interface.function, "mtu", fmt::format("{}", kMtu), "type", "veth", "peer",
                  "name", interface.representor, "mtu", fmt::format("{}", kMtu)},
                 plan.netns(pod.server),
                 ""});
  if (made.code != 0) return "ip link add: " + made.text;
  const auto result = chain_add(attach_of(plan, state, pod, interface));
  if (!result) return result.error();
  interface.address = address_in(*result);
  std::ofstream file(result_file(state, pod, interface));
  return (file << result->dump()).flush() ? "" : "cannot write the lab's folder";
}

void write_hosts(const Plan& plan, const State& state, const std::vector<Pod>& pods) {
  const std::string mark = "# pods";
  std::string text;
  std::ifstream before(state.hosts());
  for (std::string line; std::getline(before, line) && line != mark;) text += line + "\n";
  text += mark + "\n";
  for (const Pod& pod : pods)
    for (const PodInterface& each : pod.interfaces)
      if (!each.address.empty())
        text += fmt::format("{}\t{}-{}\n", each.address, pod.name, plan.find(pod.server)->rails[each.rail].interface);
  // In place: it is mounted over /etc/hosts of who is in the lab.
  std::ofstream(state.hosts(), std::ios::binary | std::ios::trunc) << text;
}

}  // namespace

std::string bridge_of(const RailOfServer& rail) { return "br-" + rail.interface; }
fs::path ovs_folder(const State& state, const std::string& server) { return state.folder(server) / "ovs"; }

std::string why_no_pods(const std::string& cni) {
  std::vector<std::string> missing;
  for (const char* program : {"ovs-vsctl", "ovs-ofctl", "ovs-vswitchd", "ovsdb-server"})
    if (!host::is_installed(program)) missing.push_back(fmt::format("{} (package openvswitch-switch)", program));
  for (const char* plugin : {"host-device", "host-local"})
    if (!host::is_installed(fmt::format("{}/{}", kPlugins, plugin)))
      missing.push_back(fmt::format("{} (package containernetworking-plugins)", plugin));
  if (!host::is_installed(cni)) missing.push_back(fmt::format("weft-cni beside weft ({})", cni));
  return missing.empty() ? "" : fmt::format("pods need what is not installed: {}", fmt::join(missing, ", "));
}

std::optional<std::string> server_for(const Plan& plan, const std::vector<Pod>& pods, const std::string& tenant) {
  const Device* best = nullptr;
  std::size_t fewest = 0;
  for (const Device& device : plan.devices) {
    if (!device.is_server || (device.owner != tenant && !device.owner.empty())) continue;
    const auto load = static_cast<std::size_t>(
        std::count_if(pods.begin(), pods.end(), [&](const Pod& pod) { return pod.server == device.name; }));
    const bool better = best == nullptr || (device.owner == tenant) > (best->owner == tenant) ||
                        (device.owner == best->owner && load < fewest);
    if (!better) continue;
    best = &device;
    fewest = load;
  }
  return best == nullptr ? std::nullopt : std::optional(best->name);
}

Result<Pod, std::string> plan_pod(const Plan& plan, const std::vector<Pod>& pods, const std::string& name,
                                  const std::string& tenant, const std::string& server) {
  if (name.empty() || lab_name(name) != name || name.size() > kLongestName)
    return Error(fmt::format("'{}' is no name for a pod: lower-case letters, digits and '-'", name));
  if (tenant.empty() || lab_name(tenant) != tenant)
    return Error(fmt::format("'{}' is no name for a tenant: lower-case letters, digits and '-'", tenant));
  if (plan.find(name) != nullptr) return Error(fmt::format("a device is called '{}'", name));
  if (std::any_of(pods.begin(), pods.end(), [&](const Pod& pod) { return pod.name == name; }))
    return Error(fmt::format("there is a pod '{}' already", name));
  const Device* device = plan.find(server);
  if (device == nullptr || !device->is_server) return Error(fmt::format("there is no server '{}'", server));
  if (!device->owner.empty() && device->owner != tenant)
    return Error(
        fmt::format("{0} belongs to tenant '{1}': --tenant {1}, or a server that nobody owns (`tenants` of the "
                    "cluster file)",
                    server, lab_name(device->owner)));
  Pod pod{name, tenant, server, {}};
  for (std::uint32_t rail = 0; rail < device->rails.size(); ++rail) {
    const RailOfServer& of = device->rails[rail];
    std::uint32_t length = 32;
    const std::size_t slash = of.block.find('/');
    std::from_chars(of.block.data() + slash + 1, of.block.data() + of.block.size(), length);
    if (length > kLongestBlock)
      return Error(fmt::format("{} has no addresses for pods on {}: the cluster is too large", server, of.interface));
    std::set<std::string> taken;
    for (const Pod& other : pods)
      for (const PodInterface& each : other.interfaces)
        if (other.server == server) taken.insert(each.function);
    std::uint32_t number = 0;
    while (taken.contains(fmt::format("{}v{}", of.interface, number))) ++number;
    const std::string function = fmt::format("{}v{}", of.interface, number);
    pod.interfaces.push_back({fmt::format("net{}", rail + 1), rail, function, function + "rep"});
  }
  if (pod.interfaces.empty()) return Error(fmt::format("{} has no NIC", server));
  return pod;
}

ordered_json chain_of(const Plan& plan, const State& state, const Pod& pod, const PodInterface& interface) {
  const Device& device = *plan.find(pod.server);
  const RailOfServer& rail = device.rails[interface.rail];
  const std::string kept = state_folder(state, pod.server).string();
  // The block's first two addresses are the network's and the NIC's, which is the pods' gateway.
  const ordered_json range = {{"subnet", rail.block}, {"rangeStart", rail.nic}, {"gateway", rail.nic}};
  const ordered_json ipam = {{"type", "host-local"},
                             {"dataDir", (state.folder(pod.server) / "ipam").string()},
                             {"ranges", {{range}}},
                             {"routes", {{{"dst", rail.rail}, {"gw", rail.nic}}}}};
  return {{"cniVersion", "1.0.0"},
          {"name", fmt::format("sriov-{}-vf", rail.interface)},
          {"plugins",
           {{{"type", "host-device"}, {"device", interface.function}, {"ipam", ipam}},
            {{"type", "ovs-provider"},
             {"bridge", bridge_of(rail)},
             {"ovsDir", ovs_folder(state, pod.server).string()},
             {"stateDir", kept}},
            {{"type", "frr-provider"}, {"frrDir", state.folder(pod.server).string()}, {"stateDir", kept}}}}};
}

std::string add_pod(const Plan& plan, State& state, Pod& pod, const std::string& cni) {
  const std::string netns = plan.netns(pod.name);
  if (fs::exists("/run/netns/" + netns)) return fmt::format("there is a namespace {} already", netns);
  if (std::string failed = Switching(plan, state, pod.server).start(cni); !failed.empty()) return failed;
  if (std::string failed = link_roles(state, cni); !failed.empty()) return failed;
  std::vector<Pod> pods = state.pods();
  pods.push_back(pod);
  if (!state.journal({netns}) || !state.save(pods)) return "cannot write the lab's folder";
  std::string failed;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"ip", "netns", "add", netns}, {"ip", "-n", netns, "link", "set", "lo", "up"}})
    if (const host::Finished done = host::run({words, "", ""}); failed.empty() && done.code != 0)
      failed = fmt::format("{}: {}", fmt::join(words, " "), done.text);
  for (PodInterface& each : pod.interfaces)
    if (failed.empty()) failed = add_interface(plan, state, pod, each);
  if (!failed.empty()) {
    const std::string left = delete_pod(plan, state, pod);
    return left.empty() ? failed : fmt::format("{}; and it is not removed: {}", failed, left);
  }
  pods.back() = pod;
  write_hosts(plan, state, pods);
  return state.save(pods) ? "" : "cannot write the lab's folder";
}

std::string delete_pod(const Plan& plan, State& state, const Pod& pod) {
  const std::string netns = plan.netns(pod.name);
  std::string failed;
  for (auto each = pod.interfaces.rbegin(); each != pod.interfaces.rend(); ++each) {
    const std::string why = chain_del(attach_of(plan, state, pod, *each), read_result(state, pod, *each));
    if (failed.empty()) failed = why;
    // Back from the pod, or with it gone.
    host::run({{"ip", "link", "del", each->function}, plan.netns(pod.server), ""});
    std::error_code none;
    if (why.empty()) fs::remove(result_file(state, pod, *each), none);
  }
  if (!failed.empty()) return failed;
  if (fs::exists("/run/netns/" + netns))
    if (const host::Finished done = host::run({{"ip", "netns", "delete", netns}, "", ""}); done.code != 0)
      return done.text;
  std::vector<Pod> pods = state.pods();
  std::erase_if(pods, [&](const Pod& other) { return other.name == pod.name; });
  write_hosts(plan, state, pods);
  return state.save(pods) && state.forget(netns) ? "" : "cannot write the lab's folder";
}

std::string check_pod(const Plan& plan, const State& state, const Pod& pod) {
  for (const PodInterface& each : pod.interfaces)
    if (const std::string why = chain_check(attach_of(plan, state, pod, each), read_result(state, pod, each));
        !why.empty())
      return fmt::format("{}: {}", each.name, why);
  return "";
}

std::string wait_for_pod(const Plan& plan, const State& state, const Pod& pod, bool there, std::chrono::seconds most) {
  const Device& server = *plan.find(pod.server);
  const auto reaches_nic = [&](const Device& device, const std::string& nic) {
    return std::any_of(device.reach.begin(), device.reach.end(), [&](const Reach& reach) {
      return std::find(reach.addresses.begin(), reach.addresses.end(), nic) != reach.addresses.end();
    });
  };
  const auto not_yet_at_switches = [&]() -> std::string {
    for (std::uint32_t i = 0; i < plan.devices.size(); ++i) {
      if (plan.devices[i].is_server) continue;
      auto kernel = host::Netlink::open(plan.netns(i));
      const host::Routes routes = kernel ? kernel->host_routes() : host::Routes();
      for (const PodInterface& each : pod.interfaces)
        if (reaches_nic(plan.devices[i], server.rails[each.rail].nic) && routes.contains(each.address) != there)
          return fmt::format("{} {} {}", plan.devices[i].name, there ? "does not reach" : "still reaches",
                             each.address);
    }
    return "";
  };
  const auto not_yet_at_servers = [&]() -> std::string {
    for (const Pod& other : state.pods()) {
      if (other.tenant != pod.tenant || other.server == pod.server) continue;
      const cni::Ovs ovs(ovs_folder(state, other.server));
      for (const RailOfServer& rail : plan.find(other.server)->rails)
        for (const PodInterface& each : pod.interfaces) {
          const std::string flows = ovs.dump_flows(bridge_of(rail), fmt::format("table=5,ip,nw_src={}", each.address));
          if ((flows.find("nw_src") != std::string::npos) != there)
            return fmt::format("{} on {} {} whose {} is", bridge_of(rail), other.server,
                               there ? "does not know" : "still thinks that it knows", each.address);
        }
    }
    return "";
  };
  const Clock::time_point until = Clock::now() + most;
  for (;;) {
    std::string missing = not_yet_at_switches();
    if (missing.empty()) missing = not_yet_at_servers();
    if (missing.empty() || Clock::now() > until) return missing;
    std::this_thread::sleep_for(kLookEvery);
  }
}

std::map<std::string, cni::Drops> drops_by_tenant(const Plan& plan, const State& state, const std::string& server,
                                                  const std::vector<Pod>& pods) {
  std::map<std::uint64_t, std::string> names;
  for (const Pod& pod : pods) names[cni::tenant_of(pod.tenant).number] = pod.tenant;
  std::map<std::string, cni::Drops> all;
  const cni::Ovs ovs(ovs_folder(state, server));
  for (const RailOfServer& rail : plan.find(server)->rails)
    for (const auto& [number, drops] : cni::parse_drops(ovs.dump_flows(bridge_of(rail)))) {
      const auto name = names.find(number);
      if (name == names.end()) continue;
      cni::Drops& sum = all[name->second];
      sum.spoofed += drops.spoofed;
      sum.from_others += drops.from_others;
      sum.to_others += drops.to_others;
    }
  return all;
}

}  // namespace weft::lab
