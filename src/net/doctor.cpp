#include "net/doctor.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

#include "net/address.hpp"
#include "net/udp.hpp"

namespace weft::net {
namespace {

using State = Finding::State;

constexpr std::int64_t kWantedBuffer = 32 << 20;
constexpr std::int64_t kEnoughBuffer = 4 << 20;  // 3 ms at 10 Gb/s: what a process that is not scheduled misses
constexpr std::int64_t kEnoughPorts = 1024;      // sixteen endpoints of 64 paths
constexpr std::int64_t kEnoughFiles = 1024;
constexpr int kJumbo = 8192;

std::int64_t number_in(const std::string& file, int which = 0) {
  std::ifstream in(file);
  std::int64_t value = -1;
  for (int i = 0; i <= which; ++i)
    if (!(in >> value)) return -1;
  return value;
}

int offload(int fd, const std::string& name, std::uint32_t command) {
  ethtool_value value{};
  value.cmd = command;
  ifreq request{};
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&value);
  return ioctl(fd, SIOCETHTOOL, &request) == 0 ? static_cast<int>(value.data != 0) : -1;
}

std::vector<Interface> interfaces() {
  std::vector<Interface> out;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return out;
  std::set<std::string> names;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next)
    if ((each->ifa_flags & IFF_UP) && !(each->ifa_flags & IFF_LOOPBACK) && each->ifa_addr != nullptr &&
        (each->ifa_addr->sa_family == AF_INET || each->ifa_addr->sa_family == AF_INET6))
      names.insert(each->ifa_name);
  freeifaddrs(list);
  const Descriptor probe(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto all = number_in("/proc/sys/net/ipv4/conf/all/rp_filter");
  for (const std::string& name : names) {
    Interface face;
    face.name = name;
    face.mtu = static_cast<int>(number_in(fmt::format("/sys/class/net/{}/mtu", name)));
    face.segments = offload(probe.get(), name, ETHTOOL_GGSO);
    face.coalesces = offload(probe.get(), name, ETHTOOL_GGRO);
    // The kernel takes the greater of both.
    face.reverse_filter =
        static_cast<int>(std::max(all, number_in(fmt::format("/proc/sys/net/ipv4/conf/{}/rp_filter", name))));
    out.push_back(std::move(face));
  }
  return out;
}

// Sends a train to oneself and looks at what comes up.
void try_loopback(Machine& machine) {
  const auto local = Address::parse("127.0.0.1", 0);
  auto takes = local ? UdpSocket::open(*local, true) : Failure<std::string>("no loopback");
  auto sends = local ? UdpSocket::open(*local, false) : Failure<std::string>("no loopback");
  if (!takes || !sends) {
    machine.loopback_trouble = !takes ? takes.error() : sends.error();
    return;
  }
  machine.receive_buffer = static_cast<std::int64_t>(takes->receive_buffer());
  int granted = 0;
  socklen_t length = sizeof granted;
  getsockopt(sends->fd(), SOL_SOCKET, SO_SNDBUF, &granted, &length);
  machine.send_buffer = granted;
  std::array<std::uint8_t, 4000> bytes{};
  iovec part{bytes.data(), bytes.size()};
  if (sends->send(takes->local(), {&part, 1}, 1000) != 0) return;
  std::size_t came = 0;
  for (int tries = 0; came < bytes.size() && tries < 20; ++tries) {
    pollfd poll{takes->fd(), POLLIN, 0};
    if (::poll(&poll, 1, 100) <= 0) break;
    std::array<std::uint8_t, 8192> buffer{};
    alignas(cmsghdr) std::array<char, 256> control{};
    iovec in{buffer.data(), buffer.size()};
    msghdr message{};
    message.msg_iov = &in;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const auto got = recvmsg(takes->fd(), &message, MSG_DONTWAIT);
    if (got <= 0) continue;
    came += static_cast<std::size_t>(got);
    machine.takes_trains |= got > 1000;
    for (const cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
         each = CMSG_NXTHDR(&message, const_cast<cmsghdr*>(each)))
      machine.timestamps |= each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_TIMESTAMPNS;
  }
  machine.sends_trains = came == bytes.size();
}

std::string mib(std::int64_t bytes) {
  return bytes >= 1 << 20 ? fmt::format("{:.0f} MiB", static_cast<double>(bytes) / (1 << 20))
                          : fmt::format("{} KiB", bytes >> 10);
}

class Judge {
 public:
  Judge(const Machine& machine, std::uint16_t port) : machine_(machine), port_(port) {}

  std::vector<Finding> all() {
    buffers();
    trains();
    timestamps();
    hashing();
    ports();
    listening();
    files();
    cores();
    for (const Interface& each : machine_.interfaces) interface(each);
    return std::move(findings_);
  }

 private:
  void say(std::string check, State state, std::string found, std::string why = {}, std::string command = {}) {
    findings_.push_back({std::move(check), state, std::move(found), std::move(why), std::move(command)});
  }

  void buffers() {
    // The kernel counts its own bookkeeping, and says twice what was asked for.
    const std::int64_t receive = machine_.receive_buffer / 2;
    const std::int64_t send = machine_.send_buffer / 2;
    const std::string found = fmt::format("{} to receive, {} to send", mib(receive), mib(send));
    if (std::min(receive, send) >= kEnoughBuffer) return say("socket_buffers", State::fine, found);
    say("socket_buffers", State::lacks, found,
        fmt::format("at 10 Gb/s {:.1f} ms of packets; what arrives while the process is not running is lost",
                    static_cast<double>(receive) * 8 / 1e7),
        fmt::format("sudo sysctl -w net.core.rmem_max={0} net.core.wmem_max={0}", kWantedBuffer));
  }

