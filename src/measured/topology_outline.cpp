// From a NCCL topology to a server: where GPUs and NICs hang, what they are, and what joins them.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "measured/hardware.hpp"
#include "measured/server_outline.hpp"

namespace weft::measured {
namespace {

using spec::Error;
using spec::Place;

constexpr std::string_view kHidden = "fffffff:";  // begins NCCL's name for a switch that a virtual machine cannot see
constexpr std::int64_t kDirect = -1;              // below a CPU, without a PCIe switch
constexpr std::int64_t kMostParts = 256;          // of a kind in a server, as the cluster file has it

// A GPU or NIC and where it hangs.
struct AttachedDevice {
  const PciDevice* device = nullptr;  // nullptr for an interface that is no PCI device
  std::vector<TopologyNet> nets;
  std::int64_t socket = 0;
  std::int64_t root = kDirect;
  std::int64_t gen = 0;
  std::int64_t lanes = 0;
  Place place;
};

// What most of them have, and of two the better; 0 when none says.
template <class Get>
std::int64_t usual(const std::vector<AttachedDevice>& parts, Get get) {
  std::map<std::int64_t, std::size_t> counts;
  for (const AttachedDevice& part : parts)
    if (get(part) > 0) ++counts[get(part)];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second <= b.second; });
  return most == counts.end() ? 0 : most->first;
}

class OutlineMaker {
 public:
  OutlineMaker(const Topology& topology, const model::Catalog& catalog, spec::Diagnostics& diagnostics)
      : topology_(topology), catalog_(catalog), diagnostics_(diagnostics) {}

  std::optional<ServerOutline> make() {
    collect();
    named_ = named_server();
    if (!unknown_.empty() && !classify()) return std::nullopt;
    if (gpus_.empty() || std::max(gpus_.size(), nics_.size()) > kMostParts) {
      refuse(gpus_.empty() ? "the file has no GPUs"
                           : fmt::format("the server has {} GPUs and {} NICs", gpus_.size(), nics_.size()),
             gpus_.empty() ? "a file that NCCL_TOPO_DUMP_FILE wrote while a job ran"
                           : fmt::format("at most {} of each", kMostParts));
      return std::nullopt;
    }
    sort_parts();
    if (!all_nvidia()) return std::nullopt;
    choose_gpu();
    find_weak_bridges();
    choose_nic();
    place_parts();
    join_gpus();
    if (out_.nvlink.empty()) out_.hosts = 1;  // hosts that share nothing
    join_sockets();
    return std::move(out_);
  }

 private:
  void refuse(std::string message, std::string help) {
    diagnostics_.add(Error::bad_topology, {topology_.source, 0, 0, 1}, std::move(message), std::move(help));
  }
  void leaves_open(Place place, std::string message, std::string help) {
    diagnostics_.add(Error::open_topology, place, std::move(message), std::move(help));
  }

  // ---- where everything hangs

  void collect() {
    std::set<std::string> hosts;
    for (const TopologyCpu& cpu : topology_.cpus) hosts.insert(cpu.host);
    out_.hosts = static_cast<std::int64_t>(hosts.size());
    const std::string& first = topology_.cpus.front().host;
    for (const TopologyCpu& cpu : topology_.cpus) {
      if (cpu.host != first) continue;
      const std::size_t before = parts();
      for (const PciDevice& device : cpu.devices) collect(device, kDirect);
      for (const TopologyNet& net : cpu.nets)  // NCCL lists an interface below each CPU
        if (interfaces_.insert(net.name).second) nics_.push_back({nullptr, {net}, socket_, kDirect, 0, 0, net.place});
      if (parts() == before) continue;  // a NUMA node with nothing that matters
      cpus_.push_back(&cpu);
      ++socket_;
    }
  }

  std::size_t parts() const { return gpus_.size() + nics_.size() + unknown_.size(); }

  void collect(const PciDevice& device, std::int64_t root) {
    const AttachedDevice part{&device, device.nets, socket_, root, device.gen, device.lanes, device.place};
    // In a dump, devices without <gpu> or <nic> are there but not used.
    if (device.kind == PciDevice::Kind::gpu && (device.gpu || !topology_.is_dump)) gpus_.push_back(part);
    if (device.kind == PciDevice::Kind::nic && (!device.nets.empty() || !topology_.is_dump)) nics_.push_back(part);
    if (device.kind == PciDevice::Kind::unknown && !topology_.is_dump) unknown_.push_back(part);
    if (device.below.empty()) return;
    // A switch of switches counts as one: what hangs below it never passes the CPU.
    if (root == kDirect) {
      root = static_cast<std::int64_t>(root_socket_.size());
      root_socket_.push_back(socket_);
      bridges_.push_back(&device);
    }
    for (const PciDevice& below : device.below) collect(below, root);
  }

