#include "report/sim_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <variant>

#include "report/phases.hpp"

namespace weft::report {
namespace {

using schedule::FlowRecord;
using schedule::LinkRecord;
using schedule::LinkSample;
using schedule::RunResult;

// A value of a record; nothing where it is not known (null, or an empty field).
using Cell = std::variant<std::monostate, std::int64_t, std::uint64_t, double, std::string>;

// What a row can be asked; the same columns make JSON lines and CSV.
template <class Row>
struct Field {
  std::string_view name;
  Cell (*value)(const Row&);
};

struct FlowRow {
  const FlowRecord& flow;
  bool ended;  // the run did by itself: what is not done now never will be
};
struct LinkRow {
  const LinkRecord& link;
  Duration end;
};
struct SampleRow {
  const LinkSample& sample;
  const LinkRecord& link;
  Duration interval;
};

Cell if_done(Duration time) { return time == schedule::kNotYet ? Cell() : Cell(time.count()); }

// A flow that has not begun cannot fail.
std::string state_of(const FlowRow& row) {
  if (is_done(row.flow)) return "done";
  return row.ended && row.flow.start != schedule::kNotYet ? "failed" : "unfinished";
}

constexpr Field<FlowRow> kFlowFields[] = {
    {"source", [](const FlowRow& row) -> Cell { return std::uint64_t{row.flow.source}; }},
    {"destination", [](const FlowRow& row) -> Cell { return std::uint64_t{row.flow.destination}; }},
    {"bytes", [](const FlowRow& row) -> Cell { return row.flow.bytes; }},
    {"start_ps", [](const FlowRow& row) -> Cell { return if_done(row.flow.start); }},
    {"sent_ps", [](const FlowRow& row) -> Cell { return if_done(row.flow.sent); }},
    {"received_ps", [](const FlowRow& row) -> Cell { return if_done(row.flow.received); }},
    {"fct_ps", [](const FlowRow& row) { return is_done(row.flow) ? Cell(completion_time(row.flow).count()) : Cell(); }},
    {"unloaded_ps", [](const FlowRow& row) -> Cell { return row.flow.unloaded.count(); }},
    {"slowdown",
     [](const FlowRow& row) {
       const auto slow = slowdown(row.flow);
       return slow ? Cell(static_cast<double>(*slow) / 1000) : Cell();
     }},
    {"goodput_bps",
     [](const FlowRow& row) {
       return is_done(row.flow) ? Cell(goodput(row.flow.bytes, completion_time(row.flow))) : Cell();
     }},
    {"stream", [](const FlowRow& row) -> Cell { return std::uint64_t{row.flow.stream}; }},
    {"state", [](const FlowRow& row) -> Cell { return state_of(row); }},
};

constexpr Field<LinkRow> kLinkFields[] = {
    {"from", [](const LinkRow& row) -> Cell { return row.link.from; }},
    {"to", [](const LinkRow& row) -> Cell { return row.link.to; }},
    {"rate_bps", [](const LinkRow& row) -> Cell { return row.link.rate; }},
    {"bytes", [](const LinkRow& row) -> Cell { return row.link.bytes; }},
    {"packets", [](const LinkRow& row) -> Cell { return row.link.packets; }},
    {"utilisation", [](const LinkRow& row) -> Cell { return utilisation(row.link, row.end); }},
    {"mean_wait_ps", [](const LinkRow& row) -> Cell { return mean_wait(row.link).count(); }},
    {"peak_queue_bytes", [](const LinkRow& row) -> Cell { return row.link.peak_bytes; }},
    {"marked", [](const LinkRow& row) -> Cell { return row.link.marked; }},
    {"trimmed", [](const LinkRow& row) -> Cell { return row.link.trimmed; }},
    {"dropped", [](const LinkRow& row) -> Cell { return row.link.dropped; }},
    {"pauses", [](const LinkRow& row) -> Cell { return row.link.pauses; }},
    {"paused_ps", [](const LinkRow& row) -> Cell { return row.link.paused.count(); }},
    {"lost", [](const LinkRow& row) -> Cell { return row.link.lost; }},
};

constexpr Field<SampleRow> kSampleFields[] = {
    {"time_ps", [](const SampleRow& row) -> Cell { return row.sample.time.count(); }},
    {"from", [](const SampleRow& row) -> Cell { return row.link.from; }},
    {"to", [](const SampleRow& row) -> Cell { return row.link.to; }},
    {"peak_queue_bytes", [](const SampleRow& row) -> Cell { return row.sample.peak_bytes; }},
    {"bytes", [](const SampleRow& row) -> Cell { return row.sample.bytes; }},
    {"utilisation",
     [](const SampleRow& row) -> Cell { return utilisation(row.sample.bytes, row.link.rate, row.interval); }},
    {"marked", [](const SampleRow& row) -> Cell { return std::uint64_t{row.sample.marked}; }},
    {"trimmed", [](const SampleRow& row) -> Cell { return std::uint64_t{row.sample.trimmed}; }},
    {"dropped", [](const SampleRow& row) -> Cell { return std::uint64_t{row.sample.dropped}; }},
    {"packets", [](const SampleRow& row) -> Cell { return std::uint64_t{row.sample.packets}; }},
    {"lost", [](const SampleRow& row) -> Cell { return std::uint64_t{row.sample.lost}; }},
};

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string csv_text(const std::string& text) {  // RFC 4180
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

struct AppendTo {
  fmt::memory_buffer& out;
  bool json;
  void text(std::string_view chars) const { out.append(chars.data(), chars.data() + chars.size()); }
  void operator()(std::monostate) const { text(json ? "null" : ""); }
  void operator()(std::int64_t n) const { fmt::format_to(std::back_inserter(out), "{}", n); }
  void operator()(std::uint64_t n) const { fmt::format_to(std::back_inserter(out), "{}", n); }
  void operator()(double x) const { fmt::format_to(std::back_inserter(out), "{:.6g}", x); }
  void operator()(const std::string& s) const { text(json ? json_text(s) : csv_text(s)); }
};

void flush(fmt::memory_buffer& buffer, std::ostream& out) {
  out.write(buffer.data(), static_cast<std::streamsize>(buffer.size()));
  buffer.clear();
}

template <class Row, std::size_t N>
void write_json_line(std::string_view record, const Field<Row> (&fields)[N], const Row& row, std::ostream& out) {
  fmt::memory_buffer line;
  fmt::format_to(std::back_inserter(line), R"({{"record":"{}","version":1)", record);
  for (const Field<Row>& field : fields) {
    fmt::format_to(std::back_inserter(line), R"(,"{}":)", field.name);
    std::visit(AppendTo{line, true}, field.value(row));
  }
  AppendTo{line, true}.text("}\n");
  flush(line, out);
}

template <class Row, std::size_t N>
void write_csv_head(const Field<Row> (&fields)[N], std::ostream& out) {
  for (std::size_t i = 0; i < N; ++i) out << (i == 0 ? "" : ",") << fields[i].name;
  out << "\n";
}

template <class Row, std::size_t N>
void write_csv_line(const Field<Row> (&fields)[N], const Row& row, std::ostream& out) {
  fmt::memory_buffer line;
  const AppendTo append{line, false};
  for (std::size_t i = 0; i < N; ++i) {
    if (i > 0) append.text(",");
    std::visit(append, fields[i].value(row));
  }
  append.text("\n");
  flush(line, out);
}

void add_quantiles(nlohmann::ordered_json& record, const std::string& prefix, const std::string& suffix,
                   const std::optional<Quantiles>& q, bool thousandths) {
  const auto add = [&](const std::string& which, std::int64_t Quantiles::*value) {
    nlohmann::ordered_json& slot = record[prefix + which + suffix];
    if (!q) return;  // null: no flow is done
    if (thousandths) {
      slot = static_cast<double>((*q).*value) / 1000;
    } else {
      slot = (*q).*value;
    }
  };
  add("p50", &Quantiles::p50);
  add("p99", &Quantiles::p99);
  add("p999", &Quantiles::p999);
  add("max", &Quantiles::max);
}

// Of messages that nobody acknowledges, where there are any.
void add_waiting(nlohmann::ordered_json& record, const SimSummary& summary) {
  if (summary.unanswered == 0) return;
  record["unanswered"] = summary.unanswered;
  record["wait_mean_ps"] =
      summary.waiting ? nlohmann::ordered_json(summary.waiting_mean.count()) : nlohmann::ordered_json();
  add_quantiles(record, "wait_", "_ps", summary.waiting, false);
}

}  // namespace

void write_sim_record(const RunInfo& info, const RunResult& result, const SimSummary& summary, std::ostream& out) {
  const schedule::Counters& count = result.counters;
  nlohmann::ordered_json record = {{"record", "sim"},
                                   {"version", 1},
                                   {"weft", info.version},
                                   {"commit", info.commit},
                                   {"cluster", info.cluster},
                                   {"traffic", info.traffic},
                                   {"configuration", fmt::format("{:016x}", info.configuration)},
                                   {"executor", name(result.fidelity)},
                                   {"seed", result.seed},
                                   {"partial", !result.stopped_by.empty()}};
  if (!result.stopped_by.empty()) record["stopped_by"] = result.stopped_by;
  record["flows"] = summary.flows;
  record["flows_done"] = summary.done;
  record["flows_failed"] = summary.failed;
  record["bytes"] = summary.bytes;
  record["end_ps"] = result.end.count();
  add_quantiles(record, "fct_", "_ps", summary.completion, false);
  add_quantiles(record, "slowdown_", "", summary.slowdown, true);
  add_waiting(record, summary);
  record["goodput_bps"] = summary.goodput;
  record["flow_goodput_min_bps"] = summary.flow_goodput_min;
  record["flow_goodput_mean_bps"] = summary.flow_goodput_mean;
  record["data_packets"] = count.data_sent;
  record["resent"] = count.data_resent;
  record["acks"] = count.acks_sent;
  record["marked"] = count.marked;
  record["trimmed"] = count.trimmed;
  record["dropped"] = count.dropped;
  record["lost"] = count.lost;
  record["timeouts"] = count.timeouts;
  record["pauses"] = count.pauses;
  record["headroom_drops"] = count.headroom_drops;
  record["watchdog_drops"] = count.watchdog_drops;
  if (result.failures) {
    record["moved_parts"] = result.failures->moved;
    record["phases"] = nlohmann::ordered_json::array();
    for (const Phase& each : phases(result))
      record["phases"].push_back({{"what", each.what},
                                  {"from_ps", each.from.count()},
                                  {"to_ps", each.to.count()},
                                  {"goodput_bps", each.goodput}});
  }
  if (!result.deadlock.empty()) record["deadlock"] = result.deadlock;
  if (result.sample_interval > Duration(0)) record["sample_interval_ps"] = result.sample_interval.count();
  if (result.capture_end != schedule::kNotYet) record["capture_end_ps"] = result.capture_end.count();
  if (summary.fullest) {
    const LinkRecord& link = result.links[*summary.fullest];
    record["peak_queue_bytes"] = link.peak_bytes;
    record["peak_queue_at"] = fmt::format("{} to {}", link.from, link.to);
  }
  record["packet_hops"] = count.packet_hops;
  record["events"] = count.events;
  record["digest"] = fmt::format("{:016x}", result.digest);
  out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

void write_stream_records(const RunResult& result, std::ostream& out) {
  for (const StreamSummary& each : summarise_streams(result)) {
    const SimSummary& summary = each.summary;
    nlohmann::ordered_json record = {{"record", "stream"},
                                     {"version", 1},
                                     {"name", each.record.name},
                                     {"transport", each.record.transport},
                                     {"service", each.record.service},
                                     {"flows", summary.flows},
                                     {"flows_done", summary.done},
                                     {"bytes", summary.bytes},
                                     {"end_ps", each.end.count()}};
    add_quantiles(record, "fct_", "_ps", summary.completion, false);
    add_quantiles(record, "slowdown_", "", summary.slowdown, true);
    add_waiting(record, summary);
    record["goodput_bps"] = summary.goodput;
    record["transport_data_packets"] = each.record.data_sent;
    record["transport_resent"] = each.record.data_resent;
    record["transport_timeouts"] = each.record.timeouts;
    out << record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }
}

void write_flow_records(const RunResult& result, std::ostream& out) {
  for (const FlowRecord& flow : result.flows)
    write_json_line("flow", kFlowFields, FlowRow{flow, result.stopped_by.empty()}, out);
}

void write_link_records(const RunResult& result, std::size_t most, std::ostream& out) {
  const std::size_t shown = most == 0 ? result.links.size() : std::min(most, result.links.size());
  for (const LinkRecord& link : std::span(result.links).first(shown))
    write_json_line("link", kLinkFields, LinkRow{link, result.end}, out);
}

void write_sample_records(const RunInfo& info, const RunResult& result, std::ostream& out) {
  for (const LinkSample& sample : result.samples)
    write_json_line("sample", kSampleFields, SampleRow{sample, result.links[sample.link], info.sample_interval}, out);
}

void write_flows_csv(const RunResult& result, std::ostream& out) {
  write_csv_head(kFlowFields, out);
  for (const FlowRecord& flow : result.flows)
    write_csv_line(kFlowFields, FlowRow{flow, result.stopped_by.empty()}, out);
}

void write_links_csv(const RunResult& result, std::ostream& out) {
  write_csv_head(kLinkFields, out);
  for (const LinkRecord& link : result.links) write_csv_line(kLinkFields, LinkRow{link, result.end}, out);
}

void write_samples_csv(const RunInfo& info, const RunResult& result, std::ostream& out) {
  write_csv_head(kSampleFields, out);
  for (const LinkSample& sample : result.samples)
    write_csv_line(kSampleFields, SampleRow{sample, result.links[sample.link], info.sample_interval}, out);
}

}  // namespace weft::report
