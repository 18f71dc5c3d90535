#include "workload/goal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/text.hpp"

namespace weft::workload {
namespace {

using spec::Error;
using spec::Place;

constexpr std::uint64_t kNanosecond = 1000;  // ps
constexpr std::uint32_t kAny = 0xFFFFFFFFu;  // source or tag, in the binary form
constexpr std::uint64_t kCookie = 4223;      // a binary schedule begins with it,
constexpr std::uint64_t kUsedUp = 2342;      // or with this when a simulator wrote into it
constexpr std::size_t kHead = 14;            // cookie, ranks, CPUs, NICs
constexpr std::size_t kNode = 39;            // bytes, without any padding

std::string no_ranks() { return fmt::format("1 to {} ranks", grouped(kMostGraphRanks)); }

class TextReader {
 public:
  TextReader(std::uint32_t source, spec::Diagnostics& diagnostics)
      : source_(source), diagnostics_(diagnostics), text_(diagnostics.sources().text(source)) {}

  Graph read() {
    for (take(); !failed_ && now_.kind != Token::Kind::end; take()) {
      if (now_.kind == Token::Kind::line) continue;
      if (is("num_ranks"))
        read_ranks();
      else if (is("rank"))
        read_rank();
      else
        refuse("outside of a rank there is only num_ranks N and rank N { ... }", "a '{' behind rank N?");
    }
    if (!failed_ && graph_.ranks.empty())
      diagnostics_.add(Error::bad_matrix, {source_, 0, 0, 1}, "the schedule does not say how many ranks there are",
                       "num_ranks N on the first line");
    return std::move(graph_);
  }

 private:
  struct Token {
    enum class Kind : std::uint8_t { word, number, sign, line, end };
    Kind kind = Kind::end;
    std::string_view text;
    std::uint32_t line = 1;
    std::uint32_t column = 1;
  };
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const std::string_view rest = std::string_view(text_).substr(at_);
      if (rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r') {
        ++at_;
      } else if (rest.starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (rest.starts_with("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        const std::size_t behind = end == std::string::npos ? text_.size() : end + 2;
        for (; at_ < behind; ++at_)
          if (text_[at_] == '\n') start_line(at_ + 1);
      } else {
        return;
      }
    }
  }

  void start_line(std::size_t at) {
    ++line_;
    line_start_ = at;
  }

  void take() {
    skip_blanks();
    now_ = {Token::Kind::end, {}, line_, static_cast<std::uint32_t>(at_ - line_start_ + 1)};
    if (at_ >= text_.size()) return;
    const std::size_t from = at_++;
    const char first = text_[from];
    if (first == '\n') {
      start_line(at_);
      now_.kind = Token::Kind::line;
    } else if (is_letter(first)) {
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
      now_.kind = Token::Kind::word;
    } else if (is_digit(first) || (first == '-' && at_ < text_.size() && is_digit(text_[at_]))) {
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
      now_.kind = Token::Kind::number;
    } else {
      now_.kind = Token::Kind::sign;
    }
    now_.text = std::string_view(text_).substr(from, at_ - from);
  }

  bool is(std::string_view text) const { return now_.text == text; }
  bool at_end() const { return now_.kind == Token::Kind::line || now_.kind == Token::Kind::end || is("}"); }

  void refuse(std::string what, std::string help) {
    if (failed_) return;
    failed_ = true;  // what follows would be misread
    diagnostics_.add(
        Error::bad_matrix,
        {source_, now_.line, now_.column, static_cast<std::uint32_t>(std::max<std::size_t>(1, now_.text.size()))},
        std::move(what), std::move(help));
  }
  void expect(std::string_view text, std::string_view example) {
    if (!is(text)) refuse(fmt::format("there should be '{}' here", text), fmt::format("for example {}", example));
    if (!failed_) take();
  }
  std::uint64_t number(std::uint64_t most, std::string_view of) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(now_.text.data(), now_.text.data() + now_.text.size(), value);
    if (now_.kind != Token::Kind::number || error != std::errc{} || end != now_.text.data() + now_.text.size() ||
        value > most)
      refuse(fmt::format("'{}' cannot be {}", now_.kind == Token::Kind::line ? "" : now_.text.substr(0, 40), of),
             fmt::format("a whole number from 0 to {}", grouped(static_cast<std::int64_t>(most))));
    else
      take();
    return failed_ ? 0 : value;
  }