  // The server of the catalog that the comments name, if its counts are those of the file.
  std::optional<model::ServerKind> named_server() {
    std::string best;
    for (const std::string& name : catalog_.names("servers"))
      if (topology_.comments.find(name) != std::string::npos && name.size() > best.size()) best = name;
    if (best.empty()) return std::nullopt;
    auto server = catalog_.load<model::ServerKind>("servers", best, diagnostics_);
    const auto all = static_cast<std::int64_t>(parts());
    if (!server || (all != server->gpus + server->nics && all != server->nics)) return std::nullopt;
    return server;
  }

  // Devices without a class: GPUs, NICs, or both?
  bool classify() {
    if (named_ && static_cast<std::int64_t>(unknown_.size()) == named_->nics) {
      nics_ = unknown_;
      add_gpus_of_named();
    } else if (root_socket_.empty()) {
      split_by_socket();
    } else {
      diagnostics_.add(Error::bad_topology, unknown_[0].place,
                       fmt::format("{} without a class: GPUs or NICs?",
                                   counted(static_cast<std::int64_t>(unknown_.size()), "device")),
                       "class=\"0x030200\" for GPUs and 0x020000 for NICs, or a file that NCCL_TOPO_DUMP_FILE wrote "
                       "while a job ran");
      return false;
    }
    leaves_open(unknown_[0].place, "the file does not say which devices are GPUs and which are NICs",
                fmt::format("{} and {} were taken", counted(static_cast<std::int64_t>(gpus_.size()), "GPU"),
                            counted(static_cast<std::int64_t>(nics_.size()), "NIC")));
    return true;
  }

  void add_gpus_of_named() {
    const auto places = static_cast<std::int64_t>(root_socket_.size());
    for (std::int64_t i = 0; i < named_->gpus; ++i) {
      AttachedDevice gpu = unknown_[0];
      gpu.device = nullptr;
      gpu.root = places > 0 ? i * places / named_->gpus : kDirect;
      gpu.socket = places > 0 ? root_socket_[static_cast<std::size_t>(gpu.root)] : i * socket_ / named_->gpus;
      gpu.gen = named_->pcie_gen;
      gpu.lanes = named_->pcie_lanes;
      gpus_.push_back(gpu);
    }
  }

  // Sockets have equally many GPUs; what one has beyond that are NICs.
  void split_by_socket() {
    std::vector<std::int64_t> of_socket(static_cast<std::size_t>(socket_));
    for (const AttachedDevice& part : unknown_) ++of_socket[static_cast<std::size_t>(part.socket)];
    const std::int64_t each = *std::min_element(of_socket.begin(), of_socket.end());
    std::vector<std::int64_t> taken(of_socket.size());
    for (const AttachedDevice& part : unknown_)
      (taken[static_cast<std::size_t>(part.socket)]++ < each ? gpus_ : nics_).push_back(part);
  }

  // Other makers' libraries write files of the same shape.
  bool all_nvidia() {
    for (const AttachedDevice& gpu : gpus_) {
      if (gpu.device == nullptr) continue;
      if (gpu.device->vendor == kAmd || (gpu.device->gpu && gpu.device->gpu->of_rccl)) {
        diagnostics_.add(Error::bad_topology, gpu.place, "a file of RCCL, with AMD GPUs",
                         "MI300X, MI355X and their xGMI links are not modelled: no NVIDIA GPU stands in for them");
        return false;
      }
      if (gpu.device->vendor == 0 || gpu.device->vendor == kNvidia) continue;
      diagnostics_.add(Error::bad_topology, gpu.place,
                       fmt::format("a GPU of vendor {:#06x}, which is not NVIDIA", gpu.device->vendor),
                       "a cluster file can describe any accelerator");
      return false;
    }
    return true;
  }

