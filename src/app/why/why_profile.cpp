// A step as PyTorch's profiler saw it, beside what the model makes of the file's job.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/why/why_training.hpp"
#include "base/text.hpp"
#include "measured/profile.hpp"
#include "report/table.hpp"

namespace weft::app {
namespace {

using experiment::TrainingResult;
using measured::KernelKind;
using measured::Profile;
using training::Part;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

std::optional<std::string> bytes_of(const std::string& path, Console& console) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    console.err << fmt::format("--profile {}: cannot be read\n", path);
    return std::nullopt;
  }
  if (static_cast<std::size_t>(std::max<std::streamoff>(0, file.tellg())) > kMostBytes) {
    console.err << fmt::format("--profile {}: larger than 1 GiB; fewer steps, or gzipped\n", path);
    return std::nullopt;
  }
  file.seekg(0);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

// What the model has for a kind of kernels; recomputing is of all kinds, and stands beside.
Duration modelled(const training::Breakdown& parts, KernelKind kind) {
  const auto of = [&](Part part) { return parts.computing[static_cast<std::size_t>(part)]; };
  switch (kind) {
    case KernelKind::matrices:
      return of(Part::matrices) + of(Part::experts) + of(Part::output);
    case KernelKind::attention:
      return of(Part::attention);
    case KernelKind::elementwise:
      return of(Part::elementwise);
    case KernelKind::optimizer:
      return of(Part::optimizer);
    case KernelKind::copies:
      return parts.host;
    case KernelKind::communication:
      return {};
  }
  return {};
}

std::string milliseconds_text(double us) { return fmt::format("{:.1f} ms", us / 1000); }
std::string milliseconds_text(Duration time) { return milliseconds_text(static_cast<double>(time.count()) / 1e6); }

void print(const Profile& profile, const TrainingResult* model, Console& console) {
  report::Facts facts;
  facts.add("profile",
            fmt::format(
                "{} of {} on {}; {} kernels", counted(std::max<std::int64_t>(1, profile.steps), "step"),
                profile.ranks > 0 ? fmt::format("rank {} of {}", profile.rank, profile.ranks) : std::string("one GPU"),
                profile.gpu.empty() ? "a GPU without a name" : profile.gpu, grouped(profile.kernels)));
  if (profile.steps == 0) facts.add("", "no step is marked (profiler.step()): the whole trace is taken as one");
  facts.add("network",
            fmt::format("NCCL runs for {:.1f} % of the step; computing hides {:.1f} % of that, {:.1f} % of the "
                        "step waits for it",
                        100 * profile.communicating / profile.step,
                        profile.communicating > 0 ? 100 * (1 - profile.exposed / profile.communicating) : 0.0,
                        100 * profile.exposed / profile.step));
  facts.add("at most",
            fmt::format("{:.1f} % shorter with a network that costs nothing, {:.1f} % with one twice as fast",
                        100 * profile.exposed / profile.step, 50 * profile.exposed / profile.step));
  console.out << facts.text(console.width, console.colour_out) << "\n";
  std::vector<report::Column> columns = {{"in a step"}, {"measured", true}, {"%", true}};
  if (model != nullptr) columns.insert(columns.end(), {{"model", true}, {"model / measured", true}});
  report::Table table(columns);
  const auto add = [&](std::string what, double us, std::optional<Duration> expected) {
    if (us <= 0 && (!expected || expected->count() == 0)) return;
    std::vector<std::string> cells = {std::move(what), milliseconds_text(us),
                                      fmt::format("{:.1f}", 100 * us / profile.step)};
    if (model != nullptr) {
      cells.push_back(expected ? milliseconds_text(*expected) : "-");
      cells.push_back(expected && us > 0 ? fmt::format("{:.2f}", static_cast<double>(expected->count()) / 1e6 / us)
                                         : "-");
    }
    table.add(std::move(cells));
  };
  const training::Breakdown none;
  const training::Breakdown& parts = model != nullptr ? model->step.parts : none;
  for (std::size_t i = 0; i < measured::kKernelKinds; ++i) {
    const auto kind = static_cast<KernelKind>(i);
    if (kind != KernelKind::communication) add(std::string(enum_name(kind)), profile.busy[i], modelled(parts, kind));
  }
  if (model != nullptr)
    add("computed again (measured above)", 0, parts.computing[static_cast<std::size_t>(Part::recompute)]);
  add("waiting for communication", profile.exposed, parts.network());
  add("nothing runs", profile.idle, parts.launching + parts.gaps + parts.bubble + parts.slow);
  add("step", profile.step, model != nullptr ? std::optional(model->step.time) : std::nullopt);
  console.out << table.text(console.width, console.colour_out);
  if (profile.operations.empty()) return;
  report::Table operations({{"NCCL"}, {"calls", true}, {"each", true}, {"bytes each", true}, {"GB/s", true}});
  for (const auto& [name, each] : profile.operations) {
    const double us = each.us / static_cast<double>(each.count);
    const double bytes = static_cast<double>(each.bytes) / static_cast<double>(each.count);
    operations.add({name, grouped(each.count), fmt::format("{:.0f} us", us),
                    each.bytes > 0 ? brief(Bytes(static_cast<std::int64_t>(bytes))) : "-",
                    each.bytes > 0 ? fmt::format("{:.1f}", bytes / us / 1e3) : "-"});
  }
  console.out << "\n" << operations.text(console.width, console.colour_out);
}

void print_record(const Profile& profile, const TrainingResult* model, Console& console) {
  Json kinds = Json::object();
  for (std::size_t i = 0; i < measured::kKernelKinds; ++i)
    kinds[std::string(enum_name(static_cast<KernelKind>(i)))] = profile.busy[i];
  Json operations = Json::array();
  for (const auto& [name, each] : profile.operations)
    operations.push_back({{"name", name}, {"calls", each.count}, {"us", each.us}, {"bytes", each.bytes}});
  Json out = {{"record", "why_profile"},
              {"version", 1},
              {"gpu", profile.gpu},
              {"rank", profile.rank},
              {"ranks", profile.ranks},
              {"steps", profile.steps},
              {"kernels", profile.kernels},
              {"step_us", profile.step},
              {"computing_us", profile.computing},
              {"communicating_us", profile.communicating},
              {"exposed_us", profile.exposed},
              {"idle_us", profile.idle},
              {"busy_us", std::move(kinds)},
              {"operations", std::move(operations)}};
  if (model != nullptr) out["model_step_ps"] = model->step.time.count();
  console.out << out.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
}

}  // namespace

int why_profile(const WhyOptions& options, Console& console) {
  const auto bytes = bytes_of(options.profile, console);
  if (!bytes) return kYourInput;
  const auto profile = measured::read_profile(*bytes);
  if (!profile) {
    console.err << fmt::format("--profile {}: {}\n", options.profile, profile.error());
    return kYourInput;
  }
  std::optional<TrainingResult> model;
  // Without a file there is nothing to hold it against.
  if (!options.input.file.empty()) {
    Session session(options.input, console);
    if (!session.ok()) return kYourInput;
    const std::vector<experiment::Training> jobs = experiment::training_of(session.cluster());
    if (jobs.size() != 1) {
      console.err << "--profile is held against one training job: `run:` must have one\n";
      return kYourInput;
    }
    model = timed_step(session.design(), jobs[0], false);
    if (report(session.diagnostics(), options.input, console)) return kYourInput;
  }
  if (options.input.json)
    print_record(*profile, model ? &*model : nullptr, console);
  else
    print(*profile, model ? &*model : nullptr, console);
  return kFine;
}

}  // namespace weft::app
