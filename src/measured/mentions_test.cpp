#include "measured/mentions.hpp"

#include <gtest/gtest.h>

#include "measured/nccl_log.hpp"

namespace weft::measured {
namespace {

std::map<Mention, LogCount> mentions_in(const std::string& text) {
  spec::Diagnostics notes;
  const auto log = read_nccl_log(notes.sources().add("dmesg.txt", "NCCL version 2.21.5+cuda12.4\n" + text), notes);
  return log ? log->mentions : std::map<Mention, LogCount>{};
}

TEST(Mentions, AreFoundWhereHostsSayThem) {
  const auto found = mentions_in(
      "\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x16\n"
      "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+\n"
      "[    0.5] iommu: Default domain type: Translated\n");
  EXPECT_EQ(found.size(), 3u);
  EXPECT_EQ(found.at(Mention::link_downgraded).first.line, 2u);
  EXPECT_TRUE(found.contains(Mention::iommu_on));
}

TEST(Mentions, AreNotFoundInWhatDeniesThem) {
  EXPECT_TRUE(mentions_in("no VM, ACS off, IOMMU off\n").empty());
  EXPECT_TRUE(mentions_in("LnkSta: Speed 32GT/s, Width x16\n").empty());
}

TEST(Mentions, MakeATextALogOfItsOwn) {
  spec::Diagnostics notes;
  EXPECT_TRUE(read_nccl_log(notes.sources().add("notes.txt", "nvidia_peermem not loaded\n"), notes));
  EXPECT_FALSE(read_nccl_log(notes.sources().add("notes.txt", "all is well\n"), notes));
}

}  // namespace
}  // namespace weft::measured
