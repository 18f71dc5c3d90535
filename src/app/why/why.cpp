#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/commands.hpp"
#include "app/ctrl_c.hpp"
#include "app/session.hpp"
#include "app/sim/progress.hpp"
#include "app/sweep/sweep_progress.hpp"
#include "app/why/why_inputs.hpp"
#include "app/why/why_training.hpp"
#include "base/text.hpp"
#include "report/table.hpp"
#include "why/rank.hpp"

namespace weft::app {
namespace {

using why::Diagnosis;
using why::Finding;
using why::Hypothesis;

constexpr std::size_t kShown = 8;      // causes in the table
constexpr std::size_t kExplained = 3;  // with findings, checks and fixes

std::string rate(double gigabytes) {
  if (gigabytes < 0.1) return fmt::format("{:.2g}", gigabytes);
  return fmt::format("{:.{}f}", gigabytes, gigabytes < 10 ? 2 : gigabytes < 100 ? 1 : 0);
}
std::string percent(double part) {
  if (part > 9.99) return ">999%";
  return fmt::format("{:.0f}%", 100 * part);
}

class Report {
 public:
  Report(const WhyInputs& inputs, const Diagnosis& diagnosis, Console& console)
      : inputs_(inputs), diagnosis_(diagnosis), console_(console) {}

  void text() const;
  void json() const;

 private:
  std::string job() const;
  std::string place(const spec::Place& place) const;
  std::string size_of(std::size_t row) const;
  void rows() const;
  void ranking() const;
  void details() const;
  bool is_faster() const;
  std::string verdict() const;
  std::optional<double> with_all_nics() const;
  nlohmann::ordered_json record(const Hypothesis& each, std::size_t rank) const;

