// Where the time of a simulated collective goes, and what would make it faster.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/commands.hpp"
#include "app/one_job.hpp"
#include "app/sim_run.hpp"
#include "base/text.hpp"
#include "fabric/summary.hpp"
#include "report/table.hpp"
#include "why/bounds.hpp"
#include "why/what_if.hpp"

namespace weft::app {
namespace {

using collective::Team;
using why::Resource;

constexpr std::uint64_t kProbeBytes = 4'000'000;
constexpr std::uint64_t kDraws = 3;
constexpr std::size_t kMostPacketFlows = 1'024;  // of a probe: seconds; more go as flows

// What the fabric leaves of the cards' rate, and where the rest goes.
struct Probe {
  std::int64_t per_mille = 1'000;
  std::int64_t paused_per_mille = 0;
  std::int64_t resent_per_mille = 0;
  std::string fidelity = "not needed";  // one server, or the fabric cannot be simulated
  schedule::Counters counters;
};

struct Costs {
  std::optional<Price> price;
  std::uint32_t nics = 0;
  std::uint64_t switches = 0;
};

struct Outcome {
  why::WhatIf change;
  double bus = 0;
  std::string choice;
  Costs costs;
  Probe probe;
};

Costs costs_of(const Session& session) {
  return {fabric::summarise(session.fabric()).price, session.cluster().nics,
          session.fabric().count(fabric::NodeKind::network_switch)};
}

// Neighbours of a ring over the servers, through each of their ports: what crosses the network at a time.
Traffic ring_traffic(const Session& session, const Team& team) {
  Traffic traffic;
  traffic.matrix.emplace();
  traffic.matrix->nodes = traffic.nodes = session.cluster().gpus;
  for (std::uint32_t node = 0; node < team.nodes(); ++node) {
    const auto& from = team.domain(node).ports;
    const auto& to = team.domain((node + 1) % team.nodes()).ports;
    for (std::size_t port = 0; port < from.size(); ++port)
      traffic.matrix->flows.push_back({team.gpu(from[port].rank), team.gpu(to[port % to.size()].rank), kProbeBytes});
  }
  traffic.flows = traffic.matrix->flows.size();
  traffic.bytes = traffic.flows * kProbeBytes;
  return traffic;
}

// Of what the slowest flow loses: for how long the link that was paused longest stood still, then
// the part of the packets that were sent again.
void find_losses(const schedule::RunResult& result, std::int64_t slowest, Probe& out) {
  const std::int64_t lost = 1'000 - out.per_mille;
  std::int64_t paused = 0;
  for (const schedule::LinkRecord& link : result.links) paused = std::max(paused, link.paused);
  out.paused_per_mille = std::min(lost, std::min(paused, slowest) * 1'000 / slowest);
  const auto sent = static_cast<std::int64_t>(result.counters.data_sent + result.counters.data_resent);
  if (sent > 0)
    out.resent_per_mille =
        std::min(lost - out.paused_per_mille, static_cast<std::int64_t>(result.counters.data_resent) * 1'000 / sent);
}

// Every flow counts for as much as the slowest, because a ring waits for it. Which flows collide is
// a matter of luck: of a few draws the middle one is taken.
Probe probe(Session& session, const why::Job& job, bool fast) {
  const Team team(session.fabric(), collective::pick_gpus(session.cluster(), job.gpus, job.per_server));
  if (team.nodes() < 2 || !team.broken().empty()) return {};
  const Traffic traffic = ring_traffic(session, team);
  RunOptions run;
  run.fidelity = fast || traffic.flows > kMostPacketFlows ? "flow" : "packet";
  check_run(session, traffic, run);
  if (session.diagnostics().has_errors()) return {};
  std::ostringstream nobody;
  Console quiet{nobody, nobody};
  std::vector<Probe> draws;
  for (run.seed = 1; run.seed <= kDraws; ++run.seed) {
    Watch watch({}, traffic.bytes, quiet);
    const schedule::RunResult result = run_traffic(session, traffic, run, run.fidelity == "packet", watch).result;
    if (!result.stopped_by.empty() || result.flows.empty()) return {};
    Probe drawn;
    drawn.fidelity = run.fidelity;
    drawn.counters = result.counters;
    std::int64_t slowest = 1;
    for (const schedule::FlowRecord& flow : result.flows) {
      const std::int64_t end = flow.sent == schedule::kNotYet ? flow.received : flow.sent;
      if (end <= flow.start || flow.unloaded == 0) continue;
      slowest = std::max(slowest, end - flow.start);
      drawn.per_mille = std::clamp<std::int64_t>(flow.unloaded * 1'000 / (end - flow.start), 1, drawn.per_mille);
    }
    find_losses(result, slowest, drawn);
    draws.push_back(std::move(drawn));
  }
  std::sort(draws.begin(), draws.end(), [](const Probe& a, const Probe& b) { return a.per_mille < b.per_mille; });
  return draws[draws.size() / 2];
}

class RunReport {
 public:
  RunReport(const WhyOptions& options, Session& session, const OneJob& job, why::Machine& machine, Console& console)
      : options_(options),
        session_(session),
        one_(job),
        machine_(machine),
        console_(console),
        bytes_(static_cast<std::uint64_t>(job.sizes.back().count())) {}

  int run();

 private:
  Outcome evaluate(const why::WhatIf& change, bool& possible);
  void try_changes();
  void text() const;
  void json() const;
  std::string what_if_text() const;
  std::string cost_text(const Costs& costs) const;
  double bus(std::int64_t time) const { return why::bus_bandwidth(one_.job, bytes_, time); }

  const WhyOptions& options_;
  Session& session_;
  const OneJob& one_;
  why::Machine& machine_;
  Console& console_;
  std::uint64_t bytes_;
  Probe probe_;
  Costs costs_;
  why::Prediction now_;
  std::optional<why::Breakdown> path_;
  why::Bounds bounds_;
  std::vector<Outcome> outcomes_;
};

Outcome RunReport::evaluate(const why::WhatIf& change, bool& possible) {
  Outcome out{change, 0, "", costs_, probe_};
  why::Job job = one_.job;
  if (change.per_server > 0) job.per_server = change.per_server;
  if (!change.variant.set.empty() || change.per_server > 0) {
    InputOptions input = with_job(options_.input, {options_.collective, options_.gpus, options_.size});
    input.set.insert(input.set.end(), change.variant.set.begin(), change.variant.set.end());
    std::ostringstream nobody;
    Console quiet{nobody, nobody};
    Session other(input, quiet);
    possible = other.ok();
    if (!possible) return out;
    out.costs = costs_of(other);
    out.probe = probe(other, job, options_.fast);
  }
  why::Variant variant = change.variant;
  if (!variant.algorithm) variant.algorithm = one_.algorithm;
  variant.protocol = one_.protocol;
  variant.channels = options_.collective.channels;
  variant.nic_per_mille = out.probe.per_mille;
  const std::vector<why::Prediction> made = machine_.predict(job, variant, {bytes_});
  possible = !made.empty();
  if (!possible) return out;
  out.bus = bus(made[0].time);
  out.choice = collective::name(made[0].choice.algorithm);
  return out;
}

void RunReport::try_changes() {
  for (const why::WhatIf& change : why::what_ifs(one_.job, now_.choice.algorithm, options_.collective.pxn, machine_)) {
    bool possible = false;
    Outcome made = evaluate(change, possible);
    if (possible) outcomes_.push_back(std::move(made));
  }
  std::stable_sort(outcomes_.begin(), outcomes_.end(),
                   [](const Outcome& a, const Outcome& b) { return a.bus > b.bus; });
}

std::string RunReport::cost_text(const Costs& costs) const {
  if (costs.price && costs_.price) {
    const double more = static_cast<double>(costs.price->count() - costs_.price->count()) / 1e6;
    if (more != 0) return fmt::format("{}${:.0f}/h", more < 0 ? "-" : "+", std::abs(more));
  }
  std::string text;
  const auto add = [&](std::int64_t more, std::string_view noun) {
    if (more != 0)
      text += fmt::format("{}{}{}", text.empty() ? "" : ", ", more > 0 ? "+" : "-", counted(std::abs(more), noun));
  };
  add(static_cast<std::int64_t>(costs.nics) - static_cast<std::int64_t>(costs_.nics), "NIC");
  add(static_cast<std::int64_t>(costs.switches) - static_cast<std::int64_t>(costs_.switches), "switch");
  return text.empty() ? "-" : text;
}

void RunReport::text() const {
  const Team& team = *machine_.team(one_.job, {});
  report::Facts facts;
  facts.add("cluster", session_.cluster().name);
  facts.add("job", fmt::format("{} of {} on {}, {}, stack {}", collective::name(one_.job.operation),
                               counted(one_.job.gpus, "GPU"), counted(team.nodes(), "server"),
                               exact(Bytes(static_cast<std::int64_t>(bytes_))), one_.job.stack->name));
  facts.add("takes", fmt::format("{}, busbw {:.1f} GB/s, with {} {} and {}", brief(Duration(now_.time)), bus(now_.time),
                                 collective::name(now_.choice.algorithm), collective::name(now_.choice.protocol),
                                 counted(now_.choice.channels, "channel")));
  if (team.nodes() > 1)
    facts.add("network", probe_.fidelity == "not needed"
                             ? std::string("not simulated: taken to be never in the way")
                             : fmt::format("neighbours in a ring get {:.0f}% of what one alone gets ({} level; {} "
                                           "pauses, {} packets sent again)",
                                           static_cast<double>(probe_.per_mille) / 10, probe_.fidelity,
                                           probe_.counters.pauses, probe_.counters.data_resent));
  if (const why::Bound* bound = bounds_.tightest())
    facts.add("most loaded",
              fmt::format("{}: {:.0f}% busy", bound->text,
                          100 * static_cast<double>(bound->time.count()) / static_cast<double>(now_.time)));
  facts.add("fidelity", fmt::format("messages with fair shares of links; the network probed as {}",
                                    options_.fast ? "flows (--fast)" : "packets"));
  console_.out << facts.text(console_.width, console_.colour_out);

  if (path_) {
    report::Table table({{"where the time goes"}, {"time", true}, {"share", true}});
    const double total = static_cast<double>(path_->total());
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < why::kResources; ++i)
      if (path_->time[i] > 0) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return path_->time[a] > path_->time[b]; });
    for (const std::size_t i : order)
      table.add({std::string(why::name(static_cast<Resource>(i))), brief(Duration(path_->time[i])),
                 fmt::format("{:.1f}%", 100 * static_cast<double>(path_->time[i]) / total)});
    console_.out << "\n" << table.text(console_.width, console_.colour_out);
  }
  console_.out << "\n" << what_if_text();
}

// Commands are long: where they do not fit beside the figures they stand below them, numbered, broken as a shell takes
// them.
std::string RunReport::what_if_text() const {
  std::vector<std::vector<std::string>> rows;
  for (const Outcome& each : outcomes_)
    rows.push_back({fmt::format("{:.1f}", each.bus), fmt::format("{:+.0f}%", 100 * (each.bus / bus(now_.time) - 1)),
                    each.change.text, cost_text(each.costs), each.change.command});
  report::Table beside({{"busbw", true}, {"change", true}, {"what if"}, {"costs"}, {"repeat it with"}});
  for (const auto& row : rows) beside.add(row);
  const std::string whole = beside.text(0, console_.colour_out);
  std::istringstream lines(beside.text(0, false));
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  if (console_.width == 0 || widest <= console_.width) return whole;
  report::Table above({{"#", true}, {"busbw", true}, {"change", true}, {"what if"}, {"costs"}});
  std::string below = "\nrepeat it with\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    above.add({fmt::format("{}", i + 1), rows[i][0], rows[i][1], rows[i][2], rows[i][3]});
    if (rows[i][4].empty()) continue;
    const std::string number = fmt::format("{:>3}  ", i + 1);
    std::string line = number;
    std::istringstream words(rows[i][4]);
    for (std::string word; words >> word;) {
      if (line.size() > number.size() && line.size() + word.size() + 3 > console_.width) {
        below += line + "\\\n";
        line = std::string(number.size() + 2, ' ');
      }
      line += word + " ";
    }
    line.pop_back();
    below += line + "\n";
  }
  return above.text(console_.width, console_.colour_out, true) + below;
}

void RunReport::json() const {
  nlohmann::ordered_json out = {{"record", "why_run"},
                                {"version", 1},
                                {"cluster", session_.cluster().name},
                                {"operation", collective::name(one_.job.operation)},
                                {"gpus", one_.job.gpus},
                                {"bytes", bytes_},
                                {"stack", one_.job.stack->name},
                                {"time_ps", now_.time},
                                {"busbw_GBps", bus(now_.time)},
                                {"algorithm", collective::name(now_.choice.algorithm)},
                                {"protocol", collective::name(now_.choice.protocol)},
                                {"channels", now_.choice.channels},
                                {"network_fidelity", probe_.fidelity},
                                {"network_per_mille", probe_.per_mille},
                                {"paused_per_mille", probe_.paused_per_mille},
                                {"resent_per_mille", probe_.resent_per_mille}};
  if (path_) {
    out["critical_path_ps"] = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < why::kResources; ++i)
      out["critical_path_ps"][std::string(why::name(static_cast<Resource>(i)))] = path_->time[i];
  }
  out["bounds"] = nlohmann::ordered_json::array();
  for (const why::Bound& each : bounds_.bandwidths)
    out["bounds"].push_back({{"resource", why::name(each.resource)},
                             {"text", each.text},
                             {"time_ps", each.time.count()},
                             {"utilisation", static_cast<double>(each.time.count()) / static_cast<double>(now_.time)}});
  out["what_if"] = nlohmann::ordered_json::array();
  for (const Outcome& each : outcomes_) {
    nlohmann::ordered_json row = {
        {"change", each.change.text}, {"command", each.change.command},  {"set", each.change.variant.set},
        {"busbw_GBps", each.bus},     {"algorithm", each.choice},        {"network_per_mille", each.probe.per_mille},
        {"nics", each.costs.nics},    {"switches", each.costs.switches}, {"price_usd_per_hour", nullptr}};
    if (each.costs.price) row["price_usd_per_hour"] = static_cast<double>(each.costs.price->count()) / 1e6;
    out["what_if"].push_back(std::move(row));
  }
  console_.out << out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

int RunReport::run() {
  spec::Diagnostics& diagnostics = session_.diagnostics();
  const Team* team = machine_.team(one_.job, {});
  if (team == nullptr)
    diagnostics.add(spec::Complaint::not_simulated, {},
                    fmt::format("these {} GPUs are not joined, or are not there", one_.job.gpus),
                    "--gpus and --per-server that fit the cluster");
  if (app::report(diagnostics, options_.input, console_)) return kYourInput;
  costs_ = costs_of(session_);
  probe_ = probe(session_, one_.job, options_.fast);
  why::Variant variant = one_.variant(options_.collective);
  variant.nic_per_mille = probe_.per_mille;
  const std::vector<why::Prediction> made = machine_.predict(one_.job, variant, {bytes_});
  if (made.empty()) {
    diagnostics.add(spec::Complaint::contradiction, {},
                    "that algorithm and protocol cannot do it on these GPUs, or it is too large",
                    "--algorithms auto, or fewer GPUs");
    app::report(diagnostics, options_.input, console_);
    return kYourInput;
  }
  now_ = made[0];
  collective::Stack stack = *one_.job.stack;
  stack.network.nic_per_mille = std::max<std::int64_t>(1, stack.network.nic_per_mille * probe_.per_mille / 1'000);
  collective::PlanOptions plan{
      .operation = one_.job.operation, .bytes = bytes_, .choice = now_.choice, .stack = &stack};
  plan.pxn = options_.collective.pxn;
  path_ = why::critical_path(*team, plan, {probe_.per_mille, probe_.paused_per_mille, probe_.resent_per_mille});
  bounds_ = why::bounds_of(*team, plan, bisection_of(session_, one_.job));
  try_changes();
  if (options_.input.json)
    json();
  else
    text();
  return kFine;
}

}  // namespace

int why_run(const WhyOptions& given, Console& console) {
  WhyOptions options = given;
  if (options.input.nodes == 0) options.input.nodes = 1;
  const JobOptions wanted{options.collective, options.gpus, options.size};
  Session session(with_job(options.input, wanted), console);
  if (!session.ok()) return kYourInput;
  const auto job = job_of(session, wanted);
  if (report(session.diagnostics(), options.input, console) || !job) return kYourInput;
  const model::Catalog catalog = load_catalog(options.input, session.diagnostics());
  why::Machine machine(session.source(), session.cluster().name, with_job(options.input, wanted).set, catalog,
                       session.diagnostics());
  return RunReport(options, session, *job, machine, console).run();
}

}  // namespace weft::app
