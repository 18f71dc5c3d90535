#include "measured/xml.hpp"

#include <expat.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/text.hpp"
#include "spec/node.hpp"

namespace weft::measured {
namespace {

using spec::Error;
using spec::Place;

constexpr std::size_t kMostDepth = 32;         // NCCL's files have at most about ten levels
constexpr std::size_t kMostElements = 50'000;  // a rack of 72 GPUs has about a thousand

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Builder {
 public:
  Builder(std::uint32_t source, spec::Diagnostics& diagnostics)
      : source_(source),
        diagnostics_(diagnostics),
        text_(diagnostics.sources().text(source)),
        parser_(XML_ParserCreate("UTF-8"), XML_ParserFree) {
    for (std::size_t i = 0; i < text_.size(); ++i)
      if (text_[i] == '\n') line_starts_.push_back(i + 1);
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(parser_.get(), on_start, on_end);
    XML_SetCommentHandler(parser_.get(), on_comment);
    XML_SetStartDoctypeDeclHandler(parser_.get(), on_doctype);
  }

  std::optional<XmlDocument> read() {
    const auto status = XML_Parse(parser_.get(), text_.data(), static_cast<int>(text_.size()), XML_TRUE);
    if (status == XML_STATUS_ERROR && !stopped_) syntax_error();
    if (status == XML_STATUS_ERROR) return std::nullopt;
    return std::move(document_);
  }

 private:
  static Builder& of(void* user) { return *static_cast<Builder*>(user); }
  static void on_start(void* user, const char* name, const char** attributes) { of(user).start(name, attributes); }
  static void on_end(void* user, const char*) { of(user).open_.pop_back(); }
  static void on_comment(void* user, const char* text) { (of(user).document_.comments += text) += '\n'; }
  static void on_doctype(void* user, const char*, const char*, const char*, int) {
    of(user).stop("a document type is declared", "NCCL's files have none; remove the line");
  }

  Place place(std::size_t begin, std::size_t length) const {
    begin = std::min(begin, text_.size());
    const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), begin);
    const std::size_t line = static_cast<std::size_t>(after - line_starts_.begin());
    return {source_, static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(begin - line_starts_[line - 1] + 1),
            static_cast<std::uint32_t>(std::max<std::size_t>(1, length))};
  }
  std::size_t here() const {
    return static_cast<std::size_t>(std::max<XML_Index>(0, XML_GetCurrentByteIndex(parser_.get())));
  }

  void stop(std::string message, std::string help) {
    if (stopped_) return;  // expat may still call for what it had begun
    stopped_ = true;
    diagnostics_.add(Error::bad_xml, place(here(), 1), std::move(message), std::move(help));
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  void start(const char* name, const char** attributes) {
    if (open_.size() >= kMostDepth)
      stop(fmt::format("nested more than {} levels deep", kMostDepth), "NCCL's files have about ten");
    if (++elements_ > kMostElements)
      stop(fmt::format("more than {} elements", grouped(kMostElements)), "one file describes one server or one rack");
    XmlElement element;
    element.name = name;
    element.place = place(here() + 1, element.name.size());  // after the bracket
    std::size_t at = here() + 1 + element.name.size();
    for (; *attributes != nullptr; attributes += 2) {
      const auto [begin, length] = next_value(at);
      element.attributes.push_back({attributes[0], attributes[1], place(begin, length)});
      at = begin + length + 1;
    }
    XmlElement& slot = open_.empty() ? document_.root : open_.back()->children.emplace_back();
    slot = std::move(element);
    open_.push_back(&slot);  // stays where it is: its parent gets no other child before it is closed
  }

  // Expat tells no places of attributes, but hands them over in the order in which they are written.
  std::pair<std::size_t, std::size_t> next_value(std::size_t at) const {
    at = text_.find('=', at);
    if (at == std::string::npos) return {text_.size(), 0};
    ++at;
    while (at < text_.size() && is_space(text_[at])) ++at;
    if (at >= text_.size()) return {text_.size(), 0};
    const std::size_t end = std::min(text_.find(text_[at], at + 1), text_.size());
    return {at + 1, end - at - 1};
  }

  void syntax_error() {
    const XML_Error code = XML_GetErrorCode(parser_.get());
    const auto open = open_.empty()
                          ? std::string()
                          : fmt::format("<{}> of line {}", spec::shown(open_.back()->name), open_.back()->place.line);
    std::string message = fmt::format("not XML: {}", XML_ErrorString(code));
    std::string help = "what NCCL_TOPO_DUMP_FILE writes begins with <system version=\"1\">";
    if (code == XML_ERROR_TAG_MISMATCH) {
      message = fmt::format("this closes something else than {}", open);
      help = fmt::format("</{}>", spec::shown(open_.back()->name));
    } else if (code == XML_ERROR_NO_ELEMENTS && !open.empty()) {
      message = fmt::format("the file ends inside {}", open);
      help = "the file is cut off: copy it again";
    } else if (code == XML_ERROR_DUPLICATE_ATTRIBUTE) {
      message = "an attribute stands twice";
      help = "keep one of them";
    }
    diagnostics_.add(Error::bad_xml, place(here(), 1), std::move(message), std::move(help));
  }

  std::uint32_t source_;
  spec::Diagnostics& diagnostics_;
  const std::string& text_;
  std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser_;
  std::vector<std::size_t> line_starts_ = {0};
  XmlDocument document_;
  std::vector<XmlElement*> open_;
  std::size_t elements_ = 0;
  bool stopped_ = false;
};

}  // namespace

const XmlAttribute* XmlElement::find(std::string_view attribute) const {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(), [&](const XmlAttribute& a) { return a.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

std::optional<XmlDocument> read_xml(std::uint32_t source, spec::Diagnostics& diagnostics) {
  if (!spec::check_text(source, diagnostics)) return std::nullopt;
  return Builder(source, diagnostics).read();
}

}  // namespace weft::measured
