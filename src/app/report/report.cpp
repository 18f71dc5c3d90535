// One page for the meeting: what was described, what it costs, what it gets, what was tried, how far to trust it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "app/build_info.hpp"
#include "app/commands.hpp"
#include "app/ctrl_c.hpp"
#include "app/output.hpp"
#include "app/report/steps.hpp"
#include "app/session.hpp"
#include "app/sim/progress.hpp"
#include "base/text.hpp"
#include "collective/constants.hpp"
#include "draw/plot.hpp"
#include "experiment/training.hpp"
#include "report/page.hpp"

namespace weft::app {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kMostByPackets = 2048;  // GPUs whose traffic is tried packet by packet
constexpr std::uint32_t kMostAllSizes = 2048;   // GPUs of which every size is shown
constexpr std::uint32_t kMostCompared = 256;    // GPUs at which levels are compared
constexpr std::size_t kMaterialsShown = 200;

std::string number(const Json& record, const char* key, const char* format, double factor = 1) {
  const auto found = record.find(key);
  if (found == record.end() || !found->is_number()) return "-";
  return fmt::format(fmt::runtime(format), found->get<double>() * factor);
}
std::string count(const Json& record, const char* key) {
  const auto found = record.find(key);
  return found == record.end() || !found->is_number() ? "-" : grouped(found->get<std::int64_t>());
}
std::string word(const Json& record, const char* key) {
  const auto found = record.find(key);
  return found == record.end() || !found->is_string() ? "" : found->get<std::string>();
}
std::string duration(const Json& record, const char* key) {
  const auto found = record.find(key);
  return found == record.end() || !found->is_number() ? "-" : brief(Duration(found->get<std::int64_t>()));
}
std::string rate(const Json& record, const char* key) {
  const auto found = record.find(key);
  return found == record.end() || !found->is_number() ? "-" : brief(Bandwidth(found->get<std::int64_t>()));
}
std::string dollars(const Json& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end() || !found->is_number()) return "-";
  return "$" + grouped(static_cast<std::int64_t>(found->get<double>() + 0.5));
}
std::string listed(const Json& record, const char* key) {
  std::vector<std::string> names;
  if (const auto found = record.find(key); found != record.end() && found->is_array())
    for (const Json& each : *found) names.push_back(each.is_string() ? each.get<std::string>() : each.dump());
  return fmt::format("{}", fmt::join(names, ", "));
}

class Maker {
 public:
  Maker(const ReportOptions& options, const Session& session, Steps& steps)
      : options_(options),
        session_(session),
        steps_(steps),
        page_(session.cluster().name, fmt::format("made by weft {} ({}) from {}", build_info().version,
                                                  build_info().commit, session.file().string())) {}

  std::string make() {
    describe();
    draw();
    materials();
    collectives();
    training();
    faults();
    compare();
    trust();
    commands();
    return page_.html();
  }
  std::string materials_csv() { return steps_.run(with_input({"show", "bom"}, {"--as", "csv"})).out; }

 private:
  // The cluster behind the verb, and before what else is said; a file's name may begin with a dash.
  std::vector<std::string> with_input(std::vector<std::string> words, std::vector<std::string> rest) const {
    words.push_back(session_.file().string().starts_with('-') ? "./" + session_.file().string()
                                                              : session_.file().string());
    return with_common(std::move(words), std::move(rest));
  }
  std::vector<std::string> with_common(std::vector<std::string> words, std::vector<std::string> rest) const {
    for (const std::string& each : options_.input.set) words.insert(words.end(), {"--set", each});
    if (!options_.input.catalog.empty()) words.insert(words.end(), {"--catalog", options_.input.catalog});
    words.insert(words.end(), rest.begin(), rest.end());
    return words;
  }
  std::uint32_t gpus() const { return session_.cluster().gpus; }
  bool has_hardware() const { return session_.cluster().file.fabric.kind != model::FabricKind::topo; }

