#include "fabric/place_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/text.hpp"
#include "fabric/position.hpp"

namespace weft::fabric {
namespace {

using model::Group;

const Group& group_of(const Fabric& fabric, std::uint32_t server) {
  const auto& groups = fabric.cluster().groups;
  std::size_t at = groups.size() - 1;
  while (groups[at].first_server > server) --at;
  return groups[at];
}

bool is_near(const Group& group, std::uint32_t gpu) {
  const auto& nics = group.diagram.near_nics[gpu];
  return !nics.empty() && group.diagram.direct(gpu, nics.front());
}

// GPUs of one server that have as many NICs as the job wants.
std::uint32_t room(const Group& group, const JobNeed& need) {
  if (need.nics_per_thousand_gpus <= 0) return group.gpus();
  const std::int64_t enough = std::int64_t{group.nics()} * 1000 / need.nics_per_thousand_gpus;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(group.gpus(), enough));
}

struct Candidate {
  std::uint32_t server;
  std::uint32_t room;
  Position at;
  std::uint32_t group;
};
using Candidates = std::vector<Candidate>;

std::uint64_t room_of(const Candidates& all) {
  std::uint64_t sum = 0;
  for (const Candidate& each : all) sum += each.room;
  return sum;
}

// Where servers lie, level by level; what is of different groups of servers is never one.
std::uint64_t key_of(const Candidate& each, Within level) {
  const auto of = [&](std::uint64_t number) { return std::uint64_t{each.group} << 32 | number; };
  switch (level) {
    case Within::server:
      return each.server;
    case Within::domain:
      return each.at.rack ? of(*each.at.rack) : std::uint64_t{1} << 63 | each.server;
    case Within::unit:
      return of(each.at.unit);
    case Within::pod:
      return of(each.at.pod);
    case Within::site:
      return of(each.at.site);
    case Within::cluster:
      break;
  }
  return 0;
}

std::map<std::uint64_t, Candidates> split(const Candidates& all, Within level) {
  std::map<std::uint64_t, Candidates> parts;
  for (const Candidate& each : all) parts[key_of(each, level)].push_back(each);
  return parts;
}

constexpr Within kNarrowest[] = {Within::server, Within::domain, Within::unit,
                                 Within::pod,    Within::site,   Within::cluster};

// The smallest part that holds the job, of the lowest level that has one: larger ones stay whole for larger jobs.
struct Fit {
  Candidates servers;
  Within level;
};
std::optional<Fit> smallest_fit(const Candidates& all, std::uint64_t gpus) {
  for (const Within level : kNarrowest) {
    std::optional<Fit> best;
    for (auto& [key, part] : split(all, level))
      if (room_of(part) >= gpus && (!best || room_of(part) < room_of(best->servers))) best = Fit{part, level};
    if (best) return best;
  }
  return std::nullopt;
}

// Of a part that is larger than the job: whole units, largest first, and of the last as few servers as do.
Candidates cut_to_fit(Candidates servers, std::uint64_t gpus) {
  std::map<std::uint64_t, Candidates> units = split(servers, Within::unit);
  Candidates taken;
  while (gpus > 0) {
    const auto enough = std::min_element(units.begin(), units.end(), [&](const auto& a, const auto& b) {
      const auto rank = [&](const Candidates& part) {  // the smallest that holds the rest, else the largest
        const std::uint64_t here = room_of(part);
        return here >= gpus ? std::pair<int, std::uint64_t>(0, here) : std::pair<int, std::uint64_t>(1, ~here);
      };
      return rank(a.second) < rank(b.second);
    });
    for (const Candidate& each : enough->second) {
      if (gpus == 0) break;
      taken.push_back(each);
      gpus -= std::min<std::uint64_t>(gpus, each.room);
    }
    units.erase(enough);
  }
  std::sort(taken.begin(), taken.end(), [](const Candidate& a, const Candidate& b) { return a.server < b.server; });
  return taken;
}

std::vector<PlacedServer> take_gpus(const Fabric& fabric, const Candidates& servers, std::uint32_t gpus) {
  std::uint32_t least = gpus;
  for (const Candidate& each : servers) least = std::min(least, each.room);
  const auto count = static_cast<std::uint32_t>(servers.size());
  // The same number of each where that can be: a collective waits for the server that has most to do.
  const bool alike = gpus % count == 0 && gpus / count <= least;
  std::vector<PlacedServer> placed;
  std::uint32_t left = gpus;
  for (const Candidate& each : servers) {
    const std::uint32_t here = std::min(left, alike ? gpus / count : each.room);
    std::vector<std::uint32_t> order = gpus_by_nearness(group_of(fabric, each.server));
    order.resize(here);
    std::sort(order.begin(), order.end());
    placed.push_back({each.server, std::move(order), each.at.unit});
    left -= here;
  }
  return placed;
}

void say_what_was_traded(const Fabric& fabric, const Candidates& all, const JobNeed& need, Placement& made) {
  const auto say = [&](std::string text) { made.traded.push_back(std::move(text)); };
  std::set<std::uint32_t> unit_numbers;
  std::set<std::uint32_t> domains;
  std::set<std::string> kinds;
  std::set<std::size_t> sizes;
  std::uint32_t idle = 0;
  for (const PlacedServer& each : made.servers) {
    const Group& group = group_of(fabric, each.server);
    unit_numbers.insert(each.unit);
    if (group.spec.scale_up && group.spec.scale_up->servers > 1)
      domains.insert(*position_of(fabric, each.server).rack);
    kinds.insert(group.spec.gpu.kind);
    sizes.insert(each.gpus.size());
    idle += group.gpus() - static_cast<std::uint32_t>(each.gpus.size());
    for (const std::uint32_t gpu : each.gpus) made.far_gpus += group.nics() > 0 && !is_near(group, gpu) ? 1 : 0;
  }
  if (made.servers.size() == 1) made.far_gpus = 0;  // nothing leaves the server
  if (unit_numbers.size() > 1 && made.within > Within::domain) {
    std::uint64_t largest = 0;
    for (const auto& [key, part] : split(all, Within::unit)) largest = std::max(largest, room_of(part));
    say(fmt::format("crosses {} units, so traffic passes spines: the largest unit has room for {}", unit_numbers.size(),
                    counted(static_cast<std::int64_t>(largest), "GPU")));
  }
  if (domains.size() > 1) {
    std::uint64_t largest = 0;
    for (const auto& [key, part] : split(all, Within::domain)) largest = std::max(largest, room_of(part));
    say(fmt::format("crosses {} scale-up domains, so traffic leaves them: the largest has room for {}", domains.size(),
                    counted(static_cast<std::int64_t>(largest), "GPU")));
  }
  if (kinds.size() > 1) say(fmt::format("mixes {}: all wait for the slowest", fmt::join(kinds, " and ")));
  if (sizes.size() > 1)
    say(fmt::format("servers have {} to {} GPUs of the job: the count does not divide", *sizes.begin(),
                    *sizes.rbegin()));
  if (made.far_gpus > 0)
    say(fmt::format("{} of {} GPUs reach their NIC through host memory: there are fewer NICs than GPUs next to them",
                    made.far_gpus, need.gpus));
  if (idle > 0)
    say(fmt::format("{} of these servers stay free{}", counted(idle, "GPU"),
                    need.nics_per_thousand_gpus > 0 ? ", so that each of the job's has its NICs" : ""));
}

}  // namespace

