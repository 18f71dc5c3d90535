#include "workload/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/text.hpp"
#include "base/units.hpp"

namespace weft::workload {
namespace {

using spec::Error;
using spec::Place;

constexpr std::uint32_t kMostNodes = 16'777'216;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;
constexpr std::int64_t kMostStart = 3'600'000'000'000'000;  // an hour
constexpr std::uint64_t kPicosecondsPerMicrosecond = 1'000'000;

struct Word {
  std::string_view text;
  std::uint32_t column;
};

struct Count {  // that a line of the head says
  std::uint64_t value;
  Place place;
};

struct Named {  // a trigger
  std::uint64_t id;
  Place place;  // where it is named first
  bool declared;
};

struct Connection {  // of an id
  std::uint32_t line;
  std::string_view pair;  // "0->5", of the source's text
  bool messages;          // or a flow of its own
};

class MatrixReader {
 public:
  MatrixReader(std::uint32_t source, spec::Diagnostics& diagnostics) : source_(source), diagnostics_(diagnostics) {}

  Matrix read() {
    const std::string& text = diagnostics_.sources().text(source_);
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = text.find('\n', at);
      if (end == std::string::npos) end = text.size();
      ++line_;
      split(std::string_view(text).substr(at, end - at));
      if (!words_.empty()) read_line();
      at = end + 1;
    }
    finish();
    return std::move(matrix_);
  }

