// From the matrix of nvidia-smi to a server: devices that meet below a PCIe switch share one, devices that
// meet in a NUMA node share a CPU. Rates are not in the matrix and follow from what the parts most likely are.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/text.hpp"
#include "measured/hardware.hpp"
#include "measured/smi_matrix.hpp"

namespace weft::measured {
namespace {

using Path = SmiMatrix::Path;

// Sets of devices that are joined by some relation, numbered in the order of their first members.
std::vector<std::int64_t> sets(const SmiMatrix& matrix, const auto& joined) {
  const std::size_t n = matrix.devices.size();
  std::vector<std::size_t> leader(n);
  std::iota(leader.begin(), leader.end(), std::size_t{0});
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (leader[a] != leader[b] && joined(a, b))
        std::replace(leader.begin(), leader.end(), std::max(leader[a], leader[b]), std::min(leader[a], leader[b]));
  std::map<std::size_t, std::int64_t> numbers;
  std::vector<std::int64_t> out;
  for (const std::size_t each : leader)
    out.push_back(numbers.try_emplace(each, static_cast<std::int64_t>(numbers.size())).first->second);
  return out;
}

struct Nvlinks {
  std::int64_t per_gpu = 0;  // of the GPU with the fewest
  std::int64_t between = 0;  // the fewest between two GPUs
  bool through_switch = false;
};

Nvlinks count_links(const SmiMatrix& matrix) {
  Nvlinks out{INT64_MAX, INT64_MAX, false};
  std::int64_t most = 0;
  for (std::size_t a = 0; a < matrix.devices.size(); ++a) {
    if (!matrix.devices[a].is_gpu) continue;
    std::int64_t sum = 0;
    for (std::size_t b = 0; b < matrix.devices.size(); ++b) {
      if (!matrix.devices[b].is_gpu || a == b) continue;
      sum += matrix.cells[a][b].links;
      out.between = std::min(out.between, matrix.cells[a][b].links);
    }
    out.per_gpu = std::min(out.per_gpu, sum);
    most = std::max(most, sum);
  }
  constexpr std::int64_t kMostLinksOfAGpu = 18;
  // Through a switch every pair shows all links of a GPU, which add up to more than there are.
  out.through_switch = most > kMostLinksOfAGpu && out.between > 0 && out.between <= kMostLinksOfAGpu;
  if (out.through_switch) out.per_gpu = out.between;
  return out;
}

// Sets of GPUs that NVLinks join.
std::int64_t gpu_islands(const SmiMatrix& matrix) {
  const std::vector<std::int64_t> joined =
      sets(matrix, [&](std::size_t a, std::size_t b) { return matrix.cells[a][b].links > 0; });
  std::set<std::int64_t> out;
  for (std::size_t i = 0; i < joined.size(); ++i)
    if (matrix.devices[i].is_gpu) out.insert(joined[i]);
  return static_cast<std::int64_t>(out.size());
}

const GpuChip& chip_of(const SmiMatrix& matrix, const std::string& gpu_name, std::int64_t links,
                       spec::Diagnostics& diagnostics) {
  if (const GpuChip* chip = gpu_by_name(gpu_name)) return *chip;
  const GpuChip& chip = *gpu_by_kind(links > 12  ? "h100-sxm"
                                     : links > 6 ? "a100-80-sxm"
                                     : links > 0 ? "v100-sxm"
                                                 : "l40s");
  diagnostics.add(spec::Error::open_topology, matrix.devices[0].place, "the matrix does not say which GPUs these are",
                  fmt::format("{} was taken, by its NVLinks; --set servers.gpu=KIND says it", chip.kind));
  return chip;
}

void add_nics(const SmiMatrix& matrix, ServerOutline& out, spec::Diagnostics& diagnostics) {
  for (const SmiMatrix::Device& device : matrix.devices)
    if (!device.is_gpu) out.nic_names.push_back(device.interface.empty() ? device.name : device.interface);
  out.nics = static_cast<std::int64_t>(out.nic_names.size());
  if (out.nics == 0) return;
  out.nic_gen = out.pcie_gen;
  const std::int64_t gigabits = std::int64_t{100} << std::clamp<std::int64_t>(out.pcie_gen - 3, 0, 3);
  out.nic_rate = gigabits_per_second(gigabits);
  out.nic = nic_by_rate(gigabits);
  diagnostics.add(
      spec::Error::open_topology, matrix.devices[static_cast<std::size_t>(out.gpus)].place,
      "the matrix does not say how fast the NICs are",
      fmt::format("{} Gb/s were taken, as their slots allow; --set servers.nic.rate=200Gbps says it", gigabits));
}

void place_parts(const SmiMatrix& matrix, ServerOutline& out) {
  const auto path = [&](std::size_t a, std::size_t b) { return matrix.cells[a][b].path; };
  const auto on_switch = [&](std::size_t a, std::size_t b) {
    return path(a, b) == Path::pix || path(a, b) == Path::pxb;
  };
  const std::vector<std::int64_t> roots = sets(matrix, on_switch);
  const std::vector<std::int64_t> sockets = sets(matrix, [&](std::size_t a, std::size_t b) {
    const SmiMatrix::Device& one = matrix.devices[a];
    const SmiMatrix::Device& other = matrix.devices[b];
    const auto first_cores = [](const SmiMatrix::Device& device) {
      return device.cpus.substr(0, device.cpus.find(','));
    };
    const bool same_node =
        (one.numa && one.numa == other.numa) || (!one.cpus.empty() && first_cores(one) == first_cores(other));
    return same_node || (path(a, b) >= Path::pix && path(a, b) <= Path::node);
  });
  const std::int64_t root_count = *std::max_element(roots.begin(), roots.end()) + 1;
  const bool switched = root_count < static_cast<std::int64_t>(matrix.devices.size());
  out.sockets = *std::max_element(sockets.begin(), sockets.end()) + 1;
  out.pcie_switches = switched ? root_count : 0;
  out.switch_socket.resize(static_cast<std::size_t>(out.pcie_switches));
  for (std::size_t i = 0; i < matrix.devices.size(); ++i) {
    (matrix.devices[i].is_gpu ? out.gpu_switch : out.nic_switch).push_back(switched ? roots[i] : sockets[i]);
    if (switched) out.switch_socket[static_cast<std::size_t>(roots[i])] = sockets[i];
  }
}

}  // namespace

std::optional<ServerOutline> outline_of(const SmiMatrix& matrix, const std::string& gpu_name,
                                        const model::Catalog& catalog, spec::Diagnostics& diagnostics) {
  constexpr std::int64_t kMostSockets = 16;
  ServerOutline out;
  out.gpus = matrix.gpus();
  const Nvlinks links = count_links(matrix);
  const GpuChip& chip = chip_of(matrix, gpu_name, links.per_gpu, diagnostics);
  out.gpu = chip.kind;
  out.pcie_gen = chip.pcie_gen;
  add_nics(matrix, out, diagnostics);
  place_parts(matrix, out);
  if (out.sockets > kMostSockets) {
    diagnostics.add(spec::Error::bad_smi_matrix, {matrix.source, 0, 0, 1},
                    fmt::format("the devices are on {} NUMA nodes", out.sockets),
                    fmt::format("at most {}", kMostSockets));
    return std::nullopt;
  }
  if (out.sockets > 1) out.socket_link = "upi";
  const bool one_network = gpu_islands(matrix) == 1;
  if (links.per_gpu > 0 && !one_network)
    diagnostics.add(spec::Error::open_topology, matrix.devices[0].place, "the NVLinks do not join all GPUs",
                    "the model knows networks of all GPUs only: these links are left out");
  if (links.per_gpu > 0 && one_network && !chip.nvlink.empty()) {
    out.nvlink = chip.nvlink;
    out.nvlinks_per_gpu = links.per_gpu;
    out.nvlink_direct = !links.through_switch;
    const auto like = catalog_server_with(out.gpu, out.gpus, catalog, diagnostics);
    out.nvswitches =
        links.through_switch && like && like->scale_up ? std::max<std::int64_t>(1, like->scale_up->switches) : 1;
    if (out.nvlink_direct)
      diagnostics.add(
          spec::Error::open_topology, matrix.devices[0].place, "NVLinks join the GPUs directly, without a switch",
          fmt::format("a switch with {} per GPU stands for them: right for rings over all GPUs, too fast between two",
                      counted(links.per_gpu, "link")));
  }
  if (!links.through_switch && links.per_gpu > 0) {
    for (std::size_t a = 0; a < matrix.devices.size(); ++a) {
      if (!matrix.devices[a].is_gpu) continue;
      std::vector<std::int64_t>& row = out.nvlinks_between.emplace_back();
      for (std::size_t b = 0; b < matrix.devices.size(); ++b)
        if (matrix.devices[b].is_gpu) row.push_back(matrix.cells[a][b].links);
    }
  }
  return out;
}

}  // namespace weft::measured