  // NCCL numbers GPUs and interfaces itself; without numbers, by bus id, which is how the driver counts.
  void sort_parts() {
    const auto bus = [](const AttachedDevice& part) {
      return part.device == nullptr ? std::string() : part.device->bus_id;
    };
    const auto dev = [](const AttachedDevice& part) {
      return part.device == nullptr || !part.device->gpu ? std::optional<std::int64_t>() : part.device->gpu->dev;
    };
    const bool numbered =
        std::all_of(gpus_.begin(), gpus_.end(), [&](const AttachedDevice& part) { return dev(part).has_value(); });
    std::stable_sort(gpus_.begin(), gpus_.end(), [&](const AttachedDevice& a, const AttachedDevice& b) {
      return numbered ? dev(a) < dev(b) : bus(a) < bus(b);
    });
    const bool named =
        std::all_of(nics_.begin(), nics_.end(), [](const AttachedDevice& part) { return !part.nets.empty(); });
    std::stable_sort(nics_.begin(), nics_.end(), [&](const AttachedDevice& a, const AttachedDevice& b) {
      return named ? a.nets[0].dev < b.nets[0].dev : bus(a) < bus(b);
    });
  }

  void place_parts() {
    out_.gpus = static_cast<std::int64_t>(gpus_.size());
    out_.nics = static_cast<std::int64_t>(nics_.size());
    out_.sockets = std::max<std::int64_t>(1, socket_);
    // Switches that hold something, and one for what hangs off a CPU directly where others do not.
    const bool switched = !root_socket_.empty();
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> numbers;
    const auto key = [](const AttachedDevice& part) {
      return std::pair(part.root == kDirect ? INT64_MAX : part.root, part.root == kDirect ? part.socket : 0);
    };
    for (const auto* list : {&gpus_, &nics_})
      for (const AttachedDevice& part : *list)
        if (switched) numbers[key(part)];
    std::int64_t next = 0;
    for (auto& [root, number] : numbers) {
      number = next++;
      out_.switch_socket.push_back(root.first == INT64_MAX ? root.second
                                                           : root_socket_[static_cast<std::size_t>(root.first)]);
    }
    out_.pcie_switches = next;
    const auto where = [&](const AttachedDevice& part) { return switched ? numbers.at(key(part)) : part.socket; };
    for (const AttachedDevice& gpu : gpus_) out_.gpu_switch.push_back(where(gpu));
    for (const AttachedDevice& nic : nics_) out_.nic_switch.push_back(where(nic));
  }

  // ---- what the parts are

  // A virtual machine may claim any generation; the CPU it runs on is real.
  void cap_by_cpu(std::vector<AttachedDevice>& list) {
    if (topology_.is_dump) return;
    for (AttachedDevice& part : list) {
      const TopologyCpu& cpu = *cpus_[static_cast<std::size_t>(part.socket)];
      const std::int64_t most = cpu_by_id(cpu.arch, cpu.vendor, cpu.family, cpu.model).pcie_gen;
      if (cpu.vendor.empty() || part.root != kDirect || part.gen <= most) continue;
      part.gen = most;
      if (capped_) continue;
      capped_ = true;
      leaves_open(part.place, fmt::format("the CPU has PCIe {} only", most),
                  fmt::format("PCIe {} was taken for what hangs off it", most));
    }
  }

  static std::int64_t nvlinks_of(const AttachedDevice& part) {
    return part.device != nullptr && part.device->gpu ? part.device->gpu->links() : 0;
  }

  void find_weak(const std::vector<AttachedDevice>& list, std::string_view what, std::int64_t gen, std::int64_t lanes) {
    std::int64_t links = 0;
    for (const AttachedDevice& part : list) links = std::max(links, nvlinks_of(part));
    for (std::size_t i = 0; i < list.size(); ++i) {
      WeakPart weak{what == "GPU" ? WeakPart::Kind::gpu : WeakPart::Kind::nic,
                    static_cast<std::int64_t>(i),
                    gen,
                    lanes,
                    nvlinks_of(list[i]),
                    list[i].place};
      if (list[i].gen > 0) weak.pcie_gen = list[i].gen;
      if (list[i].lanes > 0) weak.pcie_lanes = list[i].lanes;
      const bool slow = weak.pcie_gen < gen || weak.pcie_lanes < lanes;
      if (slow)
        diagnostics_.add(Error::weak_link, weak.place,
                         fmt::format("the link of {} {} is PCIe {} x{}", what, i, weak.pcie_gen, weak.pcie_lanes),
                         fmt::format("PCIe {} x{}, as the others", gen, lanes));
      if (weak.nvlinks < links)
        diagnostics_.add(Error::weak_link, weak.place, fmt::format("GPU {} has {}", i, counted(weak.nvlinks, "NVLink")),
                         fmt::format("{}, as the others", links));
      if (slow || weak.nvlinks < links) out_.weak.push_back(weak);
    }
  }

