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

template <class Dimension>
void expect_worth(std::initializer_list<std::pair<const char*, double>> suffixes) {
  for (const auto& [suffix, worth] : suffixes) {
    const auto read = parse<Dimension>(std::string("7") + suffix);
    ASSERT_TRUE(read) << suffix;
    EXPECT_EQ(static_cast<double>(read->count()), 7 * worth) << suffix;
  }
}

TEST(Units, EachSuffixIsWorthWhatItSays) {
  expect_worth<DurationDimension>({{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}});
  expect_worth<BytesDimension>({{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}});
  expect_worth<BytesDimension>({{"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}});
  expect_worth<BandwidthDimension>(
      {{"bps", 1}, {"kbps", 1e3}, {"Mbps", 1e6}, {"Gbps", 1e9}, {"Tbps", 1e12}, {"Pbps", 1e15}});
  expect_worth<BandwidthDimension>({{"b/s", 1}, {"kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12}});
  expect_worth<BandwidthDimension>({{"B/s", 8}, {"kB/s", 8e3}, {"MB/s", 8e6}, {"GB/s", 8e9}, {"TB/s", 8e12}});
  expect_worth<LengthDimension>({{"mm", 1}, {"cm", 10}, {"m", 1e3}, {"km", 1e6}});
  expect_worth<PowerDimension>({{"mW", 1}, {"W", 1e3}, {"kW", 1e6}, {"MW", 1e9}, {"GW", 1e12}});
  expect_worth<PacketRateDimension>({{"pps", 1}, {"kpps", 1e3}, {"Mpps", 1e6}, {"Gpps", 1e9}});
  expect_worth<ShareDimension>({{"ppm", 1}, {"%", 1e4}});
  expect_worth<ComputeDimension>({{"GFLOPS", 1e9}, {"TFLOPS", 1e12}, {"PFLOPS", 1e15}});
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

TEST(Units, ShortTextHasTheLargestUnitThatIsNotMoreThanIt) {
  EXPECT_EQ(brief(Bytes(0)), "0B");
  EXPECT_EQ(brief(Bytes(999)), "999B");
  EXPECT_EQ(brief(Bytes(1000)), "1kB");
  EXPECT_EQ(brief(Bytes(1023)), "1.02kB");
  EXPECT_EQ(brief(Bytes(1024)), "1KiB");
  EXPECT_EQ(brief(Bytes(1 << 20)), "1MiB");
  EXPECT_EQ(brief(Bytes((1 << 20) - 1)), "1.05MB");
  EXPECT_EQ(brief(Bytes(std::int64_t{5} << 50)), "5.63PB");
  EXPECT_EQ(brief(Duration(999'999)), "1000ns");
  EXPECT_EQ(brief(Duration(1'000'000)), "1us");
}

TEST(Units, ShortTextHasThreeDigits) {
  EXPECT_EQ(brief(Duration(9'999)), "10ns");
  EXPECT_EQ(brief(Duration(9'990)), "9.99ns");
  EXPECT_EQ(brief(Duration(10'040)), "10ns");
  EXPECT_EQ(brief(Duration(10'060)), "10.1ns");
  EXPECT_EQ(brief(Duration(99'900)), "99.9ns");
  EXPECT_EQ(brief(Duration(100'400)), "100ns");
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
