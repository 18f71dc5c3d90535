#include "app/why/why_training.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "app/ctrl_c.hpp"
#include "app/sim/progress.hpp"
#include "app/sweep/sweep_progress.hpp"
#include "base/text.hpp"
#include "experiment/search_training.hpp"
#include "report/table.hpp"
#include "training/step_path.hpp"

namespace weft::app {
namespace {

using experiment::Experiment;
using experiment::Training;
using experiment::TrainingResult;
using training::Group;
using training::Part;
using Json = nlohmann::ordered_json;

// What could be changed, as words of --set.
struct Change {
  std::string text;
  std::vector<std::string> set;
};

struct Changed {
  Change change;
  Duration time;
  bool fits = true;  // into memory
};

constexpr std::string_view kByAlgorithm = "collectives by ";

// The groups whose collectives two steps do by different algorithms: "tensor and data groups"; empty: none.
std::string groups_that_differ(const TrainingResult& one, const TrainingResult& other) {
  std::vector<std::string> groups;
  for (const experiment::TrainingExchange& each : one.exchanges)
    for (const experiment::TrainingExchange& now : other.exchanges) {
      const std::string name(enum_name(each.group));
      if (now.group == each.group && now.operation == each.operation && now.bytes == each.bytes &&
          now.algorithm != each.algorithm && std::find(groups.begin(), groups.end(), name) == groups.end())
        groups.push_back(name);
    }
  return groups.empty() ? "" : fmt::format("{} groups", fmt::join(groups, " and "));
}

class StepChanges {
 public:
  StepChanges(const Session& session, std::string prefix, const Training& work, const TrainingResult& now)
      : cluster_(session.cluster()), run_(work.run), layout_(now.layout), step_(now.step), prefix_(std::move(prefix)) {}

  std::vector<Change> all() const {
    network();
    layouts();
    placements();
    overlaps();
    algorithms();
    kernels();
    return std::move(out_);
  }

 private:
  void add(std::string text, std::vector<std::string> words) const {
    for (std::string& word : words)
      if (!word.starts_with("servers.") && !word.starts_with("fabric.")) word = prefix_ + word;
    out_.push_back({std::move(text), std::move(words)});
  }

