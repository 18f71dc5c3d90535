#include "measured/mentions.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

namespace weft::measured {
namespace {

using enum Mention;

struct Phrase {
  Mention mention;
  std::string_view text;
};

// Of programs; whole enough not to be found in what denies them.
constexpr std::array kPhrases = {
    Phrase{acs_on, "acsctl: srcvalid+"},
    Phrase{acs_on, "acs redirect"},
    Phrase{acs_on, "acs_ctrl=0x001d"},
    Phrase{iommu_on, "default domain type: translated"},
    Phrase{iommu_on, "intel_iommu=on"},
    Phrase{iommu_on, "amd_iommu=on"},
    Phrase{iommu_on, "iommu: translated"},
    Phrase{iommu_on, "dma-fq"},  // of /sys/kernel/iommu_groups/*/type
    Phrase{iommu_passthrough, "default domain type: passthrough"},
    Phrase{iommu_passthrough, "iommu=pt"},
    Phrase{iommu_passthrough, "iommu=off"},
    Phrase{link_downgraded, "(downgraded)"},
    Phrase{link_downgraded, "trained down"},
    Phrase{link_downgraded, "limited by pcie bandwidth"},
    Phrase{link_downgraded, "available pcie bandwidth, limited by"},
    Phrase{virtual_machine, "hypervisor detected"},
    Phrase{virtual_machine, "hypervisor vendor"},
    Phrase{virtual_machine, "virtualization type"},
    Phrase{no_shared_memory, "error while creating shared memory"},
    Phrase{no_shared_memory, "no space left on device"},
    Phrase{no_shared_memory, "error: failed to extend /dev/shm"},
    Phrase{no_shared_memory, "shm_open failed"},
    Phrase{loss, "packet_seq_err"},
    Phrase{loss, "out_of_sequence"},
    Phrase{loss, "rx_discards"},
    Phrase{loss, "local_ack_timeout"},
    Phrase{loss, "retransmission"},
    Phrase{loss, "retransmits"},
    Phrase{loss, "symbol error"},
    Phrase{throttled, "sw power cap : active"},
    Phrase{throttled, "hw slowdown : active"},
    Phrase{throttled, "thermal slowdown : active"},
    Phrase{throttled, "throttl"},
    Phrase{throttled, "clocks are low"},
    Phrase{nvlink_inactive, ": inactive"},
    Phrase{nvlink_inactive, "<inactive>"},
    Phrase{ordering_strict, "rlxdord-"},
    Phrase{nps_one, "nps=1"},
    Phrase{nps_one, "nps1"},
    Phrase{nps_one, "numa nodes per socket = 1"},
    Phrase{oversubscribed, "oversubscri"},
    Phrase{ecmp, "hash collision"},
    Phrase{ecmp, "ecmp collision"},
    Phrase{ecmp, "hash polari"},
    Phrase{small_mtu, "mtu 1500"},
    Phrase{small_mtu, "mtu=1500"},
    Phrase{slow_node, "straggler"},
    Phrase{slow_node, "slow node"},
    Phrase{slow_node, "slow gpu"},
    Phrase{slow_node, "slow machine"},
    Phrase{slow_node, "bad node"},
    Phrase{slow_node, "specific node"},
    Phrase{slow_node, "particular node"},
    Phrase{slow_node, "certain node"},
    Phrase{slow_node, "bad pair"},
    Phrase{slow_node, "slower than the other nodes"},
    Phrase{slow_port, "link speed degraded"},
    Phrase{slow_port, "port is degraded"},
    Phrase{slow_port, "physical state: polling"},
    Phrase{unreachable, "ibv_modify_qp failed"},
    Phrase{unreachable, "ibv_modify_qp_wrapper"},
    Phrase{unreachable, "transport retry counter exceeded"},
    Phrase{unreachable, "status=12"},
    Phrase{unreachable, "with error 12,"},
    Phrase{unreachable, "vendor err 129"},
    Phrase{rdma_missing, "no ib devices found"},
    Phrase{rdma_missing, "fi_getinfo: -61"},
    Phrase{rdma_missing, "failed to get ib devices list"},
    Phrase{bound, "--bind-to core"},
    Phrase{bound, "--cpu-bind=map_cpu"},
    Phrase{bound, "one core per process"},
    Phrase{imex, "imex is not"},
    Phrase{imex, "imex not"},
    Phrase{imex, "imex daemon"},
    Phrase{hang, " hang"},
    Phrase{hang, "hung"},
    Phrase{hang, "stuck"},
    Phrase{hang, "freeze"},
    Phrase{hang, "deadlock"},
    Phrase{timed_out, "collective operation timeout"},
    Phrase{timed_out, "before timing out"},
    Phrase{hidden_bus, "could not find real path of /sys/class/pci_bus"},
    Phrase{protection_error, "with error 4,"},  // IBV_WC_LOC_PROT_ERR
    Phrase{protection_error, "status=4 "},
    Phrase{protection_error, "local protection error"},
    Phrase{rdma_named, "infiniband"},
    Phrase{rdma_named, "roce"},
    Phrase{rdma_named, "rdma"},
    Phrase{rdma_named, "mlx5"},
    Phrase{rdma_named, "connectx"},
    Phrase{rdma_named, "libfabric"},
    Phrase{consumer_gpu, "geforce"},
    Phrase{consumer_gpu, "rtx 20"},
    Phrase{consumer_gpu, "rtx 30"},
    Phrase{consumer_gpu, "rtx 40"},
    Phrase{consumer_gpu, "rtx 50"},
    Phrase{epyc, "epyc"},
    Phrase{epyc, "authenticamd"},
    Phrase{bond, "mlx5_bond"},
};

// What a clause must say of its subject.
enum class Says { yes, no, not_no };

struct Subject {
  Mention mention;
  std::string_view words;
  Says says;
};

constexpr std::array kSubjects = {
    Subject{acs_on, "acs", Says::yes},
    Subject{iommu_on, "iommu", Says::yes},
    Subject{iommu_on, "vt-d", Says::yes},
    Subject{peermem_missing, "nvidia_peermem", Says::no},
    Subject{peermem_missing, "nvidia-peermem", Says::no},
    Subject{peermem_missing, "peermem", Says::no},
    Subject{peermem_missing, "nv_peer_mem", Says::no},
    Subject{peermem_missing, "nv_peer_memory", Says::no},
    Subject{peermem_missing, "gpudirect", Says::no},
    Subject{peermem_missing, "gpu direct", Says::no},
    Subject{rdma_missing, "/dev/infiniband", Says::no},
    Subject{rdma_missing, "0 hcas found", Says::not_no},
    Subject{loss, "pfc", Says::no},
    Subject{loss, "flow control", Says::no},
    Subject{nvlink_inactive, "fabric manager", Says::no},
    Subject{nvlink_inactive, "fabricmanager", Says::no},
    Subject{nvlink_inactive, "nvlink", Says::no},
    Subject{nvlink_inactive, "nvlinks", Says::no},
    Subject{ordering_strict, "relaxed ordering", Says::no},
    Subject{virtual_machine, "virtual machine", Says::not_no},
    Subject{virtual_machine, "virtual machines", Says::not_no},
    Subject{virtual_machine, "vm", Says::not_no},
    Subject{virtual_machine, "vms", Says::not_no},
    Subject{virtual_machine, "kvm", Says::not_no},
    Subject{virtual_machine, "qemu", Says::not_no},
    Subject{virtual_machine, "vmware", Says::not_no},
    Subject{virtual_machine, "vfio", Says::not_no},
    Subject{virtual_machine, "hypervisor", Says::not_no},
};

constexpr std::array<std::string_view, 7> kYes = {"on", "enabled", "enable", "active", "activated", "turned on", "set"};
constexpr std::array<std::string_view, 22> kNo = {
    "no",     "not",  "off",    "without", "missing", "disabled", "disable", "never",    "failed",  "fails", "cannot",
    "unable", "down", "broken", "lacks",   "lacking", "absent",   "stopped", "inactive", "haven't", "isn't", "wasn't"};

bool is_inner(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '\''; }

std::size_t find_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_inner(text[at - 1])) && (end == text.size() || !is_inner(text[end]))) return at;
  }
  return std::string_view::npos;
}

