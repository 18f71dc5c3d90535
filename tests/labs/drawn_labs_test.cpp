// Everything that is asked of SRD where nothing is trimmed, in a lab of two MTUs and thirty drawn by seed. What is not
// reached is named: a lab that misses something else fails, and so does one that no longer misses what it says.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "transport/srd/testing_drawn_labs.hpp"

namespace weft::transport {
namespace {

using namespace testing;

// Of payload 93 % and more where all is well, 88 % with 5 % loss on one spine, 90 % of what is left with a spine at a
// tenth of its rate; copies at most 1 % and two for each packet lost; 48 peers within 1.15 of the ideal, 1.3 where
// queues are below 100 kB, and 20 % sent again.
std::string missed_in(const LabConfig& lab) {
  std::string missed;
  const auto ask = [&](bool reached, const char* what) {
    if (!reached) missed += (missed.empty() ? "" : "; ") + std::string(what);
  };
  const Streamed fine = clean(lab);
  ask(fine.percent >= 93, "clean");
  ask(fine.resent <= 1, "clean, sent again");
  const Streamed lossy = with_loss(lab);
  ask(lossy.percent >= 88, "loss");
  ask(lossy.copies <= 2 * lossy.lost + 2, "loss, sent again");
  ask(with_slow_spine(lab).percent >= 90, "slow");
  ask(with_dead_spine(lab).gap <= longest_gap(lab), "death");
  const Incast many = incast(lab);
  ask(many.of_ideal <= (lab.queue < 100'000 ? 1.3 : 1.15), "incast");
  ask(many.resent <= 20, "incast, sent again");
  return missed;
}

class DrawnLab : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(DrawnLab, ReachesWhatIsAskedButForWhatIsNamed) {
  const std::map<std::uint32_t, std::string> named = {
      {1, "incast"},
      {2, "loss; loss, sent again; incast"},
      {3, "clean; clean, sent again; loss, sent again; incast, sent again"},
      {5, "clean, sent again; loss, sent again; incast; incast, sent again"},
      {7, "incast; incast, sent again"},
      {9, "clean; clean, sent again; loss, sent again; slow; incast, sent again"},
      {11, "clean, sent again; loss, sent again; incast; incast, sent again"},
      {12, "loss"},
      {15, "incast"},
      {17, "incast"},
      {19, "clean; clean, sent again; slow"},
      {25, "incast; incast, sent again"},
      {29, "clean; incast"},
      {30, "slow"},
  };
  const auto found = named.find(GetParam());
  EXPECT_EQ(missed_in(drawn(GetParam())), found == named.end() ? "" : found->second);
}

INSTANTIATE_TEST_SUITE_P(Seeds, DrawnLab, ::testing::Range(1u, 31u));

TEST(TheLab, ReachesWhatIsAsked) {
  EXPECT_EQ(missed_in(lab_of(1500)), "");
  // Where a round trip holds five packets for 48 senders, the first burst alone is 192 of 2,832, and much of it
  // vanishes.
  EXPECT_EQ(missed_in(lab_of(9000)), "incast, sent again");
}

}  // namespace
}  // namespace weft::transport
