#include "report/swept_run.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/sim_summary.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

Json time_json(const std::optional<Quantiles>& q, std::int64_t Quantiles::*which) {
  return q ? Json((*q).*which) : Json();
}

Json share_json(const std::optional<Quantiles>& q, std::int64_t Quantiles::*which) {
  return q ? Json(static_cast<double>((*q).*which) / 1000) : Json();
}

// Reads values of the type they must have and remembers when one had not; what is no object has none.
struct Reader {
  const Json& record;
  bool good = true;

  const Json& at(const char* key) {
    static const Json kNothing;
    const auto found = record.find(key);
    return found == record.end() ? kNothing : *found;
  }
  std::int64_t whole(const char* key) {
    const Json& value = at(key);
    good = good && value.is_number_integer();
    return good ? value.get<std::int64_t>() : 0;
  }
  std::uint64_t count(const char* key) {
    const Json& value = at(key);
    good = good && value.is_number_unsigned();
    return good ? value.get<std::uint64_t>() : 0;
  }
  std::int64_t thousandths(const char* key) {
    const Json& value = at(key);
    constexpr double kMost = 1e15;  // beyond, a double has no thousandths
    good = good && value.is_number() && std::abs(value.get<double>()) < kMost;
    return good ? std::llround(value.get<double>() * 1000) : 0;
  }
  double number(const char* key) {
    const Json& value = at(key);
    good = good && value.is_number();
    return good ? value.get<double>() : 0;
  }
  std::string text(const char* key) {
    const Json& value = at(key);
    good = good && value.is_string();
    return good ? value.get<std::string>() : "";
  }
  schedule::Fidelity fidelity(const char* key) {
    const auto known = parse_enum<schedule::Fidelity>(text(key));
    good = good && known;
    return known.value_or(schedule::Fidelity::message);
  }
  std::uint64_t hash(const char* key) {
    const std::string digits = text(key);
    std::uint64_t value = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    good = good && fault == std::errc() && end == digits.data() + digits.size();
    return value;
  }
};

std::optional<Quantiles> read_completion(Reader& reader) {
  if (reader.at("fct_p50_ps").is_null()) return std::nullopt;
  return Quantiles{reader.whole("fct_p50_ps"), reader.whole("fct_p99_ps"), reader.whole("fct_p999_ps"),
                   reader.whole("fct_max_ps")};
}

std::optional<Quantiles> read_slowdown(Reader& reader) {
  if (reader.at("slowdown_p50").is_null()) return std::nullopt;
  return Quantiles{reader.thousandths("slowdown_p50"), reader.thousandths("slowdown_p99"),
                   reader.thousandths("slowdown_p999"), reader.thousandths("slowdown_max")};
}

std::vector<CollectiveRow> read_collectives(Reader& reader) {
  std::vector<CollectiveRow> rows;
  const Json& list = reader.at("collectives");
  if (list.is_null()) return rows;
  reader.good = reader.good && list.is_array();
  for (std::size_t i = 0; reader.good && i < list.size(); ++i) {
    Reader each{list[i]};
    CollectiveRow& row = rows.emplace_back();
    row.operation = each.text("operation");
    row.bytes = each.count("bytes");
    row.ranks = static_cast<std::uint32_t>(each.count("ranks"));
    row.parts = each.at("parts") == Json(true);
    row.time = Duration(each.whole("time_ps"));
    row.bus_over = each.whole("bus_over");
    row.bus_under = each.whole("bus_under");
    row.algorithm = each.text("algorithm");
    row.protocol = each.text("protocol");
    row.fidelity = each.fidelity("executor");
    reader.good = each.good && row.ranks > 0 && row.bus_under > 0;
  }
  return rows;
}

std::optional<schedule::TrainingRow> read_training(Reader& reader) {
  const Json& record = reader.at("training");
  if (record.is_null()) return std::nullopt;
  if (!reader.good) return std::nullopt;
  Reader each{record};
  schedule::TrainingRow row;
  row.model = each.text("model");
  row.gpus = each.whole("gpus");
  row.fidelity = each.fidelity("executor");
  row.tokens_per_second = each.number("tokens_per_second");
  row.teraflops = each.number("teraflops");
  row.mfu_percent = each.number("mfu_percent");
  row.network_percent = each.number("network_percent");
  row.joules_per_token = each.number("joules_per_token");
  row.computing = each.number("computing_s");
  row.recomputing = each.number("recomputing_s");
  row.communication = each.number("communication_s");
  row.bubble = each.number("bubble_s");
  row.rest = each.number("rest_s");
  if (!each.at("dollars_per_million_tokens").is_null())
    row.dollars_per_million = each.number("dollars_per_million_tokens");
  reader.good = each.good;
  return row;
}

}  // namespace

