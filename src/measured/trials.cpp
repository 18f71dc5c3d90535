#include "measured/trials.hpp"

#include <algorithm>
#include <array>

namespace weft::measured {
namespace {

constexpr std::size_t kMostSentences = 64;
constexpr std::size_t kMostTrials = 16;  // of a line

constexpr std::array<std::string_view, 24> kHelps = {
    "worked",   "works",    "helped",    "helps",    "solved",   "solves",   "fixed",     "fixes",
    "resolved", "resolves", "improved",  "improves", "faster",   "fast",     "better",    "reach",
    "reaches",  "reached",  "recovered", "normal",   "restores", "restored", "increased", "increases"};
// Without "not" these ask for help, or say how something works.
constexpr std::array<std::string_view, 5> kHelpsNot = {"work", "help", "solve", "fix", "improve"};
constexpr std::array<std::string_view, 12> kTurns = {"no",      "not",    "never",   "cannot", "fails",  "failed",
                                                     "without", "unless", "nothing", "hardly", "unable", "neither"};
// With these the sentence says more than one thing, or it is a command.
constexpr std::array<std::string_view, 10> kOpen = {"but",    "slow", "slower", "worse", "however",
                                                    "mpirun", "srun", "export", "-x",    "set by environment"};

bool is_inner(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_inner(text[at - 1])) && (end == text.size() || !is_inner(text[end]))) return true;
  }
  return false;
}

template <std::size_t N>
std::size_t words_in(std::string_view text, const std::array<std::string_view, N>& all) {
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](std::string_view word) { return has_word(text, word); }));
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// Sentences end with ". ", with a semicolon or with the bar of a table; a value may have a dot.
std::vector<std::string_view> sentences_of(std::string_view line) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  while (begin < line.size() && out.size() < kMostSentences) {
    std::size_t end = begin;
    while (end < line.size() && line[end] != ';' && line[end] != '|' &&
           !(line[end] == '.' && (end + 1 == line.size() || line[end + 1] == ' ')))
      ++end;
    out.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// Whether what the sentence names helps; nothing where it does not say that.
enum class Verdict { none, helps, does_not, gets_through };
Verdict verdict_of(std::string_view sentence) {
  if (sentence.find("NCCL INFO") != std::string_view::npos || sentence.find('?') != std::string_view::npos)
    return Verdict::none;
  std::string text = lower(sentence);
  // "works but slow": without what is switched off it gets through, and no more.
  const std::size_t but = text.find(" but ");
  const std::string rest = but == std::string::npos ? "" : text.substr(but);
  const bool slowly = has_word(rest, "slow") || has_word(rest, "slower") || has_word(rest, "slowly");
  if (slowly) text.resize(but);
  if (words_in(text, kOpen) > 0) return Verdict::none;
  std::size_t turns = words_in(text, kTurns);
  turns += text.find("n't ") != std::string::npos || text.find("n\xe2\x80\x99t ") != std::string::npos;
  const bool denied = turns % 2 == 1;
  if (slowly) return words_in(text, kHelps) > 0 && !denied ? Verdict::gets_through : Verdict::none;
  if (words_in(text, kHelps) > 0) return denied ? Verdict::does_not : Verdict::helps;
  return denied && words_in(text, kHelpsNot) > 0 ? Verdict::does_not : Verdict::none;
}

// NCCL_P2P_DISABLE=1, `NCCL_TOPO_FILE`, --bind-to none
std::vector<Trial> settings_of(std::string_view sentence) {
  std::vector<Trial> out;
  const auto upper = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  for (const std::string_view prefix : {"NCCL_", "FI_"})
    for (std::size_t at = sentence.find(prefix); at != std::string_view::npos && out.size() < kMostTrials;
         at = sentence.find(prefix, at + prefix.size())) {
      if (at > 0 && upper(sentence[at - 1])) continue;
      std::size_t end = at;
      while (end < sentence.size() && upper(sentence[end])) ++end;
      std::string_view rest = sentence.substr(end);
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));  // NAME =1, as persons write it
      std::string_view value;
      for (const std::string_view sign : {"=", "to "})
        if (rest.starts_with(sign)) {
          value = rest.substr(sign.size());
          value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
          value = value.substr(0, value.find_first_of(" \t,\"'`)"));
          break;
        }
      out.push_back({std::string(sentence.substr(at, std::min<std::size_t>(end - at, 64))),
                     std::string(value.substr(0, 64)), false, at});
    }
  for (const std::string_view option : {"--bind-to", "--cpu-bind"})
    if (const std::size_t at = sentence.find(option); at != std::string_view::npos) {
      const std::string_view rest = sentence.substr(std::min(at + option.size() + 1, sentence.size()));
      out.push_back({std::string(option), std::string(rest.substr(0, rest.find_first_of(" \t,`'\""))), false, at});
    }
  return out;
}

bool switches_off(const Trial& each) {
  const std::string_view name = each.name;
  const bool zero = each.value == "0" || each.value == "LOC";
  return name.ends_with("_DISABLE") ? each.value == "1"
                                    : zero && (name.ends_with("_LEVEL") || name.ends_with("_ENABLE") ||
                                               name.ends_with("_READ") || name.ends_with("_SUPPORT"));
}

// What the sentence says was tried, with what it says of it.
std::vector<Trial> tried_in(std::string_view sentence) {
  const Verdict verdict = verdict_of(sentence);
  if (verdict == Verdict::none) return {};
  std::vector<Trial> out = settings_of(sentence);
  if (verdict == Verdict::gets_through) std::erase_if(out, [](const Trial& each) { return !switches_off(each); });
  for (Trial& each : out) each.helps = verdict != Verdict::does_not;
  return out;
}

}  // namespace

std::vector<Trial> trials_of(std::string_view line) {
  std::vector<Trial> out;
  for (const std::string_view sentence : sentences_of(line)) {
    for (Trial& each : tried_in(sentence)) {
      each.column += static_cast<std::size_t>(sentence.data() - line.data());
      out.push_back(std::move(each));
    }
  }
  return out;
}

std::vector<std::string_view> without_trials(std::string_view line) {
  std::vector<std::string_view> out;
  bool any = false;
  for (const std::string_view sentence : sentences_of(line)) {
    const bool trial = !tried_in(sentence).empty();
    any |= trial;
    if (!trial) out.push_back(sentence);
  }
  return any ? out : std::vector<std::string_view>{line};
}

}  // namespace weft::measured
