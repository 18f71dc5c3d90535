#include "report/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;
using Ranking = std::vector<std::size_t>;  // of those that take part, the best first

constexpr double kTie = 1.005;  // a lead that would be printed as 1.00x

std::int64_t p99(const SimSummary& summary) { return summary.completion ? summary.completion->p99 : 0; }

std::int64_t measured(const ComparedRun& run, Measure measure) {
  return measure == Measure::completion ? p99(run.summary) : run.end.count();
}

double measured(const Variant& variant, Measure measure) {
  return mean(variant, [&](const ComparedRun& run) { return measured(run, measure); });
}

std::string duration(double ps) { return brief(Duration(static_cast<std::int64_t>(ps))); }

std::string seeds_of(const Variant& variant) { return counted(static_cast<std::int64_t>(variant.runs.size()), "seed"); }

std::string_view less(Measure measure) {
  switch (measure) {
    case Measure::end:
      return "sooner";
    case Measure::completion:
      return "lower";
    case Measure::collective:
    case Measure::step:
      break;
  }
  return "faster";
}

// What decides as a sentence has it, before a time.
std::string decides(Measure measure, const Variant& variant) {
  if (measure == Measure::end) return "all done after";
  if (measure == Measure::completion) return std::string(title_of(measure));
  if (measure == Measure::step) return "a step in";
  const std::vector<CollectiveRow>& rows = variant.runs[0].collectives;
  const auto other = [&](const CollectiveRow& row) { return row.operation != rows[0].operation; };
  if (std::any_of(rows.begin(), rows.end(), other)) return "the largest sizes together in";
  return fmt::format("{} of {} in", rows.back().operation, exact(Bytes(static_cast<std::int64_t>(rows.back().bytes))));
}

bool all_the_same(const std::vector<Variant>& variants) {
  return std::all_of(variants.begin(), variants.end(), [&](const Variant& variant) {
    return std::equal(
        variant.runs.begin(), variant.runs.end(), variants[0].runs.begin(), variants[0].runs.end(),
        [](const ComparedRun& a, const ComparedRun& b) { return a.digest == b.digest && a.end == b.end; });
  });
}

// Why a variant does not take part; empty: it does.
std::string obstacle(const Variant& variant) {
  if (const std::string trouble = trouble_in(variant); !trouble.empty()) return trouble;
  for (const ComparedRun& run : variant.runs)
    if (run.summary.lost > 0)
      return fmt::format("{} of {} lost", grouped(static_cast<std::int64_t>(run.summary.lost)),
                         counted(static_cast<std::int64_t>(run.summary.flows), "flow"));
  return "";
}

Ranking rank(const std::vector<Variant>& variants, Measure measure) {
  Ranking ranking;
  for (std::size_t i = 0; i < variants.size(); ++i)
    if (got_through(variants[i])) ranking.push_back(i);
  std::stable_sort(ranking.begin(), ranking.end(), [&](std::size_t a, std::size_t b) {
    return measured(variants[a], measure) < measured(variants[b], measure);
  });
  return ranking;
}

// "a, b and c"; of many the first ones and how many more.
std::string listed(std::vector<std::string> names) {
  constexpr std::size_t kNamed = 8;
  if (names.size() > kNamed) {
    const std::size_t more = names.size() - kNamed;
    names.resize(kNamed);
    names.push_back(fmt::format("{} more", more));
  }
  const std::string last = names.back();
  names.pop_back();
  return names.empty() ? last : fmt::format("{} and {}", fmt::join(names, ", "), last);
}

// "b (43 of 64 flows failed)", for each that does not take part; nothing where all do.
std::string absent_names(const std::vector<Variant>& variants) {
  std::vector<std::string> names;
  for (const Variant& variant : variants)
    if (const std::string why = obstacle(variant); !why.empty())
      names.push_back(fmt::format("{} ({})", variant.label, why));
  return names.empty() ? "" : listed(std::move(names));
}