 private:
  void split(std::string_view text) {
    words_.clear();
    if (const auto hash = text.find('#'); hash != std::string_view::npos) text = text.substr(0, hash);
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] == ' ' || text[at] == '\t' || text[at] == '\r') {
        ++at;
        continue;
      }
      std::size_t end = text.find_first_of(" \t\r", at);
      if (end == std::string_view::npos) end = text.size();
      words_.push_back({text.substr(at, end - at), static_cast<std::uint32_t>(at + 1)});
      at = end;
    }
  }

  void refuse(const Word& word, std::string message, std::string help) {
    faulty_ = true;
    diagnostics_.add(Error::bad_matrix, place_of(word), std::move(message), std::move(help));
  }

  Place place_of(const Word& word) const {
    return {source_, line_, word.column, static_cast<std::uint32_t>(word.text.size())};
  }

  std::optional<std::uint64_t> number(const Word& word, std::uint64_t most) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.text.data(), word.text.data() + word.text.size(), value);
    if (error == std::errc{} && end == word.text.data() + word.text.size() && value <= most) return value;
    refuse(word, fmt::format("'{}' is not a number that can stand here", word.text.substr(0, 40)),
           fmt::format("a whole number from 0 to {}", grouped(static_cast<std::int64_t>(most))));
    return std::nullopt;
  }

  void read_line() {
    const std::string_view first = words_[0].text;
    if (first.find("->") != std::string_view::npos) return read_flow();
    if (first == "trigger") return read_trigger();
    if (first == "failure") return read_failure();
    if ((first == "Nodes" || first == "Connections" || first == "Triggers" || first == "Failures") &&
        words_.size() == 2) {
      if (const auto value = number(words_[1], kMostNodes)) note_count(*value);
      return;
    }
    refuse(words_[0], fmt::format("a line cannot begin with '{}'", first.substr(0, 40)),
           first == "msg" ? "msg stands behind the pair: 0->5 id 1 msg start 0 size 2000000"
                          : "lines are Nodes n, Connections n, Triggers n, Failures n, a->b ..., trigger id n oneshot, "
                            "or failure ...");
  }

  void note_count(std::uint64_t value) {
    const auto [said, is_new] = counts_.try_emplace(words_[0].text, Count{value, place_of(words_[0])});
    if (!is_new)
      refuse(words_[0], fmt::format("'{}' stands here a second time", words_[0].text),
             fmt::format("the first is on line {}; keep one of them", said->second.place.line));
  }

  // `word`: where it is named.
  std::uint32_t trigger_index(std::uint64_t id, const Word& word) {
    const auto [found, is_new] = ids_.try_emplace(id, static_cast<std::uint32_t>(matrix_.triggers.size()));
    if (is_new) {
      matrix_.triggers.emplace_back();
      named_.push_back({id, place_of(word), false});
    }
    return found->second;
  }

  // htsim's own files give every flow an id of its own, messages of one connection its id; 0 stands for none.
  bool is_good_id(std::uint64_t id, const Word& word, std::string_view pair, bool message) {
    const auto [first, is_new] = connections_.try_emplace(id, Connection{line_, pair, message});
    if (is_new || id == 0) return true;
    const Connection& other = first->second;
    if (message && other.messages && other.pair == pair) return true;
    if (message && other.messages)
      refuse(word, fmt::format("a message of connection {}, which is {}", id, other.pair),
             fmt::format("the first is on line {}; {} needs an id of its own", other.line, pair.substr(0, 40)));
    else
      refuse(word, fmt::format("two flows have the id {}", id),
             fmt::format("the first is on line {}; give each its own{}", other.line,
                         other.pair == pair ? ", or `msg` to both messages of one connection" : ""));
    return false;
  }

  // A bare number is what htsim_uec takes it for, microseconds; htsim's older programs took picoseconds.
  std::optional<std::int64_t> start_of(const Word& word) {
    if (word.text.find_first_not_of("0123456789") != std::string_view::npos) {
      const bool bare = word.text.find_first_not_of("0123456789.") == std::string_view::npos;
      if (bare && matrix_.bare_start.source == 0) matrix_.bare_start = place_of(word);
      const auto time = parse<DurationDimension>(std::string(word.text) + (bare ? "us" : ""));
      if (time && time->count() >= 0 && time->count() <= kMostStart) return time->count();
      refuse(word, fmt::format("'{}' is not a time at which a flow can start", word.text.substr(0, 40)),
             "microseconds, or with a unit such as 5us, 2500ps; up to an hour");
      return std::nullopt;
    }
    const auto value = number(word, static_cast<std::uint64_t>(INT64_MAX));
    if (!value) return std::nullopt;
    if (*value > static_cast<std::uint64_t>(kMostStart) / kPicosecondsPerMicrosecond) {
      refuse(word, fmt::format("a flow that starts after {} microseconds, more than an hour", *value),
             fmt::format("if picoseconds are meant, as htsim_ndp and htsim_roce take them: {}ps", *value));
      return std::nullopt;
    }
    if (*value > 0 && matrix_.bare_start.source == 0) matrix_.bare_start = place_of(word);
    return static_cast<std::int64_t>(*value * kPicosecondsPerMicrosecond);
  }

  // `msg` may have a number or none: what it is called changes nothing.
  static bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  }

  void read_flow() {
    const Word& pair = words_[0];
    const auto arrow = pair.text.find("->");
    const auto source = number({pair.text.substr(0, arrow), pair.column}, kMostNodes);
    const auto destination = number({pair.text.substr(arrow + 2), pair.column}, kMostNodes);
    MatrixFlow flow;
    bool has_size = false;
    bool has_start = false;
    const bool message = std::any_of(words_.begin(), words_.end(), [](const Word& word) { return word.text == "msg"; });
    for (std::size_t i = 1; i < words_.size(); i += 2) {
      const std::string_view key = words_[i].text;
      if (key == "msg" && (i + 1 == words_.size() || !is_number(words_[i + 1].text))) {
        --i;
        continue;
      }
      if (i + 1 == words_.size())
        return refuse(words_[i], fmt::format("'{}' has no value", key), "keys and values come in pairs");
      if (key == "start") {
        const auto start = start_of(words_[i + 1]);
        if (!start) return;
        flow.start = Duration(*start);
        has_start = true;
        continue;
      }
      const auto value = number(words_[i + 1], key == "size" ? kMostBytes : static_cast<std::uint64_t>(INT64_MAX) / 2);
      if (!value) return;
      if (key == "id" && !is_good_id(*value, words_[i + 1], pair.text, message)) return;
      if (key == "size") flow.bytes = *value;
      if (key == "trigger") flow.started_by = trigger_index(*value, words_[i + 1]);
      if (key == "send_done_trigger") flow.when_sent = trigger_index(*value, words_[i + 1]);
      if (key == "recv_done_trigger") flow.when_received = trigger_index(*value, words_[i + 1]);
      has_size |= key == "size";
      has_start |= key == "trigger";
      static const std::vector<std::string> known = {
          "id", "msg", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio"};
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        const auto guess = did_you_mean(key, known);
        return refuse(words_[i], fmt::format("a flow has no '{}'", key.substr(0, 40)),
                      guess ? fmt::format("did you mean '{}'?", *guess) : fmt::format("one of {}", either(known)));
      }
    }
    if (!source || !destination) return;
    if (*source == *destination) return refuse(pair, "a flow from a node to itself", "");
    if (!has_size || !has_start)
      return refuse(pair, "a flow needs a size, and a start or a trigger", "0->5 id 1 start 0 size 2000000");
    flow.source = static_cast<std::uint32_t>(*source);
    flow.destination = static_cast<std::uint32_t>(*destination);
    if (const std::uint32_t most = std::max(flow.source, flow.destination);
        most > last_node_ || matrix_.flows.empty()) {
      last_node_ = most;
      place_of_last_ = place_of(pair);
    }
    if (flow.started_by != kNoTrigger)
      matrix_.triggers[flow.started_by].starts.push_back(static_cast<std::uint32_t>(matrix_.flows.size()));
    matrix_.flows.push_back(flow);
  }

  // Its words come in any order, as htsim takes them.
  void read_trigger() {
    std::optional<std::uint64_t> id, count;
    const Word* named = nullptr;
    const Word* kind = nullptr;
    for (std::size_t i = 1; i < words_.size(); ++i) {
      const Word& word = words_[i];
      if (word.text != "id" && word.text != "count") {
        if (kind != nullptr || !is_kind(word.text))
          return refuse(word, fmt::format("'{}' is not a kind of trigger", word.text.substr(0, 40)),
                        "oneshot, multishot, or barrier count n, once");
        kind = &word;
        continue;
      }
      if (i + 1 == words_.size())
        return refuse(word, fmt::format("'{}' has no value", word.text), "keys and values come in pairs");
      const auto value = number(words_[++i], word.text == "id" ? kMostNodes * std::uint64_t{256} : kMostNodes);
      if (!value) return;
      (word.text == "id" ? id : count) = value;
      if (word.text == "id") named = &words_[i];
    }
    if (!id || kind == nullptr || (count.has_value() != (kind->text == "barrier")))
      return refuse(words_[0], "a trigger needs an id and a kind, and a barrier a count",
                    "trigger id 1 oneshot, multishot, or barrier count 4");
    const std::uint32_t index = trigger_index(*id, *named);
    if (named_[index].declared)
      return refuse(*named, fmt::format("trigger {} is declared a second time", *id), "give each its own id");
    named_[index].declared = true;
    ++trigger_lines_;
    MatrixTrigger& trigger = matrix_.triggers[index];
    if (kind->text == "multishot") trigger.kind = MatrixTrigger::Kind::multishot;
    if (!count) return;
    trigger.kind = MatrixTrigger::Kind::barrier;
    trigger.count = static_cast<std::uint32_t>(*count);
  }

  static bool is_kind(std::string_view text) { return text == "oneshot" || text == "multishot" || text == "barrier"; }

  void read_failure() {
    using Switch = MatrixFailure::Switch;
    MatrixFailure failure;
    bool has_type = false;
    bool has_switch = false;
    bool has_link = false;
    for (std::size_t i = 1; i + 1 < words_.size(); i += 2) {
      const std::string_view key = words_[i].text;
      const Word& value = words_[i + 1];
      if (key == "switch_type") {
        has_type = value.text == "TOR" || value.text == "AGG" || value.text == "CORE";
        if (!has_type)
          return refuse(value, fmt::format("'{}' is not a type of switch", value.text.substr(0, 40)),
                        "TOR, AGG or CORE");
        failure.type = value.text == "TOR" ? Switch::tor : value.text == "AGG" ? Switch::agg : Switch::core;
      } else if (key == "switch_id" || key == "link_id") {
        const auto id = number(value, kMostNodes);
        if (!id) return;
        (key == "switch_id" ? failure.switch_id : failure.link_id) = static_cast<std::uint32_t>(*id);
        (key == "switch_id" ? has_switch : has_link) = true;
      } else {
        return refuse(words_[i], fmt::format("a failure has no '{}'", key.substr(0, 40)),
                      "switch_type, switch_id and link_id");
      }
    }
    if (!has_type || !has_switch || !has_link || words_.size() != 7)
      return refuse(words_[0], "a failure needs a type of switch, a switch and a link",
                    "failure switch_type AGG switch_id 3 link_id 1");
    failure.place = {source_, line_, words_[0].column, static_cast<std::uint32_t>(words_[0].text.size())};
    matrix_.failures.push_back(failure);
  }

  void check_count(std::string_view what, std::uint64_t count, std::string_view thing) {
    const auto said = counts_.find(what);
    if (said == counts_.end() || said->second.value == count) return;
    diagnostics_.add(Error::bad_matrix, said->second.place,
                     fmt::format("{} is {}, but there {} {}", what, said->second.value, count == 1 ? "is" : "are",
                                 counted(static_cast<std::int64_t>(count), thing)),
                     fmt::format("{} {}", what, count));
  }

  void check_nodes() {
    const auto said = counts_.find("Nodes");
    if (said == counts_.end())
      return diagnostics_.add(Error::bad_matrix, {source_, 0, 0, 1}, "the file does not say how many nodes there are",
                              fmt::format("a first line: Nodes {}", last_node_ + 1));
    matrix_.nodes = static_cast<std::uint32_t>(said->second.value);
    if (last_node_ >= matrix_.nodes)
      diagnostics_.add(Error::bad_matrix, place_of_last_,
                       fmt::format("there is no node {}: Nodes is {} (line {}), counted from 0", last_node_,
                                   matrix_.nodes, said->second.place.line),
                       fmt::format("Nodes {}", last_node_ + 1));
  }

  void finish() {
    if (faulty_) return;  // a line that was refused is missing everywhere
    if (matrix_.flows.empty()) {
      const bool nothing = line_ == 0 || (counts_.empty() && trigger_lines_ == 0 && matrix_.failures.empty());
      return diagnostics_.add(nothing ? Error::empty_file : Error::bad_matrix, {source_, 0, 0, 1},
                              nothing ? "the file describes nothing" : "the file has no flows",
                              "lines such as 0->5 id 1 start 0 size 2000000");
    }
    check_nodes();
    check_count("Connections", matrix_.flows.size(), "flow");
    check_count("Triggers", trigger_lines_, "trigger");
    check_count("Failures", matrix_.failures.size(), "failure");
    const auto undeclared =
        std::find_if(named_.begin(), named_.end(), [](const Named& each) { return !each.declared; });
    if (undeclared != named_.end())
      diagnostics_.add(Error::bad_matrix, undeclared->place,
                       fmt::format("trigger {} is used, but no line declares it", undeclared->id),
                       fmt::format("add a line: trigger id {} oneshot, multishot, or barrier count n", undeclared->id));
  }

  std::uint32_t source_;
  spec::Diagnostics& diagnostics_;
  Matrix matrix_;
  std::uint32_t line_ = 0;
  std::uint32_t last_node_ = 0;
  Place place_of_last_;
  std::map<std::string_view, Count> counts_;                   // of what; views of the source's text
  std::unordered_map<std::uint64_t, Connection> connections_;  // by id
  std::uint64_t trigger_lines_ = 0;
  std::vector<Word> words_;
  std::unordered_map<std::uint64_t, std::uint32_t> ids_;
  std::vector<Named> named_;  // by index of the trigger
  bool faulty_ = false;
};

}  // namespace

Matrix read_matrix(std::uint32_t source, spec::Diagnostics& diagnostics) {
  return MatrixReader(source, diagnostics).read();
}

Triggers::Triggers(const Matrix& matrix) : matrix_(matrix), fired_(matrix.triggers.size()) {}

std::span<const std::uint32_t> Triggers::fire(std::uint32_t trigger) {
  if (trigger == kNoTrigger) return {};
  const MatrixTrigger& each = matrix_.triggers[trigger];
  const std::span<const std::uint32_t> starts(each.starts);
  const std::uint32_t times = ++fired_[trigger];
  switch (each.kind) {
    case MatrixTrigger::Kind::oneshot:
      return starts.first(times == 1 ? starts.size() : 0);
    case MatrixTrigger::Kind::multishot:
      return times <= starts.size() ? starts.subspan(times - 1, 1) : starts.first(0);
    case MatrixTrigger::Kind::barrier:
      return starts.first(times == each.count ? starts.size() : 0);
  }
  return {};
}

}  // namespace weft::workload