Json collective_json(const CollectiveRow& row) {
  return {{"operation", row.operation},
          {"bytes", row.bytes},
          {"ranks", row.ranks},
          {"parts", row.parts},
          {"time_ps", row.time.count()},
          {"busbw_GBps", row.bus_bandwidth()},
          {"bus_over", row.bus_over},
          {"bus_under", row.bus_under},
          {"algorithm", row.algorithm},
          {"protocol", row.protocol},
          {"executor", name(row.fidelity)}};
}

Json run_json(const ComparedRun& run) {
  const SimSummary& summary = run.summary;
  Json record = {{"seed", run.seed},
                 {"flows", summary.flows},
                 {"flows_done", summary.done},
                 {"flows_lost", summary.lost},
                 {"end_ps", run.end.count()},
                 {"fct_p50_ps", time_json(summary.completion, &Quantiles::p50)},
                 {"fct_p99_ps", time_json(summary.completion, &Quantiles::p99)},
                 {"fct_p999_ps", time_json(summary.completion, &Quantiles::p999)},
                 {"fct_max_ps", time_json(summary.completion, &Quantiles::max)},
                 {"slowdown_p50", share_json(summary.slowdown, &Quantiles::p50)},
                 {"slowdown_p99", share_json(summary.slowdown, &Quantiles::p99)},
                 {"slowdown_p999", share_json(summary.slowdown, &Quantiles::p999)},
                 {"slowdown_max", share_json(summary.slowdown, &Quantiles::max)},
                 {"goodput_bps", summary.goodput},
                 {"trimmed", run.trimmed},
                 {"resent", run.resent},
                 {"dropped", run.dropped},
                 {"digest", fmt::format("{:016x}", run.digest)}};
  if (const auto& step = run.training) {
    record["training"] = {{"model", step->model},
                          {"gpus", step->gpus},
                          {"executor", name(step->fidelity)},
                          {"tokens_per_second", step->tokens_per_second},
                          {"teraflops", step->teraflops},
                          {"mfu_percent", step->mfu_percent},
                          {"network_percent", step->network_percent},
                          {"joules_per_token", step->joules_per_token},
                          {"computing_s", step->computing},
                          {"recomputing_s", step->recomputing},
                          {"communication_s", step->communication},
                          {"bubble_s", step->bubble},
                          {"rest_s", step->rest}};
    if (step->dollars_per_million) record["training"]["dollars_per_million_tokens"] = *step->dollars_per_million;
  }
  for (const CollectiveRow& row : run.collectives) record["collectives"].push_back(collective_json(row));
  return record;
}

std::string swept_run_line(const SweptRun& swept, const std::string& point) {
  Json record = {{"record", "sweep-run"},
                 {"version", 1},
                 {"weft", swept.version},
                 {"commit", swept.commit},
                 {"inputs", fmt::format("{:016x}", swept.inputs)},
                 {"point", point}};
  record.update(run_json(swept.run));
  return record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::optional<SweptRun> read_swept_run(std::string_view line) {
  const Json record = Json::parse(line, nullptr, false);
  if (!record.is_object()) return std::nullopt;
  Reader reader{record};
  if (reader.text("record") != "sweep-run" || reader.whole("version") != 1) return std::nullopt;
  SweptRun swept;
  swept.version = reader.text("weft");
  swept.commit = reader.text("commit");
  swept.inputs = reader.hash("inputs");
  ComparedRun& run = swept.run;
  run.seed = reader.count("seed");
  run.end = Duration(reader.whole("end_ps"));
  run.digest = reader.hash("digest");
  run.trimmed = reader.count("trimmed");
  run.resent = reader.count("resent");
  run.dropped = reader.count("dropped");
  run.summary.flows = reader.count("flows");
  run.summary.done = reader.count("flows_done");
  run.summary.lost = reader.count("flows_lost");
  run.summary.completion = read_completion(reader);
  run.summary.slowdown = read_slowdown(reader);
  run.summary.goodput = reader.whole("goodput_bps");
  run.collectives = read_collectives(reader);
  run.training = read_training(reader);
  return reader.good ? std::optional(swept) : std::nullopt;
}

nlohmann::ordered_json links_json(const schedule::RunResult& run) {
  nlohmann::ordered_json made = nlohmann::ordered_json::array();
  for (const schedule::LinkRecord& link : run.links)
    made.push_back({{"from", link.from},
                    {"to", link.to},
                    {"rate_bps", link.rate},
                    {"bytes", link.bytes},
                    {"utilisation", utilisation(link, run.end)}});
  return made;
}

}  // namespace weft::report
