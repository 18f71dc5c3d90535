// Where the time of a simulated collective goes, and what would make it faster.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "app/commands.hpp"
#include "app/ctrl_c.hpp"
#include "app/session.hpp"
#include "app/sim/progress.hpp"
#include "app/sweep/sweep_progress.hpp"
#include "app/why/one_job.hpp"
#include "app/why/why_training.hpp"
#include "base/text.hpp"
#include "experiment/faults.hpp"
#include "experiment/unknowns.hpp"
#include "experiment/warnings.hpp"
#include "fabric/summary.hpp"
#include "report/table.hpp"
#include "why/bounds.hpp"
#include "why/network_probe.hpp"
#include "why/what_if.hpp"

namespace weft::app {
namespace {

using collective::Team;
using why::NetworkProbe;
using why::Resource;

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
  NetworkProbe probe;
};

constexpr std::size_t kRanksNamed = 3;  // of those that are waited for

// The first ones by name.
std::string listed(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kRanksNamed);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

// "72 servers in 4 scale-up domains": what `count` counts, and what NVLink joins where that is more than a server.
std::string where_text(const Team& team) {
  std::set<std::uint32_t> servers;
  bool several = false;
  for (std::uint32_t rank = 0; rank < team.ranks(); ++rank) {
    const model::Group& group = team.group(rank);
    servers.insert(group.first_server + (team.gpu(rank) - group.first_gpu) / group.gpus());
    several |= group.spec.scale_up && group.spec.scale_up->servers > 1;
  }
  const std::string text = counted(static_cast<std::int64_t>(servers.size()), "server");
  return several ? fmt::format("{} in {}", text, counted(team.nodes(), "scale-up domain")) : text;
}

Costs costs_of(const experiment::Design& design) {
  return {fabric::summarise(design.fabric()).costs.price, design.cluster().nics,
          design.fabric().count(fabric::NodeKind::network_switch)};
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
  void find_faults();
  int try_changes();
  void text() const;
  void json() const;
  std::string conditions_text() const;
  std::string network_text() const;
  std::string path_text() const;
  std::string what_if_text() const;
  why::FabricLoss loss_of(const Team& team, const collective::PlanOptions& plan) const;
  NetworkProbe probe_with(const std::vector<std::string>& set) const;
  std::string name_of_rank(std::uint32_t rank) const;
  std::string cost_text(const Costs& costs) const;
  std::string unknown_of(const Team& team, const collective::PlanOptions& plan);
  double bus(Duration time) const { return why::bus_bandwidth(one_.job, bytes_, time); }

  const WhyOptions& options_;
  Session& session_;
  const OneJob& one_;
  why::Machine& machine_;
  Console& console_;
  std::uint64_t bytes_;
  NetworkProbe probe_;
  std::vector<std::string> slow_nics_;  // by a fault
  Costs costs_;
  why::Prediction now_;
  std::string not_known_;  // of its time
  std::optional<why::Breakdown> path_;
  why::Bounds bounds_;
  std::vector<Outcome> outcomes_;
};

Outcome RunReport::evaluate(const why::WhatIf& change, bool& possible) {
  Outcome out{change, 0, "", costs_, probe_};
  why::Job job = one_.job;
  if (change.per_server > 0) job.per_server = change.per_server;
  if (!change.variant.set.empty() || change.per_server > 0) {
    experiment::Design* other = machine_.design(change.variant.set);
    possible = other != nullptr;
    if (!possible) return out;
    out.costs = costs_of(*other);
    out.probe = why::probe_network(*other, job, options_.fast);
  }
  why::Variant variant = change.variant;
  if (!variant.algorithm) variant.algorithm = one_.algorithm;
  variant.protocol = one_.protocol;
  variant.channels = options_.collective.channels;
  variant.nic_per_mille = out.probe.left_of_shares;
  const std::vector<why::Prediction> made = machine_.predict(job, variant, {bytes_});
  possible = !made.empty();
  if (!possible) return out;
  out.bus = bus(made[0].time);
  out.choice = collective::name(made[0].choice.algorithm);
  return out;
}

NetworkProbe RunReport::probe_with(const std::vector<std::string>& set) const {
  experiment::Design* other = machine_.design(set);
  return other != nullptr ? why::probe_network(*other, one_.job, options_.fast) : NetworkProbe{};
}

// NICs that are slow and packets that links lose: how much of the time that is shows without them.
void RunReport::find_faults() {
  const std::vector<model::FaultSpec>& faults = session_.cluster().file.faults;
  if (!probe_.done()) return;
  std::vector<std::string> repaired;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    if (faults[i].kind != model::FaultKind::slow || !experiment::is_host_link(session_.fabric(), faults[i].part))
      continue;
    slow_nics_.push_back(faults[i].part);
    repaired.push_back(fmt::format("faults.{}.share=100%", i));
  }
  if (!repaired.empty()) {
    NetworkProbe other = probe_with(repaired);
    if (!other.done() && faults.size() == 1) other = probe_with({"faults.share=100%"});  // written without a list
    if (other.done()) why::charge_slow_nics(other, probe_);
  }
  const auto loses = [](const model::FaultSpec& each) {
    using enum model::FaultKind;
    return each.kind == lossy || each.kind == corrupting;
  };
  if (std::any_of(faults.begin(), faults.end(), loses))
    if (const NetworkProbe other = probe_with({"faults=[]"}); other.done()) why::charge_loss(other, probe_);
}