template <std::size_t N>
bool has_any(std::string_view clause, const std::array<std::string_view, N>& all) {
  return std::any_of(all.begin(), all.end(),
                     [&](std::string_view word) { return find_word(clause, word) != std::string_view::npos; });
}

bool holds(std::string_view clause, Says says) {
  const bool no = has_any(clause, kNo) || clause.find("n't ") != std::string_view::npos;
  const bool yes = has_any(clause, kYes);
  switch (says) {
    case Says::yes:
      return yes && !no;
    case Says::no:
      return no;
    case Says::not_no:
      return !no;
  }
  return false;
}

// GPUs that hang under a switch do not hang.
bool is_about_a_place(const Phrase& phrase, std::string_view line, std::size_t at) {
  if (phrase.mention != hang) return false;
  std::string_view rest = line.substr(at + phrase.text.size());
  for (const std::string_view ending : {"ing", "s"})
    if (rest.starts_with(ending)) rest.remove_prefix(ending.size());
  return rest.starts_with(" under") || rest.starts_with(" off") || rest.starts_with(" below") ||
         rest.starts_with(" on ") || rest.starts_with(" from");
}

constexpr std::array<std::string_view, 6> kContainers = {"container", "containers", "pod", "pods", "docker", "dockers"};
constexpr std::array<std::string_view, 9> kOneServer = {"same node",    "same host",   "same server",
                                                        "same machine", "single node", "one node",
                                                        "one host",     "one server",  "one machine"};
