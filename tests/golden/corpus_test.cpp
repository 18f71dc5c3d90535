// Replays the corpus of the fuzz targets, so that every input that once failed is tested by every
// build, with any compiler.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "../fuzz/fuzz_graph.hpp"
#include "../fuzz/fuzz_matrix.hpp"
#include "../fuzz/fuzz_measured.hpp"
#include "../fuzz/fuzz_one.hpp"
#include "base/testing_source_dir.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

template <class Load>
void replay(const fs::path& folder, Load load) {
  std::set<fs::path> files;
  for (const auto& item : fs::directory_iterator(folder)) files.insert(item.path());
  EXPECT_FALSE(files.empty());
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    const auto start = std::chrono::steady_clock::now();
    load(text.str());  // aborts when something does not hold
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  }
}

const fs::path kCorpus = fs::path(base::kSourceDir) / "tests/fuzz/corpus";

TEST(Corpus, OfClusterFilesLoadsOrIsRefused) {
  replay(kCorpus / "cluster", [](const std::string& text) { fuzz::load_text("fuzz.weft.yaml", text); });
}
TEST(Corpus, OfTopoFilesLoadsOrIsRefused) {
  replay(kCorpus / "topo", [](const std::string& text) { fuzz::load_text("fuzz.topo", text); });
}
TEST(Corpus, OfMatricesLoadsOrIsRefused) {
  replay(kCorpus / "matrix", [](const std::string& text) { fuzz::load_matrix(text); });
}
TEST(Corpus, OfGoalSchedulesLoadsOrIsRefused) {
  replay(kCorpus / "goal", [](const std::string& text) { fuzz::load_goal(text); });
}
TEST(Corpus, OfChakraTracesLoadsOrIsRefused) {
  replay(kCorpus / "chakra", [](const std::string& text) { fuzz::load_chakra(text); });
}

TEST(Corpus, OfTopologiesLoadsOrIsRefused) {
  replay(kCorpus / "topology", [](const std::string& text) { fuzz::load_topology(text); });
}
TEST(Corpus, OfOutputsIsReadOrRefused) {
  replay(kCorpus / "output", [](const std::string& text) { fuzz::read_outputs(text); });
}

// A mebibyte of one thing repeated: what makes parsers quadratic or deep.
TEST(Corpus, OfRepeatedTokensIsReadInBoundedTime) {
  const std::string tokens[] = {"[",   "{",     "- ",        "? ",      ": ",       "a: ",   "&a ",  "*a ",
                                "\"",  "'",     "x",         "x ",      "a: 1\n",   "- a\n", "[]\n", "a:\n ",
                                "!a ", "|\n",   "- [",       "[a, ",    "{a: ",     "? a\n", "\n",   "# \n",
                                "%",   "---\n", "a: &a b\n", "\"\\x41", "a: [1]\n", ",",     "]"};
  constexpr std::size_t kSize = 1 << 20;
  for (const std::string& token : tokens) {
    SCOPED_TRACE(token);
    std::string text;
    while (text.size() + token.size() <= kSize) text += token;
    const auto start = std::chrono::steady_clock::now();
    fuzz::load_text("fuzz.weft.yaml", text);
    const auto took = std::chrono::steady_clock::now() - start;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
    RecordProperty("ms_" + std::to_string(&token - tokens), static_cast<int>(ms));
    if (std::getenv("WEFT_SHOW_TIMES") != nullptr)
      std::printf("%6lld ms  %s\n", static_cast<long long>(ms), token.c_str());
    EXPECT_LT(ms, 20'000);  // 2 s on an idle core; sanitizers and shared machines take longer
  }
}

// The same for what other programs print, all in one line and line by line.
TEST(Corpus, OfRepeatedWordsIsReadInBoundedTime) {
  const std::string tokens[] = {"via NET/",
                                "via NET/IB/0",
                                "via P2P/",
                                "NET/IB : Using a0 ",
                                "NET/OFI",
                                "NCCL_A=",
                                "NCCL_A=NCCL_",
                                "NCCL INFO ",
                                "h:1:2 ",
                                "Channel 00..07 ",
                                "1 coll ",
                                "0[0] ",
                                "[1,0]<stdout>:",
                                "8 2 float ",
                                "# ",
                                "# 4 ranks ",
                                "Rank 0 on ",
                                "GPU0 ",
                                "GPU0 X\n",
                                "X ",
                                "NV18 ",
                                "\x1b[",
                                "1 Bytes -> Algo ",
                                "Pattern 1, type "};
  constexpr std::size_t kSize = 1 << 20;
  for (const std::string& token : tokens) {
    for (const std::string& end : {std::string(), std::string("\n")}) {
      SCOPED_TRACE(token);
      std::string text;
      while (text.size() + token.size() + end.size() <= kSize) text += token + end;
      const auto start = std::chrono::steady_clock::now();
      fuzz::read_outputs(text);
      const auto took = std::chrono::steady_clock::now() - start;
      const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
      if (std::getenv("WEFT_SHOW_TIMES") != nullptr)
        std::printf("%6lld ms  %s\n", static_cast<long long>(ms), token.c_str());
      EXPECT_LT(ms, 20'000);  // as above
    }
  }
}

}  // namespace
}  // namespace weft
