#include "compute/kernels.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "model/catalog.hpp"
#include "spec/diagnostics.hpp"

namespace weft::compute {
namespace {

model::GpuKind gpu(const std::string& name) {
  static spec::Diagnostics diagnostics;
  static const model::Catalog catalog = model::Catalog::embedded(diagnostics);
  return *catalog.load<model::GpuKind>("gpus", name, diagnostics);
}

const std::vector<std::string>& gpus() {
  static const std::vector<std::string> names = {
      "a100-40-sxm", "a100-80-sxm", "h100-sxm", "h100-pcie", "h100-96-hbm2e", "h200-sxm",  "b200",
      "b300",        "gb200",       "gb300",    "trainium1", "trainium2",     "trainium3", "l40s"};
  return names;
}

double seconds(Duration time) { return static_cast<double>(time.count()) / 1e12; }

Gemm drawn_gemm() {
  const auto side = rc::gen::inRange<std::int64_t>(1, 20'000);
  return {*side,
          *side,
          *side,
          *rc::gen::element<std::int64_t>(1, 1, 4, 64),
          *rc::gen::element(Precision::bf16, Precision::fp8, Precision::mxfp8, Precision::nvfp4),
          *rc::gen::arbitrary<bool>()};
}

Attention drawn_attention() {
  Attention each;
  each.batch = *rc::gen::inRange<std::int64_t>(1, 16);
  each.kv_heads = *rc::gen::element<std::int64_t>(1, 2, 8);
  each.heads = each.kv_heads * *rc::gen::element<std::int64_t>(1, 4, 16);
  each.queries = *rc::gen::inRange<std::int64_t>(1, 9'000);
  each.keys = std::max<std::int64_t>(1, each.queries + *rc::gen::element<std::int64_t>(0, 0, 1, 127, 4096, -1, -300));
  each.head_dim = *rc::gen::element<std::int64_t>(64, 96, 128, 192, 256);
  each.value_dim = *rc::gen::element<std::int64_t>(64, 128);
  each.causal = *rc::gen::arbitrary<bool>();
  each.window = *rc::gen::element<std::int64_t>(0, 0, 128, 1000, 100'000);
  each.kernel = *rc::gen::element(AttentionKernel::unfused, AttentionKernel::flash2, AttentionKernel::flash3,
                                  AttentionKernel::cudnn);
  return each;
}

Kernels drawn_kernels() {
  return Kernels(gpu(*rc::gen::elementOf(gpus())), *rc::gen::element(Load::training, Load::steady, Load::rested));
}

// Pairs of a query and a key that it sees, one by one.
std::int64_t counted_pairs(const Attention& each) {
  std::int64_t pairs = 0;
  for (std::int64_t query = 0; query < each.queries; ++query) {
    const std::int64_t last = each.causal ? std::max<std::int64_t>(0, each.keys - each.queries + query + 1) : each.keys;
    pairs += each.window > 0 ? std::min(last, each.window) : last;
  }
  return pairs;
}

TEST(Kernels, ProductsCountTwoOperationsForEachOfTheirTerms) {
  EXPECT_EQ(flops_of(Gemm{2, 3, 5}), 60);
  EXPECT_EQ(flops_of(Gemm{2, 3, 5, 7}), 420);
  EXPECT_EQ(bytes_of(Gemm{2, 3, 5}), Bytes(2 * (10 + 15 + 6)));
  EXPECT_EQ(bytes_of(Gemm{2, 3, 8, 1, Precision::nvfp4}), Bytes((16 + 24) / 2 + 12));
}

TEST(Kernels, ACausalMaskLeavesHalfAndAWindowItsKeys) {
  Attention each{.batch = 1, .heads = 1, .kv_heads = 1, .queries = 4, .keys = 4, .head_dim = 1, .value_dim = 1};
  EXPECT_EQ(forward_flops_of(each), 4 * (1 + 2 + 3 + 4));
  each.window = 2;
  EXPECT_EQ(forward_flops_of(each), 4 * (1 + 2 + 2 + 2));
  each.causal = false;
  EXPECT_EQ(forward_flops_of(each), 4 * 4 * 2);
  each.window = 0;
  each.keys = 10;
  EXPECT_EQ(forward_flops_of(each), 4 * 4 * 10);
  each.causal = true;
  EXPECT_EQ(forward_flops_of(each), 4 * (7 + 8 + 9 + 10));
}

RC_GTEST_PROP(KernelsProperty, KeysThatAreSeenAreCountedOneByOne, ()) {
  Attention each = drawn_attention();
  RC_ASSERT(forward_flops_of(each) ==
            2 * each.batch * each.heads * counted_pairs(each) * (each.head_dim + each.value_dim));
}

TEST(Kernels, AnOptimizerReadsAndWritesItsState) {
  EXPECT_EQ(bytes_of(OptimizerStep{10, Optimizer::adam}), Bytes(300));
  EXPECT_EQ(bytes_of(OptimizerStep{10, Optimizer::adam, 2, 0}), Bytes(260));
  EXPECT_EQ(bytes_of(OptimizerStep{10, Optimizer::sgd}), Bytes(140));
  EXPECT_EQ(bytes_of(OptimizerStep{10, Optimizer::lamb}), Bytes(420));
}

RC_GTEST_PROP(KernelsProperty, NoProductBeatsItsRoofline, ()) {
  const Kernels kernels = drawn_kernels();
  const Gemm gemm = drawn_gemm();
  const double time = seconds(kernels.gemm(gemm));
  RC_ASSERT(time * static_cast<double>(kernels.peak(gemm.precision).count()) >= static_cast<double>(flops_of(gemm)));
  RC_ASSERT(kernels.gemm(gemm) >= kernels.memory_bound(bytes_of(gemm)));
}

RC_GTEST_PROP(KernelsProperty, NoAttentionBeatsItsRoofline, ()) {
  const Kernels kernels = drawn_kernels();
  const Attention each = drawn_attention();
  const double peak = static_cast<double>(kernels.peak(Precision::bf16).count());
  const double flops = static_cast<double>(forward_flops_of(each));
  RC_ASSERT(seconds(kernels.attention_forward(each)) * peak >= flops);
  // Attention that is not fused keeps its scores and computes only four products backward.
  RC_ASSERT(seconds(kernels.attention_backward(each)) * peak >= 2 * flops);
}

RC_GTEST_PROP(KernelsProperty, ALargerProductTakesNoLessTime, ()) {
  const Kernels kernels = drawn_kernels();
  const Gemm small = drawn_gemm();
  for (std::int64_t Gemm::*side : {&Gemm::m, &Gemm::n, &Gemm::k, &Gemm::groups}) {
    Gemm large = small;
    // One product is not one group of several: those come with tables of addresses, and larger tiles only.
    if (side == &Gemm::groups && small.groups == 1 && !small.batched) continue;
    large.*side += *rc::gen::element<std::int64_t>(1, 64, 1000);
    RC_ASSERT(kernels.gemm(large) >= kernels.gemm(small));
  }
}

RC_GTEST_PROP(KernelsProperty, MoreAttentionTakesNoLessTime, ()) {
  const Kernels kernels = drawn_kernels();
  const Attention small = drawn_attention();
  const auto longer = [&](const Attention& large) {
    RC_ASSERT(kernels.attention_forward(large) >= kernels.attention_forward(small));
    RC_ASSERT(kernels.attention_backward(large) >= kernels.attention_backward(small));
  };
  for (std::int64_t Attention::*size : {&Attention::batch, &Attention::head_dim, &Attention::value_dim}) {
    Attention large = small;
    large.*size += *rc::gen::element<std::int64_t>(1, 64);
    longer(large);
  }
  Attention large = small;
  const std::int64_t more = *rc::gen::element<std::int64_t>(1, 128, 1000);
  large.queries += more;
  large.keys += more;
  longer(large);
  large.heads *= 2;
  large.kv_heads *= 2;
  longer(large);
}

RC_GTEST_PROP(KernelsProperty, MoreBytesTakeNoLessTime, ()) {
  const Kernels kernels = drawn_kernels();
  const auto access = static_cast<Access>(*rc::gen::inRange(0, static_cast<int>(Access::many_tensors) + 1));
  const Bytes few(*rc::gen::inRange<std::int64_t>(0, 1'000'000'000));
  RC_ASSERT(kernels.memory_bound(few + Bytes(100'000), access) > kernels.memory_bound(few, access));
  RC_ASSERT(kernels.memory_bound(few, access) >= kernels.memory_bound(few, Access::streaming));
}

// H100 has 132 multiprocessors. Products of 256 x 128 tiles with a large k take as many waves as that needs.
TEST(Kernels, OneTileMoreThanMultiprocessorsIsAnotherWave) {
  const Kernels kernels(gpu("h100-sxm"), Load::rested);
  const auto rows = [&](std::int64_t tiles) {
    return kernels.gemm({256 * tiles, 128, 8192, 8, Precision::bf16, true});
  };
  const double one = seconds(rows(16)), same = seconds(rows(15)), two = seconds(rows(33));
  EXPECT_NEAR(one, same, 0.06 * one);  // 128 and 120 tiles
  EXPECT_GT(two, 1.8 * one);           // 264 tiles: two waves
}

TEST(Kernels, ALongSumOfAFewTilesIsSplit) {
  const Kernels kernels(gpu("h100-sxm"));
  const Duration narrow = kernels.gemm({128, 128, 65'536});
  // One multiprocessor alone would take this long.
  const double alone = static_cast<double>(flops_of({128, 128, 65'536})) / (989e12 / 132);
  EXPECT_LT(seconds(narrow), alone / 4);
}

TEST(Kernels, LargeProductsSustainWhatWasMeasured) {
  const Gemm large{8192, 8192, 8192};
  const auto rate = [&](const std::string& name, Load load) {
    return static_cast<double>(flops_of(large)) / seconds(Kernels(gpu(name), load).gemm(large)) / 1e12;
  };
  EXPECT_NEAR(rate("h200-sxm", Load::rested), 793, 40);  // truth/compute/h200_power.csv
  EXPECT_NEAR(rate("h200-sxm", Load::steady), 680, 35);
  EXPECT_GT(rate("h200-sxm", Load::training), rate("h200-sxm", Load::steady));
  EXPECT_LT(rate("h200-sxm", Load::training), rate("h200-sxm", Load::rested));
}

TEST(Kernels, ClocksFallWithTheTimeOfTensorCoresAndWithPower) {
  const Kernels h100(gpu("h100-sxm"), Load::rested);
  const Gemm large{8192, 8192, 8192};
  EXPECT_EQ(h100.under(0).gemm(large), h100.gemm(large));
  EXPECT_EQ(h100.under(1000).gemm(large), Kernels(gpu("h100-sxm"), Load::steady).gemm(large));
  EXPECT_LT(h100.under(600).gemm(large), h100.under(900).gemm(large));
  EXPECT_EQ(h100.under(900).memory_bound(Bytes(1 << 30)), h100.memory_bound(Bytes(1 << 30)));
  // 500 W instead of 700 W: the cube root of what is left beyond what rests, (500 - 123) / (700 - 123).
  const Kernels limited(gpu("h100-96-hbm2e"), Load::steady);
  EXPECT_NEAR(seconds(h100.under(1000).gemm(large)) / seconds(limited.gemm(large)), 0.867, 0.01);
}

TEST(Kernels, FewerBitsAreFasterWhereThereAreRatesForThem) {
  const Gemm large{8192, 8192, 8192};
  Gemm fp8 = large, fp4 = large;
  fp8.precision = Precision::fp8;
  fp4.precision = Precision::nvfp4;
  const Kernels a100(gpu("a100-80-sxm")), h100(gpu("h100-sxm")), b200(gpu("b200"));
  EXPECT_EQ(a100.gemm(fp8), a100.gemm(large));
  EXPECT_LT(h100.gemm(fp8), h100.gemm(large));
  EXPECT_EQ(h100.gemm(fp4), h100.gemm(fp8));
  EXPECT_LT(b200.gemm(fp4), b200.gemm(fp8));
}

TEST(Kernels, GroupsTakeLongerThanOneProductOfAsManyRows) {
  const Kernels kernels(gpu("h200-sxm"));
  const Duration one = kernels.gemm({8192, 4096, 4096}), groups = kernels.gemm({1024, 4096, 4096, 8});
  EXPECT_GT(groups, one);
  EXPECT_LT(seconds(groups), 1.25 * seconds(one));
}

TEST(Kernels, AttentionThatIsNotFusedWritesItsScores) {
  const Kernels kernels(gpu("a100-80-sxm"));
  Attention each{4, 12, 12, 2048, 2048, 128, 128};
  const Duration fused = kernels.attention_forward(each);
  each.kernel = AttentionKernel::unfused;
  const Duration scores = kernels.memory_bound(Bytes(4LL * 4 * 12 * 2048 * 2048));
  EXPECT_GT(kernels.attention_forward(each), fused);
  EXPECT_GT(kernels.attention_forward(each), scores);
}

TEST(Kernels, AWindowSavesWhatItHides) {
  const Kernels kernels(gpu("h100-sxm"));
  Attention each{1, 32, 8, 16'384, 16'384, 128, 128};
  const Duration whole = kernels.attention_forward(each);
  each.window = 1024;
  EXPECT_LT(kernels.attention_forward(each), whole / 4);
}

TEST(Kernels, NewerKernelsOfAttentionAreFasterOnHopperOnly) {
  Attention flash2{1, 32, 8, 8192, 8192, 128, 128}, flash3 = flash2;
  flash3.kernel = AttentionKernel::flash3;
  const Kernels h100(gpu("h100-sxm")), a100(gpu("a100-80-sxm"));
  EXPECT_LT(h100.attention_forward(flash3), h100.attention_forward(flash2));
  EXPECT_LT(h100.attention_backward(flash3), h100.attention_backward(flash2));
  EXPECT_LE(a100.attention_forward(flash3), a100.attention_forward(flash2));
}

TEST(Kernels, AnOptimizerGoesThroughItsBytesOnce) {
  const Kernels kernels(gpu("h200-sxm"));
  const OptimizerStep step{1'000'000'000, Optimizer::adam, 4, 0};
  EXPECT_NEAR(seconds(kernels.optimizer(step)), 28e9 / (4.8e12 * 0.72), 0.0004);  // truth/compute/h200_optimizer.csv
  EXPECT_LT(kernels.optimizer({1'000'000'000, Optimizer::sgd, 4, 0}), kernels.optimizer(step));
}

TEST(Kernels, AHostThatIsTooSlowSetsThePace) {
  const Kernels kernels(gpu("h100-sxm"));
  EXPECT_EQ(kernels.paced(microseconds(1'000'000), 10), microseconds(1'000'000));
  EXPECT_EQ(kernels.paced(microseconds(1), 10), kernels.launch() * 10);
}

TEST(Kernels, CommunicationBesideTakesMultiprocessorsAndBandwidth) {
  const Kernels all(gpu("h100-sxm"));
  const Kernels half = all.beside(66, *gpu("h100-sxm").memory_bandwidth / 2);
  const Gemm large{8192, 8192, 8192};
  EXPECT_NEAR(seconds(half.gemm(large)) / seconds(all.gemm(large)), 2, 0.1);
  EXPECT_NEAR(seconds(half.memory_bound(Bytes(1 << 30))) / seconds(all.memory_bound(Bytes(1 << 30))), 2, 0.01);
  EXPECT_EQ(all.beside(0, Bandwidth(0)).gemm(large), all.gemm(large));
  EXPECT_GT(all.beside(1000, *gpu("h100-sxm").memory_bandwidth * 2).memory_bound(Bytes(1)), Duration(0));
}

TEST(Kernels, SayWhetherTheyWereMeasured) {
  EXPECT_EQ(Kernels(gpu("h200-sxm")).basis(), "kernels of h200-sxm were measured");
  EXPECT_EQ(Kernels(gpu("b300")).basis(), "kernels of b300 are those of b200, scaled by its rates");
  EXPECT_EQ(Kernels(gpu("h100-pcie")).basis(), "kernels of h100-pcie are those of h100-sxm, scaled by its rates");
  EXPECT_EQ(Kernels(gpu("trainium2")).basis(), "kernels of trainium2 were not measured: Hopper's, scaled by its rates");
  EXPECT_EQ(Kernels(gpu("l40s")).basis(), "kernels of l40s were not measured: Hopper's, scaled by its rates");
}

TEST(Kernels, ScaledGpusFollowTheirRates) {
  const Gemm large{16'384, 16'384, 16'384};
  const Duration b200 = Kernels(gpu("b200"), Load::rested).gemm(large);
  const Duration gb200 = Kernels(gpu("gb200"), Load::rested).gemm(large);
  EXPECT_NEAR(seconds(b200) / seconds(gb200), 2500.0 / 2250, 0.03);
  const Bytes many(1'000'000'000);
  EXPECT_NEAR(
      seconds(Kernels(gpu("trainium3")).memory_bound(many)) / seconds(Kernels(gpu("trainium2")).memory_bound(many)),
      2.9 / 4.9, 0.01);
}

// Within 15 % of what truth/compute has, kind by kind.
TEST(Kernels, OfAnH200TakeWhatWasMeasured) {
  const Kernels kernels(gpu("h200-sxm"), Load::steady);
  const auto microseconds_of = [](Duration time) { return static_cast<double>(time.count()) / 1e6; };
  const auto near = [&](Duration time, double measured) {
    EXPECT_NEAR(microseconds_of(time), measured, 0.15 * measured);
  };
  near(kernels.gemm({8192, 6144, 4096}), 605.2);
  near(kernels.gemm({1536, 2560, 1536}), 20.3);
  near(kernels.gemm({8192, 16'384, 256}), 157.0);
  near(kernels.gemm({8192, 4096, 4096, 1, Precision::fp8}), 244.2);
  near(kernels.gemm({1024, 4096, 7168, 64}), 5876.2);
  near(kernels.gemm({128, 14'336, 4096, 8}), 284.6);
  near(kernels.gemm({2048, 2048, 128, 64, Precision::bf16, true}), 182.4);
  Attention each{2, 32, 8, 4096, 4096, 128, 128};
  near(kernels.attention_forward(each), 906.4);
  near(kernels.attention_backward(each), 2774.9);
  each.kernel = AttentionKernel::cudnn;
  near(kernels.attention_forward(each), 523.3);
  near(kernels.attention_backward(each), 1566.2);
  near(kernels.memory_bound(Bytes(201'326'592)), 47.4);
  near(kernels.memory_bound(Bytes(134'217'728), Access::norm), 55.6);
  near(kernels.optimizer({268'435'456, Optimizer::adam, 4, 0}), 2158.8);
}

// One number for each constant of a generation and for what is the same everywhere: whoever fits anew changes these,
// and nobody else.
TEST(Kernels, StayWhatTheyAre) {
  const auto times = [](const std::string& name) {
    const Kernels kernels(gpu(name));
    Attention attention{2, 16, 4, 3000, 5000, 128, 64};
    std::vector<std::int64_t> all = {kernels.gemm({1000, 3000, 500}).count(),
                                     kernels.gemm({4096, 4096, 4096, 1, Precision::mxfp8}).count(),
                                     kernels.gemm({4096, 4096, 4096, 1, Precision::nvfp4}).count(),
                                     kernels.gemm({700, 4096, 512, 5}).count(),
                                     kernels.gemm({100, 100, 50'000}).count(),
                                     kernels.gemm({8, 8192, 8192}).count()};
    for (const AttentionKernel kernel : {AttentionKernel::flash2, AttentionKernel::flash3, AttentionKernel::unfused})
      for (const bool causal : {true, false}) {
        attention.kernel = kernel;
        attention.causal = causal;
        all.push_back(kernels.attention_forward(attention).count());
        all.push_back(kernels.attention_backward(attention).count());
      }
    for (int access = 0; access <= static_cast<int>(Access::many_tensors); ++access)
      all.push_back(kernels.memory_bound(Bytes(50'000'000), static_cast<Access>(access)).count());
    return all;
  };
  using Times = std::vector<std::int64_t>;
  EXPECT_EQ(times("a100-80-sxm"),
            (Times{19'354'859,    567'682'470,   567'682'470,   103'928'155,   28'127'393,    76'326'480,
                   962'094'745,   2'987'237'309, 1'366'147'690, 4'242'695'009, 944'798'059,   2'987'237'309,
                   1'366'147'690, 4'242'695'009, 2'597'700'159, 4'011'597'845, 2'597'700'159, 4'011'597'845,
                   28'460'050,    39'138'958,    45'290'403,    71'410'384,    62'022'333,    57'040'918,
                   32'930'291,    75'216'351,    131'762'142,   71'410'384,    149'432'702,   34'487'866}));
  EXPECT_EQ(times("h100-96-hbm2e"),
            (Times{8'939'890,   133'072'860,   133'072'860,   48'786'404,    15'254'130,    67'398'483,
                   524'915'489, 1'661'597'122, 670'934'256,   2'124'584'109, 329'456'556,   983'123'297,
                   427'672'554, 1'240'306'485, 1'907'400'025, 3'350'300'628, 1'907'400'025, 3'350'300'628,
                   25'140'595,  34'528'604,    39'936'444,    62'898'962,    54'645'767,    50'266'521,
                   29'070'460,  66'244'851,    115'955'214,   62'898'962,    131'489'702,   30'439'750}));
  EXPECT_EQ(times("b200"), (Times{5'910'501,   63'875'928,    44'140'660,  29'074'406,    10'709'045,  22'246'452,
                                  395'041'770, 1'214'342'115, 559'882'189, 1'736'185'333, 174'380'850, 432'560'653,
                                  250'627'003, 605'664'361,   601'144'173, 1'028'028'238, 601'144'173, 1'028'028'238,
                                  8'352'942,   11'212'419,    12'859'583,  19'853'696,    17'339'870,  16'006'003,
                                  9'549'932,   20'872'814,    36'014'006,  19'853'696,    40'745'628,  9'967'002}));
  EXPECT_EQ(times("trainium2"),
            (Times{11'185'264,  166'986'704,   166'986'704,   58'763'000,    10'469'361,    56'203'917,
                   603'095'363, 1'863'147'987, 820'893'548,   2'510'412'381, 394'702'751,   1'098'240'823,
                   531'316'364, 1'457'773'821, 1'878'345'122, 2'968'412'304, 1'878'345'122, 2'968'412'304,
                   20'978'424,  28'747'811,    33'223'264,    52'226'727,    45'396'497,    41'772'293,
                   24'230'725,  54'995'739,    96'135'350,    52'226'727,    108'991'478,   25'363'931}));
  EXPECT_EQ(Kernels(gpu("b200")).launch(), nanoseconds(11'700));
}

TEST(Constants, AGenerationHasAtMostEightThatWereFitted) {
  Constants all = constants();
  std::map<std::string_view, int> fitted;
  for (const Knob& knob : knobs(all)) ++fitted[knob.owner];
  // Ampere's FlashAttention-2 is its attention; Blackwell's, and its clocks under load, are not its own.
  EXPECT_LE(fitted["Ampere"] - 1, 8);
  EXPECT_LE(fitted["Hopper"], 8);
  EXPECT_LE(fitted["Blackwell"] - 2, 8);
  EXPECT_EQ(fitted.count("Trainium"), 0u);
}

TEST(Constants, GpusBelongToGenerations) {
  EXPECT_EQ(generation_of("a100-40-sxm").name, "Ampere");
  EXPECT_EQ(generation_of("h100-96-hbm2e").name, "Hopper");
  EXPECT_EQ(generation_of("gb300").name, "Blackwell");
  EXPECT_EQ(generation_of("trainium2").name, "Trainium");
  EXPECT_EQ(generation_of("mi300x").name, "unknown");
}

}  // namespace
}  // namespace weft::compute