std::vector<std::uint32_t> gpus_by_nearness(const Group& group) {
  std::vector<std::uint32_t> users(group.nics());
  std::vector<std::uint32_t> order;
  std::vector<bool> taken(group.gpus());
  while (order.size() < group.gpus()) {
    // Next to a NIC before far from one; a NIC that few others use before a busy one; then by number.
    std::tuple<bool, std::uint32_t, std::uint32_t> best{true, UINT32_MAX, UINT32_MAX};
    for (std::uint32_t gpu = 0; gpu < group.gpus(); ++gpu) {
      if (taken[gpu]) continue;
      const auto& nics = group.diagram.near_nics[gpu];
      const std::uint32_t busy = nics.empty() ? 0 : users[nics.front()];
      best = std::min(best, std::tuple(!is_near(group, gpu), busy, gpu));
    }
    const std::uint32_t gpu = std::get<2>(best);
    taken[gpu] = true;
    for (const std::uint32_t nic : group.diagram.near_nics[gpu]) ++users[nic];
    order.push_back(gpu);
  }
  return order;
}

Result<Placement, NoRoom> place_job(const Fabric& fabric, const JobNeed& need) {
  Candidates all;
  for (const std::uint32_t server : need.servers) {
    const Group& group = group_of(fabric, server);
    const std::uint32_t here = room(group, need);
    if (here > 0)
      all.push_back({server, here, position_of(fabric, server),
                     static_cast<std::uint32_t>(&group - fabric.cluster().groups.data())});
  }
  const auto fit = smallest_fit(all, need.gpus);
  if (!fit) return Failure<NoRoom>(NoRoom{room_of(all)});
  Placement made;
  made.within = fit->level;
  made.servers = take_gpus(fabric, cut_to_fit(fit->servers, need.gpus), need.gpus);
  for (const PlacedServer& each : made.servers) {
    const std::string name = unit_name(fabric, each.server);
    if (std::find(made.units.begin(), made.units.end(), name) == made.units.end()) made.units.push_back(name);
  }
  say_what_was_traded(fabric, all, need, made);
  return made;
}

}  // namespace weft::fabric
