#include "training/pipeline.hpp"

#include <algorithm>
#include <deque>
#include <limits>

namespace weft::training {
namespace {

using model::PipelineSchedule;

constexpr Duration kNever = Duration(std::numeric_limits<std::int64_t>::max());

struct Task {
  PassKind kind = PassKind::forward;
  std::int64_t piece = 0;
  std::int64_t micro_batch = 0;
};

// How many forward passes a stage does before its first backward one.
std::int64_t warm_up(const PipelineJob& job, std::int64_t stage) {
  const std::int64_t all = job.micro_batches * job.pieces;
  if (job.schedule == PipelineSchedule::gpipe) return all;
  if (job.pieces == 1) return std::min(all, job.stages - stage - 1);
  return std::min(all, 2 * (job.stages - stage - 1) + (job.pieces - 1) * job.stages);
}

// The n-th pass of a stage: pieces take turns, as many micro-batches each as there are stages.
Task nth(const PipelineJob& job, PassKind kind, std::int64_t n) {
  const std::int64_t round = job.stages * job.pieces;
  const std::int64_t piece = job.pieces == 1 ? 0 : n % round / job.stages;
  const std::int64_t micro_batch = job.pieces == 1 ? n : n / round * job.stages + n % job.stages;
  return {kind, kind == PassKind::forward ? piece : job.pieces - 1 - piece, micro_batch};
}

std::vector<Task> order_of(const PipelineJob& job, std::int64_t stage) {
  const std::int64_t all = job.micro_batches * job.pieces;
  const std::int64_t first = warm_up(job, stage);
  std::vector<Task> order;
  order.reserve(static_cast<std::size_t>(2 * all));
  for (std::int64_t n = 0; n < first; ++n) order.push_back(nth(job, PassKind::forward, n));
  for (std::int64_t n = 0; n < all; ++n) {
    if (first + n < all) order.push_back(nth(job, PassKind::forward, first + n));
    order.push_back(nth(job, PassKind::backward, n));
  }
  return order;
}

class Run {
 public:
  Run(const PipelineJob& job, bool keep_slots) : job_(job), keep_(keep_slots) {
    const auto passes = static_cast<std::size_t>(job.stages * job.pieces * job.micro_batches);
    forward_.assign(passes, kNever);
    backward_.assign(passes, kNever);
    const auto stages = static_cast<std::size_t>(job.stages);
    at_.resize(stages);
    free_.resize(stages);
    weights_.resize(stages);
    out_.busy.resize(stages);
    out_.last_pass.resize(stages);
    for (std::int64_t stage = 0; stage < job.stages; ++stage) order_.push_back(order_of(job, stage));
  }

  PipelineRun run() {
    std::deque<std::int64_t> todo;
    for (std::int64_t stage = 0; stage < job_.stages; ++stage) todo.push_back(stage);
    // A stage goes as far as it can; who waits for its last pass is looked at again.
    while (!todo.empty()) {
      const std::int64_t stage = todo.front();
      todo.pop_front();
      bool moved = false;
      while (step(stage)) moved = true;
      if (!moved || job_.stages == 1) continue;
      todo.push_back((stage + 1) % job_.stages);
      todo.push_back((stage + job_.stages - 1) % job_.stages);
    }
    for (std::size_t stage = 0; stage < free_.size(); ++stage) {
      while (!weights_[stage].empty()) do_weights(static_cast<std::int64_t>(stage));
      out_.ends.push_back(free_[stage]);
    }
    return std::move(out_);
  }

 private:
  std::size_t pass(std::int64_t virtual_stage, std::int64_t micro_batch) const {
    return static_cast<std::size_t>(virtual_stage * job_.micro_batches + micro_batch);
  }
  const PieceTimes& times(std::int64_t stage, std::int64_t piece) const {
    return job_.times[static_cast<std::size_t>(piece * job_.stages + stage)];
  }
  Duration behind(Duration end) const { return end == kNever ? kNever : end + job_.hop; }

  // When what a pass needs of others is there.
  Duration ready(std::int64_t stage, const Task& task) const {
    const std::int64_t at = task.piece * job_.stages + stage;
    const std::int64_t last = job_.stages * job_.pieces - 1;
    if (task.kind == PassKind::forward) return at == 0 ? Duration{} : behind(forward_[pass(at - 1, task.micro_batch)]);
    const Duration own = forward_[pass(at, task.micro_batch)];
    if (at == last || own == kNever) return own;
    return std::max(own, behind(backward_[pass(at + 1, task.micro_batch)]));
  }