  void trains() {
    if (!machine_.loopback_trouble.empty())
      return say("trains", State::lacks, "not tried: " + machine_.loopback_trouble, "nothing can be sent");
    if (machine_.sends_trains && machine_.takes_trains)
      return say("trains", State::fine, "many packets go down and come up in one system call (GSO, GRO)");
    say("trains", State::lacks,
        machine_.sends_trains ? "packets come up one by one (no UDP_GRO)"
                              : "packets go down one by one (no UDP_SEGMENT)",
        "each packet costs a system call, three to five times the CPU; Linux from 5.0 on has both",
        "uname -r    # older than 5.0: a newer kernel");
  }

  void timestamps() {
    if (machine_.timestamps) return say("timestamps", State::fine, "the kernel says when a packet came");
    say("timestamps", State::lacks, "the kernel does not say when a packet came",
        "time that packets wait for the process counts as the network's");
  }

  void hashing() {
    const auto judge = [&](const char* check, const char* key, int policy) {
      if (policy < 0) return;
      const std::string found = fmt::format("{} = {}", key, policy);
      if (policy == 1 || policy == 3) return say(check, State::fine, found);
      const bool matters = machine_.forwards;
      say(check, matters ? State::lacks : State::note, found,
          matters ? "this machine forwards packets, and sends all source ports of two hosts by one way"
                  : "counts only if this machine has several routes to one address, or forwards: all source ports then "
                    "go by one way",
          fmt::format("sudo sysctl -w {}=1", key));
    };
    judge("hash_policy", "net.ipv4.fib_multipath_hash_policy", machine_.hash_policy);
    judge("hash_policy_v6", "net.ipv6.fib_multipath_hash_policy", machine_.hash_policy_v6);
  }

  void ports() {
    if (machine_.first_port < 0) return;
    const std::int64_t count = machine_.last_port - machine_.first_port + 1;
    const std::string found = fmt::format("{} source ports, {} to {}", count, machine_.first_port, machine_.last_port);
    if (count >= kEnoughPorts) return say("source_ports", State::fine, found);
    say("source_ports", State::lacks, found, "an endpoint takes up to 64, one for each path",
        "sudo sysctl -w net.ipv4.ip_local_port_range='32768 60999'");
  }

  void listening() {
    if (machine_.port_trouble.empty())
      return say("listening_port", State::fine, fmt::format("UDP port {} is free", port_));
    say("listening_port", State::note, machine_.port_trouble,
        "another weft run server? Otherwise listen elsewhere: weft run server 0.0.0.0:PORT",
        fmt::format("ss -ulpn sport = :{}", port_));
  }

  void files() {
    const std::string found = fmt::format("{} open files", machine_.open_files);
    if (machine_.open_files >= kEnoughFiles) return say("open_files", State::fine, found);
    say("open_files", State::lacks, found, "an endpoint takes up to 64 sockets", "ulimit -n 65536");
  }

  void cores() {
    if (machine_.cores >= 2) return say("cores", State::fine, fmt::format("{} cores", machine_.cores));
    say("cores", State::note, "one core", "whoever computes on it holds up acknowledgements");
  }

  void interface(const Interface& face) {
    const std::string check = "interface " + face.name;
    std::string found = fmt::format("MTU {}", face.mtu);
    if (face.segments >= 0) found += face.segments ? ", GSO" : ", no GSO";
    if (face.coalesces >= 0) found += face.coalesces ? ", GRO" : ", no GRO";
    if (face.segments == 0 || face.coalesces == 0)
      return say(check, State::lacks, found, "packets go through the kernel one by one",
                 fmt::format("sudo ethtool -K {} gso on gro on", face.name));
    if (face.reverse_filter == 1 && machine_.interfaces.size() > 1)
      return say(check, State::note, found + ", strict rp_filter",
                 "packets that come in by another interface than answers go out by are dropped",
                 fmt::format("sudo sysctl -w net.ipv4.conf.all.rp_filter=2 net.ipv4.conf.{}.rp_filter=2", face.name));
    if (face.mtu > 0 && face.mtu < kJumbo)
      return say(check, State::note, found,
                 "if all switches take 9000, longer packets cost less per byte; weft finds out what the paths take",
                 fmt::format("sudo ip link set dev {} mtu 9000", face.name));
    say(check, State::fine, found);
  }

  const Machine& machine_;
  std::uint16_t port_;
  std::vector<Finding> findings_;
};

}  // namespace

Machine look(std::uint16_t port) {
  Machine machine;
  try_loopback(machine);
  machine.hash_policy = static_cast<int>(number_in("/proc/sys/net/ipv4/fib_multipath_hash_policy"));
  machine.hash_policy_v6 = static_cast<int>(number_in("/proc/sys/net/ipv6/fib_multipath_hash_policy"));
  machine.forwards = number_in("/proc/sys/net/ipv4/ip_forward") == 1;
  machine.first_port = number_in("/proc/sys/net/ipv4/ip_local_port_range");
  machine.last_port = number_in("/proc/sys/net/ipv4/ip_local_port_range", 1);
  if (const auto taken = UdpSocket::open(Address::any(AF_INET, port), false); !taken)
    machine.port_trouble = taken.error();
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0)
    machine.open_files = static_cast<std::int64_t>(std::min<rlim_t>(files.rlim_cur, 1 << 30));
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) machine.cores = CPU_COUNT(&cores);
  machine.interfaces = interfaces();
  return machine;
}

std::vector<Finding> judge(const Machine& machine, std::uint16_t port) { return Judge(machine, port).all(); }

}  // namespace weft::net
