#include "base/units.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/money.hpp"

namespace weft {
namespace {

TEST(Units, AByteAt800GigabitsTakesTenPicoseconds) {
  EXPECT_EQ(transfer_time(Bytes(1), gigabits_per_second(800)), Duration(10));
}

TEST(Units, TransferTimesRoundUp) { EXPECT_EQ(transfer_time(Bytes(1), Bandwidth(3'000'000'000'000)), Duration(3)); }

TEST(Units, DecimalsAreExact) {
  EXPECT_EQ(*parse<PriceDimension>("$98.32/h"), Price(98'320'000));
  EXPECT_EQ(*parse<MoneyDimension>("$950"), Money(950'000'000));
  EXPECT_EQ(*parse<MoneyDimension>("$12.5k"), Money(12'500'000'000));
  EXPECT_EQ(*parse<MoneyDimension>("$1.2M"), Money(1'200'000'000'000));
  EXPECT_EQ(*parse<DurationDimension>("1.13us"), Duration(1'130'000));
  EXPECT_EQ(parse<DurationDimension>("0.0005ns").error(), UnitFault::not_exact);
  EXPECT_EQ(parse<BytesDimension>("0.1B").error(), UnitFault::not_exact);
}

TEST(Units, BitsAndBytesDiffer) {
  EXPECT_EQ(*parse<BandwidthDimension>("50GB/s"), *parse<BandwidthDimension>("400Gbps"));
}

TEST(Units, FaultsAreToldApart) {
  EXPECT_EQ(parse<BandwidthDimension>("400").error(), UnitFault::no_unit);
  EXPECT_EQ(parse<BandwidthDimension>("400Gpbs").error(), UnitFault::unknown_unit);
  EXPECT_EQ(parse<BandwidthDimension>("fast").error(), UnitFault::not_a_number);
  EXPECT_EQ(parse<BandwidthDimension>("").error(), UnitFault::not_a_number);
  EXPECT_EQ(parse<BandwidthDimension>("1.Gbps").error(), UnitFault::not_a_number);
  EXPECT_EQ(parse<BandwidthDimension>("99999999999Tbps").error(), UnitFault::out_of_range);
  EXPECT_EQ(parse<BandwidthDimension>("9999999999999999999999999999Tbps").error(), UnitFault::out_of_range);
}

TEST(Units, ShortTextIsForPeople) {
  EXPECT_EQ(brief(gigabits_per_second(400)), "400Gbps");
  EXPECT_EQ(brief(Bandwidth(51'200'000'000'000)), "51.2Tbps");
  EXPECT_EQ(brief(Duration(1'130'000)), "1.13us");
  EXPECT_EQ(brief(Price(98'320'000)), "$98.32/h");
  EXPECT_EQ(brief(Money(950'000'000)), "$950");
  EXPECT_EQ(brief(Money(1'234'000'000'000)), "$1.23M");
}

RC_GTEST_PROP(Units, PrintingExactlyAndReadingBackIsTheIdentity, ()) {
  const auto count = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 53);
  RC_ASSERT(*parse<DurationDimension>(exact(Duration(count))) == Duration(count));
  RC_ASSERT(*parse<BytesDimension>(exact(Bytes(count))) == Bytes(count));
  RC_ASSERT(*parse<BandwidthDimension>(exact(Bandwidth(count))) == Bandwidth(count));
  RC_ASSERT(*parse<PriceDimension>(exact(Price(count))) == Price(count));
  RC_ASSERT(*parse<MoneyDimension>(exact(Money(count))) == Money(count));
}

}  // namespace
}  // namespace weft