  void keep(std::int64_t stage, const Task& task, Duration start, Duration length) {
    const auto index = static_cast<std::size_t>(stage);
    free_[index] = start + length;
    out_.busy[index] += length;
    if (task.kind != PassKind::forward && task.micro_batch == job_.micro_batches - 1) out_.last_pass[index] += length;
    if (keep_) out_.slots.push_back({stage, task.piece, task.micro_batch, task.kind, start, free_[index]});
  }

  void do_weights(std::int64_t stage) {
    auto& waiting = weights_[static_cast<std::size_t>(stage)];
    const Task task = waiting.front();
    waiting.pop_front();
    keep(stage, task, free_[static_cast<std::size_t>(stage)], times(stage, task.piece).weights);
  }

  // The next pass of a stage; false when it is done or has to wait for somebody who has not come to it yet.
  bool step(std::int64_t stage) {
    const auto index = static_cast<std::size_t>(stage);
    if (at_[index] == order_[index].size()) return false;
    const Task& task = order_[index][at_[index]];
    const Duration from = ready(stage, task);
    if (from == kNever) return false;
    const bool splits = job_.schedule == PipelineSchedule::zero_bubble;
    // Where it would wait anyway, it does what nobody waits for; what is kept for that is bounded as 1F1B's is.
    while (splits && !weights_[index].empty() &&
           (from > free_[index] || static_cast<std::int64_t>(weights_[index].size()) > job_.stages))
      do_weights(stage);
    const Duration start = std::max(from, free_[index]);
    const PieceTimes& each = times(stage, task.piece);
    const std::int64_t at = task.piece * job_.stages + stage;
    const bool forward = task.kind == PassKind::forward;
    keep(stage, task, start, forward ? each.forward : splits ? each.backward : each.backward + each.weights);
    (forward ? forward_ : backward_)[pass(at, task.micro_batch)] = free_[index];
    if (!forward && splits) weights_[index].push_back({PassKind::weights, task.piece, task.micro_batch});
    const bool sends = forward ? at + 1 < job_.stages * job_.pieces : at > 0;
    if (job_.blocks && sends) free_[index] += job_.hop;
    ++at_[index];
    return true;
  }

  const PipelineJob& job_;
  bool keep_;
  std::vector<Duration> forward_;  // by virtual stage and micro-batch: when it was done
  std::vector<Duration> backward_;
  std::vector<std::vector<Task>> order_;   // by stage
  std::vector<std::size_t> at_;            // by stage: the next of its order
  std::vector<Duration> free_;             // by stage: when it is
  std::vector<std::deque<Task>> weights_;  // by stage: gradients of parameters that are still to be computed
  PipelineRun out_;
};

// DeepSeek-V3 Technical Report, table 2: a bubble of (stages / 2 - 1) (F&B + B - 3 W), where a forward and a backward
// pass at the same time, F&B, take as long as one after the other.
PipelineRun run_dualpipe(const PipelineJob& job) {
  PipelineRun out;
  for (std::int64_t stage = 0; stage < job.stages; ++stage) {
    const PieceTimes& each = job.times[static_cast<std::size_t>(stage)];
    const Duration backward = each.backward + each.weights;
    const Duration both = each.forward + backward;
    const Duration bubble = (both + backward - each.weights * 3) * (job.stages / 2 - 1);
    out.busy.push_back(both * job.micro_batches);
    out.last_pass.push_back(backward);
    out.ends.push_back(out.busy.back() + std::max(bubble, Duration{}));
  }
  const Duration end = *std::max_element(out.ends.begin(), out.ends.end());
  out.ends.assign(out.ends.size(), end);
  return out;
}

}  // namespace

Duration PipelineRun::end() const { return *std::max_element(ends.begin(), ends.end()); }

PipelineRun run_pipeline(const PipelineJob& job, bool keep_slots) {
  if (job.schedule == PipelineSchedule::dualpipe && job.stages > 1) return run_dualpipe(job);
  return Run(job, keep_slots).run();
}

std::int64_t kept_pieces(const PipelineJob& job, std::int64_t stage) {
  const std::int64_t all = job.micro_batches * job.pieces;
  if (job.schedule == PipelineSchedule::dualpipe && job.stages > 1) return std::min(all, job.stages + 1);
  return std::min(all, warm_up(job, stage) + 1);
}

}  // namespace weft::training