// How the traffic of those that take part differs, and what would make it the same; nothing where it does not.
std::string traffic_difference(const std::vector<Variant>& variants, const Ranking& ranking) {
  if (ranking.empty()) return "";
  const Offered& first = variants[ranking[0]].info.offered;
  std::uint32_t fewest = first.nodes;
  std::uint32_t most = first.nodes;
  Bandwidth slowest = first.load_of;
  Bandwidth fastest = first.load_of;
  bool differs = false;
  for (const std::size_t each : ranking) {
    const Offered& offered = variants[each].info.offered;
    differs = differs || offered.hash != first.hash;
    fewest = std::min(fewest, offered.nodes);
    most = std::max(most, offered.nodes);
    slowest = std::min(slowest, offered.load_of);
    fastest = std::max(fastest, offered.load_of);
  }
  if (slowest != fastest)
    return fmt::format("the load is a share of {} to {} per GPU, and weft compare gives all that of the first",
                       brief(slowest), brief(fastest));
  if (fewest != most)
    return fmt::format("it is of {} to {} GPUs, and --gpus {} makes it the same", fewest, most, fewest);
  return differs ? "--pattern or --stream makes it the same" : "";
}

// A load is a share of a line rate, and there is only one load for all: whose that is.
std::string load_note(const std::vector<Variant>& variants) {
  const Bandwidth load_of = variants[0].info.offered.load_of;
  const auto has_another = [&](const Variant& variant) { return variant.info.line_rate != load_of; };
  if (load_of.count() == 0 || std::none_of(variants.begin(), variants.end(), has_another)) return "";
  return fmt::format("; the load is a share of {} per GPU for all", brief(load_of));
}

// At message level a seed decides nothing but what switches hash.
bool is_drawn(const Variant& variant) {
  if (const auto& step = variant.runs[0].training)
    return step->fidelity != schedule::Fidelity::message || step->seed != 0;
  const std::vector<CollectiveRow>& rows = variant.runs[0].collectives;
  return rows.empty() || rows[0].fidelity != schedule::Fidelity::message || rows[0].seed != 0;
}

// What a level does not know of the network, of whichever design it does not. Behind a semicolon.
std::string not_known(const std::vector<Variant>& variants) {
  for (const Variant& variant : variants)
    for (const CollectiveRow& row : variant.runs[0].collectives)
      if (!row.not_known.empty())
        return fmt::format("; {} level does not know of {}: {}", name(row.fidelity), variant.label, row.not_known);
  return "";
}

// Behind a semicolon.
std::string spread_words(const Verdict& verdict, const Variant& winner) {
  if (!is_drawn(winner)) return "";
  if (winner.runs.size() == 1) return "; one seed says nothing about the spread, --seeds 5 would";
  return verdict.outside_spread ? fmt::format("; outside the spread over {}", seeds_of(winner))
                                : fmt::format("; within the spread over {}, so it may be chance", seeds_of(winner));
}

std::string tie_sentence(const std::vector<Variant>& variants, const Verdict& verdict) {
  std::vector<std::string> names;
  for (const std::size_t each : verdict.tied) names.push_back(variants[each].label);
  const Variant& best = variants[verdict.tied[0]];
  const std::string by = verdict.measure != Measure::completion ? "" : fmt::format(" by {}", title_of(verdict.measure));
  // So near to each other that it does not matter whether that is chance.
  return fmt::format("a tie between {}{}: less than 0.5% apart{}", listed(std::move(names)), by,
                     best.runs.size() == 1 ? spread_words(verdict, best) : " over " + seeds_of(best));
}

std::string win_sentence(const std::vector<Variant>& variants, const Verdict& verdict, const Ranking& ranking) {
  const Measure measure = verdict.measure;
  const Variant& winner = variants[*verdict.winner];
  const double best = measured(winner, measure);
  std::string others = fmt::format("{:.2f}x {} than {}", verdict.lead, less(measure), variants[*verdict.next].label);
  if (ranking.size() > 2) {
    const Variant& last = variants[ranking.back()];
    others += fmt::format(" (and {:.2f}x {} than {})", measured(last, measure) / std::max(1.0, best), less(measure),
                          last.label);
  }
  return fmt::format("{} wins: {} {}, {}{}", winner.label, decides(measure, winner), duration(best), others,
                     spread_words(verdict, winner));
}

