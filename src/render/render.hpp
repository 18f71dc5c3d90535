#pragma once
// `weft render`: one cluster as the files that real machines start from.

#include <optional>
#include <string>
#include <vector>

#include "base/names.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "render/addressing.hpp"
#include "render/rendered.hpp"

namespace weft::render {

enum class Target { frr, sonic, slurm, kubernetes, nccl, hosts, prometheus, grafana };
constexpr auto names_of(Target) {
  using enum Target;
  return std::to_array<EnumName<Target>>({{frr, "frr"},
                                          {sonic, "sonic"},
                                          {slurm, "slurm"},
                                          {kubernetes, "kubernetes"},
                                          {nccl, "nccl"},
                                          {hosts, "hosts"},
                                          {prometheus, "prometheus"},
                                          {grafana, "grafana"}});
}

// What the simulator knows of packets and a switch must be told.
struct SwitchNumbers {
  Bytes frame;  // of a full packet on the wire
};

// All files of a target, in an order that does not change.
Result<std::vector<File>, Refusal> render(Target target, const fabric::Fabric& fabric, const SwitchNumbers& numbers,
                                          const Origin& origin);

// Each target.
std::vector<File> frr_files(const Addressing& plan, const Origin& origin);
Result<std::vector<File>, Refusal> sonic_files(const Addressing& plan, const SwitchNumbers& numbers);
std::vector<File> slurm_files(const Addressing& plan, const Origin& origin);
Result<std::vector<File>, Refusal> kubernetes_files(const Addressing& plan, const Origin& origin);
Result<std::vector<File>, Refusal> nccl_files(const Addressing& plan, const Origin& origin);
std::vector<File> hosts_files(const Addressing& plan, const Origin& origin);
std::vector<File> prometheus_files(const Addressing& plan, const Origin& origin);
std::vector<File> grafana_files(const Addressing& plan, const Origin& origin);

}  // namespace weft::render
