#include "measured/mentions.hpp"

#include <array>

namespace weft::measured {
namespace {

using enum Mention;

// Whole enough not to be found in what denies them ("ACS off", "no VM").
constexpr std::array kPhrases = {
    Phrase{acs_on, "acsctl: srcvalid+"},
    Phrase{acs_on, "acs is enabled"},
    Phrase{acs_on, "acs enabled"},
    Phrase{acs_on, "acs is on"},
    Phrase{acs_on, "acs on"},
    Phrase{acs_on, "acs redirect"},
    Phrase{acs_on, "acs_ctrl=0x001d"},
    Phrase{iommu_on, "default domain type: translated"},
    Phrase{iommu_on, "iommu enabled"},
    Phrase{iommu_on, "iommu is enabled"},
    Phrase{iommu_on, "iommu on"},
    Phrase{iommu_on, "intel_iommu=on"},
    Phrase{iommu_on, "amd_iommu=on"},
    Phrase{iommu_on, "iommu: translated"},
    Phrase{iommu_passthrough, "default domain type: passthrough"},
    Phrase{iommu_passthrough, "iommu=pt"},
    Phrase{iommu_passthrough, "iommu=off"},
    Phrase{peermem_missing, "nvidia_peermem not"},
    Phrase{peermem_missing, "nvidia_peermem is not"},
    Phrase{peermem_missing, "nvidia-peermem not"},
    Phrase{peermem_missing, "nv_peer_mem not"},
    Phrase{peermem_missing, "nv_peer_mem is not"},
    Phrase{peermem_missing, "missing nv_peer"},
    Phrase{peermem_missing, "module nvidia_peermem not found"},
    Phrase{link_downgraded, "(downgraded)"},
    Phrase{link_downgraded, "trained down"},
    Phrase{link_downgraded, "limited by pcie bandwidth"},
    Phrase{link_downgraded, "available pcie bandwidth, limited by"},
    Phrase{virtual_machine, "hypervisor detected"},
    Phrase{virtual_machine, "hypervisor vendor"},
    Phrase{virtual_machine, "virtualization type"},
    Phrase{virtual_machine, "virtual machine"},
    Phrase{virtual_machine, "qemu"},
    Phrase{virtual_machine, "vmware"},
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
    Phrase{loss, "pfc is not"},
    Phrase{loss, "pfc not"},
    Phrase{loss, "without pfc"},
    Phrase{loss, "symbol error"},
    Phrase{throttled, "sw power cap : active"},
    Phrase{throttled, "hw slowdown : active"},
    Phrase{throttled, "thermal slowdown : active"},
    Phrase{throttled, "throttl"},
    Phrase{throttled, "clocks are low"},
    Phrase{nvlink_inactive, ": inactive"},
    Phrase{nvlink_inactive, "<inactive>"},
    Phrase{nvlink_inactive, "fabric manager is not"},
    Phrase{nvlink_inactive, "fabric manager not"},
    Phrase{nvlink_inactive, "nvlink is down"},
    Phrase{nvlink_inactive, "nvlink down"},
    Phrase{ordering_strict, "rlxdord-"},
    Phrase{nps_one, "nps=1"},
    Phrase{nps_one, "nps1"},
    Phrase{nps_one, "numa nodes per socket = 1"},
    Phrase{oversubscribed, "oversubscri"},
    Phrase{ecmp, "hash collision"},
    Phrase{ecmp, "ecmp collision"},
    Phrase{ecmp, "hash polari"},
    Phrase{small_mtu, "active_mtu: 1024"},
    Phrase{small_mtu, "mtu 1500"},
    Phrase{small_mtu, "mtu=1500"},
    Phrase{slow_node, "straggler"},
    Phrase{slow_node, "slow node"},
    Phrase{slow_node, "slow gpu"},
    Phrase{slow_port, "link speed degraded"},
    Phrase{slow_port, "port is degraded"},
    Phrase{slow_port, "speed: 10000mb/s"},
    Phrase{slow_port, "speed: 25000mb/s"},
    Phrase{imex, "imex is not"},
    Phrase{imex, "imex not"},
    Phrase{imex, "imex daemon"},
    Phrase{hang, " hang"},
    Phrase{hang, "hung"},
};

}  // namespace

std::span<const Phrase> phrases() {
  return kPhrases;
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
  }
  return "";
}

}  // namespace weft::measured