  void read_ranks() {
    if (!graph_.ranks.empty()) return refuse("num_ranks stands here a second time", "one of them");
    take();
    const std::uint64_t ranks = number(kMostGraphRanks, "a number of ranks");
    if (!failed_ && ranks == 0) refuse("a schedule of no ranks", no_ranks());
    if (failed_) return;
    graph_.ranks.resize(ranks);
    begun_.resize(ranks);
    if (!at_end()) refuse("behind num_ranks N the line ends", "rank 0 { on a line of its own");
  }

  void read_rank() {
    take();
    if (graph_.ranks.empty()) return refuse("a rank before num_ranks", "num_ranks N on the first line");
    rank_ = static_cast<std::uint32_t>(number(graph_.ranks.size() - 1, "a rank of this schedule"));
    if (failed_) return;
    if (begun_[rank_]) return refuse(fmt::format("rank {} stands here a second time", rank_), "each rank once");
    begun_[rank_] = true;
    labels_.clear();
    needs_.clear();
    const auto first = static_cast<std::uint32_t>(graph_.tasks.size());
    expect("{", "rank 0 {");
    while (!failed_ && !is("}")) {
      if (now_.kind == Token::Kind::end) return refuse(fmt::format("rank {} is not closed", rank_), "a '}'");
      if (now_.kind == Token::Kind::line)
        take();
      else
        read_statement(first);
    }
    if (failed_) return;
    graph_.ranks[rank_] = {first, static_cast<std::uint32_t>(graph_.tasks.size())};
    add_needs(graph_, first, needs_);
  }

  void read_statement(std::uint32_t first) {
    if (is("send") || is("recv") || is("calc")) return read_task();
    if (now_.kind != Token::Kind::word)
      return refuse("a line of a rank begins with an operation or a label",
                    "l1: send 8b to 1 tag 0, l1: recv 8b from 1 tag 0, l1: calc 100, or l2 requires l1");
    const Token label = now_;
    take();
    if (is(":")) {
      take();
      if (!labels_.try_emplace(label.text, static_cast<std::uint32_t>(graph_.tasks.size() - first)).second) {
        now_ = label;
        return refuse(fmt::format("there are two operations '{}' in rank {}", label.text.substr(0, 40), rank_),
                      "a label for each");
      }
      if (!is("send") && !is("recv") && !is("calc"))
        return refuse("behind a label there is an operation", "send, recv or calc");
      return read_task();
    }
    const bool begun = is("irequires");
    if (!begun && !is("requires"))
      return refuse("a label is followed by a colon, requires or irequires", "l1: calc 100, or l2 requires l1");
    const auto task = find(label);
    take();
    const auto needed = find(now_);
    if (failed_) return;
    needs_.push_back({*task, *needed, begun});
    take();
    end_line();
    if (graph_.needs.size() + needs_.size() > kMostTasks) too_many();
  }

  std::optional<std::uint32_t> find(const Token& label) {
    const auto found = labels_.find(label.text);
    if (found != labels_.end()) return found->second;
    now_ = label;
    refuse(fmt::format("rank {} has no operation '{}' above this line", rank_, label.text.substr(0, 40)),
           "labels of the same rank, behind the operations they name");
    return std::nullopt;
  }

  void read_task() {
    Task task;
    task.origin = now_.line;
    if (is("calc")) {
      take();
      task.amount = number(kMostTaskTime.count() / kNanosecond, "a time in nanoseconds") * kNanosecond;
      task.processor = 0;
    } else {
      const bool sends = is("send");
      task.kind = sends ? Task::Kind::send : Task::Kind::recv;
      take();
      task.amount = number(kMostTaskBytes, "a number of bytes");
      if (!failed_) expect("b", "send 8b to 1 tag 0");
      if (!failed_) expect(sends ? "to" : "from", sends ? "send 8b to 1 tag 0" : "recv 8b from 1 tag 0");
      if (!failed_ && is("-1"))
        return refuse("messages from anybody are not simulated: who comes first would be a guess", "a rank");
      if (!failed_) task.peer = static_cast<std::uint32_t>(number(graph_.ranks.size() - 1, "a rank of this schedule"));
    }
    read_options(task);
    if (failed_) return;
    if (graph_.tasks.size() >= kMostTasks) return too_many();
    graph_.tasks.push_back(task);
    end_line();
  }