  const WhyInputs& inputs_;
  const Diagnosis& diagnosis_;
  Console& console_;
};

std::string Report::job() const {
  const why::Situation& situation = inputs_.situation;
  const model::ServerKind& server = inputs_.machine->cluster()->groups[0].spec;
  const std::string nics =
      server.nics == 0 ? "no NICs" : fmt::format("{} x {} {}", server.nics, server.nic.kind, brief(server.nic.rate));
  return fmt::format("{} of {} GPUs, {} on each of {}: {}, {}; stack {}", collective::name(situation.job.operation),
                     situation.job.gpus, situation.job.per_server, counted(situation.nodes, "server"), server.gpu.kind,
                     nics, situation.job.stack->name);
}

std::string Report::place(const spec::Place& place) const {
  if (place.source == 0) return "";
  const std::string& name = inputs_.diagnostics.sources().name(place.source);
  return place.line == 0 ? fmt::format(" ({})", name) : fmt::format(" ({}:{})", name, place.line);
}

std::string Report::size_of(std::size_t row) const {
  if (diagnosis_.observations.empty())
    return fmt::format("{}", exact(Bytes(static_cast<std::int64_t>(diagnosis_.sizes[row]))));
  const why::Observation& each = diagnosis_.observations[row];
  return (each.is_average() ? "avg to " : "") + exact(Bytes(static_cast<std::int64_t>(each.largest())));
}

void Report::rows() const {
  const bool measured = !diagnosis_.observations.empty();
  std::vector<report::Column> columns = {{"size", true}};
  if (measured) columns.push_back({"measured", true});
  columns.push_back({"expected", true});
  if (measured) columns.push_back({"of it", true});
  const std::size_t shown = std::min(diagnosis_.ranked.size(), kExplained);
  for (std::size_t i = 0; i < shown; ++i)
    columns.push_back({std::string(why::info(diagnosis_.ranked[i].cause).id), true});
  report::Table table(columns);
  for (std::size_t row = 0; row < diagnosis_.expected.size(); ++row) {
    std::vector<std::string> cells = {size_of(row)};
    if (measured)
      cells.push_back(rate(diagnosis_.observations[row].bus) + (diagnosis_.observations[row].steady ? "" : "*"));
    cells.push_back(rate(diagnosis_.expected[row]));
    if (measured) cells.push_back(percent(diagnosis_.observations[row].bus / diagnosis_.expected[row]));
    for (std::size_t i = 0; i < shown; ++i) cells.push_back(rate(diagnosis_.ranked[i].predicted[row]));
    table.add(std::move(cells));
  }
  console_.out << "\nbusbw in GB/s"
               << (measured ? "; * two times that differ, not counted\n" : ", as the model has it\n")
               << table.text(console_.width, console_.colour_out);
}

void Report::ranking() const {
  const bool measured = !diagnosis_.observations.empty();
  report::Table table({{"#", true}, {"share", true}, {"predicts", true}, {"off by", true}, {"cause"}, {"as"}});
  for (std::size_t i = 0; i < std::min(diagnosis_.ranked.size(), kShown); ++i) {
    const Hypothesis& each = diagnosis_.ranked[i];
    table.add({fmt::format("{}", i + 1), percent(each.share), rate(each.predicted.back()),
               measured ? percent(each.median_error) : "-", std::string(why::info(each.cause).id), each.variant.text});
  }
  console_.out << fmt::format(
                      "\ncauses, best first (predicts: GB/s at {}; off by: median over {})\n",
                      size_of(diagnosis_.expected.size() - 1),
                      measured ? counted(static_cast<std::int64_t>(diagnosis_.observations.size()), "row") : "no rows")
               << table.text(console_.width, console_.colour_out);
  if (diagnosis_.ranked.size() > kShown)
    console_.out << fmt::format("and {} more, each below {}; --json has all\n", diagnosis_.ranked.size() - kShown,
                                percent(diagnosis_.ranked[kShown - 1].share + 0.005));
  report::Facts both;
  if (diagnosis_.pair)
    both.add("both at once", fmt::format("{} and {} ({}), off by {}", why::info(diagnosis_.pair->first).id,
                                         why::info(diagnosis_.pair->second).id, diagnosis_.pair->variant.text,
                                         percent(diagnosis_.pair->median_error)));
  console_.out << both.text(console_.width, console_.colour_out);
}

void Report::details() const {
  for (std::size_t i = 0; i < std::min(diagnosis_.ranked.size(), kExplained); ++i) {
    const Hypothesis& each = diagnosis_.ranked[i];
    const why::CauseInfo& info = why::info(each.cause);
    console_.out << fmt::format("\n{}. {}\n", i + 1, info.title);
    report::Facts facts;
    for (const Finding& finding : each.findings)
      facts.add(finding.weight > 0 ? "   for" : "   against",
                fmt::format("{}{}: {}", finding.text, place(finding.place), finding.reason));
    for (const std::string& assignment : each.variant.set) facts.add("   model", fmt::format("--set {}", assignment));
    facts.add("   check", std::string(info.check));
    facts.add("   fix", std::string(info.fix));
    console_.out << facts.text(console_.width, console_.colour_out);
  }
  report::Facts seen;
  for (const Hypothesis& each : diagnosis_.without_effect)
    seen.add("seen, but changes nothing here",
             fmt::format("{} ({}{})", why::info(each.cause).id, each.findings[0].text, place(each.findings[0].place)));
  if (!diagnosis_.without_effect.empty()) console_.out << "\n" << seen.text(console_.width, console_.colour_out);
}

// Most rows are better than the machine as it was taken could be.
bool Report::is_faster() const {
  std::size_t faster = 0;
  for (std::size_t i = 0; i < diagnosis_.observations.size(); ++i)
    if (diagnosis_.observations[i].bus > 4.0 / 3 * diagnosis_.expected[i]) ++faster;
  return 2 * faster > diagnosis_.observations.size();
}

std::string Report::verdict() const {
  if (diagnosis_.ranked.empty()) return "no cause is possible here";
  if (!diagnosis_.explained && is_faster())
    return "it is not the machine that was taken: most figures are better than that could give; --topo, --smi or a "
           "cluster file describes it";
  const Hypothesis& first = diagnosis_.ranked[0];
  if (const auto& mentions = inputs_.situation.facts.mentions;
      diagnosis_.observations.empty() && mentions.contains(measured::Mention::timed_out))
    return fmt::format(
        "a collective never ended{}: that is no slow one, and figures do not explain it. Who complains has come; to "
        "blame is a rank that has not, or another collective there. Compare the last sequence number of every rank "
        "(TORCH_NCCL_TRACE_BUFFER_SIZE=2000 keeps them); NCCL's warnings of all ranks say whose connection broke first",
        place(mentions.at(measured::Mention::timed_out).first));
  if (diagnosis_.observations.empty() && first.cause == why::Cause::nothing_wrong)
    return "nothing was measured, and no file speaks for a cause: this is what the machine should give; --measured, "
           "--busbw or --log tells more";
  if (diagnosis_.pair)
    return fmt::format("two causes at once, {} and {}: together they give {} GB/s at {}",
                       why::info(diagnosis_.pair->first).id, why::info(diagnosis_.pair->second).id,
                       rate(diagnosis_.pair->predicted.back()), size_of(diagnosis_.expected.size() - 1));
  std::string text(why::info(first.cause).title);
  if (!diagnosis_.explained) return text + ", but that does not explain the figures: off by more than a third";
  if (diagnosis_.ranked.size() > 1 && diagnosis_.ranked[1].share > 0.5 * first.share)
    text +=
        fmt::format("; {} is nearly as likely, see what tells them apart", why::info(diagnosis_.ranked[1].cause).id);
  return text;
}

// What the largest size would get with the NICs that NCCL_IB_HCA leaves out: to choose is no fault, and has its price.
std::optional<double> Report::with_all_nics() const {
  if (inputs_.all_nics.empty() || diagnosis_.sizes.empty()) return std::nullopt;
  const why::Job& job = inputs_.situation.job;
  const std::uint64_t size = diagnosis_.sizes.back();
  const auto made = inputs_.machine->predict(job, {.set = inputs_.all_nics}, {size});
  if (made.empty()) return std::nullopt;
  return why::bus_bandwidth(job, size, made.back().time);
}

void Report::text() const {
  report::Facts facts;
  facts.add("machine", inputs_.machine_name);
  facts.add("job", job());
  if (!inputs_.tables.empty()) facts.add("measured", inputs_.tables);
  for (const std::string& each : inputs_.assumed) facts.add("assumed", each);
  if (inputs_.situation.hoped)
    facts.add("hoped for", fmt::format("{} GB/s; the model gives {} at most", rate(*inputs_.situation.hoped),
                                       rate(diagnosis_.reference.best)));
  facts.add("most likely", verdict());
  if (const auto all = with_all_nics())
    facts.add("all NICs", fmt::format("without NCCL_IB_HCA the model gives {} GB/s at {}, with it {}", rate(*all),
                                      size_of(diagnosis_.expected.size() - 1), rate(diagnosis_.expected.back())));
  console_.out << facts.text(console_.width, console_.colour_out);
  rows();
  ranking();
  details();
}

nlohmann::ordered_json Report::record(const Hypothesis& each, std::size_t rank) const {
  const why::CauseInfo& info = why::info(each.cause);
  nlohmann::ordered_json out = {{"rank", rank},
                                {"cause", info.id},
                                {"title", info.title},
                                {"share", each.share},
                                {"log_odds", each.log_odds},
                                {"evidence", each.evidence},
                                {"variant", each.variant.text},
                                {"set", each.variant.set}};
  if (!each.predicted.empty()) out["predicted_busbw_GBps"] = each.predicted.back();
  if (!diagnosis_.observations.empty() && !each.predicted.empty()) {
    out["median_error"] = each.median_error;
    out["worst_error"] = each.worst_error;
  }
  out["findings"] = nlohmann::ordered_json::array();
  for (const Finding& finding : each.findings) {
    nlohmann::ordered_json row = {
        {"for", finding.weight > 0}, {"weight", finding.weight}, {"text", finding.text}, {"reason", finding.reason}};
    if (finding.place.source != 0) {
      row["file"] = inputs_.diagnostics.sources().name(finding.place.source);
      row["line"] = finding.place.line;
    }
    out["findings"].push_back(std::move(row));
  }
  out["check"] = info.check;
  out["fix"] = info.fix;
  return out;
}

void Report::json() const {
  const why::Situation& situation = inputs_.situation;
  nlohmann::ordered_json out = {{"record", "why"},
                                {"version", 1},
                                {"machine", inputs_.machine_name},
                                {"operation", collective::name(situation.job.operation)},
                                {"gpus", situation.job.gpus},
                                {"nodes", situation.nodes},
                                {"stack", situation.job.stack->name},
                                {"explained", diagnosis_.explained},
                                {"expected_busbw_GBps", diagnosis_.reference.expected}};
  if (situation.hoped) out["hoped_busbw_GBps"] = *situation.hoped;
  if (const auto all = with_all_nics()) out["all_nics_busbw_GBps"] = *all;
  out["assumed"] = inputs_.assumed;
  out["rows"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < diagnosis_.observations.size(); ++i) {
    const why::Observation& each = diagnosis_.observations[i];
    out["rows"].push_back({{"bytes", each.largest()},
                           {"average", each.is_average()},
                           {"measured_busbw_GBps", each.bus},
                           {"expected_busbw_GBps", diagnosis_.expected[i]},
                           {"counted", each.steady}});
  }
  out["causes"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < diagnosis_.ranked.size(); ++i)
    out["causes"].push_back(record(diagnosis_.ranked[i], i + 1));
  if (diagnosis_.pair)
    out["pair"] = {{"causes", {why::info(diagnosis_.pair->first).id, why::info(diagnosis_.pair->second).id}},
                   {"variant", diagnosis_.pair->variant.text},
                   {"set", diagnosis_.pair->variant.set},
                   {"share", diagnosis_.pair->share},
                   {"predicted_busbw_GBps", diagnosis_.pair->predicted.back()},
                   {"median_error", diagnosis_.pair->median_error}};
  out["without_effect"] = nlohmann::ordered_json::array();
  for (const Hypothesis& each : diagnosis_.without_effect) out["without_effect"].push_back(record(each, 0));
  console_.out << out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

}  // namespace

bool WhyOptions::is_about_a_measurement() const {
  return !input.topology.empty() || !smi.empty() || !measured.empty() || !logs.empty() || !environment.empty() ||
         !busbw.empty() || !algbw.empty() || !average.empty() || !expect.empty();
}

namespace {

struct Answer {
  std::string_view words;  // any of them, between spaces
  std::string_view text;
};
constexpr Answer kAnswers[] = {
    {"storage disk checkpoint dataset loading nfs lustre read write",
     "Storage is not measured here. What the network leaves it beside a job can be simulated: `weft sim --stream "
     "storage,pattern=poisson,transport=tcp`; `weft check` counts what is attached."},
    {"rank straggler gpu node server slow-rank",
     "One slow rank holds up all. `weft sim --slow-rank 3=50%` says by how much, `weft why CLUSTER --gpus N` where the "
     "time "
     "goes; which one it is, one figure of all cannot say: halve the job, and give `weft why --measured` both tables."},
    {"training train step mfu throughput iteration epoch",
     "A step is computation and collectives. `weft why CLUSTER` with `run: [{training: ...}]` says what it waits for "
     "and "
     "what would help, `weft plan CLUSTER --training` which layout is best; `weft why --measured out.txt --log "
     "nccl.log` "
     "explains collectives that were measured."},
    {"hang hangs hung stuck timeout watchdog",
     "weft explains what is slow, not what never ends. Compare the last sequence number of every rank "
     "(TORCH_NCCL_TRACE_BUFFER_SIZE=2000 keeps them): to blame is who has not come, not who complains. `weft why --log "
     "nccl.log` names connections that failed."},
    {"inference serving latency token",
     "Serving is bound by small messages: `weft why CLUSTER --size 64KiB` says where their time goes."},
    {"collective nccl allreduce all_reduce all-reduce reduce gather allgather alltoall busbw bandwidth network",
     "Bring what there is: `weft why --topo system.xml --measured out.txt --log nccl.log --nodes 4`."},
};

// A question in words is no file. Says what can be answered, and with which command.
int answer(const std::string& question, Console& console) {
  std::string lower = " ";
  for (const char c : question) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  lower += ' ';
  std::size_t said = 0;
  for (const Answer& each : kAnswers) {
    bool asked = false;
    for (std::size_t begin = 0; begin < each.words.size() && !asked;) {
      const std::size_t end = std::min(each.words.find(' ', begin), each.words.size());
      asked = lower.find(" " + std::string(each.words.substr(begin, end - begin)) + " ") != std::string::npos;
      begin = end + 1;
    }
    if (!asked) continue;
    ++said;
    console.out << each.text << "\n";
  }
  if (said == 0)
    console.out << "weft explains slow collectives: `weft why --topo system.xml --measured out.txt --log nccl.log`, or "
                   "`weft why CLUSTER` for one that is simulated.\n";
  return said == 0 ? kYourInput : kFine;
}

}  // namespace

int why(const WhyOptions& options, Console& console) {
  if (options.input.file.find(' ') != std::string::npos && !std::filesystem::exists(options.input.file))
    return answer(options.input.file, console);
  if (!options.profile.empty()) return why_profile(options, console);
  return options.is_about_a_measurement() ? why_slow(options, console) : why_run(options, console);
}

int why_slow(const WhyOptions& options, Console& console) {
  WhyInputs inputs;
  if (!read_why_inputs(options, inputs)) {
    report(inputs.diagnostics.has_errors() ? inputs.diagnostics : inputs.model, options.input, console);
    return kYourInput;
  }
  const CtrlC ctrl_c;
  std::size_t tried = 0;
  std::optional<SweepProgress> progress;
  const auto goes_on = [&](std::size_t now, std::size_t causes) {
    if (!progress) progress.emplace(causes, console, "causes");
    progress->show(tried = now);
    return !CtrlC::pressed();
  };
  const Diagnosis diagnosis = why::diagnose(inputs.situation, *inputs.machine, goes_on);
  if (progress) progress->finish();
  if (diagnosis.expected.empty()) {
    console.err << "this job is too large to be explained by simulation: fewer GPUs, or one of its tables\n";
    return kThisMachine;
  }
  const Report report(inputs, diagnosis, console);
  if (options.input.json)
    report.json();
  else
    report.text();
  return CtrlC::pressed() && progress ? progress->interrupted(tried) : kFine;
}

}  // namespace weft::app
