// YAML text to a tree with places, through yaml-cpp's event interface.
//
// Why events and not YAML::Load: Load keeps the last of two equal keys without a word, builds the
// whole alias expansion before anybody can object, and hands out marks for empty values that point
// at whatever comes next. Here keys are compared as they arrive, a budget bounds what aliases may
// repeat, and an empty value is placed right behind its key.

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "spec/node.hpp"

namespace weft::spec {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxNodes = 100'000;
constexpr std::size_t kMaxRepeated = 4 << 20;  // bytes of text that aliases may repeat

constexpr const char* kDeepHelp = "a cluster file needs four or five; is a bracket left open?";

struct Stop {};  // thrown through yaml-cpp once a limit is passed and reported

struct Weight {
  std::size_t nodes = 0;
  std::size_t bytes = 0;
};

void weigh(const Node& node, Weight& sum) {
  sum.nodes += 1;
  sum.bytes += node.text.size();
  for (const Node& item : node.items) weigh(item, sum);
  for (const Entry& entry : node.entries) {
    sum.bytes += entry.key.size();
    weigh(entry.value, sum);
  }
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::uint32_t source, Diagnostics& diagnostics) : source_(source), diagnostics_(diagnostics) {}

  Node take() { return std::move(root_); }
  // Where the innermost list or mapping that is still open began.
  std::optional<Place> open_place() const {
    return stack_.empty() ? std::nullopt : std::optional(stack_.back().node.place);
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.place = empty_place(mark);
    deliver(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      diagnostics_.add(Error::bad_alias, place(mark, 1), "this alias stands inside the value it repeats",
                       "write the value out instead");
      throw Stop{};
    }
    Weight sum;
    weigh(found->second, sum);
    nodes_ += sum.nodes - 1;
    repeated_ += sum.bytes;
    if (nodes_ >= kMaxNodes) too_much(place(mark, 1));
    if (repeated_ > kMaxRepeated) {
      diagnostics_.add(Error::too_many_nodes, place(mark, 1), "aliases repeat more than 4 MiB of text up to here",
                       "write shorter texts");
      throw Stop{};
    }
    Node copy = found->second;
    copy.place = place(mark, 1);
    deliver(std::move(copy), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node;
    node.kind = Node::Kind::scalar;
    node.text = value;
    node.quoted = tag == "!";
    const std::size_t first_line = std::min(value.find('\n'), value.size());
    node.place = place(mark, first_line + (node.quoted ? 2 : 0));
    deliver(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::sequence, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::map, mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor;
    bool has_key = false;
    bool drop_value = false;  // the key was a repetition
    std::string key;
    Place key_place;
    std::unordered_map<std::string, std::uint32_t> seen;  // key -> line; a scan would be quadratic
  };

  Place place(const YAML::Mark& mark, std::size_t length) const {
    return {source_, static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1),
            static_cast<std::uint32_t>(std::max<std::size_t>(1, length))};
  }

  // yaml-cpp marks an empty value at the next token, maybe lines below. Its own place is behind
  // the key, or on the dash of a list item, which is the last dash before the mark.
  Place empty_place(const YAML::Mark& mark) const {
    const std::string_view at_mark = std::string_view(diagnostics_.sources().text(source_))
                                         .substr(std::min<std::size_t>(static_cast<std::size_t>(std::max(mark.pos, 0)),
                                                                       diagnostics_.sources().text(source_).size()));
    for (const std::string_view written : {"~", "null", "Null", "NULL"})
      if (at_mark.starts_with(written)) return place(mark, written.size());
    if (!stack_.empty() && stack_.back().has_key) {
      Place behind = stack_.back().key_place;
      behind.column += behind.length;
      behind.length = 1;
      return behind;
    }
    if (!stack_.empty() && stack_.back().node.is_sequence()) {
      constexpr std::size_t kLookBack = 4096;  // bounds the work for a hostile file
      const std::string_view text = diagnostics_.sources().text(source_);
      const std::size_t limit = std::min<std::size_t>(static_cast<std::size_t>(mark.pos), text.size());
      const std::size_t begin = limit > kLookBack ? limit - kLookBack : 0;
      const std::string_view before = text.substr(begin, limit - begin);
      const std::size_t dash = before.rfind('-');
      const std::size_t newline = before.rfind('\n', dash);
      if (dash != std::string_view::npos && (begin == 0 || newline != std::string_view::npos)) {
        const auto lines = std::count(before.begin() + static_cast<std::ptrdiff_t>(dash), before.end(), '\n');
        const std::size_t column = newline == std::string_view::npos ? dash + 1 : dash - newline;
        return {source_, static_cast<std::uint32_t>(mark.line + 1 - lines), static_cast<std::uint32_t>(column), 1};
      }
    }
    return place(mark, 1);
  }

  void open(Node::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (stack_.size() >= kMaxDepth) {
      diagnostics_.add(Error::too_deep, place(mark, 1), fmt::format("nested more than {} levels deep", kMaxDepth),
                       kDeepHelp);
      throw Stop{};
    }
    Frame frame;
    frame.node.kind = kind;
    frame.node.place = place(mark, 1);
    frame.anchor = anchor;
    stack_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    deliver(std::move(frame.node), frame.anchor);
  }

  void deliver(Node node, YAML::anchor_t anchor) {
    if (++nodes_ > kMaxNodes) too_much(node.place);
    if (anchor != 0) anchors_[anchor] = node;
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& parent = stack_.back();
    if (parent.node.is_sequence()) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      take_key(parent, node);
    } else {
      if (!parent.drop_value) parent.node.entries.push_back({std::move(parent.key), parent.key_place, std::move(node)});
      parent.has_key = false;
    }
  }

