#pragma once
// What can be seen in a situation: each a question to the facts, answered with what was found and where.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "why/evidence.hpp"

namespace weft::why {

struct Found {
  std::string text;
  spec::Place place;
};
struct Scene {
  const Situation& situation;
  const Reference& reference;
  Machine& machine;
  const measured::Facts& facts = situation.facts;
  const model::ServerKind& server = machine.cluster()->groups[0].spec;
};
using Sign = std::function<std::optional<Found>(const Scene&)>;

// NAME is set to one of `values`, or to anything when there are none.
Sign set_to(const char* name, std::vector<std::string> values = {});
Sign mentioned(measured::Mention mention);
// NAME set to one of `values`, or to anything when there are none, was tried and helps.
Sign helped(const char* name, std::vector<std::string> values = {});
Sign network(measured::NetTransport transport);
Sign both(Sign first, Sign second);
Sign version_between(std::int64_t first, std::int64_t last);

Sign unless(Sign first, Sign second);
std::optional<Found> gpudirect_is(const Scene& at, bool on);
std::optional<Found> gpudirect_mixed(const Scene& at);
std::optional<Found> gpudirect_by_host(const Scene& at);
std::optional<Found> low_gdr_level(const Scene& at);
std::optional<Found> all_nics_used(const Scene& at);
std::optional<Found> some_nics_used(const Scene& at);
std::optional<Found> through_shared_memory(const Scene& at);
std::optional<Found> weak_part(const Scene& at);
std::optional<Found> slow_slot(const Scene& at);
std::optional<Found> links_as_sold(const Scene& at);
std::optional<Found> far_apart(const Scene& at);
std::optional<Found> all_far_apart(const Scene& at);
std::optional<Found> hidden_topology(const Scene& at);
std::optional<Found> shows_switches(const Scene& at);
std::optional<Found> no_nvls_channels(const Scene& at);
std::optional<Found> uses_nvls(const Scene& at);
std::optional<Found> other_algorithm(const Scene& at);
std::optional<Found> low_limit(const Scene& at);
std::optional<Found> crossover(const Scene& at);
std::optional<Found> unsteady(const Scene& at);
std::optional<Found> falls_with_size(const Scene& at);
std::optional<Found> hoped_for_too_much(const Scene& at);
std::optional<Found> hoped_for_the_wire(const Scene& at);
std::optional<Found> reached(const Scene& at);
std::optional<Found> reached_in_busbw(const Scene& at);
std::optional<Found> eight_times(const Scene& at);
std::optional<Found> is_average(const Scene& at);
std::optional<Found> only_small(const Scene& at);
std::optional<Found> two_nodes_were_better(const Scene& at);
std::optional<Found> hoped_within_reach(const Scene& at);
std::optional<Found> amd(const Scene& at);
std::optional<Found> restricted_nics(const Scene& at);
std::optional<Found> rdma_nic(const Scene& at);
std::optional<Found> rdma_nic_taken(const Scene& at);
std::optional<Found> half_of_a_bond(const Scene& at);
std::optional<Found> forced_through_nics(const Scene& at);
std::optional<Found> forced_would_do(const Scene& at);
std::optional<Found> hoped_beyond_sockets(const Scene& at);
std::optional<Found> all_is_on(const Scene& at);
std::optional<Found> nic_cannot(const Scene& at);
std::optional<Found> failed(const Scene& at);
std::optional<Found> p2p_is_off(const Scene& at);
std::optional<Found> p2p_is_used(const Scene& at);
std::optional<Found> plugin_missing(const Scene& at);
std::optional<Found> one_leaf(const Scene& at);
std::optional<Found> several_servers(const Scene& at);
std::optional<Found> geforce(const Scene& at);
std::optional<Found> more_nics(const Scene& at);
std::optional<Found> no_ib_device(const Scene& at);
std::optional<Found> below_sold(const Scene& at);
std::optional<Found> nvlink_joins(const Scene& at);
std::optional<Found> flat_topology(const Scene& at);
std::optional<Found> p2p_across_cpu(const Scene& at);
std::optional<Found> bonded(const Scene& at);
std::optional<Found> few_rings(const Scene& at);
std::optional<Found> collapses(const Scene& at);
std::optional<Found> several_jobs(const Scene& at);
std::optional<Found> nobody_chose(const Scene& at);
std::optional<Found> sold_with_nvlink(const Scene& at);
std::optional<Found> several_networks(const Scene& at);
std::optional<Found> slow_port(const Scene& at);
std::optional<Found> ports_down(const Scene& at);
std::optional<Found> slow_link(const Scene& at);
std::optional<Found> nvlinks_down(const Scene& at);
std::optional<Found> short_packets(const Scene& at);
std::optional<Found> uneven_setting(const Scene& at);
std::optional<Found> others_nics(const Scene& at);
std::optional<Found> one_channel_per_peer(const Scene& at);
std::optional<Found> more_per_peer_would_do(const Scene& at);
std::optional<Found> other_algorithm_would_do(const Scene& at);
std::optional<Found> small_rows_differ(const Scene& at);
std::optional<Found> wire_is_fine(const Scene& at);
std::optional<Found> host_of_slow_runs(const Scene& at);

}  // namespace weft::why