  void describe() {
    const Step& step = steps_.run(with_input({"check"}, {"--json"}));
    const std::vector<Json> found = step.all("check");
    if (found.empty()) return page_.remark(step.trouble());
    const Json& check = found[0];
    page_.figure(count(check, "gpus"), fmt::format("GPUs in {} servers", count(check, "servers")));
    page_.figure(rate(check, "bisection_bps"), "bisection, one way");
    if (has_hardware())
      page_.figure(brief(Power(check.value("power_milliwatts", std::int64_t{0}))) +
                       (listed(check, "not_in_power").empty() ? "" : "+"),
                   "power");
    if (check.contains("price_usd_per_hour")) page_.figure(dollars(check, "price_usd_per_hour") + "/h", "to rent");
    page_.section("The cluster");
    std::vector<std::pair<std::string, std::string>> facts;
    for (const model::Group& group : session_.cluster().groups)
      facts.emplace_back(
          "servers", fmt::format("{} {}: {} x {}, {} x {}", grouped(group.servers), group.spec.kind, group.spec.gpus,
                                 group.spec.gpu.kind, group.spec.nics, group.spec.nic.kind));
    facts.emplace_back("fabric", word(check, "fabric"));
    facts.emplace_back("counts", fmt::format("{} servers, {} GPUs, {} NICs, {} switches", count(check, "servers"),
                                             count(check, "gpus"), count(check, "nics"), count(check, "switches")));
    facts.emplace_back("bisection", rate(check, "bisection_bps") + " one way");
    const std::string near = count(check, "paths_near");
    const std::string far = count(check, "paths_far");
    if (far != "0" && far != "-")
      facts.emplace_back("paths",
                         fmt::format("{} between NICs on different leaves", near == far ? far : near + " to " + far));
    if (check.contains("longest_path"))
      facts.emplace_back("longest path",
                         fmt::format("{} to {}: {} one way unloaded", word(check["longest_path"], "from"),
                                     word(check["longest_path"], "to"), duration(check["longest_path"], "latency_ps")));
    if (has_hardware()) {
      facts.emplace_back("power", brief(Power(check.value("power_milliwatts", std::int64_t{0}))));
      if (const std::string missing = listed(check, "not_in_power"); !missing.empty())
        facts.back().second += " without " + missing;
      if (check.contains("price_usd_per_hour"))
        facts.emplace_back("to rent", fmt::format("{} an hour, {} a month", dollars(check, "price_usd_per_hour"),
                                                  dollars(check, "price_usd_per_month")));
      if (const std::string holes = listed(check, "not_priced"); !holes.empty())
        facts.emplace_back("no price known", holes);
    }
    page_.facts(facts);
    std::vector<std::vector<std::string>> rows;
    for (const Json& tier : check["tiers"])
      rows.push_back({word(tier, "name"), word(tier, "kind"), count(tier, "switches"),
                      fmt::format("{} of {}", count(tier, "ports_used"), count(tier, "ports")), rate(tier, "below_bps"),
                      rate(tier, "above_bps"), number(tier, "oversubscription", "{:.3g}:1")});
    if (!rows.empty())
      page_.table({{"tier"},
                   {"switch"},
                   {"count", true},
                   {"ports used", true},
                   {"below", true},
                   {"above", true},
                   {"oversubscription", true}},
                  rows);
    for (const Json& warning : step.all("warning"))
      page_.remark(fmt::format("{}: {}; {}", word(warning, "code"), word(warning, "message"), word(warning, "help")));
  }

  void draw() {
    const Step& fabric = steps_.run(with_input({"show", "fabric"}, {"--as", "svg"}));
    if (fabric.code == kFine) page_.picture(fabric.out, "How it is joined");
    if (!has_hardware()) return;
    std::set<std::string> drawn;
    for (const model::Group& group : session_.cluster().groups) {
      if (!drawn.insert(group.spec.kind).second) continue;
      const Step& server = steps_.run(with_input({"show", "server", group.spec.name}, {"--as", "svg"}));
      if (server.code == kFine)
        page_.picture(server.out, fmt::format("{}: which GPU is near which NIC", group.spec.kind));
    }
  }

