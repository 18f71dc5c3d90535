#include "report/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "report/table.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kTie = 1.005;  // a lead that would be printed as 1.00x

std::int64_t end_of(const ComparedRun& run) { return run.end; }

// Picoseconds, or thousandths of a slowdown.
std::int64_t p99_slowdown(const SimSummary& summary) { return summary.slowdown ? summary.slowdown->p99 : 0; }
std::int64_t p99_completion(const SimSummary& summary) { return summary.completion ? summary.completion->p99 : 0; }

std::int64_t measured(const ComparedRun& run, Measure measure) {
  if (measure == Measure::slowdown) return p99_slowdown(run.summary);
  return measure == Measure::completion ? p99_completion(run.summary) : run.end;
}

double measured(const Variant& variant, Measure measure) {
  return mean(variant, [&](const ComparedRun& run) { return measured(run, measure); });
}

struct Range {
  std::int64_t least = INT64_MAX;
  std::int64_t most = INT64_MIN;
};
Range range_of(const Variant& variant, Measure measure) {
  Range range;
  for (const ComparedRun& run : variant.runs) {
    range.least = std::min(range.least, measured(run, measure));
    range.most = std::max(range.most, measured(run, measure));
  }
  return range;
}

bool all_the_same(const std::vector<Variant>& variants) {
  return std::all_of(variants.begin(), variants.end(), [&](const Variant& variant) {
    return std::equal(
        variant.runs.begin(), variant.runs.end(), variants[0].runs.begin(), variants[0].runs.end(),
        [](const ComparedRun& a, const ComparedRun& b) { return a.digest == b.digest && a.end == b.end; });
  });
}

// Of the run that stopped it.
std::string trouble_in(const Variant& variant) {
  for (const ComparedRun& run : variant.runs)
    if (!run.trouble.empty()) return run.trouble;
  return "";
}

std::vector<Variant> finished(const std::vector<Variant>& variants) {
  std::vector<Variant> done;
  std::copy_if(variants.begin(), variants.end(), std::back_inserter(done), is_finished);
  return done;
}

std::string flows_done(const Variant& variant) {
  const SimSummary& last = variant.runs.back().summary;
  return fmt::format("{} of {}", grouped(static_cast<std::int64_t>(last.done)),
                     grouped(static_cast<std::int64_t>(last.flows)));
}

std::string duration(double ps) { return brief(Duration(static_cast<std::int64_t>(ps))); }

Measure measure_of(const std::vector<Variant>& variants) {
  if (!variants[0].info.open_loop) return Measure::end;
  const auto known = [](const ComparedRun& run) { return run.summary.slowdown.has_value(); };
  const bool all = std::all_of(variants.begin(), variants.end(), [&](const Variant& variant) {
    return !is_finished(variant) || std::all_of(variant.runs.begin(), variant.runs.end(), known);
  });
  return all ? Measure::slowdown : Measure::completion;
}

std::string shown(double value, Measure measure) {
  return measure == Measure::slowdown ? fmt::format("{:.2f}", value / 1000) : duration(value);
}

// How a measure is called, in the table too; what less of it is.
std::string_view title_of(Measure measure) {
  return measure == Measure::end ? "all done" : measure == Measure::slowdown ? "slowdown p99" : "completion p99";
}
std::string_view less(Measure measure) { return measure == Measure::end ? "sooner" : "lower"; }

// What is sent once and lost has no time.
std::string losses(const std::vector<Variant>& variants) {
  const auto lost = [](const Variant& variant) {
    return mean(variant, [](const ComparedRun& run) { return run.summary.lost; });
  };
  if (std::all_of(variants.begin(), variants.end(), [&](const Variant& variant) { return lost(variant) == 0; }))
    return "";
  std::vector<std::string> each;
  for (const Variant& variant : variants)
    each.push_back(fmt::format("{} {}", variant.label, grouped(static_cast<std::int64_t>(lost(variant)))));
  return fmt::format("; lost: {}", fmt::join(each, ", "));
}

double tail_of(const Variant& variant) {
  return mean(variant,
              [](const ComparedRun& run) { return run.summary.completion ? run.summary.completion->p999 : 0; });
}

double stream_end(const Variant& variant, std::size_t stream) {
  return mean(variant, [&](const ComparedRun& run) { return run.streams[stream].end; });
}

