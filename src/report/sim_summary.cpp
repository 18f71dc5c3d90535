#include "report/sim_summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/phases.hpp"
#include "report/stream_table.hpp"
#include "report/table.hpp"

namespace weft::report {
namespace {

using schedule::FlowRecord;
using schedule::LinkRecord;
using schedule::RunResult;

constexpr double kPsPerSecond = 1e12;

std::string number(std::uint64_t n) { return grouped(static_cast<std::int64_t>(n)); }
std::string size(std::uint64_t bytes) { return brief(Bytes(static_cast<std::int64_t>(bytes))); }
std::string thousandths(std::int64_t n) { return fmt::format("{:.2f}", static_cast<double>(n) / 1000); }

template <class Show>
std::string spread(const Quantiles& q, const Show& show) {
  return fmt::format("p50 {}, p99 {}, p99.9 {}, max {}", show(q.p50), show(q.p99), show(q.p999), show(q.max));
}

// Packets stop at the end of a window, which may lie beyond the limit: the time is that.
std::string reason(const RunResult& result) {
  const std::int64_t ns = (result.end / 1000).count();
  const std::string done = fmt::format("this is what was done until {}.{:03}us", ns / 1000, ns % 1000);
  if (result.stopped_by == "ctrl-c") return "interrupted: " + done;
  if (!result.deadlock.empty()) return fmt::format("a deadlock, these wait for each other: {}", result.deadlock);
  return fmt::format("stopped at the limit {}: {}", result.stopped_by, done);
}

// Flows and messages know neither packets nor queues: nothing was counted, which is not zero.
bool has_packets(const RunResult& result) { return result.fidelity == schedule::Fidelity::packet; }

std::string time(std::int64_t ps) { return brief(Duration(ps)); }

// "43 of 64 flows failed, 5 never began" of a run that ended by itself; nothing where all got through.
std::string missing_text(const RunResult& result, const SimSummary& summary) {
  if (!result.stopped_by.empty() || summary.done + summary.lost == summary.flows) return "";
  const std::string all = counted(static_cast<std::int64_t>(summary.flows), "flow");
  const std::size_t never = summary.flows - summary.begun;
  if (summary.failed == 0) return fmt::format("{} of {} never began", number(never), all);
  return fmt::format("{} of {} failed{}", number(summary.failed), all,
                     never > 0 ? fmt::format(", {} never began", number(never)) : "");
}

// What failed comes first: the rest is of those that did not.
std::string traffic_text(const RunResult& result, const SimSummary& summary) {
  const std::string time = brief(result.end);
  const std::string all = counted(static_cast<std::int64_t>(summary.flows), "flow");
  if (const std::string missing = missing_text(result, summary); !missing.empty())
    return fmt::format("{}; {} done, {}, in {}", missing, number(summary.done), size(summary.bytes), time);
  const bool more = !result.stopped_by.empty() && result.all_flows == 0;  // who knows how many were to come
  return fmt::format("{} of {}{}, {} in {}", number(summary.done), all, more ? " that began" : "", size(summary.bytes),
                     time);
}

void add_flows(Facts& facts, const RunResult& result, const SimSummary& summary) {
  const schedule::Counters& count = result.counters;
  facts.add("traffic", traffic_text(result, summary));
  const std::string whose =
      summary.done < summary.flows ? fmt::format("of the {} that ended: ", number(summary.done)) : "";
  if (summary.completion) facts.add("completion", whose + spread(*summary.completion, time));
  if (summary.slowdown)
    facts.add("slowdown", whose + spread(*summary.slowdown, thousandths) + " times the unloaded time");
  if (summary.done > 0)
    facts.add("goodput",
              fmt::format("{} in all; per flow {}{} on average, {} at least", brief(Bandwidth(summary.goodput)), whose,
                          brief(Bandwidth(summary.flow_goodput_mean)), brief(Bandwidth(summary.flow_goodput_min))));
  if (has_packets(result))
    facts.add("packets", fmt::format("{} data, {} sent again, {} acknowledgements", number(count.data_sent),
                                     number(count.data_resent), number(count.acks_sent)));
}

// Messages that are sent once, whatever becomes of them.
void add_unanswered(Facts& facts, const RunResult& result, const SimSummary& summary) {
  facts.add("traffic", fmt::format("{} of {} arrived, {} in {}; {} lost", number(summary.done),
                                   counted(static_cast<std::int64_t>(summary.flows), "message"), size(summary.bytes),
                                   time(result.end.count()), number(summary.lost)));
  if (summary.completion) facts.add("delay", spread(*summary.completion, time) + " until the last byte is in");
  if (summary.waiting)
    facts.add("waiting", fmt::format("mean {}, {} beyond alone", time(summary.waiting_mean.count()),
                                     spread(*summary.waiting, time)));
  if (summary.done > 0) facts.add("goodput", fmt::format("{} in all", brief(Bandwidth(summary.goodput))));
  facts.add("packets",
            fmt::format("{} data, which nobody acknowledges or sends again", number(result.counters.data_sent)));
}

std::string facts_text(const RunResult& result, const SimSummary& summary, std::size_t width, bool colour) {
  const schedule::Counters& count = result.counters;
  Facts facts;
  if (!result.stopped_by.empty()) facts.add("partial", reason(result));
  if (summary.unanswered > 0 && summary.unanswered == summary.begun) {
    add_unanswered(facts, result, summary);
  } else {
    add_flows(facts, result, summary);
  }
  if (!has_packets(result)) {
    facts.add("digest", fmt::format("{:016x} (seed {})", result.digest, result.seed));
    return facts.text(width, colour);
  }
  facts.add("congestion",
            fmt::format("{} marked, {} trimmed, {} dropped, {} lost, {} timeouts", number(count.marked),
                        number(count.trimmed), number(count.dropped), number(count.lost), number(count.timeouts)));
  if (count.pauses > 0 || count.headroom_drops > 0 || count.watchdog_drops > 0)
    facts.add("flow control",
              fmt::format("{} pauses; dropped {} beyond the headroom, {} by the watchdog", number(count.pauses),
                          number(count.headroom_drops), number(count.watchdog_drops)));
  if (summary.fullest) {
    const LinkRecord& link = result.links[*summary.fullest];
    facts.add("longest queue", fmt::format("{}, {} to {}", brief(Bytes(link.peak_bytes)), link.from, link.to));
  }
  if (result.sample_interval > result.sample_asked)
    facts.add("samples", fmt::format("every {} instead of {}, of which there were too many to keep",
                                     time(result.sample_interval.count()), time(result.sample_asked.count())));
  if (result.capture_end != schedule::kNotYet)
    facts.add("capture",
              fmt::format(
                  "ends at {}, when there was no room for more: capture fewer links, or end the run with --limit time",
                  time(result.capture_end.count())));
  facts.add("digest",
            fmt::format("{:016x} (seed {}, {} packet-hops)", result.digest, result.seed, number(count.packet_hops)));
  return facts.text(width, colour);
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string pauses_text(const RunResult& result, std::size_t most, std::size_t width, bool colour) {
  std::vector<const LinkRecord*> paused;
  for (const LinkRecord& link : result.links)
    if (link.pauses > 0) paused.push_back(&link);
  if (paused.empty()) return "";
  std::stable_sort(paused.begin(), paused.end(),
                   [](const LinkRecord* a, const LinkRecord* b) { return a->paused > b->paused; });
  const std::size_t shown = most == 0 ? paused.size() : std::min(most, paused.size());
  Table table({{"longest paused"}, {"pauses", true}, {"paused", true}, {"of the run", true}});
  for (std::size_t i = 0; i < shown; ++i) {
    const LinkRecord& link = *paused[i];
    table.add({fmt::format("{} to {}", link.from, link.to), number(link.pauses), brief(link.paused),
               percent(static_cast<double>(link.paused.count()) /
                       static_cast<double>(std::max<std::int64_t>(1, result.end.count())))});
  }
  std::string text = "\n" + table.text(width, colour);
  if (shown < paused.size())
    text += fmt::format("{} more were paused\n", counted(static_cast<std::int64_t>(paused.size() - shown), "link"));
  return text;
}

// Of the flows that are wanted, `all` of them with those that have not begun; goodput over `time`.
template <class Wanted>
SimSummary summarise_flows(const RunResult& result, const Wanted& wanted, std::uint64_t all, Duration time) {
  SimSummary summary;
  std::vector<std::int64_t> times;
  std::vector<std::int64_t> slowdowns;
  std::vector<std::int64_t> waits;
  double rates = 0;
  double waited = 0;
  for (const FlowRecord& flow : result.flows) {
    if (!wanted(flow)) continue;
    ++summary.begun;
    summary.unanswered += flow.unanswered;
    if (!is_done(flow)) {
      summary.lost += flow.unanswered && result.stopped_by.empty();
      continue;
    }
    times.push_back(completion_time(flow).count());
    if (flow.unanswered && flow.unloaded > Duration(0)) {
      waits.push_back(times.back() - flow.unloaded.count());
      waited += static_cast<double>(waits.back());
    }
    if (const auto slow = slowdown(flow)) slowdowns.push_back(*slow);
    const std::int64_t rate = goodput(flow.bytes, Duration(times.back()));
    summary.flow_goodput_min = summary.done == 0 ? rate : std::min(summary.flow_goodput_min, rate);
    rates += static_cast<double>(rate);
    summary.bytes += flow.bytes;
    ++summary.done;
  }
  summary.flows = std::max<std::size_t>(summary.begun, all);
  if (result.stopped_by.empty()) summary.failed = summary.begun - summary.done - summary.lost;
  if (summary.done > 0) {
    summary.goodput = goodput(summary.bytes, time);
    summary.flow_goodput_mean = static_cast<std::int64_t>(rates / static_cast<double>(summary.done));
  }
  if (!waits.empty())
    summary.waiting_mean = Duration(static_cast<std::int64_t>(waited / static_cast<double>(waits.size())));
  summary.waiting = quantiles(std::move(waits));
  summary.completion = quantiles(std::move(times));
  summary.slowdown = quantiles(std::move(slowdowns));
  return summary;
}

}  // namespace

std::optional<Quantiles> quantiles(std::vector<std::int64_t> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const auto at = [&](std::size_t per_mille) {
    return values[std::min(values.size() - 1, values.size() * per_mille / 1000)];
  };
  return Quantiles{at(500), at(990), at(999), values.back()};
}

bool is_done(const FlowRecord& flow) { return done_at(flow) != schedule::kNotYet; }

Duration done_at(const FlowRecord& flow) { return flow.unanswered ? flow.received : flow.sent; }

Duration completion_time(const FlowRecord& flow) { return done_at(flow) - flow.start; }

std::optional<std::int64_t> slowdown(const FlowRecord& flow) {
  if (!is_done(flow) || flow.unloaded <= Duration(0)) return std::nullopt;
  return static_cast<std::int64_t>(static_cast<double>(completion_time(flow).count()) * 1000 /
                                   static_cast<double>(flow.unloaded.count()));
}

std::int64_t goodput(std::uint64_t bytes, Duration time) {
  return static_cast<std::int64_t>(static_cast<double>(bytes) * 8 * kPsPerSecond /
                                   static_cast<double>(std::max<std::int64_t>(1, time.count())));
}

double utilisation(std::uint64_t bytes, std::int64_t rate, Duration time) {
  if (rate <= 0 || time <= Duration(0)) return 0;
  return static_cast<double>(bytes) * 8 * kPsPerSecond / static_cast<double>(rate) / static_cast<double>(time.count());
}

double utilisation(const LinkRecord& link, Duration end) {
  return utilisation(link.bytes, link.rate, std::max(end, link.until));
}

Duration mean_wait(const LinkRecord& link) {
  return link.packets == 0 ? Duration(0) : link.waited / static_cast<std::int64_t>(link.packets);
}

SimSummary summarise(const RunResult& result) {
  SimSummary summary = summarise_flows(
      result, [](const FlowRecord&) { return true; }, result.all_flows, result.end);
  for (std::size_t i = 0; i < result.links.size(); ++i)
    if (!summary.fullest || result.links[i].peak_bytes > result.links[*summary.fullest].peak_bytes) summary.fullest = i;
  return summary;
}

std::string trouble_of(const RunResult& result, const SimSummary& summary) {
  const std::string done =
      fmt::format("{} of {} done", number(summary.done), counted(static_cast<std::int64_t>(summary.flows), "flow"));
  if (!result.deadlock.empty()) return "deadlock, " + done;
  if (result.stopped_by == "ctrl-c") return "interrupted, " + done;
  if (!result.stopped_by.empty()) return fmt::format("limit {}, {}", result.stopped_by, done);
  if (const std::string missing = missing_text(result, summary); !missing.empty()) return missing;
  if (summary.flows == 0) return "no flow began";
  return result.unfinished > 0 ? "waits for what never comes" : "";
}

std::vector<StreamSummary> summarise_streams(const RunResult& result) {
  std::vector<StreamSummary> streams;
  for (std::uint32_t i = 0; i < result.streams.size(); ++i) {
    StreamSummary& each = streams.emplace_back(StreamSummary{result.streams[i], Duration(0), {}});
    for (const FlowRecord& flow : result.flows)
      if (flow.stream == i) each.end = std::max({each.end, flow.sent, flow.received});
    const std::uint64_t all = result.streams[i].flows;
    each.summary = summarise_flows(
        result, [i](const FlowRecord& flow) { return flow.stream == i; }, all, each.end);
    // Of what was given up, or still is to come, nobody knows when: the run's end is the latest.
    if (each.summary.done < each.summary.flows || (all == 0 && !result.stopped_by.empty())) {
      each.end = result.end;
      each.summary.goodput = goodput(each.summary.bytes, each.end);
    }
  }
  return streams;
}

std::string links_text(const RunResult& result, std::size_t most, std::size_t width, bool colour) {
  const std::size_t shown = most == 0 ? result.links.size() : std::min(most, result.links.size());
  // Faults are rare, and so is their column.
  const bool faults =
      std::any_of(result.links.begin(), result.links.end(), [](const LinkRecord& link) { return link.lost > 0; });
  std::vector<Column> columns = {{"busiest links"}, {"used", true}, {"carried", true}};
  if (has_packets(result))
    for (const char* each : {"mean wait", "queue", "marks", "trims", "drops"}) columns.push_back({each, true});
  if (faults) columns.push_back({"lost", true});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < shown; ++i) {
    const LinkRecord& link = result.links[i];
    std::vector<std::string> row = {fmt::format("{} to {}", link.from, link.to), percent(utilisation(link, result.end)),
                                    size(link.bytes)};
    if (has_packets(result))
      for (std::string each : {brief(mean_wait(link)), brief(Bytes(link.peak_bytes)), number(link.marked),
                               number(link.trimmed), number(link.dropped)})
        row.push_back(std::move(each));
    if (faults) row.push_back(number(link.lost));
    table.add(std::move(row));
  }
  std::string text = "\n" + table.text(width, colour);
  if (shown < result.links.size())
    text += fmt::format("{} more; --links 0 shows all\n",
                        counted(static_cast<std::int64_t>(result.links.size() - shown), "link"));
  return text;
}

std::string summary_text(const RunResult& result, const SimSummary& summary, std::size_t links, std::size_t width,
                         bool colour) {
  std::string text = facts_text(result, summary, width, colour);
  text += phases_text(result, width, colour);
  if (!result.streams.empty()) text += streams_text(summarise_streams(result), width, colour);
  if (!result.links.empty())
    text += links_text(result, links, width, colour) + pauses_text(result, links, width, colour);
  return text;
}

std::string slowest_text(const RunResult& result, std::size_t most,
                         const std::function<std::string(std::uint32_t)>& name, std::size_t width, bool colour) {
  std::vector<const FlowRecord*> flows;
  for (const FlowRecord& flow : result.flows) flows.push_back(&flow);
  const auto loss = [](const FlowRecord& flow) { return is_done(flow) ? slowdown(flow).value_or(0) : INT64_MAX; };
  std::stable_sort(flows.begin(), flows.end(),
                   [&](const FlowRecord* a, const FlowRecord* b) { return loss(*a) > loss(*b); });
  flows.resize(std::min(most, flows.size()));
  Table table({{"slowest flows"}, {"size", true}, {"began", true}, {"took", true}, {"slowdown", true}});
  for (const FlowRecord* flow : flows) {
    const auto slow = slowdown(*flow);
    table.add({fmt::format("{} to {}", name(flow->source), name(flow->destination)), size(flow->bytes),
               brief(flow->start), is_done(*flow) ? brief(completion_time(*flow)) : "not done",
               slow ? thousandths(*slow) : "-"});
  }
  return "\n" + table.text(width, colour);
}

}  // namespace weft::report