  void materials() {
    if (!has_hardware()) return;
    const Step& step = steps_.run(with_input({"show", "bom"}, {"--json"}));
    page_.section("What has to be bought");
    std::vector<std::vector<std::string>> rows;
    double sum = 0;
    bool bought = false;
    const std::vector<Json> materials = step.all("material");
    for (const Json& item : materials) {
      if (item["total_usd"].is_number()) {
        sum += item["total_usd"].get<double>();
        bought = true;
      }
      if (rows.size() < kMaterialsShown)
        rows.push_back({word(item, "part"), word(item, "kind"), word(item, "for"), rate(item, "rate_bps"),
                        number(item, "length_m", "{:g} m"), count(item, "count"), dollars(item, "each_usd"),
                        dollars(item, "total_usd"), number(item, "usd_per_hour", "${:.2f}"), word(item, "note")});
    }
    page_.table({{"part"},
                 {"kind"},
                 {"for"},
                 {"rate", true},
                 {"length", true},
                 {"count", true},
                 {"each", true},
                 {"in all", true},
                 {"an hour", true},
                 {"note"}},
                rows);
    if (materials.size() > rows.size()) page_.paragraph(fmt::format("... {} more", materials.size() - rows.size()));
    if (bought) {
      page_.paragraph(fmt::format("Everything that has a price: ${}.", grouped(static_cast<std::int64_t>(sum + 0.5))));
      page_.figure("$" + grouped(static_cast<std::int64_t>(sum + 0.5)), "to buy, of what has a price");
    }
  }

  std::string sizes() const {
    if (!options_.sizes.empty()) return options_.sizes;
    return gpus() <= kMostAllSizes ? "1KiB..8GiB" : "1MiB,64MiB,1GiB,8GiB";
  }
  std::vector<std::string> operations() const {
    return options_.collectives.empty() ? std::vector<std::string>{"all_reduce", "all_to_all"} : options_.collectives;
  }
  std::vector<std::string> of_collective(const std::string& operation, const std::string& which) const {
    std::vector<std::string> words = {"--collective", operation, "--sizes", which};
    if (options_.gpus > 0) words.insert(words.end(), {"--gpus", std::to_string(options_.gpus)});
    words.insert(words.end(), {"--limit", options_.limit, "--json"});
    return words;
  }

  void collectives() {
    if (!has_hardware() || gpus() < 2) return;
    page_.section("What collectives get");
    draw::Plot plot;
    plot.title = session_.cluster().name;
    plot.quantity = "busbw in GB/s";
    for (const std::string& operation : operations()) {
      const Step& step = steps_.run(with_input({"sim"}, of_collective(operation, sizes())));
      const std::vector<Json> found = step.all("collective");
      if (const std::string trouble = step.trouble(); !trouble.empty())
        page_.remark(fmt::format("{}: {}", operation, trouble));
      if (found.empty()) continue;
      std::vector<std::vector<std::string>> rows;
      draw::Curve curve{fmt::format("{} of {} GPUs", operation, count(found[0], "ranks")), {}, false};
      for (const Json& row : found) {
        curve.points.push_back({row["bytes"].get<double>(), row["busbw_GBps"].get<double>()});
        rows.push_back({exact(Bytes(row["bytes"].get<std::int64_t>())), duration(row, "time_ps"),
                        number(row, "algbw_GBps", "{:.2f}"), number(row, "busbw_GBps", "{:.2f}"),
                        fmt::format("{} {} {}", word(row, "algorithm"), word(row, "protocol"), count(row, "channels")),
                        word(row, "executor"),
                        word(row, "not_validated").empty() ? "measured elsewhere" : "not validated"});
        if (const std::string why = word(row, "not_validated"); !why.empty()) not_validated_.insert(why);
        if (const std::string what = word(row, "not_known"); !what.empty())
          not_known_.insert(fmt::format("at {} level: {}", word(row, "executor"), what));
        stacks_.insert(word(row, "stack"));
      }
      page_.paragraph(fmt::format("{} of {} GPUs", operation, count(found[0], "ranks")));
      page_.table({{"size", true},
                   {"time", true},
                   {"algbw GB/s", true},
                   {"busbw GB/s", true},
                   {"algorithm"},
                   {"level"},
                   {"hardware and size"}},
                  rows);
      page_.figure(number(found.back(), "busbw_GBps", "{:.0f} GB/s"),
                   fmt::format("{} busbw at {}", operation, brief(Bytes(found.back()["bytes"].get<std::int64_t>()))));
      plot.curves.push_back(std::move(curve));
    }
    if (!plot.curves.empty()) page_.picture(draw::to_svg(draw::plot(plot)), "Bandwidth against size");
    levels();
  }

