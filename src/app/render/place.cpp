#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/session.hpp"
#include "base/text.hpp"
#include "fabric/place_job.hpp"
#include "fabric/position.hpp"

namespace weft::app {
namespace {

using fabric::PlacedServer;
using fabric::Placement;
using fabric::Within;

int refuse(spec::Error error, std::string what, std::string help, const InputOptions& input, Console& console) {
  spec::Diagnostics diagnostics;
  diagnostics.add(error, {}, std::move(what), std::move(help));
  report(diagnostics, input, console);
  return kYourInput;
}

std::string_view word(Within within) {
  switch (within) {
    case Within::server:
      return "one server";
    case Within::domain:
      return "one NVLink domain or rack";
    case Within::unit:
      return "one scalable unit";
    case Within::pod:
      return "one pod";
    case Within::site:
      return "one site";
    case Within::cluster:
      break;
  }
  return "the cluster";
}

// The tenant's servers; of nobody named, those that nobody owns.
std::vector<std::uint32_t> servers_for(const model::Cluster& cluster, const model::TenantSpec* tenant) {
  std::vector<bool> may(cluster.servers, tenant == nullptr);
  for (const model::TenantSpec& each : cluster.file.tenants)
    for (const Indices::Range& range : each.servers.ranges)
      for (std::int64_t i = range.first; i <= range.last; ++i) may[static_cast<std::size_t>(i)] = &each == tenant;
  std::vector<std::uint32_t> servers;
  for (std::uint32_t i = 0; i < cluster.servers; ++i)
    if (may[i]) servers.push_back(i);
  return servers;
}

std::string server_name(const Session& session, std::uint32_t server) {
  for (const model::Group& group : session.cluster().groups)
    if (server < group.first_server + group.servers)
      return fmt::format("{}{}", group.spec.name, server - group.first_server);
  return "";
}

// In the notation of --on: runs of GPUs, counted over the cluster.
std::string gpus_text(const std::vector<std::uint32_t>& gpus) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < gpus.size();) {
    std::size_t last = i;
    while (last + 1 < gpus.size() && gpus[last + 1] == gpus[last] + 1) ++last;
    parts.push_back(i == last ? fmt::format("{}", gpus[i]) : fmt::format("{}..{}", gpus[i], gpus[last]));
    i = last + 1;
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

std::vector<std::uint32_t> all_gpus(const Session& session, const Placement& placement) {
  std::vector<std::uint32_t> gpus;
  for (const PlacedServer& each : placement.servers)
    for (const model::Group& group : session.cluster().groups)
      if (each.server >= group.first_server && each.server < group.first_server + group.servers)
        for (const std::uint32_t gpu : each.gpus)
          gpus.push_back(group.first_gpu + (each.server - group.first_server) * group.gpus() + gpu);
  return gpus;
}

void print_record(const Session& session, const PlaceOptions& options, const Placement& placement, Console& console) {
  nlohmann::ordered_json servers = nlohmann::ordered_json::array();
  for (const PlacedServer& each : placement.servers)
    servers.push_back({{"name", server_name(session, each.server)},
                       {"server", each.server},
                       {"unit", fabric::unit_name(session.fabric(), each.server)},
                       {"gpus", each.gpus}});
  nlohmann::ordered_json record = {
      {"record", "placement"},
      {"version", 1},
      {"cluster", session.cluster().name},
      {"gpus", options.gpus},
      {"tenant", options.tenant.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(options.tenant)},
      {"within", word(placement.within)},
      {"units", placement.units},
      {"servers", servers},
      {"far_gpus", placement.far_gpus},
      {"on", gpus_text(all_gpus(session, placement))},
      {"traded", placement.traded}};
  console.out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

void print_text(const Session& session, const PlaceOptions& options, const Placement& placement, Console& console) {
  console.out << fmt::format("{} on {}, within {} ({})\n", counted(options.gpus, "GPU"),
                             counted(static_cast<std::int64_t>(placement.servers.size()), "server"),
                             word(placement.within), fmt::join(placement.units, ", "));
  const std::vector<PlacedServer>& servers = placement.servers;
  for (std::size_t i = 0; i < servers.size();) {  // alike and one behind another: in one line
    std::size_t last = i;
    while (last + 1 < servers.size() && servers[last + 1].server == servers[last].server + 1 &&
           servers[last + 1].gpus == servers[i].gpus)
      ++last;
    const std::string name = server_name(session, servers[i].server);
    console.out << fmt::format("  {:<10} GPU {}\n",
                               i == last ? name : fmt::format("{}..{}", name, server_name(session, servers[last].server)),
                               gpus_text(servers[i].gpus));
    i = last + 1;
  }
  for (const std::string& traded : placement.traded) console.out << fmt::format("traded off: {}\n", traded);
  console.out << fmt::format("to simulate it: weft sim {} --collective all_reduce --on {}\n", session.file().string(),
                             gpus_text(all_gpus(session, placement)));
}

}  // namespace

int place(const PlaceOptions& options, Console& console) {
  const Session session(options.input, console);
  if (!session.ok()) return kYourInput;
  const auto& tenants = session.cluster().file.tenants;
  const auto named = std::find_if(tenants.begin(), tenants.end(),
                                  [&](const model::TenantSpec& each) { return each.name == options.tenant; });
  if (!options.tenant.empty() && named == tenants.end()) {
    std::vector<std::string> names;
    for (const model::TenantSpec& each : tenants) names.push_back(each.name);
    return refuse(spec::Error::bad_reference, fmt::format("there is no tenant '{}'", options.tenant),
                  names.empty() ? "the file has none; leave --tenant out" : "tenants are " + either(names),
                  options.input, console);
  }
  fabric::JobNeed need;
  need.gpus = options.gpus;
  need.nics_per_thousand_gpus = static_cast<std::int64_t>(options.nics_per_gpu * 1000 + 0.5);
  need.servers = servers_for(session.cluster(), options.tenant.empty() ? nullptr : &*named);
  const auto placement = fabric::place_job(session.fabric(), need);
  if (!placement)
    return refuse(spec::Error::no_room,
                  fmt::format("{} do not fit: there are {}{}{}", counted(options.gpus, "GPU"),
                              counted(static_cast<std::int64_t>(placement.error().available), "GPU"),
                              options.tenant.empty() ? tenants.empty() ? "" : " that no tenant owns"
                                                     : fmt::format(" of tenant '{}'", options.tenant),
                              options.nics_per_gpu > 0 ? fmt::format(" with {} NICs each", options.nics_per_gpu) : ""),
                  "fewer GPUs, or servers for the tenant in the file", options.input, console);
  if (options.input.json)
    print_record(session, options, *placement, console);
  else
    print_text(session, options, *placement, console);
  return kFine;
}

}  // namespace weft::app