  [[noreturn]] void too_much(Place at) {
    diagnostics_.add(Error::too_many_nodes, at, fmt::format("the file grows beyond {} values here", grouped(kMaxNodes)),
                     "say it with counts and kinds instead of lists and aliases");
    throw Stop{};
  }

  void take_key(Frame& parent, const Node& node) {
    parent.has_key = true;
    parent.drop_value = true;
    parent.key_place = node.place;
    if (!node.is_scalar()) {
      diagnostics_.add(Error::wrong_type, node.place, fmt::format("a key must be a word, not {}", describe(node)),
                       "a key is followed by a colon and its value, as in count: 32");
      return;
    }
    parent.key = node.text;
    const auto [first, is_new] = parent.seen.emplace(parent.key, node.place.line);
    if (!is_new) {
      diagnostics_.add(Error::duplicate_key, node.place,
                       fmt::format("'{}' stands here a second time", shown(parent.key)),
                       fmt::format("the first is on line {}; keep one of them", first->second));
      return;
    }
    parent.drop_value = false;
  }

  std::uint32_t source_;
  Diagnostics& diagnostics_;
  Node root_;
  std::vector<Frame> stack_;
  std::unordered_map<YAML::anchor_t, Node> anchors_;
  std::size_t nodes_ = 0;
  std::size_t repeated_ = 0;
};

// What the parser's words mean to somebody who wrote the file.
struct SyntaxText {
  std::string_view parser;  // how yaml-cpp's message starts
  std::string_view message;
  std::string_view help;
};

constexpr SyntaxText kSyntaxTexts[] = {
    {"illegal tab", "a tab stands in the indentation", "indent with spaces; YAML forbids tabs there"},
    {"end of sequence flow", "this list is never closed", "a ']' or a comma is missing"},
    {"end of map flow", "this mapping is never closed", "a '}' or a comma is missing"},
    {"end of map", "this line does not fit the mapping above",
     "keys of one mapping start in the same column and end with a colon and a space"},
    {"end of sequence", "this line does not fit the list above",
     "items of one list start with a dash in the same column"},
    {"illegal EOF in scalar", "the file ends inside a quoted text", "a closing quote is missing"},
    {"illegal document indicator", "a new document starts inside a quoted text", "a closing quote is missing"},
    {"illegal map value", "a value cannot stand here",
     "text that contains ': ' needs quotes, and a key ends with one colon and a space"},
    {"illegal map key", "a key cannot stand here", "keys of one mapping start in the same column"},
    {"illegal block entry", "a list item cannot stand here", "a list starts on its own line, below its key"},
    {"illegal flow end", "this bracket closes nothing", "remove it, or add the opening one"},
    {"unknown token", "no value can start like this", "put quotes around it"},
    {"unknown escape character", "no such escape in a text with double quotes",
     "single quotes take every character as it is"},
    {"invalid unicode", "this escape is not a character", "\\u takes four digits, \\U eight"},
    {"bad character found while scanning hex", "this escape needs hexadecimal digits",
     "single quotes take every character as it is"},
};