  // One size at every level: what messages leave out of the network shows as a difference.
  void levels() {
    const std::uint32_t ranks = options_.gpus > 0 ? options_.gpus : gpus();
    if (ranks > kMostCompared) {
      page_.paragraph(
          fmt::format("Levels are not compared for more than {} GPUs: weft sim --fidelity all does.", kMostCompared));
      return;
    }
    std::vector<std::string> words = of_collective(operations()[0], "16MiB");
    words.insert(words.end(), {"--fidelity", "all"});
    const Step& step = steps_.run(with_input({"sim"}, words));
    std::vector<std::vector<std::string>> rows;
    for (const Json& row : step.all("collective"))
      rows.push_back({word(row, "executor"), duration(row, "time_ps"), number(row, "busbw_GBps", "{:.2f}")});
    page_.paragraph(fmt::format("{} of 16 MiB at every level of detail:", operations()[0]));
    if (!rows.empty()) page_.table({{"level"}, {"time", true}, {"busbw GB/s", true}}, rows);
    if (const std::string trouble = step.trouble(); !trouble.empty()) page_.remark(trouble);
  }

  void training() {
    if (experiment::training_of(session_.cluster()).empty()) return;
    const Step& step = steps_.run(with_input({"sim"}, {"--json"}));
    page_.section("A training step");
    if (const std::string trouble = step.trouble(); !trouble.empty()) page_.remark(trouble);
    for (const Json& run : step.all("training")) {
      page_.figure(duration(run, "step_ps"), "a step of " + word(run, "model"));
      page_.facts({{"model", word(run, "model")},
                   {"layout", fmt::format("{} GPUs: tensor {}, pipeline {}, context {}, expert {}, data {}",
                                          count(run, "gpus"), count(run, "tensor"), count(run, "pipeline"),
                                          count(run, "context"), count(run, "expert"), count(run, "data"))},
                   {"step", duration(run, "step_ps")},
                   {"tokens", number(run, "tokens_per_second", "{:.0f} a second")},
                   {"MFU", number(run, "mfu_percent", "{:.1f} %")},
                   {"waits for the network", number(run, "network_percent", "{:.1f} % of the step")},
                   {"energy", number(run, "joules_per_token", "{:.3g} J per token")},
                   {"price", number(run, "dollars_per_million_tokens", "${:.3f} per million tokens")},
                   {"level", word(run, "fidelity")}});
      std::vector<std::vector<std::string>> rows;
      for (const auto& [name, time] : run["parts_ps"].items())
        rows.push_back({name, brief(Duration(time.get<std::int64_t>())),
                        fmt::format("{:.1f} %", 100 * time.get<double>() / run["step_ps"].get<double>())});
      page_.table({{"where the time goes"}, {"time", true}, {"of the step", true}}, rows);
      if (const std::string what = word(run, "not_known"); !what.empty()) not_known_.insert("of the step: " + what);
    }
  }