std::string spread_words(const Verdict& verdict, std::size_t seeds) {
  if (seeds == 1) return "one seed says nothing about the spread, --seeds 5 would";
  return verdict.outside_spread
             ? fmt::format("outside the spread over {}", counted(static_cast<std::int64_t>(seeds), "seed"))
             : fmt::format("within the spread over {}, so it may be chance",
                           counted(static_cast<std::int64_t>(seeds), "seed"));
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

// "b (43 of 64 flows failed)", for each that is not finished; nothing where all are.
std::string unfinished_names(const std::vector<Variant>& variants) {
  std::vector<std::string> names;
  for (const Variant& variant : variants)
    if (const std::string trouble = trouble_in(variant); !trouble.empty())
      names.push_back(fmt::format("{} ({})", variant.label, trouble));
  return names.empty() ? "" : listed(std::move(names));
}

std::string sentence_among(const std::vector<Variant>& variants, const Verdict& verdict,
                           const std::vector<std::size_t>& ranking) {
  if (verdict.same) return "no difference: the runs are the same to the last packet";
  const Variant& winner = variants[*verdict.winner];
  if (!verdict.next) return fmt::format("only {} is done, after {}", winner.label, duration(mean(winner, end_of)));
  const Variant& next = variants[*verdict.next];
  const std::string spread = spread_words(verdict, winner.runs.size());
  const Measure measure = verdict.measure;
  const double best = measured(winner, measure);
  if (verdict.lead < kTie) {
    std::vector<std::string> names;
    for (const std::size_t each : ranking)
      if (measured(variants[each], measure) < kTie * best) names.push_back(variants[each].label);
    const std::string by = measure == Measure::end ? "" : fmt::format(" by {}", title_of(measure));
    // So near to each other that it does not matter whether that is chance.
    const std::size_t seeds = winner.runs.size();
    return fmt::format("a tie between {}{}: less than 0.5% apart{}", listed(std::move(names)), by,
                       seeds == 1 ? "; " + spread : " over " + counted(static_cast<std::int64_t>(seeds), "seed"));
  }
  std::string others = fmt::format("{:.2f}x {} than {}", verdict.lead, less(measure), next.label);
  if (ranking.size() > 2) {
    const Variant& last = variants[ranking.back()];
    others += fmt::format(" (and {:.2f}x {} than {})", measured(last, measure) / std::max(1.0, best), less(measure),
                          last.label);
  }
  const std::string_view what = measure == Measure::end ? "all done after" : title_of(measure);
  return fmt::format("{} wins: {} {}, {}; {}", winner.label, what, shown(best, measure), others, spread);
}

std::string sentence_for(const std::vector<Variant>& variants, const Verdict& verdict,
                         const std::vector<std::size_t>& ranking) {
  const std::string unfinished = unfinished_names(variants);
  if (!verdict.winner) return fmt::format("none is done: {}", unfinished);
  return sentence_among(variants, verdict, ranking) + losses(variants) +
         (unfinished.empty() ? "" : fmt::format("; not done: {}", unfinished));
}

// A row of the table: what it is called and its text for one variant.
struct Metric {
  std::string title;
  std::function<std::string(const Variant&)> figure;
  bool of_all = false;  // what those took that got through says nothing of a variant whose others did not

  std::string text(const Variant& variant) const { return of_all && !is_finished(variant) ? "-" : figure(variant); }
};

std::vector<Metric> metrics(const std::vector<Variant>& variants) {
  const auto completion = [](std::int64_t Quantiles::*which) {
    return [which](const Variant& variant) {
      return duration(mean(variant, [&](const ComparedRun& run) {
        return run.summary.completion ? (*run.summary.completion).*which : 0;
      }));
    };
  };
  const auto slow = [](std::int64_t Quantiles::*which) {
    return [which](const Variant& variant) {
      return fmt::format("{:.2f}", mean(variant, [&](const ComparedRun& run) {
                                     return run.summary.slowdown ? (*run.summary.slowdown).*which : 0;
                                   }) / 1000);
    };
  };
  const auto packets = [](std::uint64_t ComparedRun::*which) {
    return [which](const Variant& variant) {
      return grouped(static_cast<std::int64_t>(mean(variant, [&](const ComparedRun& run) { return run.*which; })));
    };
  };
  std::vector<Metric> rows = {
      {"all done", [](const Variant& v) { return is_finished(v) ? duration(mean(v, end_of)) : "not done"; }},
      {"flows done", flows_done},
      {"completion p50", completion(&Quantiles::p50), true},
      {"completion p99", completion(&Quantiles::p99), true},
      {"completion p99.9", completion(&Quantiles::p999), true},
      {"completion max", completion(&Quantiles::max), true},
      {"slowdown p50", slow(&Quantiles::p50), true},
      {"slowdown p99", slow(&Quantiles::p99), true},
      {"goodput",
       [](const Variant& v) {
         return brief(
             Bandwidth(static_cast<std::int64_t>(mean(v, [](const ComparedRun& run) { return run.summary.goodput; }))));
       }},
      {"trimmed", packets(&ComparedRun::trimmed)},
      {"sent again", packets(&ComparedRun::resent)},
      {"dropped", packets(&ComparedRun::dropped)},
  };
  // The spread of what decides, below it.
  if (variants[0].runs.size() > 1) {
    const Measure measure = measure_of(variants);
    const auto bound = [measure](std::int64_t Range::*which) {
      return [measure, which](const Variant& v) {
        return shown(static_cast<double>(range_of(v, measure).*which), measure);
      };
    };
    auto at =
        std::find_if(rows.begin(), rows.end(), [&](const Metric& row) { return row.title == title_of(measure); }) + 1;
    if (measure == Measure::end) ++at;  // behind how many are
    rows.insert(at, {{"  at best", bound(&Range::least), true}, {"  at worst", bound(&Range::most), true}});
  }
  for (std::size_t i = 0; i < variants[0].runs[0].streams.size(); ++i) {
    const std::string name = variants[0].runs[0].streams[i].record.name;
    const auto row = [&](const std::string& title, bool of_all, std::function<std::string(const Variant&)> figure) {
      rows.push_back({name + " " + title, std::move(figure), of_all});
    };
    const auto of_summary = [i](auto value) {
      return [i, value](const Variant& v) {
        return mean(v, [&](const ComparedRun& run) { return value(run.streams[i].summary); });
      };
    };
    const auto p99 = of_summary(p99_completion);
    const auto slowed = of_summary(p99_slowdown);
    const auto rate = of_summary([](const SimSummary& s) { return s.goodput; });
    row("done", true, [i](const Variant& v) { return duration(stream_end(v, i)); });
    row("p99", true, [p99](const Variant& v) { return duration(p99(v)); });
    row("slowdown", true, [slowed](const Variant& v) { return fmt::format("{:.2f}", slowed(v) / 1000); });
    row("goodput", false, [rate](const Variant& v) { return brief(Bandwidth(static_cast<std::int64_t>(rate(v)))); });
    row("again", false, [i](const Variant& v) {
      return grouped(static_cast<std::int64_t>(
          mean(v, [&](const ComparedRun& run) { return run.streams[i].record.data_resent; })));
    });
  }
  const auto drop = [&](std::string_view title, bool unwanted) {
    if (unwanted) std::erase_if(rows, [&](const Metric& row) { return row.title == title; });
  };
  drop("flows done", std::all_of(variants.begin(), variants.end(), is_finished));
  drop("dropped", std::all_of(variants.begin(), variants.end(), [](const Variant& v) {
         return std::all_of(v.runs.begin(), v.runs.end(), [](const ComparedRun& run) { return run.dropped == 0; });
       }));
  for (CostRow& row : cost_rows(labelled_costs(variants)))
    rows.push_back(
        {std::move(row.first), [figure = std::move(row.second)](const Variant& v) { return figure(v.costs); }});
  return rows;
}

}  // namespace

