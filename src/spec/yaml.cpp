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

#include "spec/node.hpp"

namespace weft::spec {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxNodes = 100'000;

struct Stop {};  // thrown through yaml-cpp once a limit is passed and reported

std::size_t count_nodes(const Node& node) {
  std::size_t n = 1;
  for (const Node& item : node.items) n += count_nodes(item);
  for (const Entry& entry : node.entries) n += count_nodes(entry.value);
  return n;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::uint32_t source, Diagnostics& diagnostics)
      : source_(source), diagnostics_(diagnostics) {}

  Node take() { return std::move(root_); }

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
      diagnostics_.add(Complaint::bad_alias, place(mark, 1),
                       "this alias stands inside the value it repeats",
                       "write the value out instead");
      throw Stop{};
    }
    Node copy = found->second;
    copy.place = place(mark, 1);
    nodes_ += count_nodes(copy) - 1;
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
    return {source_, static_cast<std::uint32_t>(mark.line + 1),
            static_cast<std::uint32_t>(mark.column + 1),
            static_cast<std::uint32_t>(std::max<std::size_t>(1, length))};
  }

  // yaml-cpp marks an empty value at the next token, maybe lines below. Its own place is behind
  // the key, or on the dash of a list item, which is the last dash before the mark.
  Place empty_place(const YAML::Mark& mark) const {
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
        return {source_, static_cast<std::uint32_t>(mark.line + 1 - lines),
                static_cast<std::uint32_t>(column), 1};
      }
    }
    return place(mark, 1);
  }

  void open(Node::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (stack_.size() >= kMaxDepth) {
      diagnostics_.add(Complaint::too_deep, place(mark, 1),
                       fmt::format("nested more than {} levels deep", kMaxDepth));
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
    if (++nodes_ > kMaxNodes) {
      diagnostics_.add(Complaint::too_many_nodes, node.place,
                       fmt::format("more than {} values after expanding aliases", kMaxNodes));
      throw Stop{};
    }
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
      if (!parent.drop_value)
        parent.node.entries.push_back({std::move(parent.key), parent.key_place, std::move(node)});
      parent.has_key = false;
    }
  }

  void take_key(Frame& parent, const Node& node) {
    parent.has_key = true;
    parent.drop_value = true;
    parent.key_place = node.place;
    if (!node.is_scalar()) {
      diagnostics_.add(Complaint::wrong_type, node.place,
                       fmt::format("a key must be a word, not {}", describe(node)));
      return;
    }
    parent.key = node.text;
    const auto [first, is_new] = parent.seen.emplace(parent.key, node.place.line);
    if (!is_new) {
      diagnostics_.add(Complaint::duplicate_key, node.place,
                       fmt::format("'{}' stands here a second time", parent.key),
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
};

bool valid_utf8(std::string_view text, std::size_t& bad) {
  for (std::size_t i = 0; i < text.size();) {
    bad = i;
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4 : 0;
    if (lead == 0 || length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    i += length;
  }
  return true;
}

// yaml-cpp's own words, put into a sentence a person can act on.
std::string syntax_help(const std::string& message, const std::string& text) {
  if (text.find('\t') != std::string::npos && message.find("tab") != std::string::npos)
    return "indent with spaces; YAML forbids tabs there";
  if (message.find("end of") != std::string::npos) {
    return "a bracket, brace or quote is still open here";
  }
  return "see `weft explain E0004` for the usual causes";
}

}  // namespace

Node parse_yaml(std::uint32_t source, Diagnostics& diagnostics) {
  const std::string& text = diagnostics.sources().text(source);
  const Place whole{source, 0, 0, 1};
  if (text.size() > kMaxBytes) {
    diagnostics.add(Complaint::too_large, whole, fmt::format("{} bytes", text.size()),
                    "the limit is 1 MiB; use counts and ranges instead of lists");
    return {};
  }
  std::size_t bad = 0;
  if (!valid_utf8(text, bad)) {
    diagnostics.add(Complaint::not_text, whole, fmt::format("byte {} is not UTF-8 text", bad),
                    "a cluster file is a UTF-8 text file");
    return {};
  }
  TreeBuilder builder(source, diagnostics);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    TreeBuilder second(source, diagnostics);
    if (parser.HandleNextDocument(second)) {
      Node extra = second.take();
      if (extra.place.source == 0) extra.place = whole;
      diagnostics.add(Complaint::several_documents, extra.place, "a second YAML document starts",
                      "one file describes one cluster; remove the line of dashes above");
    }
  } catch (const Stop&) {
  } catch (const YAML::DeepRecursion& deep) {
    const Place at{source, static_cast<std::uint32_t>(deep.mark.line + 1),
                   static_cast<std::uint32_t>(deep.mark.column + 1), 1};
    diagnostics.add(Complaint::too_deep, at, fmt::format("nested more than {} levels deep", kMaxDepth));
  } catch (const YAML::Exception& error) {
    Place at = whole;
    if (!error.mark.is_null())
      at = {source, static_cast<std::uint32_t>(error.mark.line + 1),
            static_cast<std::uint32_t>(error.mark.column + 1), 1};
    diagnostics.add(Complaint::yaml_syntax, at, error.msg, syntax_help(error.msg, text));
  }
  return builder.take();
}

}  // namespace weft::spec