  // A virtual machine may put its GPUs below bridges that claim PCIe 1 x1, and NCCL believes them.
  void find_weak_bridges() {
    for (std::size_t i = 0; i < bridges_.size(); ++i) {
      const PciDevice& bridge = *bridges_[i];
      const bool used = std::any_of(gpus_.begin(), gpus_.end(), [&](const AttachedDevice& gpu) {
        return gpu.root == static_cast<std::int64_t>(i);
      });
      const bool slow =
          (bridge.gen > 0 && bridge.gen < out_.pcie_gen) || (bridge.lanes > 0 && bridge.lanes < out_.pcie_lanes);
      if (!used || !slow) continue;
      out_.weak.push_back(
          {WeakPart::Kind::pcie_switch, static_cast<std::int64_t>(i), bridge.gen, bridge.lanes, 0, bridge.place});
      diagnostics_.add(Error::weak_link, bridge.place,
                       fmt::format("the link of PCIe switch {} is PCIe {} x{}", i, bridge.gen, bridge.lanes),
                       fmt::format("PCIe {} x{}, as the GPUs below it; it is taken for that here, but not by NCCL",
                                   out_.pcie_gen, out_.pcie_lanes));
    }
  }

  void choose_gpu() {
    cap_by_cpu(gpus_);
    const AttachedDevice& first = gpus_.front();
    std::int64_t gen = usual(gpus_, [](const AttachedDevice& part) { return part.gen; });
    const std::int64_t lanes = usual(gpus_, [](const AttachedDevice& part) { return part.lanes; });
    const TopologyGpu* gpu = first.device != nullptr && first.device->gpu ? &*first.device->gpu : nullptr;
    chip_ = first.device == nullptr ? nullptr : gpu_by_device(first.device->device);
    if (chip_ == nullptr && gpu != nullptr && gpu->sm)
      chip_ = gpu_by_capability(*gpu->sm, gpu->links() > 0, gpu->c2c.has_value());
    if (chip_ == nullptr && named_) chip_ = gpu_by_kind(named_->gpu.kind);
    if (chip_ == nullptr && !efa_kind().empty()) {
      chip_ = gpu_by_kind(gpus_beside_efa());
      leaves_open(first.place, "the file does not say which GPUs these are",
                  fmt::format("{} was taken, as AWS has them beside {} {}; --set servers.gpu=KIND says it", chip_->kind,
                              nics_.size(), efa_kind()));
    }
    if (chip_ == nullptr) {
      chip_ = &gpu_by_generation(gen, gen > 0);
      leaves_open(first.place, "the file does not say which GPUs these are",
                  fmt::format("{} was taken; --set servers.gpu=KIND says it", chip_->kind));
    }
    out_.gpu = chip_->kind;
    if (gen == 0) gen = chip_->pcie_gen;
    out_.pcie_lanes = lanes > 0 ? lanes : 16;
    find_weak(gpus_, "GPU", gen, out_.pcie_lanes);
    out_.pcie_gen = std::max<std::int64_t>(gen, 3);
    if (gen < 3)
      diagnostics_.add(Error::weak_link, first.place, fmt::format("the GPUs are on PCIe {}", gen),
                       "an idle GPU lowers its link: dump the topology while a job runs; PCIe 3 was taken");
    if (gpu != nullptr && gpu->c2c)
      out_.host_link = Bandwidth(gpu->c2c->megabytes_per_second * gpu->c2c->count * 8'000'000 * 2);
  }

  // What a NIC says it carries, in all its ports; 0 when it does not say.
  static std::int64_t said_rate(const AttachedDevice& nic) {
    std::int64_t sum = 0;
    for (const TopologyNet& net : nic.nets) sum += net.megabits_per_second.value_or(0) * 1'000'000;
    return sum;
  }

