#include "drawn_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "base/random.hpp"

namespace weft::bench {
namespace {

using collective::Operation;
using experiment::Design;

constexpr std::uint64_t kMostHops = 20'000'000;
constexpr std::uint64_t kPacket = 4096;
constexpr std::uint64_t kHops = 5;  // of a packet, about
constexpr std::uint32_t kGpus = 8;  // of a server
constexpr std::uint32_t kAttempts = 100;

class Draw {
 public:
  Draw(std::uint64_t seed, std::uint32_t attempt) : random_(seed, attempt, 0) {}

  template <class T>
  T of(std::initializer_list<T> choices) {
    return choices.begin()[random_.below(static_cast<std::uint32_t>(choices.size()))];
  }
  std::uint32_t below(std::uint32_t n) { return random_.below(n); }

 private:
  Random random_;
};

struct Network {
  std::uint32_t servers = 0;
  std::string text;
  std::string above;  // a link above a leaf, for faults; empty: there is none
};

std::uint32_t draw_servers(Draw& draw) { return draw.of({2u, 4u, 8u, 8u, 16u, 16u, 32u, 64u}); }

Network draw_network(Draw& draw, std::uint32_t servers) {
  const std::uint32_t unit = std::max(1u, servers / draw.of({2u, 2u, 4u}));
  const std::uint32_t over = draw.of({1u, 1u, 2u, 4u, 8u});
  const std::uint32_t per_leaf = std::min(unit, draw.of({2u, 4u, 8u}));
  switch (draw.below(7)) {
    case 0:
      return {servers, fmt::format("kind: rail-optimized, scalable_unit: {}, oversubscription: {}", unit, over),
              "leaf0:spine0"};
    case 1:
      return {servers,
              fmt::format("kind: rail-optimized, scalable_unit: {}, pod: 1, super_oversubscription: {}", unit, over),
              "leaf0:spine0"};
    case 2:
      return {servers, fmt::format("kind: tor-clos, servers_per_leaf: {}, oversubscription: {}", per_leaf, over),
              "leaf0:spine0"};
    case 3:
      return {servers, fmt::format("kind: rail-only, servers_per_leaf: {}, oversubscription: {}", unit, over), ""};
    case 4:
      return {servers, "kind: single-chassis, switch: {kind: quantum-2, ports: 512}", ""};
    case 5:
      return {servers, "kind: fat-tree, k: 16", "leaf0:spine0"};
    default:
      return {servers,
              fmt::format("kind: dragonfly, servers_per_router: {}, routers_per_group: {}, global_links: {}",
                          draw.of({1u, 2u}), std::max(2u, servers / 8), draw.of({2u, 4u, 8u})),
              ""};
  }
}

std::string draw_transport(Draw& draw) {
  switch (draw.below(4)) {
    case 0:
      return "transport: {kind: srd}\n";
    case 1:
      return "transport: {kind: srd, balance: spray}\n";
    case 2:
      return "transport: {kind: srd, balance: ecmp}\n";
    default:
      return "transport: {kind: rocev2, balance: ecmp}\nswitching: {flow_control: pfc}\n";
  }
}

// Bytes that cross the network in about so many of all.
std::uint64_t crossing(Operation operation, std::uint64_t bytes, std::uint64_t servers, std::uint64_t gpus) {
  switch (operation) {
    case Operation::all_reduce:
      return 2 * bytes * servers;
    case Operation::all_to_all:
      return bytes * gpus;
    default:
      return bytes * servers;
  }
}

struct Job {
  std::string on;
  std::uint32_t servers;
};

// All servers, half of them in one piece, or every second one.
Job draw_place(Draw& draw, std::uint32_t servers) {
  const std::uint32_t gpus = servers * kGpus;
  if (servers >= 4 && draw.below(4) == 0) return {fmt::format("0..{}", gpus / 2 - 1), servers / 2};
  return {fmt::format("0..{}", gpus - 1), servers};
}

// `on` takes GPUs, so servers in turn are written out.
std::string every_second(std::uint32_t servers, std::uint32_t first) {
  std::string text;
  for (std::uint32_t server = first; server < servers; server += 2)
    text += fmt::format("{}{}..{}", text.empty() ? "" : ",", server * kGpus, server * kGpus + kGpus - 1);
  return text;
}

constexpr std::array kOperations = {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter,
                                    Operation::broadcast,  Operation::reduce,     Operation::all_to_all,
                                    Operation::send_recv};

experiment::CollectiveJob job_of(Operation operation, const Job& place, std::uint64_t bytes, bool alongside) {
  experiment::CollectiveJob job;
  job.operation = operation;
  job.gpus = place.servers * kGpus;
  job.sizes = {Bytes(static_cast<std::int64_t>(bytes))};
  job.on = place.on;
  job.alongside = alongside;
  return job;
}

std::shared_ptr<Design> read(const std::string& text) {
  spec::Diagnostics diagnostics;
  auto catalog = std::make_shared<const model::Catalog>(model::Catalog::embedded(diagnostics));
  const std::uint32_t source = diagnostics.sources().add("drawn.weft.yaml", text);
  return Design::read(source, "drawn", {}, catalog, diagnostics);
}

// `networks`: where another one of as many servers is drawn from; null: from the same.
Scenario draw_once(Draw& draw, Draw* networks) {
  Scenario made;
  const std::uint32_t servers = draw_servers(draw);
  Network network = draw_network(draw, servers);
  if (networks != nullptr) network = draw_network(*networks, servers);
  const std::string transport = draw_transport(draw);
  const Operation operation = kOperations[draw.below(kOperations.size())];
  std::uint64_t bytes = std::uint64_t{1} << (16 + draw.below(13));
  Job place = draw_place(draw, network.servers);
  std::string fault, neighbour;
  const std::uint32_t trouble = draw.below(4);  // half of them have none
  if (trouble == 0 && !network.above.empty() && draw.below(2) == 0) {
    fault = draw.of({std::string("{part: \"leaf0:spine0\", kind: slow, share: 25%}"), std::string("{part: spine0}")});
  } else if (trouble == 0) {
    fault = fmt::format("{{part: s{}/nic{}, kind: slow, share: {}%}}", draw.below(network.servers), draw.below(kGpus),
                        draw.of({25u, 50u}));
  }
  const bool shares = trouble == 1 && network.servers >= 4;
  if (shares) place = {every_second(network.servers, 0), network.servers / 2};
  while (bytes > (64 << 10) &&
         crossing(operation, bytes, network.servers, place.servers * kGpus) / kPacket * kHops > kMostHops)
    bytes /= 2;
  made.work.jobs.push_back(job_of(operation, place, bytes, false));
  if (shares) {
    const Operation other = kOperations[draw.below(kOperations.size())];
    neighbour = fmt::format(" beside {}", collective::name(other));
    made.work.jobs.push_back(job_of(other, {every_second(network.servers, 1), network.servers / 2}, bytes, true));
  }
  made.text = fmt::format("version: 1\nservers: {{kind: hgx-h200, count: {}}}\nfabric: {{{}}}\n{}{}", network.servers,
                          network.text, transport, fault.empty() ? "" : fmt::format("faults: [{}]\n", fault));
  made.design = read(made.text);
  made.about =
      fmt::format("{} {}KiB {} GPUs of {}; {}; {}{}{}", collective::name(operation), bytes >> 10, place.servers * kGpus,
                  network.servers * kGpus, network.text, transport.substr(11, transport.find('}') - 10),
                  fault.empty() ? "" : "; " + fault, neighbour);
  return made;
}

}  // namespace

Scenario draw_scenario(std::uint64_t seed) {
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    Draw draw(seed, attempt);
    Scenario made = draw_once(draw, nullptr);
    if (made.design != nullptr) return made;  // else its counts do not close
  }
  throw std::logic_error("no drawn cluster closes");
}

std::optional<Scenario> draw_rival(std::uint64_t seed) {
  const Scenario first = draw_scenario(seed);
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    Draw draw(seed, attempt);
    if (draw_once(draw, nullptr).design == nullptr) continue;
    for (std::uint32_t other = 0; other < kAttempts; ++other) {
      Draw again(seed, attempt);
      Draw networks(seed, kAttempts + other);
      Scenario made = draw_once(again, &networks);
      if (made.design != nullptr && made.text != first.text && made.work.jobs[0].sizes == first.work.jobs[0].sizes)
        return made;
    }
  }
  return std::nullopt;
}

}  // namespace weft::bench
