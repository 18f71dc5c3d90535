#include "report/fidelity.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace weft::report {
namespace {

using schedule::Fidelity;

const std::vector<FidelityRun> kRuns = {
    {Fidelity::packet, Duration(200'000'000), Quantiles{100'000'000, 150'000'000, 0, 0}},
    {Fidelity::flow, Duration(190'000'000), Quantiles{101'000'000, 150'000'000, 0, 0}}};

TEST(Fidelity, TheTableHasEveryFigureAndHowFarItIsFromTheFirst) {
  EXPECT_EQ(difference_text(kRuns, 0, false),
            "fidelity  all done         completion p50         completion p99\n"
            "packet       200us                  100us                  150us\n"
            "flow         190us  -5.0%           101us  +1.0%           150us  +0.0%\n");
}

TEST(Fidelity, TheRecordHasDifferencesAsParts) {
  std::ostringstream out;
  write_difference(7, kRuns, out);
  const auto record = nlohmann::json::parse(out.str());
  EXPECT_EQ(record["record"], "difference");
  EXPECT_EQ(record["seed"], 7);
  EXPECT_EQ(record["against"], "packet");
  EXPECT_EQ(record["runs"][0]["end_ps"], 200'000'000);
  EXPECT_FALSE(record["runs"][0].contains("end_difference"));
  EXPECT_DOUBLE_EQ(record["runs"][1]["end_difference"], -0.05);
  EXPECT_DOUBLE_EQ(record["runs"][1]["fct_p50_difference"], 0.01);
  EXPECT_DOUBLE_EQ(record["runs"][1]["fct_p99_difference"], 0);
}

// A run in which nothing was done has no quantiles.
TEST(Fidelity, NothingDoneIsNoDivisionByNothing) { EXPECT_EQ(difference(0, 0), 0); }

}  // namespace
}  // namespace weft::report