  // Names that the driver gives to EFA alone, by which version has that rate; empty: these are others.
  std::string_view efa_kind() const {
    if (nics_.empty() || nics_[0].nets.empty()) return {};
    const std::string& name = nics_[0].nets[0].name;
    if (!name.starts_with("rdmap") && !name.starts_with("efa")) return {};
    const std::int64_t gigabits = said_rate(nics_[0]) / 1'000'000'000;
    return gigabits >= 400 ? "efa-v4" : gigabits >= 200 ? "efa-v3" : nics_.size() > 8 ? "efa-v2" : "efa-v1";
  }
  std::string_view gpus_beside_efa() const {
    const std::string_view nic = efa_kind();
    return nic == "efa-v4" ? "b200" : nic == "efa-v3" ? "h200-sxm" : nic == "efa-v2" ? "h100-sxm" : "a100-40-sxm";
  }

  // Collectives use the fastest NICs; a slower one beside them is for something else.
  void drop_slow_nics() {
    std::int64_t fastest = 0;
    for (const AttachedDevice& nic : nics_) fastest = std::max(fastest, said_rate(nic));
    for (const AttachedDevice& nic : nics_)
      if (said_rate(nic) < fastest)
        leaves_open(nic.place,
                    fmt::format("{} is slower than the other NICs", nic.nets.empty() ? "a NIC" : nic.nets[0].name),
                    "it was left out");
    std::erase_if(nics_, [&](const AttachedDevice& nic) { return said_rate(nic) < fastest; });
  }