  void read_options(Task& task) {
    while (!failed_ && !at_end()) {
      const bool message = task.kind != Task::Kind::compute;
      if (is("tag") && message) {
        take();
        if (is("-1")) return refuse("messages under any tag are not simulated", "a tag from 0 to 4,294,967,294");
        task.tag = static_cast<std::uint32_t>(number(kAny - 1, "a tag"));
      } else if (is("cpu")) {
        take();
        const auto cpu = static_cast<std::uint8_t>(number(Task::kNoProcessor - 1, "a CPU"));
        if (!message) task.processor = cpu;
      } else if (is("nic") && message) {
        take();
        number(255, "a NIC");
      } else {
        refuse(fmt::format("'{}' cannot stand here", now_.text.substr(0, 40)),
               message ? "tag N, cpu N, nic N, or the next line" : "cpu N, or the next line");
      }
    }
  }

  void end_line() {
    if (!failed_ && !at_end()) refuse("the line should end here", "one operation or need a line");
  }
  void too_many() {
    refuse(fmt::format("there are more than {} operations or needs", grouped(static_cast<std::int64_t>(kMostTasks))),
           "a shorter schedule");
  }

  std::uint32_t source_;
  spec::Diagnostics& diagnostics_;
  const std::string& text_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  std::uint32_t line_ = 1;
  Token now_;
  bool failed_ = false;
  Graph graph_;
  std::vector<bool> begun_;
  std::uint32_t rank_ = 0;
  std::unordered_map<std::string_view, std::uint32_t> labels_;  // of the rank
  std::vector<NeedOf> needs_;
};

class BinaryReader {
 public:
  BinaryReader(std::uint32_t source, spec::Diagnostics& diagnostics)
      : source_(source), diagnostics_(diagnostics), bytes_(diagnostics.sources().text(source)) {}

  Graph read() {
    const std::uint64_t ranks = get<std::uint32_t>(8);
    if (ranks == 0 || ranks > kMostGraphRanks) {
      refuse(8, fmt::format("a schedule of {} ranks", grouped(static_cast<std::int64_t>(ranks))), no_ranks());
      return {};
    }
    if (bytes_.size() < kHead + 16 * ranks) {
      refuse(kHead, "the table of ranks is cut off", "the whole file, as txt2bin wrote it");
      return {};
    }
    graph_.ranks.resize(ranks);
    for (std::uint32_t rank = 0; rank < ranks && !failed_; ++rank) read_rank(rank);
    return std::move(graph_);
  }