  void network() const {
    const model::ServerKind& server = cluster_.groups[0].spec;
    if (server.nics > 0 && layout_.gpus > experiment::domain_of(cluster_)) {
      add(fmt::format("twice as many NICs: {}", 2 * server.nics), {fmt::format("servers.nics={}", 2 * server.nics)});
      add("NICs with twice the rate",
          {fmt::format("servers.nic.rate={}Gbps", 2 * server.nic.rate.count() / 1'000'000'000)});
      for (const char* key : {"oversubscription", "super_oversubscription"})
        add(fmt::format("{} of 1", key), {fmt::format("fabric.{}=1", key)});
    }
    if (server.scale_up && server.scale_up->link.both_ways)
      add("a scale-up link with twice the rate",
          {fmt::format("servers.scale_up.link.both_ways={}Gbps",
                       2 * server.scale_up->link.both_ways->count() / 1'000'000'000)});
  }

  void layouts() const {
    const auto degree = [&](const char* name, std::int64_t now) {
      add(fmt::format("{} {} instead of {}", name, 2 * now, now), {fmt::format("parallel.{}={}", name, 2 * now)});
      if (now % 2 == 0)
        add(fmt::format("{} {} instead of {}", name, now / 2, now), {fmt::format("parallel.{}={}", name, now / 2)});
    };
    degree("tensor", layout_.tensor);
    degree("pipeline", layout_.pipeline);
    degree("context", layout_.context);
    if (layout_.context > 1) {
      const bool ring = run_.parallel.context_by == model::ContextBy::ring;
      add(ring ? "context groups by all-to-all" : "context groups by rings",
          {fmt::format("parallel.context_by={}", ring ? "alltoall" : "ring")});
    }
    if (run_.model.experts) degree("expert", layout_.expert);
    add(fmt::format("micro-batches of {}", 2 * run_.micro_batch),
        {fmt::format("micro_batch={}", 2 * run_.micro_batch)});
    if (run_.micro_batch % 2 == 0)
      add(fmt::format("micro-batches of {}", run_.micro_batch / 2),
          {fmt::format("micro_batch={}", run_.micro_batch / 2)});
    if (layout_.pipeline > 1) {
      if (run_.schedule != model::PipelineSchedule::zero_bubble)
        add("schedule zero-bubble", {"schedule=zero-bubble", "virtual_stages=1"});
      const std::int64_t pieces =
          run_.schedule == model::PipelineSchedule::interleaved ? 2 * layout_.virtual_stages : 2;
      add(fmt::format("interleaved by {}", pieces), {"schedule=interleaved", fmt::format("virtual_stages={}", pieces)});
      last_piece();
    }
    for (const auto sharding :
         {model::Sharding::zero1, model::Sharding::zero2, model::Sharding::zero3, model::Sharding::hybrid})
      if (sharding != run_.sharding && layout_.data * layout_.context > 1)
        add(fmt::format("sharding {}", enum_name(sharding)), {fmt::format("sharding={}", enum_name(sharding))});
    if (run_.recompute != model::Recompute::none) add("nothing computed again", {"recompute=none"});
    if (!run_.recompute_modules.empty()) add("no module computed again", {"recompute_modules=[]"});
    if (run_.gradient_bytes == 4) add("gradients of 16 bits", {"gradient_bytes=2"});
  }

  // As many layers less in the last piece as its output layer and what it predicts beyond the next token take.
  void last_piece() const {
    const std::vector<training::Chunk>& chunks = layout_.chunks;
    if (step_.passes.size() != chunks.size()) return;
    const auto time = [&](std::size_t i) {
      Duration sum;
      for (const training::TimedPass& each : step_.passes[i]) sum += each.time();
      return sum;
    };
    const std::size_t last = chunks.size() - 1;
    const auto plain =
        static_cast<std::size_t>(std::max_element(chunks.begin(), chunks.end() - 1,
                                                  [](const auto& a, const auto& b) { return a.layers < b.layers; }) -
                                 chunks.begin());
    const Duration layer = time(plain) / std::max<std::int64_t>(1, chunks[plain].layers);
    if (layer.count() <= 0) return;
    // In layers, to the nearest.
    const std::int64_t beside = ((time(last) - layer * chunks[last].layers) * 2 + layer).count() / (layer * 2).count();
    const auto pieces = static_cast<std::int64_t>(chunks.size());
    const std::int64_t left = std::max<std::int64_t>(0, (run_.model.layers + beside) / pieces - beside);
    if (beside < 1) return;
    std::vector<std::int64_t> layers;
    for (std::int64_t piece = 0; piece + 1 < pieces; ++piece) {
      const std::int64_t rest = run_.model.layers - left;
      layers.push_back(rest / (pieces - 1) + (piece < rest % (pieces - 1) ? 1 : 0));
    }
    layers.push_back(left);
    // Of whole layers the longest piece may stay as long.
    if (std::max(layers.front(), left + beside) >= std::max(chunks[plain].layers, chunks[last].layers + beside)) return;
    add(fmt::format("{} layer{} in the last piece instead of {}", left, left == 1 ? "" : "s", chunks[last].layers),
        {fmt::format("parallel.layers=[{}]", fmt::join(layers, ","))});
  }

  // The same degrees on other ranks: tensor groups in or across scale-up domains, stages next to each other or far
  // apart.
  void placements() const {
    for (const auto& [order, name] : names_of(model::RankOrder{})) {
      model::TrainingRun run = run_;
      run.parallel.order = order;
      const auto layout = training::layout_of(run, layout_.gpus, layout_.domain);
      if (order == run_.parallel.order || !layout) continue;
      std::string where;
      const auto say = [&](const char* what, Group group) {
        const training::GroupPattern pattern = training::pattern_of(*layout, group);
        if (pattern.size < 2) return;
        where += fmt::format("{}{} ", where.empty() ? "" : ", ", what);
        if (pattern.block <= layout_.domain)
          where += "in a scale-up domain";
        else
          where += pattern.stride == 1 ? "on ranks that follow each other"
                                       : fmt::format("{} ranks apart", grouped(pattern.stride));
      };
      say("tensor groups", Group::tensor);
      say("stages", Group::pipeline);
      say("copies", Group::data);
      add(where, {fmt::format("parallel.order={}", name)});
    }
  }

  void overlaps() const {
    const auto overlap = [&](const char* name, bool now, bool has) {
      if (!now && has) add(fmt::format("{} groups beside computing", name), {fmt::format("overlap.{}=true", name)});
    };
    overlap("tensor", run_.overlap.tensor, layout_.tensor > 1);
    overlap("pipeline", run_.overlap.pipeline, layout_.pipeline > 1);
    overlap("data", run_.overlap.data, layout_.data > 1);
    overlap("expert", run_.overlap.expert || run_.moe.overlap, layout_.expert > 1);
    if (!run_.overlap.prefetch) add("parameters gathered a layer ahead", {"overlap.prefetch=true"});
    if (layout_.expert > 1 && run_.moe.dispatcher != model::Dispatcher::deepep)
      add("DeepEP dispatches tokens", {"moe.dispatcher=deepep"});
  }

  // Before what the file asks for; which groups can take one is known when it has been tried.
  void algorithms() const {
    for (const collective::Algorithm each : collective::kAlgorithms) {
      std::vector<std::string> names = {std::string(collective::name(each))};
      names.insert(names.end(), run_.algorithms.begin(), run_.algorithms.end());
      add(std::string(kByAlgorithm) + names[0], {fmt::format("algorithms=[{}]", fmt::join(names, ","))});
    }
  }

  void kernels() const {
    const model::GpuKind& gpu = cluster_.groups[0].spec.gpu;
    if (step_.parts.launching.count() > 0) add("CUDA graphs", {"cuda_graphs=true"});
    if (run_.framework == model::Framework::pytorch && !run_.compile) add("torch.compile", {"compile=true"});
    if (run_.attention != model::AttentionKind::cudnn) add("attention by cuDNN", {"attention=cudnn"});
    if (run_.precision == model::TrainingPrecision::bf16 && gpu.fp8_dense) add("matrices in 8 bits", {"precision=fp8"});
    const auto twice = [](const char* key, std::int64_t now, const char* unit) {
      return fmt::format("servers.gpu.{}={}{}", key, 2 * now, unit);
    };
    constexpr std::int64_t kGiga = 1'000'000'000;
    std::vector<std::string> tensor = {twice("fp16_dense", gpu.fp16_dense->count() / kGiga, "GFLOPS")};
    if (gpu.fp8_dense) tensor.push_back(twice("fp8_dense", gpu.fp8_dense->count() / kGiga, "GFLOPS"));
    if (gpu.fp4_dense) tensor.push_back(twice("fp4_dense", gpu.fp4_dense->count() / kGiga, "GFLOPS"));
    tensor.push_back(twice("power", gpu.power.count() / 1'000, "W"));
    add("a GPU with twice the tensor cores and power", tensor);
    add("a GPU with twice the memory bandwidth",
        {twice("memory_bandwidth", gpu.memory_bandwidth->count() / kGiga, "Gbps")});
  }

  const model::Cluster& cluster_;
  const model::TrainingRun& run_;
  const training::Layout& layout_;
  const training::Step& step_;
  std::string prefix_;  // of the job's keys
  mutable std::vector<Change> out_;
};

// A line of the path.
struct Spent {
  std::string what;
  Duration time;
};

std::vector<Spent> spent_of(const training::StepPath& path) {
  std::vector<Spent> out;
  for (std::size_t i = 0; i < training::kParts; ++i)
    out.push_back({std::string(enum_name(static_cast<Part>(i))), path.computing[i]});
  for (std::size_t i = 0; i < training::kGroups; ++i)
    out.push_back({fmt::format("communication of {} groups", enum_name(static_cast<Group>(i))), path.exposed[i]});
  out.push_back({"computing slower beside communication", path.beside});
  out.push_back({"kernels that the host launches late", path.launching});
  out.push_back({"gaps between kernels", path.gaps});
  out.push_back({"host memory and CPUs", path.host});
  out.push_back({"slow ranks and open turns", path.waiting});
  std::erase_if(out, [](const Spent& each) { return each.time.count() == 0; });
  std::stable_sort(out.begin(), out.end(), [](const Spent& a, const Spent& b) { return a.time > b.time; });
  return out;
}

double percent(Duration part, Duration whole) {
  return 100 * static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

class StepReport {
 public:
  StepReport(Session& session, const WhyOptions& options, Console& console)
      : session_(session), options_(options), console_(console) {}

  int run(std::size_t item, const Training& work) {
    const auto now = timed_step(session_.design(), work, true);
    if (report(session_.diagnostics(), options_.input, console_)) return kYourInput;
    if (!now) {
      console_.err << "a collective of the step waits for what never comes\n";
      return kExpectationFailed;
    }
    const training::StepPath path = training::path_of(now->step, now->layout);
    int code = kFine;
    const std::vector<Changed> changed = try_all(item, work, *now, code);
    if (options_.input.json)
      record(work, *now, path, changed);
    else
      text(work, *now, path, changed);
    return code;
  }

 private:
  std::vector<Changed> try_all(std::size_t item, const Training& work, const TrainingResult& now, int& code) {
    std::vector<Changed> out;
    std::string prefix = fmt::format("run.{}.training.", item);
    // A single job may stand without a list.
    if (session_.design().with({fmt::format("{}global_batch={}", prefix, work.run.global_batch)}) == nullptr)
      prefix = "run.training.";
    const std::vector<Change> changes = StepChanges(session_, prefix, work, now).all();
    const CtrlC ctrl_c;
    SweepProgress progress(changes.size(), console_, "changes");
    for (std::size_t tried = 0; tried < changes.size(); ++tried) {
      progress.show(tried);
      if (CtrlC::pressed()) {
        code = progress.interrupted(tried);
        break;
      }
      const Change& change = changes[tried];
      const auto design = session_.design().with(change.set);
      if (design == nullptr) continue;
      const std::vector<Training> jobs = experiment::training_of(design->cluster());
      std::size_t nth = 0;
      for (std::size_t i = 0; i < item; ++i) nth += session_.cluster().file.run[i].training ? 1 : 0;
      const auto result = timed_step(*design, jobs.at(nth), false);
      if (!result || result->step.time == now.step.time) continue;
      out.push_back({change, result->step.time, result->step.memory.total() <= result->memory});
      if (change.text.starts_with(kByAlgorithm)) out.back().change.text += ": " + groups_that_differ(now, *result);
    }
    std::stable_sort(out.begin(), out.end(), [](const Changed& a, const Changed& b) { return a.time < b.time; });
    return out;
  }

  static std::string command(const Change& change) {
    std::string out;
    for (const std::string& word : change.set) out += (out.empty() ? "--set " : " --set ") + word;
    return out;
  }

  void text(const Training& work, const TrainingResult& now, const training::StepPath& path,
            const std::vector<Changed>& changed) const {
    report::Facts facts;
    facts.add("training", fmt::format("{} on {} GPUs of {}: {}", work.run.model.kind, grouped(now.layout.gpus),
                                      session_.cluster().name, experiment::describe_layout(work.run, now.layout)));
    facts.add("step", fmt::format("{}, {:.1f} % of peak (MFU); waits for {}", brief(now.step.time),
                                  100 * now.step.flops_per_gpu / now.peak_flops, experiment::bound_by(now.step)));
    if (!path.passes.empty())
      facts.add("path", fmt::format("{} passes, {} times from one stage to another",
                                    grouped(static_cast<std::int64_t>(path.passes.size())), grouped(path.changes)));
    facts.add("at most", fmt::format("{:.1f} % shorter with a network that costs nothing",
                                     percent(now.step.parts.network() + now.step.parts.beside, now.step.time)));
    console_.out << facts.text(console_.width, console_.colour_out) << "\n";
    report::Table times({{"on the critical path"}, {"time", true}, {"%", true}});
    for (const Spent& each : spent_of(path))
      times.add({each.what, brief(each.time), fmt::format("{:.1f}", percent(each.time, now.step.time))});
    times.add({"step", brief(now.step.time), "100.0"});
    console_.out << times.text(console_.width, console_.colour_out) << "\n";
    report::Table ifs({{"step", true}, {"change", true}, {"what if"}, {"repeat it with"}});
    for (const Changed& each : changed)
      ifs.add({brief(each.time), fmt::format("{:+.1f}%", percent(each.time, now.step.time) - 100),
               each.change.text + (each.fits ? "" : " (does not fit into memory)"), command(each.change)});
    console_.out << ifs.text(console_.width, console_.colour_out, true);
  }

  void record(const Training& work, const TrainingResult& now, const training::StepPath& path,
              const std::vector<Changed>& changed) const {
    Json parts = Json::object();
    for (const Spent& each : spent_of(path)) parts[each.what] = each.time.count();
    Json ifs = Json::array();
    for (const Changed& each : changed)
      ifs.push_back({{"change", each.change.text},
                     {"set", each.change.set},
                     {"step_ps", each.time.count()},
                     {"fits", each.fits}});
    console_.out << Json({{"record", "why_training"},
                          {"version", 1},
                          {"cluster", session_.cluster().name},
                          {"model", work.run.model.kind},
                          {"step_ps", now.step.time.count()},
                          {"waits_for", experiment::bound_by(now.step)},
                          {"path_ps", std::move(parts)},
                          {"passes", path.passes.size()},
                          {"what_if", std::move(ifs)}})
                        .dump()
                 << "\n";
  }

  Session& session_;
  const WhyOptions& options_;
  Console& console_;
};

}  // namespace

std::optional<TrainingResult> timed_step(experiment::Design& design, const Training& work, bool keep_slots) {
  Experiment experiment{.workload = std::make_shared<const experiment::Workload>(work)};
  experiment.fidelity = experiment::Fidelity::message;
  experiment.wanted.messages = keep_slots ? 1 : 0;
  experiment::check(design, experiment);
  if (design.diagnostics().has_errors()) return {};
  experiment::Outcome outcome = experiment::run(design, experiment, {});
  if (outcome.stuck || !outcome.training) return {};
  return std::move(outcome.training);
}

int why_training(Session& session, const WhyOptions& options, Console& console) {
  const auto& runs = session.cluster().file.run;
  bool first = true;
  for (std::size_t item = 0; item < runs.size(); ++item) {
    if (!runs[item].training) continue;
    if (!std::exchange(first, false) && !options.input.json) console.out << "\n";
    if (const int code = StepReport(session, options, console).run(item, {*runs[item].training}); code != kFine)
      return code;
  }
  return kFine;
}

}  // namespace weft::app
