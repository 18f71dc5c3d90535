#include "app/report/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "app/ctrl_c.hpp"
#include "app/sim/progress.hpp"

namespace weft::app {
namespace {

bool is_plain(const std::string& word) {
  const auto harmless = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./=,:+%@").find(c) != std::string_view::npos;
  };
  return !word.empty() && std::all_of(word.begin(), word.end(), harmless);
}

std::string quoted(const std::string& word) {
  if (is_plain(word)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::vector<Json> records_in(const std::string& text) {
  std::vector<Json> records;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    Json record = Json::parse(line, nullptr, false);
    if (record.is_object() && record.contains("record")) records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

std::string command_line(const std::vector<std::string>& words) {
  std::string line = "weft";
  for (const std::string& word : words) line += " " + quoted(word);
  return line;
}

std::vector<Json> Step::all(const std::string& record) const {
  std::vector<Json> found;
  for (const Json& each : records)
    if (each["record"] == record) found.push_back(each);
  return found;
}

std::string Step::trouble() const {
  if (code == kInterrupted) return "interrupted";
  if (code == kLimitReached) return "not done within the limit";
  if (const std::vector<Json> errors = all("error"); !errors.empty())
    return errors[0].value("message", std::string("it cannot be run"));
  return code == kFine || code == kExpectationFailed ? "" : fmt::format("exit code {}", code);
}

Steps::~Steps() {
  if (drawn_) console_.err << "\r\x1b[K" << std::flush;
}

void Steps::show_progress(const std::string& command) {
  if (console_.err_width == 0 || console_.quiet) return;
  const std::string text = fmt::format("{} of {}: {}", all_.size() + 1, std::max(expected_, all_.size() + 1), command);
  console_.err << "\r" << text.substr(0, console_.err_width - 1) << "\x1b[K" << std::flush;
  drawn_ = true;
}

const Step& Steps::run(std::vector<std::string> words) {
  show_progress(command_line(words));
  auto step = std::make_unique<Step>();
  step->words = std::move(words);
  if (CtrlC::pressed()) interrupted_ = true;  // between two commands, which listen only for themselves
  if (interrupted_) {
    step->code = kInterrupted;
  } else {
    std::ostringstream out;
    std::ostringstream err;  // for people; what matters of it is in the records and the code
    Console inner{out, err};
    inner.width = 0;
    step->code = front_door_(step->words, inner);
    step->out = out.str();
    step->records = records_in(step->out);
    interrupted_ = step->code == kInterrupted;
  }
  all_.push_back(std::move(step));
  return *all_.back();
}

}  // namespace weft::app