 private:
  template <class Number>
  Number get(std::size_t at) const {
    static_assert(std::endian::native == std::endian::little, "as LogGOPSim writes it");
    Number value{};
    if (at + sizeof value <= bytes_.size()) std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  void refuse(std::size_t at, std::string what, std::string help) {
    if (failed_) return;
    failed_ = true;
    diagnostics_.add(Error::bad_matrix, {source_, 0, 0, 1}, fmt::format("at byte {}: {}", at, what), std::move(help));
  }

  // Where parts of a rank begin.
  struct Rank {
    std::size_t nodes;
    std::size_t appendix;
    std::uint64_t count;
    std::uint64_t edges;
  };

  void read_rank(std::uint32_t rank) {
    // Counted from behind the cookie.
    const std::uint64_t from = get<std::uint64_t>(kHead + 16 * std::size_t{rank}) + 8;
    const std::uint64_t to = get<std::uint64_t>(kHead + 16 * std::size_t{rank} + 8) + 8;
    const std::string whole = "the whole file, as txt2bin wrote it";
    if (from > to || to > bytes_.size() || from < kHead || to - from < 8)
      return refuse(kHead + 16 * std::size_t{rank}, fmt::format("rank {} is not in the file", rank), whole);
    const std::uint64_t count = get<std::uint32_t>(from), roots = get<std::uint32_t>(from + 4);
    if (8 + 4 * roots + kNode * count > to - from)
      return refuse(from,
                    fmt::format("rank {} has {} operations, which are not all in the file", rank,
                                grouped(static_cast<std::int64_t>(count))),
                    whole);
    Rank at{from + 8 + 4 * roots, from + 8 + 4 * roots + kNode * count, count, 0};
    at.edges = (to - at.appendix) / 4;
    if (graph_.tasks.size() + count > kMostTasks || graph_.needs.size() + at.edges > kMostTasks)
      return refuse(from, fmt::format("there are more than {} operations or needs", grouped(kMostTasks)),
                    "a shorter schedule");
    const auto first = static_cast<std::uint32_t>(graph_.tasks.size());
    needs_.clear();
    for (std::uint32_t i = 0; i < count && !failed_; ++i) read_node(at, i);
    if (failed_) return;
    graph_.ranks[rank] = {first, static_cast<std::uint32_t>(graph_.tasks.size())};
    std::vector<std::uint32_t> found(count);
    for (const NeedOf& each : needs_) ++found[each.task];
    for (std::uint32_t i = 0; i < count; ++i)
      if (const auto said = get<std::uint32_t>(at.nodes + kNode * i); said != found[i])
        return refuse(at.nodes + kNode * i,
                      fmt::format("operation {} of rank {} says that it needs {} others, and {} say that it needs them",
                                  i, rank, said, found[i]),
                      whole);
    add_needs(graph_, first, needs_);
  }

  void read_node(const Rank& rank, std::uint32_t number) {
    const std::size_t at = rank.nodes + kNode * std::size_t{number};
    Task task;
    task.origin = number;
    task.peer = get<std::uint32_t>(at + 5);
    task.amount = get<std::uint64_t>(at + 9);
    task.tag = get<std::uint32_t>(at + 17);
    task.processor = get<std::uint8_t>(at + 21);
    switch (bytes_[at + 4]) {
      case 1:
        task.kind = Task::Kind::send;
        break;
      case 2:
        task.kind = Task::Kind::recv;
        break;
      case 3:
        break;
      default:
        return refuse(at + 4, fmt::format("{} is no kind of operation", int{bytes_[at + 4]}),
                      "1 (send), 2 (recv) or 3 (calc)");
    }
    if (task.kind == Task::Kind::compute) {
      if (task.amount > kMostTaskTime.count() / kNanosecond)
        return refuse(at + 9, "a computation of more than a day", "nanoseconds");
      task.amount *= kNanosecond;
      task.peer = task.tag = 0;
    } else {
      task.processor = Task::kNoProcessor;
      if (task.peer == kAny || task.tag == kAny)
        return refuse(at + 5, "messages from anybody, or under any tag, are not simulated", "a rank and a tag");
      if (task.peer >= graph_.ranks.size())
        return refuse(at + 5, fmt::format("{} is no rank of this schedule", task.peer),
                      fmt::format("0 to {}", graph_.ranks.size() - 1));
      if (task.amount > kMostTaskBytes) return refuse(at + 9, "a message of more than 1 TiB", "bytes");
    }
    graph_.tasks.push_back(task);
    add_dependents(rank, number, at + 23, false);
    add_dependents(rank, number, at + 31, true);
  }

  void add_dependents(const Rank& rank, std::uint32_t number, std::size_t at, bool begun) {
    const std::uint64_t count = get<std::uint32_t>(at), from = get<std::uint32_t>(at + 4);
    if (failed_ || count == 0) return;
    if (from + count > rank.edges || needs_.size() + count > rank.edges)
      return refuse(at, fmt::format("{} operations that wait for this one are not in the file", count),
                    "the whole file, as txt2bin wrote it");
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::size_t place = rank.appendix + 4 * (from + i);
      const auto waits = get<std::uint32_t>(place);
      if (waits >= rank.count)
        return refuse(place, fmt::format("{} is no operation of this rank", waits),
                      fmt::format("0 to {}", rank.count - 1));
      needs_.push_back({waits, number, begun});
    }
  }

  std::uint32_t source_;
  spec::Diagnostics& diagnostics_;
  const std::string& bytes_;
  bool failed_ = false;
  Graph graph_;
  std::vector<NeedOf> needs_;
};

std::string where_in_text(const Graph& graph, std::uint32_t, std::uint32_t task) {
  return fmt::format("line {}", graph.tasks[task].origin);
}
std::string where_in_bytes(const Graph& graph, std::uint32_t rank, std::uint32_t task) {
  return fmt::format("operation {} of rank {}", graph.tasks[task].origin, rank);
}

}  // namespace

Graph read_goal(std::uint32_t source, spec::Diagnostics& diagnostics) {
  const std::string& bytes = diagnostics.sources().text(source);
  std::uint64_t cookie = 0;
  if (bytes.size() >= kHead) std::memcpy(&cookie, bytes.data(), sizeof cookie);
  const bool binary = cookie == kCookie;
  if (cookie == kUsedUp) {
    diagnostics.add(Error::bad_matrix, {source, 0, 0, 1}, "a simulator has written into this schedule",
                    "make it anew with txt2bin");
    return {};
  }
  Graph graph = binary ? BinaryReader(source, diagnostics).read() : TextReader(source, diagnostics).read();
  graph.format = "GOAL";
  if (!diagnostics.has_errors()) check_graph(graph, source, binary ? where_in_bytes : where_in_text, diagnostics);
  return graph;
}

}  // namespace weft::workload