int RunReport::try_changes() {
  const std::vector<why::WhatIf> changes =
      why::what_ifs(one_.job, now_.choice.algorithm, options_.collective.pxn, machine_);
  const CtrlC ctrl_c;
  SweepProgress progress(changes.size(), console_, "changes");
  std::size_t tried = 0;
  for (; tried < changes.size() && !CtrlC::pressed(); ++tried) {
    progress.show(tried);
    bool possible = false;
    Outcome made = evaluate(changes[tried], possible);
    if (possible) outcomes_.push_back(std::move(made));
  }
  std::stable_sort(outcomes_.begin(), outcomes_.end(),
                   [](const Outcome& a, const Outcome& b) { return a.bus > b.bus; });
  return tried < changes.size() ? progress.interrupted(tried) : kFine;
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
                               counted(one_.job.gpus, "GPU"), where_text(team),
                               exact(Bytes(static_cast<std::int64_t>(bytes_))), one_.job.stack->name));
  if (const std::string uneven = conditions_text(); !uneven.empty()) facts.add("ranks", uneven);
  facts.add("takes", fmt::format("{}, busbw {:.1f} GB/s, with {} {} and {}", brief(now_.time), bus(now_.time),
                                 collective::name(now_.choice.algorithm), collective::name(now_.choice.protocol),
                                 counted(now_.choice.channels, "channel")));
  if (team.nodes() > 1) facts.add("network", network_text());
  if (const why::Bound* bound = bounds_.tightest())
    facts.add("most loaded",
              fmt::format("{}: {:.0f}% busy", bound->text,
                          100 * static_cast<double>(bound->time.count()) / static_cast<double>(now_.time.count())));
  facts.add("fidelity", "messages with fair shares of links" +
                            (probe_.done() ? fmt::format("; the network probed as {}s{}", probe_.level(),
                                                         options_.fast ? " (--fast)" : "")
                                           : std::string()));
  if (!not_known_.empty()) facts.add("not known", not_known_);
  console_.out << facts.text(console_.width, console_.colour_out);

  console_.out << "\n" << path_text();
  console_.out << "\n" << what_if_text();
}