// Who is first among those that take part, at least one, and its sentence.
void decide(const std::vector<Variant>& variants, const Ranking& ranking, Verdict& verdict) {
  const Measure measure = verdict.measure;
  const Variant& best = variants[ranking[0]];
  if (ranking.size() == 1) {
    verdict.winner = ranking[0];
    verdict.sentence =
        fmt::format("only {} is done, {} {}", best.label, measure == Measure::end ? "after" : decides(measure, best),
                    duration(measured(best, measure)));
    return;
  }
  if (ranking.size() == variants.size() && all_the_same(variants)) {
    verdict.same = true;
    verdict.tied = ranking;
    verdict.sentence = measure == Measure::collective ? "no difference at any size"
                                                      : "no difference: the runs are the same to the last packet";
    verdict.sentence += not_known(variants);
    return;
  }
  const Variant& next = variants[ranking[1]];
  const double least = measured(best, measure);
  if (const double lead = measured(next, measure) / std::max(1.0, least); lead >= kTie) {
    verdict.winner = ranking[0];
    verdict.next = ranking[1];
    verdict.lead = lead;
    verdict.outside_spread = best.runs.size() > 1 && spread_of(best, measure).most < spread_of(next, measure).least;
    verdict.sentence = win_sentence(variants, verdict, ranking) + not_known(variants);
    return;
  }
  for (const std::size_t each : ranking)
    if (measured(variants[each], measure) < kTie * least) verdict.tied.push_back(each);
  verdict.sentence = tie_sentence(variants, verdict);
}

// By a time, the shortest first.
using Timed = std::vector<std::pair<double, const Variant*>>;

// False where there is no difference.
bool sort_by_time(Timed& times) {
  std::stable_sort(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return times.size() > 1 && times.back().first >= times[0].first * kTie;
}

std::string tail_sentence(const std::vector<Variant>& variants) {
  constexpr std::size_t kNamed = 4;
  Timed times;
  for (const Variant& variant : variants)
    if (got_through(variant))
      times.emplace_back(
          mean(variant,
               [](const ComparedRun& run) { return run.summary.completion ? run.summary.completion->p999 : 0; }),
          &variant);
  if (!sort_by_time(times)) return "";
  const auto [best, winner] = times[0];
  std::vector<std::string> others;
  for (std::size_t i = 1; i < times.size(); ++i)
    if (i < kNamed || i + 1 == times.size())
      others.push_back(
          fmt::format("{:.2f}% below {}", 100 * (1 - best / std::max(1.0, times[i].first)), times[i].second->label));
  return fmt::format("{} has the lowest p99.9, {}: {}", winner->label, duration(best), fmt::join(others, ", "));
}

// Of one of several streams.
std::string stream_sentence(const std::vector<Variant>& variants, std::size_t stream) {
  const bool open_loop = variants[0].runs[0].streams[stream].record.open_loop;
  Timed times;
  for (const Variant& variant : variants) {
    const auto lost = [&](const ComparedRun& run) { return run.streams[stream].summary.lost > 0; };
    if (!is_finished(variant) || std::any_of(variant.runs.begin(), variant.runs.end(), lost)) continue;
    const auto time = [&](const ComparedRun& run) {
      return open_loop ? p99(run.streams[stream].summary) : run.streams[stream].end.count();
    };
    times.emplace_back(mean(variant, time), &variant);
  }
  if (!sort_by_time(times)) return "";
  const auto [best, winner] = times[0];
  std::vector<std::string> others;
  for (std::size_t i = 1; i < times.size(); ++i)
    others.push_back(fmt::format("{:.2f}x {} than {}", times[i].first / std::max(1.0, best),
                                 open_loop ? "lower" : "sooner", times[i].second->label));
  return fmt::format("{} with {}, {}{}: {}", open_loop ? "completion p99 lowest" : "done first", winner->label,
                     open_loop ? "" : "after ", duration(best), fmt::join(others, ", "));
}

}  // namespace

