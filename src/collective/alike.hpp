#pragma once
// Many ranks of which a few stand for all. Where every server and every place of the network is like any other, what a
// ring, a tree or an all-to-all takes is a straight line: of the number of domains, or of a tree's depth. So it is
// timed for three small jobs in the same fabric, with the chunks and parts of the large one, and the line is followed
// on. Where the three are not on a line, it is not said.
//
//   time                        o  131,072 servers
//                      .   '
//        o   o   o '            16, 32 and 48 servers, of which some have others of their leaf and pod beside them
//
// What grows with everybody (how much of an all-to-all leaves a leaf and a pod) is nearly all there with a few pods:
// from then on every further server is far away.

#include <optional>
#include <string>

#include "collective/timing.hpp"

namespace weft::collective {

// More ranks than that are computed by a few that stand for all, where these are alike.
inline constexpr std::uint32_t kMostByThemselves = 8'192;
// A plan of every rank keeps some hundred bytes for each and each channel: a GiB.
inline constexpr std::uint32_t kMostOneByOne = 262'144;

// Empty, or why no few ranks can stand for all of these.
std::string why_not_alike(const Team& team, const PlanOptions& options);

// Times one job; `why_not_alike` was empty for the large one, and is for those that it is asked about.
using TimeJob = std::function<Timing(const Team& team, const PlanOptions& options)>;

// Nothing: no straight line.
std::optional<Timing> time_alike(const Team& team, const PlanOptions& options, const TimeJob& time);

// How long all lanes of an all-to-all or send_recv take: nobody waits for what he receives, so nothing needs to be run.
std::optional<Ends> ends_of_pairs(const Plan& plan);

}  // namespace weft::collective
