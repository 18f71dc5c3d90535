#include "measured/profile.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <vector>

namespace weft::measured {
namespace {

//   computing     |--10--|      |--10--|
//   NCCL              |---15----|            |-5-|
//                 0   5  10     20     30    35  40
constexpr const char* kTrace = R"json({"schemaVersion": 1,
 "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}],
 "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 16},
 "traceEvents": [
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "ts": 0, "dur": 50},
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 3},
  {"ph": "X", "cat": "kernel", "name": "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "ts": 0, "dur": 10},
  {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                     "ts" : 5, "dur" : 15, "args" : {
  "Collective name" : "_allgather_base", "In msg nelems" : 100, "Out msg nelems" : 1600, "dtype" : "BFloat16"
}
},
  {"ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4>", "ts": 20, "dur": 10},
  {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "ts": 35, "dur": 5}]
})json";

TEST(Profile, SaysWhatComputingHides) {
  const auto profile = read_profile(kTrace);
  ASSERT_TRUE(profile) << profile.error();
  EXPECT_EQ(profile->gpu, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(profile->rank, 3);
  EXPECT_EQ(profile->ranks, 16);
  EXPECT_EQ(profile->steps, 1);
  EXPECT_EQ(profile->kernels, 4);
  EXPECT_DOUBLE_EQ(profile->step, 50);
  EXPECT_DOUBLE_EQ(profile->computing, 20);
  EXPECT_DOUBLE_EQ(profile->communicating, 20);
  EXPECT_DOUBLE_EQ(profile->exposed, 15);
  EXPECT_DOUBLE_EQ(profile->idle, 15);
  ASSERT_EQ(profile->operations.size(), 2u);
  EXPECT_EQ(profile->operations.at("_allgather_base").bytes, 3200u);
  EXPECT_EQ(profile->operations.at("AllReduce").count, 1);
}

TEST(Profile, IsReadGzippedToo) {
  const std::string text = kTrace;
  std::vector<unsigned char> packed(text.size() + 1000);
  z_stream stream = {};
  ASSERT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  const std::string bytes(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(stream.total_out));
  deflateEnd(&stream);
  const auto profile = read_profile(bytes);
  ASSERT_TRUE(profile) << profile.error();
  EXPECT_DOUBLE_EQ(profile->exposed, 15);
  EXPECT_FALSE(read_profile(bytes.substr(0, bytes.size() / 2)));
}

TEST(Profile, WhatIsNoTraceIsRefused) {
  EXPECT_FALSE(read_profile(""));
  EXPECT_FALSE(read_profile("{"));
  EXPECT_FALSE(read_profile("[1, 2]"));
  EXPECT_FALSE(read_profile(R"({"traceEvents": []})"));
  EXPECT_FALSE(read_profile(R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "x", "ts": 1, "dur": 1}]})"));
  // Numbers that are none, and words where numbers belong.
  EXPECT_FALSE(read_profile(R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": 3, "ts": "a", "dur": -5}]})"));
}

// What is not whole, what is no JSON and what is no trace are told apart.
TEST(Profile, ARefusalSaysWhatTheFileIs) {
  const auto why = [](const std::string& text) {
    const auto profile = read_profile(text);
    return profile ? std::string("read") : profile.error();
  };
  const std::string whole = kTrace;
  EXPECT_EQ(why(whole), "read");
  EXPECT_EQ(why("no JSON"), "is no JSON, or not whole");
  EXPECT_EQ(why("{\"traceEvents\": ["), "is no JSON, or not whole");
  EXPECT_EQ(why(whole.substr(0, whole.size() - 3)), "is cut off: not whole JSON");
  EXPECT_EQ(why("{\"schemaVersion\": 1}"), "has no traceEvents: no trace of PyTorch's profiler");
  EXPECT_EQ(why("{\"traceEvents\": []}"), "has no traceEvents: no trace of PyTorch's profiler");
  EXPECT_EQ(why("{\"otherEvents\": [{\"ph\": \"X\"}]}"), "has no traceEvents: no trace of PyTorch's profiler");
}

TEST(Profile, KernelsAreKnownByTheirNames) {
  EXPECT_EQ(kind_of("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64>>"), KernelKind::attention);
  EXPECT_EQ(kind_of("cudnn_generated_fort_native_sdpa_sm90_flash_fprop"), KernelKind::attention);
  EXPECT_EQ(kind_of("sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n"), KernelKind::matrices);
  EXPECT_EQ(kind_of("void at::native::multi_tensor_apply_kernel<FusedAdam>"), KernelKind::optimizer);
  EXPECT_EQ(kind_of("vectorized_layer_norm_kernel"), KernelKind::elementwise);
  EXPECT_EQ(kind_of("ncclKernel_AllReduce_RING_LL_Sum_float"), KernelKind::communication);
}

}  // namespace
}  // namespace weft::measured
