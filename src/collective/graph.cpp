#include "collective/graph.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace weft::collective {
namespace {

// The rates that NCCL tries for a channel, GB/s (src/graph/search.cc): within a node and between nodes.
constexpr std::array kIntra = {40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0};
constexpr std::array kInter = {48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0,
                               7.0,  6.0,  5.0,  4.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array kHopperIntra = {60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0};
constexpr std::array kHopperInter = {48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5,
                                     15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array kBlackwellIntra = {90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0};
constexpr std::array kBlackwellInter = {96.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0,
                                        17.5, 15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};

constexpr double kMostHeads = 32;        // NCCL_MAX_NVLS_ARITY
constexpr double kMostChannels = 64;     // MAXCHANNELS
constexpr double kWorthDoubling = 25.0;  // GB/s: a channel that is faster is taken twice, each half as fast,
constexpr double kFastDoubling = 50.0;   // and on Hopper and newer, where there are many, only from this on
constexpr double kFewChannels = 4;
constexpr double kManyThreads = 45.0;  // GB/s: Hopper and newer take four channels for one in the search
constexpr double kUnusable = 0.1;      // GB/s

double gigabytes(Bandwidth rate) { return static_cast<double>(rate.count()) / 8e9; }

// NCCL's width of a PCIe link: 12 GB/s for 3.0 x16, and twice as much for each generation after it.
double pcie_width(std::int64_t gen, std::int64_t lanes) {
  double each = 0.75 * static_cast<double>(lanes);
  for (std::int64_t i = 3; i < gen; ++i) each *= 2;
  for (std::int64_t i = gen; i < 3; ++i) each /= 2;
  return each;
}

class Search {
 public:
  Search(const Team& team, const Generation& generation, const Release& release)
      : team_(team), server_(team.group(0).spec), gpus_(team.domain(0).ranks), newer_(generation.nvls_channels > 0) {
    const bool blackwell = generation.name.starts_with("Blackwell");
    const bool older = generation.name == "Volta" || generation.name == "Ampere";
    intra_ = blackwell ? std::span<const double>(kBlackwellIntra)
             : older   ? std::span<const double>(kIntra)
                       : kHopperIntra;
    inter_ = blackwell ? std::span<const double>(kBlackwellInter)
             : older   ? std::span<const double>(kInter)
                       : kHopperInter;
    links_ = server_.scale_up ? gigabytes(server_.scale_up->link.one_way()) *
                                    static_cast<double>(generation.scale_up_per_mille) / 1e3
                              : pcie_width(server_.pcie_gen, server_.pcie_lanes) / 2;
    channels_inside_ = static_cast<double>(generation.ring_channels) / 2;
    switched_ = server_.scale_up && server_.scale_up->switches > 0;
    reduces_ = switched_ && newer_ && gpus_ >= 2;
    rings_cross_ = release.alternates();
  }

  Graph find() {
    if (team_.nodes() == 1)
      within();
    else
      between();
    made_.channels_set_up = std::min(kMostChannels, 2 * made_.ring.channels);
    if (newer_ && team_.nodes() > 1 && made_.ring.inside > kManyThreads && made_.channels_set_up < 16)
      made_.channels_set_up *= 2;
    return made_;
  }

 private:
  static double step(std::span<const double> speeds, double most) {
    const auto found = std::find_if(speeds.begin(), speeds.end(), [&](double each) { return each <= most + 1e-6; });
    return found == speeds.end() ? speeds.back() : *found;
  }
  // Of a rate or of half of one, as channels are taken twice.
  static double half_step(std::span<const double> speeds, double most) {
    return std::max(step(speeds, most), step(speeds, 2 * most) / 2);
  }

  void within() {
    made_.same_rings = gpus_ <= 32 || !reduces_;
    if (!server_.scale_up) {
      made_.ring = made_.tree = {1, links_, links_};
      return;
    }
    made_.ring = {channels_inside_, half_step(intra_, links_ / channels_inside_), 0};
    const double pair = gpus_ == 2 ? 2 : 1;  // a chain of two crosses one of them once
    made_.tree = {channels_inside_, step(intra_, pair * links_ / channels_inside_), 0};
    made_.ring.outside = made_.ring.inside;
    made_.tree.outside = made_.tree.inside;
    if (!reduces_) return;
    const double heads = std::min(kMostHeads, static_cast<double>(gpus_));
    const double each = step(intra_, links_ / (heads + 1));
    made_.nvls = {heads, each, widened(intra_, each, intra_[0])};
  }

  void between() {
    const Domain& domain = team_.domain(0);
    const auto ports = static_cast<double>(team_.least_ports());
    double each = inter_[0];
    for (const Port& port : domain.ports) {
      const double nics = static_cast<double>(std::max<std::size_t>(1, port.nics.size()));
      const double slot = std::min(nics * pcie_width(server_.nic.pcie_gen, server_.nic.pcie_lanes),
                                   pcie_width(server_.pcie_gen, server_.pcie_lanes));
      each = std::min(each, step(inter_, std::min(gigabytes(port.nic_rate), slot)));
    }
    made_.plain_tree = newer_ || gpus_ == 1;
    made_.same_rings = ports == 1;
    rings_between(ports, each);
    trees_between(ports);
    if (!reduces_) return;
    const double heads = std::min({kMostHeads, ports, static_cast<double>(gpus_)});
    const double most = std::min(each, links_ / (heads + 1));
    const double inside = step(inter_, most);
    made_.nvls = {heads, inside, widened(inter_, inside, each)};
  }

  // A ring leaves a domain at the last of its GPUs, which sends nothing over NVLink for it.
  void rings_between(double ports, double each) {
    const double room = gpus_ == 1         ? ports * each
                        : server_.scale_up ? links_ * (rings_cross_ ? gpus_ / (gpus_ - 1.0) : 1.0)
                                           : links_;
    if (ports * each <= room + 1e-6) {
      made_.ring = {ports, each, each};
    } else if (ports <= channels_inside_) {
      const double less = step(inter_, room / ports);
      made_.ring = {ports, less, less};
    } else {
      const double less = half_step(inter_, links_ / channels_inside_);
      made_.ring = {channels_inside_, less, less};
      return;
    }
    const bool doubles = each >= kWorthDoubling && (!newer_ || each >= kFastDoubling || ports <= kFewChannels);
    if (doubles) made_.ring = {2 * ports, each / 2, each / 2};
  }

  // Trees have as many channels as rings. Between two nodes they are counted by what a GPU can send within its own.
  void trees_between(double ports) {
    const double out = made_.ring.outside;
    const double channels = made_.ring.channels;
    const bool near = nic_between_two();
    if (!newer_ && gpus_ > 1 && !near) {
      made_.tree = {1, kUnusable, kUnusable};
      made_.ring.channels = 1;
      made_.tree_found = made_.ll128 = false;
      return;
    }
    // Chains that end at every GPU in turn leave each of them out once.
    const double busy = ports >= gpus_ ? channels * (gpus_ - 1.0) / gpus_ : channels;
    const double room = gpus_ == 1 ? 2 * out : links_ / std::max(1.0, busy);
    made_.tree = {channels, std::max(out, step(inter_, std::min(2 * out, room))), out};
    // Where NICs hang on the CPU, two GPUs are equally near to each.
    if (newer_ && server_.pcie_switches == 0 && gpus_ > 1) made_.plain_tree = false;
  }

  // Before Hopper a tree enters and leaves by two GPUs that are next to one NIC.
  bool nic_between_two() const {
    const auto& places = team_.group(0).diagram.gpu_switch;
    return std::any_of(places.begin(), places.end(),
                       [&](std::uint32_t each) { return std::count(places.begin(), places.end(), each) > 1; });
  }

  // NVLS looks for more between nodes than within, up to twice as much.
  static double widened(std::span<const double> speeds, double inside, double most) {
    double found = inside;
    for (auto it = speeds.rbegin(); it != speeds.rend() && found < 2 * inside; ++it)
      if (*it > found && *it <= most + 1e-6) found = *it;
    return found;
  }

  const Team& team_;
  const model::ServerKind& server_;
  double gpus_;
  bool newer_;  // Hopper and newer
  bool switched_ = false;
  bool reduces_ = false;
  bool rings_cross_ = true;
  std::span<const double> intra_;
  std::span<const double> inter_;
  double links_ = 0;            // GB/s of a GPU, as NCCL counts them
  double channels_inside_ = 0;  // of its search
  Graph made_;
};

}  // namespace

Graph graph_of(const Team& team, const Generation& generation, const Release& release) {
  return Search(team, generation, release).find();
}

}  // namespace weft::collective