  // The first switch above the leaves, else the first NIC: what one would try first.
  std::vector<std::string> faults_to_try() const {
    if (!options_.faults.empty()) return options_.faults;
    const fabric::Fabric& fabric = session_.fabric();
    const std::uint32_t switches = fabric.has_network() ? fabric.count(fabric::NodeKind::network_switch) : 0;
    for (std::uint32_t i = 0; i < switches; ++i) {
      const std::string name = fabric.name(fabric.node(fabric::NodeKind::network_switch, i));
      if (name.find("spine") == std::string::npos) continue;
      if (gpus() > kMostByPackets) return {name + ",kind=down"};
      return {name + ",kind=down,at=20us", name + ",kind=blackhole,at=20us"};
    }
    if (switches > 0 && session_.cluster().nics > 0)
      return {fabric.name(fabric.node(fabric::NodeKind::nic, 0)) + ",kind=slow,share=50%"};
    return {};
  }

  std::vector<std::string> of_traffic() const {
    std::vector<std::string> words = {"--pattern", "permutation", "--limit", options_.limit, "--json"};
    if (gpus() > kMostByPackets) words.insert(words.end(), {"--fidelity", "flow"});
    return words;
  }

  void faults() {
    const std::vector<std::string> faults = faults_to_try();
    if (faults.empty()) return;
    page_.section("What if something breaks");
    page_.paragraph(fmt::format("Every GPU sends 2 MB to one other, {}.",
                                gpus() > kMostByPackets ? "flow by flow" : "packet by packet"));
    std::vector<std::vector<std::string>> rows;
    double healthy = 0;
    const auto row = [&](const std::string& name, const Step& step) {
      const std::vector<Json> found = step.all("sim");
      if (found.empty()) {
        rows.push_back({name, step.trouble()});
        return;
      }
      const Json& run = found[0];
      const double end = run.value("end_ps", 0.0);
      if (healthy == 0) healthy = end;
      rows.push_back({name, duration(run, "end_ps"), healthy > 0 ? fmt::format("{:.2f}x", end / healthy) : "-",
                      duration(run, "fct_p99_ps"), rate(run, "goodput_bps"), count(run, "resent"), count(run, "lost"),
                      fmt::format("{} of {}", count(run, "flows_done"), count(run, "flows")), step.trouble()});
    };
    row("nothing breaks", steps_.run(with_input({"sim"}, of_traffic())));
    for (const std::string& fault : faults) {
      std::vector<std::string> words = of_traffic();
      words.insert(words.end(), {"--fault", fault});
      row(fault, steps_.run(with_input({"sim"}, words)));
    }
    page_.table({{"fault"},
                 {"all done", true},
                 {"time", true},
                 {"p99", true},
                 {"goodput", true},
                 {"sent again", true},
                 {"lost", true},
                 {"flows done", true},
                 {""}},
                rows);
  }

  // What `compare` ran, by variant.
  void comparison_table(const Json& record) {
    std::vector<report::Column> columns = {
        {"variant"},      {"all done", true}, {"p99", true},    {"goodput", true}, {"switches", true},
        {"cables", true}, {"power", true},    {"to buy", true}, {"an hour", true}, {""}};
    bool collectives = false;
    std::vector<std::vector<std::string>> rows;
    for (const Json& variant : record["variants"]) {
      const Json& run = variant["runs"][0];
      std::string goodput = rate(run, "goodput_bps");
      if (run.contains("collectives")) {
        collectives = true;
        goodput = number(run["collectives"].back(), "busbw_GBps", "{:.2f} GB/s");
      }
      rows.push_back(
          {word(variant, "label"), duration(variant, "end_mean_ps"), duration(run, "fct_p99_ps"), goodput,
           count(variant, "switches"), count(variant, "cables"),
           variant["power_milliwatts"].is_number() ? brief(Power(variant["power_milliwatts"].get<std::int64_t>()))
                                                   : "-",
           dollars(variant, "purchase_usd"), dollars(variant, "price_usd_per_hour"), word(variant, "trouble")});
    }
    if (collectives) columns[3].title = "busbw";
    page_.table(columns, rows);
    page_.paragraph(word(record, "sentence"));
    if (const std::string tail = word(record, "tail"); !tail.empty()) page_.paragraph(tail);
    for (const Json& each : record["costs"])
      page_.paragraph(fmt::format("{}: {}", word(each, "name"), word(each, "sentence")));
  }