bool is_finished(const Variant& variant) {
  return std::all_of(variant.runs.begin(), variant.runs.end(),
                     [](const ComparedRun& run) { return run.trouble.empty(); });
}

Verdict judge(const std::vector<Variant>& variants) {
  const Measure measure = measure_of(variants);
  std::vector<std::size_t> ranking;
  for (std::size_t i = 0; i < variants.size(); ++i)
    if (is_finished(variants[i])) ranking.push_back(i);
  std::stable_sort(ranking.begin(), ranking.end(), [&](std::size_t a, std::size_t b) {
    return measured(variants[a], measure) < measured(variants[b], measure);
  });
  Verdict verdict;
  verdict.measure = measure;
  if (!ranking.empty()) verdict.winner = ranking[0];
  if (ranking.size() > 1) {
    const Variant& winner = variants[ranking[0]];
    const Variant& next = variants[ranking[1]];
    verdict.next = ranking[1];
    verdict.lead = measured(next, measure) / std::max(1.0, measured(winner, measure));
    verdict.same = ranking.size() == variants.size() && all_the_same(variants);
    verdict.outside_spread = winner.runs.size() > 1 && range_of(winner, measure).most < range_of(next, measure).least;
  }
  verdict.sentence = sentence_for(variants, verdict, ranking);
  return verdict;
}

