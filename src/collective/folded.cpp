#include "collective/folded.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "collective/ring.hpp"
#include "collective/work.hpp"

namespace weft::collective {
namespace {

// The smallest number of places after which a ring's edges and latencies repeat; all of them: they do not.
std::uint32_t period_of(const Plan& plan, const Ring& ring) {
  const std::vector<std::uint32_t>& order = ring.shape().order;
  const std::vector<Edge>& edges = ring.shape().edges;
  const auto size = static_cast<std::uint32_t>(order.size());
  const auto inside = [&](std::uint32_t place) {
    return plan.node[order[place]] == plan.node[order[place + 1 == size ? 0 : place + 1]];
  };
  for (std::uint32_t period = 1; period <= size / 2; ++period) {
    if (size % period != 0) continue;
    std::uint32_t place = period;
    while (place < size && edges[place] == edges[place - period] && inside(place) == inside(place - period)) ++place;
    if (place == size) return period;
  }
  return size;
}

// The ranks at the first places of a ring, which is closed behind them.
class Folded final : public schedule::Schedule {
 public:
  Folded(Work& work, const Ring& ring, std::uint32_t period)
      : work_(work), order_(ring.shape().order), period_(period), place_(order_.size()) {
    for (std::uint32_t place = 0; place < order_.size(); ++place) {
      if (order_[place] >= place_.size()) place_.resize(order_[place] + std::size_t{1});
      place_[order_[place]] = place;
    }
  }

  std::uint32_t ranks() const override { return period_; }
  std::uint32_t lanes(std::uint32_t place) const override { return work_.lanes(order_[place]); }
  bool next(std::uint32_t place, std::uint32_t lane, schedule::Instruction& out) override {
    if (!work_.next(order_[place], lane, out)) return false;
    using Kind = schedule::Instruction::Kind;
    if (out.kind == Kind::send || out.kind == Kind::recv) out.peer = place_[out.peer] % period_;
    return true;
  }

 private:
  Work& work_;
  const std::vector<std::uint32_t>& order_;
  std::uint32_t period_;
  std::vector<std::uint32_t> place_;  // by rank
};

}  // namespace

std::optional<Ends> ends_of_folded(const Plan& plan, const std::function<Ends(schedule::Schedule& schedule)>& execute) {
  if (!plan.starts.empty() || !plan.speed_per_mille.empty()) return std::nullopt;
  std::vector<std::pair<const Ring*, std::uint32_t>> rings;
  for (const auto& program : plan.different) {
    const auto* ring = dynamic_cast<const Ring*>(program.get());
    if (ring == nullptr) return std::nullopt;
    rings.emplace_back(ring, period_of(plan, *ring));
    if (rings.back().second == ring->shape().order.size()) return std::nullopt;
  }
  Ends all{std::vector<Duration>(plan.ranks), 0, ""};
  for (std::size_t i = 0; i < rings.size() && all.stopped_by.empty(); ++i) {
    const auto& [ring, period] = rings[i];
    Work work(plan, {plan.different[i]});
    Folded folded(work, *ring, period);
    const Ends some = execute(folded);
    const std::vector<std::uint32_t>& order = ring->shape().order;
    for (std::uint32_t place = 0; place < order.size(); ++place)
      all.ends[order[place]] = std::max(all.ends[order[place]], some.ends[place % period]);
    all.messages += ring->messages();
    all.stopped_by = some.stopped_by;
  }
  return all;
}

}  // namespace weft::collective