  void compare() {
    page_.section("Compared with");
    if (options_.with.empty() && options_.vary.empty()) {
      page_.paragraph("Nothing: --with OTHER.weft.yaml or --vary fabric.spines=2,4 compares.");
      return;
    }
    std::vector<std::string> words = with_input({"compare"}, {});
    words.insert(words.begin() + 2, options_.with.begin(), options_.with.end());
    for (const std::string& each : options_.vary) words.insert(words.end(), {"--vary", each});
    const auto run = [&](const std::string& title, std::vector<std::string> rest) {
      std::vector<std::string> all = words;
      all.insert(all.end(), rest.begin(), rest.end());
      const Step& step = steps_.run(all);
      page_.paragraph(title);
      const std::vector<Json> found = step.all("compare");
      if (!found.empty()) comparison_table(found[0]);
      if (const std::string trouble = step.trouble(); !trouble.empty()) page_.remark(trouble);
    };
    if (has_hardware())
      for (const std::string& operation : operations()) {
        const std::string largest = options_.sizes.empty() ? "1GiB" : options_.sizes;
        run(fmt::format("{} of {}:", operation, largest), of_collective(operation, largest));
      }
    run("Every GPU sends 2 MB to one other:", of_traffic());
    for (const std::string& fault : faults_to_try()) {
      std::vector<std::string> rest = of_traffic();
      rest.insert(rest.end(), {"--fault", fault});
      run(fmt::format("The same with --fault {}:", fault), rest);
    }
  }

  void trust() {
    page_.section("How far to trust it");
    std::set<std::string> generations;
    for (const model::Group& group : session_.cluster().groups)
      generations.insert(std::string(collective::generation_of(group.spec.gpu.kind).name));
    const Step& step = has_hardware() ? steps_.run({"validate", "--json"}) : Step{};
    std::vector<std::vector<std::string>> rows;
    for (const Json& table : step.all("validation")) {
      if (!generations.contains(std::string(collective::generation_of(word(table, "gpu")).name))) continue;
      rows.push_back({word(table, "table"), word(table, "operation"), word(table, "gpu"), count(table, "ranks"),
                      word(table, "stack") + (stacks_.contains(word(table, "stack")) ? "" : " (another)"),
                      number(table, "median", "{:.1f} %", 100), number(table, "p90", "{:.1f} %", 100),
                      number(table, "worst", "{:.1f} %", 100)});
    }
    if (rows.empty()) {
      page_.remark("No published measurement is of these accelerators: figures above are the model's alone.");
    } else {
      page_.paragraph(
          "Published measurements of the same generation of GPUs, and how far the model's times are from them; their "
          "machines and sizes are not these.");
      page_.table({{"table"},
                   {"operation"},
                   {"GPU"},
                   {"ranks", true},
                   {"network stack"},
                   {"median error", true},
                   {"nine in ten", true},
                   {"worst", true}},
                  rows);
    }
    for (const std::string& each : not_validated_) page_.remark("Not validated here: " + each + ".");
    for (const std::string& each : not_known_) page_.remark("Not known " + each + ".");
  }

  void commands() {
    page_.section("How it was made");
    std::string text;
    for (const auto& step : steps_.all()) {
      text += command_line(step->words) + "\n";
      if (const std::string trouble = step->trouble(); !trouble.empty()) text += "#   " + trouble + "\n";
    }
    page_.paragraph(
        fmt::format("By these commands, of weft {}, commit {}:", build_info().version, build_info().commit));
    page_.text(text);
    const spec::Sources& sources = session_.design().diagnostics().sources();
    if (const std::uint32_t file = sources.find(session_.file().string()); file != 0) {
      page_.paragraph(session_.file().string() + ":");
      page_.text(std::string(sources.text(file)));
    }
  }