Verdict no_verdict(const std::vector<Variant>& variants, const std::vector<std::string>& not_run) {
  const auto done = std::count_if(variants.begin(), variants.end(), is_finished);
  const std::string unfinished = unfinished_names(variants);
  Verdict verdict;
  verdict.measure = measure_of(variants);
  verdict.sentence =
      fmt::format("none is best yet: {} of {} variants are done", done, variants.size() + not_run.size());
  if (!unfinished.empty()) verdict.sentence += "; not done: " + unfinished;
  if (!not_run.empty()) verdict.sentence += "; not run: " + listed(not_run);
  return verdict;
}

std::string tail_sentence(const std::vector<Variant>& all) {
  constexpr std::size_t kNamed = 4;
  const std::vector<Variant> variants = finished(all);
  if (variants.size() < 2) return "";
  std::vector<const Variant*> ranking;
  for (const Variant& variant : variants) ranking.push_back(&variant);
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](const Variant* a, const Variant* b) { return tail_of(*a) < tail_of(*b); });
  const double best = tail_of(*ranking[0]);
  if (tail_of(*ranking.back()) < best * kTie) return "";
  std::vector<std::string> others;
  for (std::size_t i = 1; i < ranking.size(); ++i)
    if (i < kNamed || i + 1 == ranking.size())
      others.push_back(
          fmt::format("{:.2f}% below {}", 100 * (1 - best / std::max(1.0, tail_of(*ranking[i]))), ranking[i]->label));
  return fmt::format("{} has the lowest p99.9, {}: {}", ranking[0]->label, duration(best), fmt::join(others, ", "));
}