constexpr std::array<std::string_view, 7> kSlower = {"slow",    "slower",    "slowdown",   "regression",
                                                     "regress", "regresses", "degradation"};

constexpr std::array<std::string_view, 4> kBetween = {"between", "pair", "pairs", "combination"};
constexpr std::array<std::string_view, 6> kServers = {"node", "nodes", "server", "servers", "host", "hosts"};

// Two releases of NCCL, such as 2.18.5 and v2.20, in a line that compares how fast they are.
bool compares_releases(std::string_view line) {
  if (!has_any(line, kSlower)) return false;
  std::string_view first;
  for (std::size_t at = line.find("2."); at != std::string_view::npos; at = line.find("2.", at + 2)) {
    const auto is_digit = [&](std::size_t i) { return i < line.size() && line[i] >= '0' && line[i] <= '9'; };
    const bool begins = at == 0 || line[at - 1] == ' ' || line[at - 1] == 'v' || line[at - 1] == '(' ||
                        line[at - 1] == '-' || line[at - 1] == '=';
    if (!begins || !is_digit(at + 2)) continue;
    std::size_t end = at + 2;
    while (is_digit(end)) ++end;
    const std::string_view release = line.substr(at, end - at);
    if (first.empty())
      first = release;
    else if (release != first)
      return line.find("nccl") != std::string_view::npos;
  }
  return false;
}

// A run that a launcher started, beside one that none did.
bool compares_launchers(std::string_view line) {
  const bool both = line.find("without mpirun") != std::string_view::npos ||
                    line.find("w/o mpirun") != std::string_view::npos ||
                    line.find("without srun") != std::string_view::npos;
  return both && (has_any(line, kSlower) || find_word(line, "low") != std::string_view::npos ||
                  find_word(line, "compared") != std::string_view::npos);
}