// Who is late or slow, as it was asked for.
std::string RunReport::conditions_text() const {
  const collective::Conditions& given = one_.job.conditions;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < given.ranks.size() && i < kRanksNamed; ++i)
    words.push_back(fmt::format("{} has {:g}% of its speed", name_of_rank(given.ranks[i].which),
                                static_cast<double>(given.ranks[i].speed_per_mille) / 10));
  if (given.ranks.size() > kRanksNamed)
    words.push_back(fmt::format("{} more are slow", given.ranks.size() - kRanksNamed));
  if (!given.starts.empty()) {
    const auto last = std::max_element(given.starts.begin(), given.starts.end());
    words.push_back(fmt::format("{} comes last, {} after the first",
                                name_of_rank(static_cast<std::uint32_t>(last - given.starts.begin())), brief(*last)));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

std::string RunReport::name_of_rank(std::uint32_t rank) const {
  const Team& team = *machine_.team(one_.job, {});
  return fmt::format("rank {} ({})", rank, session_.fabric().name(session_.fabric().gpu(team.gpu(rank))));
}

std::string RunReport::network_text() const {
  if (!probe_.done()) return "not simulated: taken to be never in the way";
  std::string text = fmt::format(
      "neighbours in a ring get {:.0f}% of what one alone gets ({} level; {} pauses, {} packets sent again)",
      static_cast<double>(probe_.left_per_mille) / 10, probe_.level(), probe_.counters.pauses,
      probe_.counters.data_resent);
  if (!slow_nics_.empty()) text += fmt::format("; {} a fault slows down", listed(slow_nics_));
  if (!probe_.longest_queue.empty()) text += fmt::format("; they queue longest at {}", probe_.longest_queue);
  return text;
}

// Each rank that is waited for has a line of its own.
std::string RunReport::path_text() const {
  if (!path_) return "where the time goes is not told: too many steps to keep; a smaller --size shows the same\n";
  struct Entry {
    std::string text;
    Duration time;
  };
  std::vector<Entry> lines;
  for (std::size_t i = 0; i < why::kResources; ++i)
    if (path_->time[i] > Duration(0) && static_cast<Resource>(i) != Resource::waiting)
      lines.push_back({std::string(why::name(static_cast<Resource>(i))), path_->time[i]});
  for (Entry& line : lines)
    if (line.text == why::name(Resource::slow_nic)) line.text += ": " + listed(slow_nics_);
  Duration others;
  for (std::size_t i = 0; i < path_->waited.size(); ++i) {
    const auto& [rank, late, slow] = path_->waited[i];
    if (i >= kRanksNamed) {
      others += late + slow;
      continue;
    }
    if (late > Duration(0)) lines.push_back({fmt::format("waiting for {}: late", name_of_rank(rank)), late});
    if (slow > Duration(0)) lines.push_back({fmt::format("waiting for {}: slow", name_of_rank(rank)), slow});
  }
  if (others > Duration(0)) lines.push_back({"waiting for other ranks", others});
  std::stable_sort(lines.begin(), lines.end(), [](const Entry& a, const Entry& b) { return a.time > b.time; });
  report::Table table({{"where the time goes"}, {"time", true}, {"share", true}});
  const double total = static_cast<double>(path_->total().count());
  for (const Entry& line : lines)
    table.add(
        {line.text, brief(line.time), fmt::format("{:.1f}%", 100 * static_cast<double>(line.time.count()) / total)});
  return table.text(console_.width, console_.colour_out);
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
  const Team& team = *machine_.team(one_.job, {});
  nlohmann::ordered_json out = {{"record", "why_run"},
                                {"version", 1},
                                {"cluster", session_.cluster().name},
                                {"operation", collective::name(one_.job.operation)},
                                {"gpus", one_.job.gpus},
                                {"bytes", bytes_},
                                {"stack", one_.job.stack->name},
                                {"time_ps", now_.time.count()},
                                {"busbw_GBps", bus(now_.time)},
                                {"algorithm", collective::name(now_.choice.algorithm)},
                                {"protocol", collective::name(now_.choice.protocol)},
                                {"channels", now_.choice.channels},
                                {"network_fidelity", probe_.level()},
                                {"network_per_mille", probe_.left_per_mille},
                                {"slow_per_mille", probe_.slow_per_mille},
                                {"slow_nics", slow_nics_},
                                {"paused_per_mille", probe_.paused_per_mille},
                                {"resent_per_mille", probe_.resent_per_mille},
                                {"longest_queue", probe_.longest_queue},
                                {"nics", costs_.nics},
                                {"switches", costs_.switches},
                                {"price_usd_per_hour", nullptr}};
  if (costs_.price) out["price_usd_per_hour"] = static_cast<double>(costs_.price->count()) / 1e6;
  if (!not_known_.empty()) out["not_known"] = not_known_;
  if (path_) {
    out["critical_path_ps"] = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < why::kResources; ++i)
      out["critical_path_ps"][std::string(why::name(static_cast<Resource>(i)))] = path_->time[i].count();
    out["waited_for"] = nlohmann::ordered_json::array();
    for (const auto& [rank, late, slow] : path_->waited)
      out["waited_for"].push_back({{"rank", rank},
                                   {"gpu", session_.fabric().name(session_.fabric().gpu(team.gpu(rank)))},
                                   {"late_ps", late.count()},
                                   {"slow_ps", slow.count()}});
  }
  out["bounds"] = nlohmann::ordered_json::array();
  for (const why::Bound& each : bounds_.bandwidths)
    out["bounds"].push_back(
        {{"resource", why::name(each.resource)},
         {"text", each.text},
         {"time_ps", each.time.count()},
         {"utilisation", static_cast<double>(each.time.count()) / static_cast<double>(now_.time.count())}});
  out["what_if"] = nlohmann::ordered_json::array();
  for (const Outcome& each : outcomes_) {
    nlohmann::ordered_json row = {{"change", each.change.text},     {"command", each.change.command},
                                  {"set", each.change.variant.set}, {"busbw_GBps", each.bus},
                                  {"algorithm", each.choice},       {"network_per_mille", each.probe.left_per_mille},
                                  {"nics", each.costs.nics},        {"switches", each.costs.switches},
                                  {"price_usd_per_hour", nullptr}};
    if (each.costs.price) row["price_usd_per_hour"] = static_cast<double>(each.costs.price->count()) / 1e6;
    out["what_if"].push_back(std::move(row));
  }
  console_.out << out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

// Of the time that NICs take, what they take longer than with a network that has enough for all.
why::FabricLoss RunReport::loss_of(const Team& team, const collective::PlanOptions& plan) const {
  collective::PlanOptions wide = plan;
  wide.network = nullptr;
  wide.stack = one_.job.stack;
  const auto with = why::critical_path(team, plan);
  const auto without = why::critical_path(team, wide);
  const std::int64_t nic_time = with ? (*with)[why::Resource::nic].count() : 0;
  if (!without || nic_time == 0) return {};
  const std::int64_t longer = std::clamp<std::int64_t>((with->total() - without->total()).count(), 0, nic_time - 1);
  std::int64_t rest = longer * 1'000 / nic_time;
  why::FabricLoss loss{1'000 - rest};
  const auto part = [&rest](std::int64_t of) {
    const std::int64_t taken = std::min(of, rest);
    rest -= taken;
    return taken;
  };
  loss.slow = part(probe_.slow_per_mille);
  loss.paused = part(probe_.paused_per_mille);
  loss.resent = part(probe_.resent_per_mille);
  return loss;
}

// The probe of the network has told what neighbours lose, but not what is not known of all of them.
std::string RunReport::unknown_of(const Team& team, const collective::PlanOptions& plan) {
  if (team.nodes() == 1) return "";
  experiment::Experiment messages;
  messages.fidelity = experiment::Fidelity::message;
  experiment::Unknowns unknowns(session_.design(), messages);
  if (auto* shares = machine_.network({})) unknowns.take(*shares);
  std::vector<schedule::CollectiveRow> rows(1);
  rows[0].time = now_.time;
  unknowns.add_to(rows, {{&team, plan}});
  return rows[0].not_known;
}

int RunReport::run() {
  spec::Diagnostics& diagnostics = session_.diagnostics();
  const Team* team = machine_.team(one_.job, {});
  if (team == nullptr)
    diagnostics.add(spec::Error::not_simulated, {},
                    fmt::format("these {} GPUs are not joined, or are not there", one_.job.gpus),
                    "--gpus and --per-server that fit the cluster");
  else if (collective::NetworkLinks* network = machine_.network({}); network != nullptr)
    experiment::check_joined(session_.design(), *network, *team);
  if (app::report(diagnostics, options_.input, console_)) return kYourInput;
  costs_ = costs_of(session_.design());
  probe_ = why::probe_network(session_.design(), one_.job, options_.fast);
  if (probe_.cut_off > 0) {
    diagnostics.add(spec::Error::not_simulated, session_.design().place("faults", "part"),
                    fmt::format("{} of a ring cannot reach each other any more: the collective would never end",
                                counted(static_cast<std::int64_t>(probe_.cut_off), "pair")),
                    "servers that are still joined, or --set faults=[]");
    app::report(diagnostics, options_.input, console_);
    return kYourInput;
  }
  find_faults();
  why::Variant variant = one_.variant(options_.collective);
  variant.nic_per_mille = probe_.left_of_shares;
  const std::vector<why::Prediction> made = machine_.predict(one_.job, variant, {bytes_});
  if (made.empty()) {
    diagnostics.add(spec::Error::contradiction, {}, one_.why_not(*team), "--algorithms auto, or fewer GPUs");
    app::report(diagnostics, options_.input, console_);
    return kYourInput;
  }
  now_ = made[0];
  collective::Stack stack = *one_.job.stack;
  stack.network.nic_per_mille = std::max<std::int64_t>(1, stack.network.nic_per_mille * probe_.left_of_shares / 1'000);
  collective::PlanOptions plan{
      .operation = one_.job.operation, .bytes = bytes_, .choice = now_.choice, .stack = &stack};
  plan.pxn = options_.collective.pxn;
  plan.conditions = &one_.job.conditions;
  plan.network = machine_.network({});
  not_known_ = unknown_of(*team, plan);
  path_ = why::critical_path(*team, plan, loss_of(*team, plan));
  bounds_ = why::bounds_of(*team, plan, bisection_of(session_, one_.job));
  const int code = try_changes();
  print_warnings(session_, experiment::collective_warnings(session_.design()), options_.input, console_);
  if (options_.input.json)
    json();
  else
    text();
  return code;
}

}  // namespace

int why_run(const WhyOptions& options, Console& console) {
  const JobOptions wanted{options.collective, options.gpus, options.size,
                          static_cast<std::uint32_t>(options.input.nodes)};
  Session session(options.input, console);
  if (!session.ok()) return kYourInput;
  if (options.collective.operation.empty() && !experiment::training_of(session.cluster()).empty())
    return why_training(session, options, console);
  const auto job = job_of(session, wanted);
  if (report(session.diagnostics(), options.input, console) || !job) return kYourInput;
  why::Machine machine(session.design());
  return RunReport(options, session, *job, machine, console).run();
}

}  // namespace weft::app