std::vector<std::pair<std::string, std::string>> stream_sentences(const std::vector<Variant>& all) {
  std::vector<std::pair<std::string, std::string>> sentences;
  const std::vector<Variant> variants = finished(all);
  if (variants.size() < 2) return sentences;
  for (std::size_t i = 0; i < variants[0].runs[0].streams.size(); ++i) {
    const bool open_loop = variants[0].runs[0].streams[i].record.open_loop;
    const auto slowed = [&](const Variant& variant) {
      return mean(variant, [&](const ComparedRun& run) { return p99_slowdown(run.streams[i].summary); });
    };
    std::vector<std::pair<double, const Variant*>> ranking;
    for (const Variant& variant : variants)
      ranking.emplace_back(open_loop ? slowed(variant) : stream_end(variant, i), &variant);
    std::stable_sort(ranking.begin(), ranking.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto [best, winner] = ranking[0];
    if (ranking.back().first < best * kTie) continue;
    std::vector<std::string> others;
    for (std::size_t j = 1; j < ranking.size(); ++j)
      others.push_back(fmt::format("{:.2f}x {} than {}", ranking[j].first / std::max(1.0, best),
                                   open_loop ? "lower" : "sooner", ranking[j].second->label));
    const std::string won = open_loop ? fmt::format("slowdown p99 lowest with {}, {:.2f}", winner->label, best / 1000)
                                      : fmt::format("done first with {}, after {}", winner->label, duration(best));
    sentences.emplace_back(variants[0].runs[0].streams[i].record.name,
                           fmt::format("{}: {}", won, fmt::join(others, ", ")));
  }
  return sentences;
}

std::vector<LabelledCosts> labelled_costs(const std::vector<Variant>& variants) {
  std::vector<LabelledCosts> out;
  for (const Variant& variant : variants) out.push_back({variant.label, variant.costs});
  return out;
}

std::string comparison_text(const std::vector<Variant>& variants, std::size_t width, bool colour) {
  const std::vector<Metric> rows = metrics(variants);
  std::size_t titles = 0;
  for (const Metric& row : rows) titles = std::max(titles, display_width(row.title));
  const auto column_width = [&](const Variant& variant) {
    std::size_t widest = display_width(variant.label);
    for (const Metric& row : rows) widest = std::max(widest, display_width(row.text(variant)));
    return widest + 2;
  };
  std::string text;
  for (std::size_t first = 0; first < variants.size();) {
    std::vector<Column> columns = {{""}};
    std::size_t used = titles;
    std::size_t end = first;
    for (; end < variants.size() && (end == first || width == 0 || used + column_width(variants[end]) <= width);
         ++end) {
      used += column_width(variants[end]);
      columns.push_back({variants[end].label, true});
    }
    Table table(std::move(columns));
    for (const Metric& row : rows) {
      std::vector<std::string> cells = {row.title};
      for (std::size_t i = first; i < end; ++i) cells.push_back(row.text(variants[i]));
      table.add(std::move(cells));
    }
    text += (first == 0 ? "" : "\n") + table.text(0, colour);
    first = end;
  }
  return text;
}

void write_comparison(const std::vector<Variant>& variants, const Verdict& verdict, std::ostream& out) {
  Json record = {{"record", "compare"},
                 {"version", 1},
                 {"weft", variants[0].info.version},
                 {"commit", variants[0].info.commit},
                 {"traffic", variants[0].info.traffic}};
  record["variants"] = Json::array();
  for (const Variant& variant : variants) {
    Json row = {{"label", variant.label},
                {"cluster", variant.info.cluster},
                {"configuration", fmt::format("{:016x}", variant.info.configuration)}};
    row.update(costs_json(variant.costs));
    const bool done = is_finished(variant);
    row["trouble"] = done ? Json() : Json(trouble_in(variant));
    row["end_mean_ps"] = done ? Json(static_cast<std::int64_t>(mean(variant, end_of))) : Json();
    row["runs"] = Json::array();
    for (const ComparedRun& run : variant.runs) {
      const auto time = [&](std::int64_t Quantiles::*which) {
        return run.trouble.empty() && run.summary.completion ? Json((*run.summary.completion).*which) : Json();
      };
      const auto slow = [&](std::int64_t Quantiles::*which) {
        return run.trouble.empty() && run.summary.slowdown
                   ? Json(static_cast<double>((*run.summary.slowdown).*which) / 1000)
                   : Json();
      };
      row["runs"].push_back({{"seed", run.seed},
                             {"trouble", run.trouble.empty() ? Json() : Json(run.trouble)},
                             {"flows", run.summary.flows},
                             {"flows_done", run.summary.done},
                             {"end_ps", run.end},
                             {"fct_p50_ps", time(&Quantiles::p50)},
                             {"fct_p99_ps", time(&Quantiles::p99)},
                             {"fct_p999_ps", time(&Quantiles::p999)},
                             {"fct_max_ps", time(&Quantiles::max)},
                             {"slowdown_p50", slow(&Quantiles::p50)},
                             {"slowdown_p99", slow(&Quantiles::p99)},
                             {"goodput_bps", run.summary.goodput},
                             {"trimmed", run.trimmed},
                             {"resent", run.resent},
                             {"dropped", run.dropped},
                             {"digest", fmt::format("{:016x}", run.digest)}});
      for (const StreamSummary& stream : run.streams) {
        const Quantiles fct = stream.summary.completion.value_or(Quantiles{});
        row["runs"].back()["streams"].push_back({{"name", stream.record.name},
                                                 {"end_ps", stream.end},
                                                 {"fct_p50_ps", fct.p50},
                                                 {"fct_p99_ps", fct.p99},
                                                 {"goodput_bps", stream.summary.goodput},
                                                 {"transport_resent", stream.record.data_resent}});
      }
    }
    record["variants"].push_back(std::move(row));
  }
  record["winner"] = verdict.winner ? Json(variants[*verdict.winner].label) : Json();
  record["measure"] = verdict.measure == Measure::end        ? "end"
                      : verdict.measure == Measure::slowdown ? "slowdown_p99"
                                                             : "fct_p99";
  record["lead"] = verdict.next ? Json(verdict.lead) : Json();
  record["same"] = verdict.same;
  record["outside_spread"] = verdict.outside_spread;
  record["sentence"] = verdict.sentence;
  out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

}  // namespace weft::report