// Faults that the parser notices only later, found in the line it stopped at or the one above.
bool explain_by_lines(Place at, Diagnostics& diagnostics) {
  const std::string_view here = diagnostics.sources().line(at);
  const std::size_t indent = std::min(here.find_first_not_of(" \t"), here.size());
  if (const std::size_t tab = here.substr(0, indent).find('\t'); tab != std::string_view::npos) {
    at.column = static_cast<std::uint32_t>(tab + 1);
    diagnostics.add(Error::yaml_syntax, at, "a tab stands in the indentation",
                    "indent with spaces; YAML forbids tabs there");
    return true;
  }
  if (at.line < 2) return false;
  at.line -= 1;
  const std::string_view above = diagnostics.sources().line(at);
  const std::size_t colon = above.find(':');
  if (colon == std::string_view::npos || above.find(": ") != std::string_view::npos || above.ends_with(':') ||
      above.find_first_of("#\"'") != std::string_view::npos)
    return false;
  at.column = static_cast<std::uint32_t>(colon + 1);
  diagnostics.add(Error::yaml_syntax, at, "there is no space behind this colon",
                  "a key ends with a colon and a space, as in count: 32");
  return true;
}

void syntax_error(const YAML::Exception& error, Place at, Diagnostics& diagnostics) {
  if (error.msg.starts_with("illegal map value") && explain_by_lines(at, diagnostics)) return;
  if (error.msg.starts_with("the referenced anchor") || error.msg.starts_with("alias not found")) {
    diagnostics.add(Error::bad_alias, at, "this alias repeats something that is not there",
                    "an anchor (&name) must stand above; a text that starts with * needs quotes");
    return;
  }
  for (const SyntaxText& text : kSyntaxTexts) {
    if (!error.msg.starts_with(text.parser)) continue;
    diagnostics.add(Error::yaml_syntax, at, std::string(text.message), std::string(text.help));
    return;
  }
  diagnostics.add(Error::yaml_syntax, at, error.msg, "see `weft explain E0004` for the usual causes");
}

}  // namespace

bool check_text(std::uint32_t source, Diagnostics& diagnostics) {
  const std::string& text = diagnostics.sources().text(source);
  if (text.size() > kMaxBytes) {
    diagnostics.add(Error::too_large, {source, 0, 0, 1}, "the file is larger than 1 MiB",
                    "use counts and ranges instead of lists");
    return false;
  }
  Place at{source, 1, 1, 1};
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = first_character(std::string_view(text).substr(i)).length;
    // yaml-cpp takes byte 4 for the end of the file; YAML allows no control characters at all.
    const bool control = byte < 0x20 ? byte != '\n' && byte != '\r' && byte != '\t' : byte == 0x7F;
    if (length == 0 || control) {
      diagnostics.add(Error::not_text, at,
                      control ? fmt::format("the control character {:#04x} cannot stand in a text file", byte)
                              : fmt::format("the byte {:#04x} is not UTF-8 text", byte),
                      control ? "remove it; in a text with double quotes it is written \\x.."
                              : "save the file as UTF-8; is this a cluster file at all?");
      return false;
    }
    at.line += byte == '\n';
    at.column = byte == '\n' ? 1 : at.column + static_cast<std::uint32_t>(length);
    i += length;
  }
  return true;
}

Node parse_yaml(std::uint32_t source, Diagnostics& diagnostics) {
  if (!check_text(source, diagnostics)) return {};
  const std::string& text = diagnostics.sources().text(source);
  const Place whole{source, 0, 0, 1};
  TreeBuilder builder(source, diagnostics);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    TreeBuilder second(source, diagnostics);
    if (parser.HandleNextDocument(second)) {
      Node extra = second.take();
      if (extra.place.source == 0) extra.place = whole;
      diagnostics.add(Error::several_documents, extra.place, "a second YAML document starts",
                      "one file describes one cluster; remove the line of dashes above");
    }
  } catch (const Stop&) {
  } catch (const YAML::DeepRecursion& deep) {
    const Place at{source, static_cast<std::uint32_t>(deep.mark.line + 1),
                   static_cast<std::uint32_t>(deep.mark.column + 1), 1};
    diagnostics.add(Error::too_deep, at, fmt::format("nested more than {} levels deep", kMaxDepth), kDeepHelp);
  } catch (const YAML::Exception& error) {
    Place at = whole;
    if (!error.mark.is_null())
      at = {source, static_cast<std::uint32_t>(error.mark.line + 1), static_cast<std::uint32_t>(error.mark.column + 1),
            1};
    if (error.msg.find("flow not found") != std::string::npos) at = builder.open_place().value_or(at);
    syntax_error(error, at, diagnostics);
  }
  return builder.take();
}

}  // namespace weft::spec