bool is_finished(const Variant& variant) { return trouble_in(variant).empty(); }

bool got_through(const Variant& variant) { return obstacle(variant).empty(); }

std::string trouble_in(const Variant& variant) {
  for (const ComparedRun& run : variant.runs)
    if (!run.trouble.empty()) return run.trouble;
  return "";
}

Measure measure_of(const std::vector<Variant>& variants) {
  const auto has_rows = [](const Variant& variant) { return !variant.runs[0].collectives.empty(); };
  if (std::any_of(variants.begin(), variants.end(), has_rows)) return Measure::collective;
  if (variants[0].runs[0].training) return Measure::step;
  return variants[0].info.open_loop ? Measure::completion : Measure::end;
}

std::string_view title_of(Measure measure) {
  switch (measure) {
    case Measure::end:
      return "all done";
    case Measure::completion:
      return "completion p99";
    case Measure::step:
      return "step";
    case Measure::collective:
      break;
  }
  return "time";
}

Spread spread_of(const Variant& variant, Measure measure) {
  Spread spread;
  for (const ComparedRun& run : variant.runs) {
    spread.least = Duration(std::min(spread.least.count(), measured(run, measure)));
    spread.most = Duration(std::max(spread.most.count(), measured(run, measure)));
  }
  return spread;
}

Verdict judge(const std::vector<Variant>& variants) {
  Verdict verdict;
  verdict.measure = measure_of(variants);
  const Ranking ranking = rank(variants, verdict.measure);
  const std::string absent = absent_names(variants);
  const std::string difference = traffic_difference(variants, ranking);
  if (!difference.empty()) {
    verdict.sentence = "none is best, for they differ in their traffic: " + difference;
  } else if (!ranking.empty()) {
    decide(variants, ranking, verdict);
    verdict.sentence += load_note(variants);
    if (verdict.measure == Measure::end || verdict.measure == Measure::completion)
      verdict.tail = tail_sentence(variants);
  }
  if (!absent.empty()) verdict.sentence += (ranking.empty() ? "none is done: " : "; not done: ") + absent;
  // One of them may get everything through where another does not.
  for (std::size_t i = 0; difference.empty() && i < variants[0].runs[0].streams.size(); ++i)
    if (const std::string sentence = stream_sentence(variants, i); !sentence.empty())
      verdict.streams.emplace_back(variants[0].runs[0].streams[i].record.name, sentence);
  return verdict;
}

Verdict no_verdict(const std::vector<Variant>& variants, const std::vector<std::string>& not_run) {
  const auto done = std::count_if(variants.begin(), variants.end(), got_through);
  const std::string absent = absent_names(variants);
  Verdict verdict;
  verdict.measure = measure_of(variants);
  verdict.sentence =
      fmt::format("none is best yet: {} of {} variants are done", done, variants.size() + not_run.size());
  if (!absent.empty()) verdict.sentence += "; not done: " + absent;
  if (!not_run.empty()) verdict.sentence += "; not run: " + listed(not_run);
  return verdict;
}

void add_verdict(const Verdict& verdict, const std::string& winner_key, const std::vector<std::string>& labels,
                 Json& record) {
  record[winner_key] = verdict.winner ? Json(labels[*verdict.winner]) : Json();
  record["tied"] = Json::array();
  for (const std::size_t each : verdict.tied) record["tied"].push_back(labels[each]);
  record["measure"] = verdict.measure == Measure::end          ? "end"
                      : verdict.measure == Measure::completion ? "fct_p99"
                      : verdict.measure == Measure::step       ? "step"
                                                               : "collective";
  record["lead"] = verdict.next ? Json(verdict.lead) : Json();
  record["same"] = verdict.same;
  record["outside_spread"] = verdict.outside_spread;
  record["sentence"] = verdict.sentence;
}

}  // namespace weft::report
