#include "training/step_path.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace weft::training {
namespace {

class Walk {
 public:
  Walk(const Step& step, const Layout& layout) : step_(step), layout_(layout) {
    by_stage_.resize(static_cast<std::size_t>(layout.pipeline));
    for (const Slot& slot : step.slots) {
      by_stage_[static_cast<std::size_t>(slot.stage)].push_back(&slot);
      by_pass_[{slot.piece * layout.pipeline + slot.stage, slot.micro_batch, slot.kind}] = &slot;
    }
    for (auto& slots : by_stage_)
      std::sort(slots.begin(), slots.end(), [](const Slot* a, const Slot* b) { return a->start < b->start; });
  }

  StepPath path() {
    const Slot* at = &*std::max_element(step_.slots.begin(), step_.slots.end(),
                                        [](const Slot& a, const Slot& b) { return a.end < b.end; });
    const Duration end = at->end;
    while (at != nullptr) {
      take(*at);
      at = before(*at);
    }
    std::reverse(out_.passes.begin(), out_.passes.end());
    add_end(step_.time - end);
    return std::move(out_);
  }

 private:
  void take(const Slot& slot) {
    const auto& passes = step_.passes[static_cast<std::size_t>(slot.piece * layout_.pipeline + slot.stage)];
    Duration left = slot.end - slot.start;
    // A backward pass that is not split has its parameters' gradients in it.
    for (std::size_t kind = 0; kind < passes.size(); ++kind) {
      const bool own = kind == static_cast<std::size_t>(slot.kind);
      if (!own && !(slot.kind == PassKind::backward && kind == 2 && left >= passes[2].time() && left.count() > 0))
        continue;
      const TimedPass& pass = passes[kind];
      for (std::size_t i = 0; i < kParts; ++i) out_.computing[i] += pass.busy[i];
      for (std::size_t i = 0; i < kGroups; ++i) out_.exposed[i] += pass.exposed[i];
      out_.beside += pass.beside;
      out_.launching += pass.launching;
      out_.gaps += pass.gaps;
      out_.host += pass.host;
      left = left - pass.time();
    }
    out_.waiting += left;
    if (!out_.passes.empty() && out_.passes.back().stage != slot.stage) ++out_.changes;
    out_.passes.push_back(slot);
  }

  // What a slot waited for: its stage, or what a neighbour sent.
  const Slot* before(const Slot& slot) {
    const auto& own = by_stage_[static_cast<std::size_t>(slot.stage)];
    const auto at = std::lower_bound(own.begin(), own.end(), slot.start,
                                     [](const Slot* each, Duration start) { return each->start < start; });
    const Slot* last = at == own.begin() ? nullptr : *(at - 1);
    const Slot* sender = sender_of(slot);
    const auto hop = [&] { out_.exposed[static_cast<std::size_t>(Group::pipeline)] += step_.hop; };
    if (last != nullptr && last->end == slot.start) return last;
    if (sender != nullptr && sender->end + step_.hop == slot.start) {
      hop();
      return sender;
    }
    if (last == nullptr) {
      out_.waiting += slot.start;
      return nullptr;
    }
    const Duration gap = slot.start - last->end;
    if (gap == step_.hop)
      hop();  // it waited until it had sent
    else
      out_.waiting += gap;
    return last;
  }

  const Slot* sender_of(const Slot& slot) const {
    const std::int64_t at = slot.piece * layout_.pipeline + slot.stage;
    const bool forward = slot.kind == PassKind::forward;
    if (slot.kind == PassKind::weights) return nullptr;
    const auto found = by_pass_.find({forward ? at - 1 : at + 1, slot.micro_batch, slot.kind});
    return found == by_pass_.end() ? nullptr : found->second;
  }

  // Gradients, optimizer and parameters behind the last pass.
  void add_end(Duration left) {
    const auto take = [&](Duration most) {
      const Duration part = std::min(most, left);
      left = left - part;
      return part;
    };
    const auto optimizer = static_cast<std::size_t>(Part::optimizer);
    out_.computing[optimizer] += take(step_.parts.computing[optimizer]);
    for (const Group group : {Group::embedding, Group::data})
      out_.exposed[static_cast<std::size_t>(group)] += take(step_.parts.exposed[static_cast<std::size_t>(group)]);
    out_.host += take(step_.parts.host);
    out_.waiting += left;
  }

  const Step& step_;
  const Layout& layout_;
  std::vector<std::vector<const Slot*>> by_stage_;
  std::map<std::tuple<std::int64_t, std::int64_t, PassKind>, const Slot*> by_pass_;
  StepPath out_;
};

}  // namespace

Duration StepPath::sum() const {
  Duration sum = beside + launching + gaps + host + waiting;
  for (const Duration each : computing) sum += each;
  for (const Duration each : exposed) sum += each;
  return sum;
}

StepPath path_of(const Step& step, const Layout& layout) {
  if (!step.slots.empty()) return Walk(step, layout).path();
  StepPath out;
  out.computing = step.parts.computing;
  out.exposed = step.parts.exposed;
  out.beside = step.parts.beside;
  out.launching = step.parts.launching;
  out.gaps = step.parts.gaps;
  out.host = step.parts.host;
  out.waiting = step.parts.slow + step.parts.bubble;
  return out;
}

}  // namespace weft::training