// Two rates between nodes of one line, of which one is a fifth less: "nodes 1 + 2 (25 GB/s), 1 + 3 (39 GB/s)".
bool compares_pairs(std::string_view line) {
  constexpr double kAlike = 0.8;
  if (!has_any(line, kBetween) || !has_any(line, kServers)) return false;
  double least = 0;
  double most = 0;
  for (const std::string_view unit : {"gb/s", "gbps", "gb/sec"})
    for (std::size_t at = line.find(unit); at != std::string_view::npos; at = line.find(unit, at + 1)) {
      std::size_t end = at;
      while (end > 0 && line[end - 1] == ' ') --end;
      std::size_t begin = end;
      while (begin > 0 && ((line[begin - 1] >= '0' && line[begin - 1] <= '9') || line[begin - 1] == '.')) --begin;
      const double rate = std::atof(std::string(line.substr(begin, end - begin)).c_str());
      if (rate <= 0) continue;
      least = least == 0 ? rate : std::min(least, rate);
      most = std::max(most, rate);
    }
  return least > 0 && least < kAlike * most;
}

void add(std::vector<Mentioned>& out, Mention mention, std::size_t column) {
  const bool known =
      std::any_of(out.begin(), out.end(), [&](const Mentioned& each) { return each.mention == mention; });
  if (!known) out.push_back({mention, column});
}

}  // namespace

std::vector<Mentioned> mentions_of(std::string_view line) {
  constexpr std::size_t kMostClauses = 32;
  std::vector<Mentioned> out;
  for (const Phrase& phrase : kPhrases)
    if (const std::size_t at = line.find(phrase.text);
        at != std::string_view::npos && !is_about_a_place(phrase, line, at))
      add(out, phrase.mention, at);
  if (has_any(line, kContainers) && has_any(line, kOneServer)) add(out, isolated, 0);
  if (compares_releases(line)) add(out, slower_release, 0);
  if (compares_launchers(line)) add(out, slower_by_launcher, 0);
  if (compares_pairs(line)) add(out, pairs_differ, 0);
  std::size_t begin = 0;
  for (std::size_t clauses = 0; begin < line.size() && clauses < kMostClauses; ++clauses) {
    const std::size_t end = std::min(line.find_first_of(",;.()|\"", begin), line.size());
    const std::string_view clause = line.substr(begin, end - begin);
    for (const Subject& subject : kSubjects)
      if (const std::size_t at = find_word(clause, subject.words); at != std::string_view::npos)
        if (holds(clause, subject.says)) add(out, subject.mention, begin + at);
    begin = end + 1;
  }
  return out;
}

std::string_view name(Mention mention) {
  switch (mention) {
    case acs_on:
      return "ACS is on";
    case iommu_on:
      return "the IOMMU translates";
    case iommu_passthrough:
      return "the IOMMU passes through";
    case peermem_missing:
      return "nvidia_peermem is missing";
    case link_downgraded:
      return "a PCIe link is downgraded";
    case virtual_machine:
      return "a virtual machine";
    case no_shared_memory:
      return "no shared memory";
    case loss:
      return "packets are lost";
    case throttled:
      return "clocks are held back";
    case nvlink_inactive:
      return "NVLinks or their fabric manager are inactive";
    case ordering_strict:
      return "relaxed ordering is off";
    case nps_one:
      return "NPS is 1";
    case oversubscribed:
      return "the network is oversubscribed";
    case ecmp:
      return "flows collide";
    case small_mtu:
      return "a small MTU";
    case slow_node:
      return "a slow node";
    case slow_port:
      return "a port below its rate";
    case imex:
      return "the IMEX daemon";
    case hang:
      return "it hangs";
    case unreachable:
      return "a NIC does not reach another";
    case bound:
      return "processes are bound to few cores";
    case rdma_missing:
      return "no RDMA device";
    case timed_out:
      return "a collective timed out";
    case hidden_bus:
      return "a PCI path that the kernel does not show";
    case isolated:
      return "containers on one server";
    case slower_release:
      return "one release is slower than another";
    case protection_error:
      return "a NIC may not reach memory (completion with error 4)";
    case rdma_named:
      return "a network with RDMA";
    case consumer_gpu:
      return "GeForce cards";
    case epyc:
      return "AMD EPYC";
    case bond:
      return "ports are bonded";
    case pairs_differ:
      return "some pairs of servers are slower than others";
    case slower_by_launcher:
      return "started by a launcher it is slower";
  }
  return "";
}

}  // namespace weft::measured