  void choose_nic() {
    drop_slow_nics();
    if (nics_.empty()) return;
    cap_by_cpu(nics_);
    const AttachedDevice& first = nics_.front();
    std::int64_t gen = usual(nics_, [](const AttachedDevice& part) { return part.gen; });
    std::int64_t lanes = usual(nics_, [](const AttachedDevice& part) { return part.lanes; });
    const NicChip* chip = first.device == nullptr ? nullptr : nic_by_device(first.device->vendor, first.device->device);
    std::int64_t rate = said_rate(first);
    out_.nic = chip != nullptr ? chip->kind : named_ ? named_->nic.kind : efa_kind();
    if (out_.nic.empty()) {
      // Without a rate: what is sold for such a slot, 100 Gb/s for 16 lanes of PCIe 3 and twice as much each time.
      const std::int64_t slot = std::int64_t{100} << std::clamp<std::int64_t>(gen - 3, 0, 3);
      if (rate == 0)
        leaves_open(
            first.place, "the file does not say which NICs these are",
            fmt::format("{} Gb/s were taken, as its slot allows; --set servers.nic.rate=200Gbps says it", slot));
      if (rate == 0) rate = slot * 1'000'000'000;
      out_.nic = nic_by_rate(rate / 1'000'000'000);
    }
    const auto kind = catalog_.load<model::NicKind>("nics", out_.nic, diagnostics_);
    if (!kind) return;
    if (rate == 0) rate = named_ && named_->nic.kind == out_.nic ? named_->nic.rate.count() : kind->rate.count();
    if (gen == 0) gen = kind->pcie_gen;
    if (lanes == 0) lanes = kind->pcie_lanes;
    find_weak(nics_, "NIC", gen, lanes);
    out_.nic_rate = Bandwidth(std::max<std::int64_t>(rate, 1'000'000'000));
    out_.nic_gen = std::max<std::int64_t>(gen, 3);
    out_.nic_lanes = lanes;
    out_.nic_ports = std::clamp<std::int64_t>(static_cast<std::int64_t>(first.nets.size()), 1, 16);
    for (const AttachedDevice& nic : nics_) out_.nic_names.push_back(nic.nets.empty() ? "" : nic.nets[0].name);
  }

  // ---- what joins them

  void join_gpus() {
    if (chip_->nvlink.empty()) return;
    if (!topology_.is_dump) return guess_nvlinks();
    std::map<std::string, std::size_t> by_bus;
    for (std::size_t i = 0; i < gpus_.size(); ++i) by_bus[gpus_[i].device->bus_id] = i;
    out_.nvlinks_between.assign(gpus_.size(), std::vector<std::int64_t>(gpus_.size(), 0));
    std::set<std::string> switches;
    std::int64_t most = 0;
    std::int64_t least = INT64_MAX;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const TopologyGpu& gpu = *gpus_[i].device->gpu;
      most = std::max(most, gpu.links());
      if (gpu.links() > 0) least = std::min(least, gpu.links());  // one without any is found elsewhere
      for (const NvLinks& links : gpu.nvlinks) {
        if (links.kind == NvLinks::Kind::nvswitch) switches.insert(links.target);
        if (const auto peer = by_bus.find(links.target); peer != by_bus.end())
          out_.nvlinks_between[i][peer->second] += links.count;
      }
    }
    if (most == 0) return;
    if (switches.empty() && !all_joined()) {
      leaves_open(gpus_[0].place, "the NVLinks do not join all GPUs",
                  "the model knows networks of all GPUs only: these links are left out");
      return;
    }
    out_.nvlink = chip_->nvlink;
    out_.nvlinks_per_gpu = least;
    out_.nvlink_direct = switches.empty();
    out_.nvswitches =
        std::min<std::int64_t>(std::max<std::int64_t>(1, static_cast<std::int64_t>(switches.size())), 1024);
    const bool hidden = std::any_of(switches.begin(), switches.end(),
                                    [](const std::string& target) { return target.starts_with(kHidden); });
    if (hidden)
      if (const auto like = catalog_server_with(out_.gpu, out_.gpus, catalog_, diagnostics_); like && like->scale_up)
        out_.nvswitches = std::max<std::int64_t>(1, like->scale_up->switches);
    if (out_.nvlink_direct)
      leaves_open(
          gpus_[0].place, "NVLinks join the GPUs directly, without a switch",
          fmt::format("a switch with {} per GPU stands for them: right for rings over all GPUs, too fast between two",
                      counted(least, "link")));
  }

  bool all_joined() const {
    std::vector<std::size_t> reached = {0};
    std::vector<bool> seen(gpus_.size());
    seen[0] = true;
    for (std::size_t at = 0; at < reached.size(); ++at)
      for (std::size_t peer = 0; peer < gpus_.size(); ++peer) {
        if (seen[peer] || out_.nvlinks_between[reached[at]][peer] + out_.nvlinks_between[peer][reached[at]] == 0)
          continue;
        seen[peer] = true;
        reached.push_back(peer);
      }
    return reached.size() == gpus_.size() && gpus_.size() > 1;
  }

  // A template says nothing of NVLink: what such servers have.
  void guess_nvlinks() {
    const auto link = catalog_.load<model::LinkKind>("links", std::string(chip_->nvlink), diagnostics_);
    if (!link) return;
    const auto like = named_ ? named_ : catalog_server_with(out_.gpu, out_.gpus, catalog_, diagnostics_);
    out_.nvlink = chip_->nvlink;
    out_.nvlinks_per_gpu = link->links.value_or(1);
    out_.nvswitches = like && like->scale_up && like->scale_up->switches > 0 ? like->scale_up->switches : 1;
    leaves_open(gpus_[0].place, "the file does not say how NVLink joins the GPUs",
                fmt::format("{} to {} were taken, as in other servers with {}", counted(out_.nvlinks_per_gpu, "link"),
                            counted(out_.nvswitches, "switch"), out_.gpu));
  }

  void join_sockets() {
    if (out_.sockets == 1) return;
    const TopologyCpu& cpu = *cpus_.front();
    out_.socket_link = cpu_by_id(cpu.arch, cpu.vendor, cpu.family, cpu.model).socket_link;
    if (named_ && cpu.family == 0 && named_->socket_link) out_.socket_link = named_->socket_link->kind;
  }

  const Topology& topology_;
  const model::Catalog& catalog_;
  spec::Diagnostics& diagnostics_;
  ServerOutline out_;
  std::vector<AttachedDevice> gpus_;
  std::vector<AttachedDevice> nics_;
  std::vector<AttachedDevice> unknown_;
  std::vector<const TopologyCpu*> cpus_;
  std::vector<std::int64_t> root_socket_;
  std::vector<const PciDevice*> bridges_;  // by root
  std::set<std::string> interfaces_;
  std::int64_t socket_ = 0;
  std::optional<model::ServerKind> named_;
  const GpuChip* chip_ = nullptr;
  bool capped_ = false;
};

}  // namespace

std::optional<ServerOutline> outline_of(const Topology& topology, const model::Catalog& catalog,
                                        spec::Diagnostics& diagnostics) {
  return OutlineMaker(topology, catalog, diagnostics).make();
}

}  // namespace weft::measured