  const ReportOptions& options_;
  const Session& session_;
  Steps& steps_;
  report::Page page_;
  std::set<std::string> not_validated_;
  std::set<std::string> not_known_;
  std::set<std::string> stacks_;
};

// "acp-report.html" beside whoever asks, of acp.weft.yaml wherever it is.
std::string usual_name(const fs::path& file) {
  std::string name = file.filename().string();
  for (const std::string_view ending : {".yaml", ".yml", ".weft", ".topo", ".xml"})
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name + "-report.html";
}

bool is_page(const std::string& name) { return name.ends_with(".html") || name.ends_with(".htm"); }

}  // namespace

int write_report(const ReportOptions& options, const FrontDoor& front_door, Console& console) {
  spec::Diagnostics diagnostics;
  if (options.input.file == "-")
    diagnostics.add(spec::Error::cannot_read, {}, "a report reads the cluster several times, and stdin comes once",
                    "give the name of a file");
  experiment::parse_limits(options.limit, diagnostics);
  if (report(diagnostics, options.input, console)) return kYourInput;
  Session session(options.input, console);
  if (!session.ok()) return kYourInput;

  const fs::path folder = is_page(options.output) ? "" : options.output;
  const std::string page = !folder.empty()          ? (folder / "report.html").string()
                           : options.output.empty() ? usual_name(session.file())
                                                    : options.output;
  if (std::error_code fault; !folder.empty() && fs::is_regular_file(folder, fault)) {
    diagnostics.add(spec::Error::contradiction, {}, fmt::format("-o {} is a file, and no page", folder.string()),
                    "-o FILE.html, or a directory for page and bom.csv");
    report(diagnostics, options.input, console);
    return kYourInput;
  }
  std::vector<NamedFile> inputs = {{"", session.file()}};
  for (const std::string& each : options.with) inputs.push_back({"--with", each});
  for (const std::string& why : file_conflicts(inputs, {{"-o", page}})) {
    diagnostics.add(spec::Error::contradiction, {}, why, "another name");
    report(diagnostics, options.input, console);
    return kYourInput;
  }
  if (!folder.empty()) {
    std::error_code fault;  // noticed when files are written
    fs::create_directories(folder, fault);
  }
  // Said now, not after minutes of runs.
  if (!can_be_written({page}, console)) return kThisMachine;
  const CtrlC ctrl_c;
  std::string html;
  std::string csv;
  std::size_t made = 0;
  bool interrupted = false;
  {
    constexpr std::size_t kUsual = 10;
    const bool compares = !options.with.empty() || !options.vary.empty();
    Steps steps(front_door, kUsual + options.faults.size() + options.collectives.size() + (compares ? 5 : 0), console);
    Maker maker(options, session, steps);
    html = maker.make();
    if (!folder.empty() && !steps.interrupted()) csv = maker.materials_csv();
    made = steps.all().size();
    interrupted = steps.interrupted();
  }
  Console quiet{console.out, console.err};
  quiet.quiet = console.quiet || options.input.json;
  int code = write_output(page, quiet, [&](std::ostream& out) { out << html; });
  if (code == kFine && !csv.empty())
    code = write_output((folder / "bom.csv").string(), quiet, [&](std::ostream& out) { out << csv; });
  if (code != kFine) return code;
  if (options.input.json)
    console.out << Json{{"record", "report"}, {"version", 1},     {"cluster", session.cluster().name},
                        {"file", page},       {"commands", made}, {"partial", interrupted}}
                       .dump(-1, ' ', false, Json::error_handler_t::replace)
                << "\n";
  if (interrupted) console.err << "interrupted: the report is of what was done until then\n";
  return interrupted ? kInterrupted : kFine;
}

}  // namespace weft::app
