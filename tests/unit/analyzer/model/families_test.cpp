#include "model/families/families.hpp"

#include "model/predictor.hpp"
#include "model/shipped_parameters.hpp"
#include "profile_builder.hpp"
#include "read/read_profile.hpp"
#include "testing.hpp"

#include <fmt/format.h>

namespace inline_prof::model {
namespace {

using FamilyMap = std::map<std::string, FamilyParameters, std::less<>>;

// Families, and names as traces of real GPUs have them (tests/data/real_traces), cut short.
constexpr const char* kKernelNames = R"(
vectorized void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>
strided void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<>>
cat void at::native::(anonymous namespace)::CatArrayBatchedCopy<OpaqueType<2u>>
softmax_block void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16>
product_align1 void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1>
product_simt void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>
product_80 void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8>
convolution void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64_32x4_nhwc_align8>
product_nvjet nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT
attention_flash2 void pytorch_flash::flash_fwd_kernel<>
attention_flash3 void flash::compute_attn_ws<>
attention_fmha fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausal
experts bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2
symmetric_memory void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>
embedding_backward void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<>
product_simt ampere_sgemm_128x128_tn
fused_reduction triton_per_fused_native_layer_norm_convolution_5
vectorized void at::native::vectorized_templated_elementwise_kernel<4, f>
reduction void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<>>
attention_backward void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<>
product_quantised void marlin::Marlin<1>
nccl ncclAllReduceRingLLKernel_sum_f32(ncclColl)
convolution_part void cudnn::cnn::im2col4d_kernel<float, int>
norm_vectorized void layer_norm::ln_fwd_kernel<layer_norm::Kernel_traits<>>
token_exchange void deep_ep::intranode::dispatch<8, 768, 8192>
unrolled void LSTM_elementWise_bp1<__half, __half, float>
convolution_depthwise void wgrad2d_c1_k1_nhwc_kernel<__half, float, int>
scatter void at::native::krn_partials_per_segment<long>
product gemm_fusion_dot_1
fused_reduction input_reduce_fusion_2
fused loop_add_fusion
)";

TEST(KernelNames, TellTheFamily) {
  std::istringstream lines(kKernelNames);
  std::string family;
  std::string kernel;
  int known = 0;
  while (lines >> family && std::getline(lines >> std::ws, kernel)) {
    const KernelFamily* const found = kernel_family(kernel);
    ASSERT_NE(found, nullptr) << kernel;
    EXPECT_EQ(found->name, family) << kernel;
    ++known;
  }
  EXPECT_EQ(known, 31);
}

// Forward passes of batches of 16,384 tokens, 32 heads of 64: Dao-AILab/flash-attention #2688.
TEST(Families, HoldWhatOthersMeasuredOfAttention) {
  const read::Machine gpu = builtin_machine("h100-sxm5-80gb");
  const Families families(shipped_families(gpu), gpu);
  for (const auto& [length, tflops] : {std::pair(512, 252.49), std::pair(1024, 294.78),
                                       std::pair(2048, 308.09), std::pair(8192, 310.20)}) {
    const read::Op op = op_of(fmt::format(
        "attention batch={} heads=32 kv_heads=32 q_len={} kv_len={} head_dim=64 type=f16 "
        "pass=forward",
        16384 / length, length, length));
    const double us = 4.0 * 16384 * length * 32 * 64 / tflops * 1e-6;
    const auto found = families.predict("void flash_fwd_kernel<>", 1e4, op, gpu, std::nullopt);
    ASSERT_TRUE(found);
    EXPECT_LE(in_microseconds(found->interval90->first), us) << length;
    EXPECT_GE(in_microseconds(found->interval90->second), us) << length;
  }
}

// 4,096 rows of single precision on an RTX 3080: pytorch/pytorch #144645.
TEST(Families, HoldWhatOthersMeasuredOfLongSoftmax) {
  read::Machine gpu = builtin_machine("rtx-3090");
  gpu.id = "rtx-3080";
  gpu.sm_count = 68;
  gpu.memory_gb_per_s = 760;
  gpu.boost_clock_mhz = 1710;
  gpu.l2_mb = 5;
  const Families families(shipped_families(gpu), gpu);
  for (const auto& [kernel, columns, gb_per_s] :
       {std::tuple("cunn_SoftMaxForward<4>", 2047, 329.4),
        std::tuple("cunn_SoftMaxForwardSmem<4>", 2048, 499.7)}) {
    const read::Op op = op_of(fmt::format("softmax rows=4096 cols={} type=f32", columns));
    const double us = 8.0 * 4096 * columns / gb_per_s / 1e3;
    const auto found = families.predict(kernel, 4096, op, gpu, std::nullopt);
    ASSERT_TRUE(found);
    EXPECT_NEAR(in_microseconds(found->time), us, 0.2 * us) << kernel;
    EXPECT_LE(in_microseconds(found->interval90->first), us) << kernel;
    EXPECT_GE(in_microseconds(found->interval90->second), us) << kernel;
  }
}

TEST(Families, KnowLittleOfWorkThatNoRowTested) {
  const read::Machine gpu = builtin_machine("h100-sxm5-80gb");
  const Families families(shipped_families(gpu), gpu);
  const auto of_rows = [&](int columns) {
    const read::Op op = op_of(fmt::format("softmax rows=65536 cols={} type=bf16", columns));
    return *families.predict("cunn_SoftMaxForward<8>", 65536, op, gpu, std::nullopt);
  };
  const auto over_bandwidth = [&](int columns) {
    return in_microseconds(of_rows(columns).time) / (4.0 * 65536 * columns / 3350e3);
  };
  const auto width = [&](int columns) {
    const auto interval = *of_rows(columns).interval90;
    return interval.second.value / interval.first.value;
  };
  EXPECT_GT(over_bandwidth(3137), 4) << "single numbers";
  EXPECT_NE(of_rows(3137).remedy.find("pad"), std::string::npos);
  EXPECT_NE(of_rows(49152).remedy.find("cross entropy"), std::string::npos) << "aligned";
  EXPECT_LT(over_bandwidth(49152), 1.5) << "vectors, and the second and third time out of L2";
  EXPECT_NEAR(over_bandwidth(393216), 2 / 0.8, 0.3) << "three times out of memory";
  EXPECT_GT(width(49152), 1.3 * width(3137)) << "which a trace has";
}

TEST(KernelFamilies, WithAFormHaveUsualParameters) {
  const FamilyMap usual = usual_family_parameters();
  for (const KernelFamily& family : kernel_families())
    EXPECT_EQ(usual.contains(family.name), family.form != FamilyForm::kNone) << family.word;
}

read::Machine family_gpu() {
  read::Machine machine;
  machine.id = "test";
  machine.sm_count = 100;
  machine.boost_clock_mhz = 1000;
  machine.memory_gb_per_s = 1000;
  machine.l2_mb = 50;
  machine.peak_tflops = {{"bf16", 100}};
  return machine;
}

TEST(FamilyTimes, FollowTheirForm) {
  const FamilyParameters parameters{.launch_us = 2, .share = 0.5, .elements_per_clock = 1};
  const read::Machine gpu = family_gpu();
  EXPECT_DOUBLE_EQ(
      family_time_us({.form = FamilyForm::kMovement, .bytes = 1e6, .elements = 1}, parameters, gpu),
      2 + 2)
      << "1 MB at half of 1 TB/s";
  EXPECT_DOUBLE_EQ(
      family_time_us({.form = FamilyForm::kMovement, .bytes = 1, .elements = 1e6}, parameters, gpu),
      2 + 10)
      << "a million elements, 100 a clock of 1 ns";
  EXPECT_DOUBLE_EQ(family_time_us({.form = FamilyForm::kProduct, .base_us = 7, .cold_bytes = 1e6},
                                  parameters, gpu),
                   2 + 14 + 1);
  EXPECT_DOUBLE_EQ(
      family_time_us({.form = FamilyForm::kProduct, .elements = 1e6, .blocks = 50, .base_us = 7},
                     parameters, gpu),
      2 + 20)
      << "tiles that load more than the product's own time, on half of the multiprocessors";
  EXPECT_DOUBLE_EQ(
      family_time_us({.form = FamilyForm::kTiles, .peak_us = 3, .blocks = 50}, parameters, gpu),
      2 + 12)
      << "half of the multiprocessors are idle";
}

TEST(FamilyWork, CountsWhatTheKernelComputesBesideTheOperation) {
  read::Op image = op_of("conv n=1 c=3 h=8 w=8 k=4 r=1 s=1 type=bf16");
  const std::string_view convolution = "fprop";
  const double padded = family_work(convolution, image, family_gpu(), 1, {})->peak_us;
  image.attributes[1].second = std::int64_t{32};
  EXPECT_DOUBLE_EQ(family_work(convolution, image, family_gpu(), 1, {})->peak_us, padded)
      << "three channels cost as much as 32";
  EXPECT_FALSE(family_work("nvjet_", image, family_gpu(), 1, {})) << "no product";
}

read::Op product(std::int64_t n, const char* type) {
  return test::gemm_op(100, n, 64, type);
}

TEST(FamilyWork, OfUnalignedProductsIsWhatTilesLoad) {
  Prediction base;
  base.time = microseconds(1);
  const auto elements = [&](const char* kernel, const char* type) {
    return family_work(kernel, product(100, type), family_gpu(), 4, base)->elements;
  };
  // m = 100, n = 100, k = 64: tiles of 128 columns and 64 rows load all of A once and all of B
  // twice.
  EXPECT_EQ(elements("cutlass_75_tensorop_bf16_s1688gemm_bf16_128x64_nn_align1", "bf16"),
            6400 + 2 * 6400 + 10000);
  EXPECT_EQ(elements("cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align1", "f32"),
            2 * (2 * 6400 + 10000))
      << "in 16-bit numbers";
  EXPECT_EQ(elements("cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4", "f32"), 0);
}

TEST(Families, SayWhatAnotherKernelWouldTakeAndHow) {
  const read::Machine gpu = builtin_machine("h100-sxm5-80gb");
  const Predictor predictor(Models::kCalibrated);
  const LaunchedKernel unaligned{
      "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1>", 24};
  const Prediction slow = *predictor.predict(product(3137, "bf16"), gpu, unaligned).prediction;
  EXPECT_LT(slow.attainable.value_or(slow.time).value, slow.time.value);
  EXPECT_EQ(slow.remedy, "rows are not aligned to 16 bytes; n = 3137: pad it to 3144");
  EXPECT_EQ(predictor.predict(product(3136, "bf16"), gpu, unaligned).prediction->remedy, "")
      << "aligned sizes: padding would not help";
  const LaunchedKernel aligned{"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", 24};
  EXPECT_FALSE(predictor.predict(product(3136, "bf16"), gpu, aligned).prediction->attainable);
  EXPECT_EQ(
      Predictor(Models::kRoofline).predict(product(3137, "bf16"), gpu, unaligned).prediction->model,
      "roofline");
}

TEST(Families, ThatAnOlderGpuHasNoRowsOfTakeLongerToStart) {
  const auto launch_us = [&](const char* machine, const char* family) {
    const read::Machine gpu = builtin_machine(machine);
    return Families(shipped_families(gpu), gpu).parameters_of(family)->launch_us;
  };
  const double usual = usual_family_parameters().at("lists").launch_us;
  EXPECT_EQ(launch_us("h100-sxm5-80gb", "lists"), usual);
  EXPECT_NEAR(launch_us("a100-sxm4-40gb", "lists"), 1.25 * usual, 1e-9);
  EXPECT_NEAR(launch_us("v100-sxm2-16gb", "lists"), 1.25 * 1.25 * usual, 1e-9);
}

TEST(Families, AreSlowerBesideACollectiveOrAHostCopy) {
  const read::Machine gpu = builtin_machine("a100-sxm4-40gb");
  const Predictor predictor(Models::kCalibrated);
  const read::Op add = memory_op(1000, 1000);
  const auto interval = [&](const read::Neighbours& neighbours) {
    return *predictor
                .predict(add, gpu, {"unrolled_elementwise_kernel<add>", 1, nullptr, &neighbours})
                .prediction;
  };
  const Prediction alone = interval({}), beside = interval({.collective = 50, .host_copy = 50});
  EXPECT_NEAR(in_microseconds(beside.time) - in_microseconds(alone.time),
              usual_delay_us({.collective = 50, .host_copy = 50}), 1e-9);
  EXPECT_EQ(beside.interval90->first.value, alone.interval90->first.value);
  EXPECT_GT(beside.interval90->second.value - alone.interval90->second.value,
            beside.time.value - alone.time.value);
}

TEST(Families, PredictByNameAndGridWhereNoSizesAreKnown) {
  const read::Machine gpu = builtin_machine("a100-sxm4-40gb");
  const Predictor predictor(Models::kCalibrated);
  read::LaunchShape launch;
  launch.grid = {10000, 1, 1};
  launch.block = {128, 1, 1};
  const auto predicted = [&](const char* name) {
    return predictor.predict_by_name(gpu, {name, 10000, &launch});
  };
  const auto add = predicted(
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
      "at::detail::Array<char*, 3> >(int, ...)");
  ASSERT_TRUE(add);
  // 10000 blocks of 512 numbers, three of four bytes each, at 0.9 to 1.2 of 1555 GB/s.
  EXPECT_NEAR(in_microseconds(add->time), 10000 * 512 * 12 / 1555e3, 8);
  EXPECT_EQ(add->model, "family vectorized, sizes by its grid");
  EXPECT_FALSE(predicted("volta_sgemm_128x32_nt")) << "its depth is in no grid";
}

TEST(KernelFamilies, OfSinglePrecisionAreAlignedByBytes) {
  const KernelFamily& two = *kernel_family("cutlass_80_tensorop_s1688gemm_128x128_nn_align2");
  EXPECT_EQ(family_of_parameters(two, product(64, "bf16")), "product_align2");
  EXPECT_EQ(family_of_parameters(two, product(64, "f32")), "product_align4");
  const KernelFamily& four = *kernel_family("cutlass_80_tensorop_s1688gemm_128x128_nn_align4");
  EXPECT_EQ(family_of_parameters(four, product(64, "f32")), "product_80") << "16 bytes";
}

// A kernel of a trace beside what its own model says; equal ones together.
struct Measured {
  std::string kernel, family;
  read::Op op;
  double blocks = 0;
  std::optional<Prediction> base;
  FamilyWork work;
  double us = 0;
  double calls = 0;
};

std::vector<Measured> measured_in(const std::string& trace, const read::Machine& gpu) {
  const Predictor predictor(Models::kCalibrated);
  const auto file =
      std::filesystem::path(INLINE_PROF_TEST_DATA) / "real_traces" / (trace + ".json.gz");
  std::map<std::string, Measured> rows;
  for (const read::Event& event : read::read_profile(file).events) {
    const KernelFamily* const family = kernel_family(event.name);
    if (family == nullptr || !event.op) continue;
    const double delay_us = usual_delay_us(event.neighbours);
    if (delay_us > 0.3 * event.measured_ms[0] * 1e3) continue;
    double blocks = 1;
    for (const std::int64_t side : event.launch.grid)
      blocks *= static_cast<double>(side);
    const auto base = predictor.predict(*event.op, gpu, {"", 0}).prediction;
    const auto work = family_work(event.name, *event.op, gpu, blocks, base);
    if (!work) continue;
    Measured& row = rows[fmt::format("{} {} {}", event.name, read::op_text(*event.op), blocks)];
    if (row.calls == 0)
      row = {event.name, std::string(family_of_parameters(*family, *event.op)),
             *event.op,  blocks,
             base,       *work};
    row.us += event.measured_ms[0] * 1e3 - delay_us;
    row.calls += 1;
  }
  std::vector<Measured> list;
  for (auto& [name, row] : rows) {
    row.us /= row.calls;
    list.push_back(row);
  }
  return list;
}

// Measured times beside those that the families give.
struct Sum {
  double measured_us = 0, predicted_us = 0, error_us = 0, inside_us = 0;

  void add(const Measured& row, const Prediction& found) {
    const double us = in_microseconds(found.time);
    measured_us += row.calls * row.us;
    predicted_us += row.calls * us;
    error_us += row.calls * std::abs(us - row.us);
    if (in_microseconds(found.interval90->first) <= row.us &&
        row.us <= in_microseconds(found.interval90->second))
      inside_us += row.calls * row.us;
  }
  [[nodiscard]] double inside() const { return inside_us / measured_us; }
  void expect(const std::string& trace, double most_off, double most_error) const {
    EXPECT_NEAR(predicted_us / measured_us, 1, most_off) << trace;
    EXPECT_LE(error_us / measured_us, most_error) << trace;
    EXPECT_GE(inside(), 0.8) << trace;
  }
  void print(const std::string& name) const {
    fmt::print("{}: {:.0f} us, predicted / measured {:.2f}, error {:.0f} %, inside {:.0f} %\n",
               name, measured_us, predicted_us / measured_us, 100 * error_us / measured_us,
               100 * inside());
  }
};

// Each trace of an H100 as the other three predict it: nothing of it is in the fit.
TEST(Families, PredictATraceFromOthers) {
  const read::Machine gpu = builtin_machine("h100-sxm5-80gb");
  const std::vector<std::string> names{"h100_falconsai_vit", "h100_qwen1.5_0.5b",
                                       "h100_timesformer", "h100_bert_small"};
  std::map<std::string, std::vector<Measured>> traces;
  for (const std::string& name : names)
    traces[name] = measured_in(name, gpu);
  double inside_of_all = 0;
  for (const std::string& left_out : names) {
    std::vector<FamilyRow> rows;
    for (const auto& [name, own] : traces) {
      if (name == left_out) continue;
      const auto trace = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
      for (const Measured& row : own)
        rows.push_back({row.family, row.work, row.us, std::sqrt(row.calls), trace});
    }
    const FamilyMap fitted = fit_families(rows, usual_family_parameters(), gpu);
    EXPECT_EQ(fit_families(rows, usual_family_parameters(), gpu).at("strided").share,
              fitted.at("strided").share)
        << "the same rows, the same parameters";
    Sum sum;
    const Families families(parameters_of_families(fitted, gpu.id), gpu);
    for (const Measured& row : traces[left_out]) {
      const auto found = families.predict(row.kernel, row.blocks, row.op, gpu, row.base);
      ASSERT_TRUE(found) << row.kernel;
      sum.add(row, *found);
    }
    sum.print(left_out);
    sum.expect(left_out, 0.08, 0.12);
    inside_of_all += sum.inside() / static_cast<double>(names.size());
  }
  EXPECT_GE(inside_of_all, 0.85);
  EXPECT_LE(inside_of_all, 0.97) << "wider intervals than needed";
}

// A trace of each other GPU as the families of the H100 and the tables of products predict it:
// nothing of it, and no family of its GPU, is in the fit.
TEST(Families, PredictATraceOfAGpuThatHasNone) {
  const read::Parameters of_h100 = choose_parameters("families_h100-sxm5-80gb", "families");
  for (const auto& [trace, id] : {std::pair("a100_40gb_recommender", "a100-sxm4-40gb"),
                                  std::pair("v100_16gb_recommender", "v100-sxm2-16gb"),
                                  std::pair("b200_gptoss_vllm", "b200-sxm-180gb")}) {
    const read::Machine gpu = builtin_machine(id);
    const Families families(of_h100, gpu);
    std::map<std::string, Sum> sums;
    for (const Measured& row : measured_in(trace, gpu)) {
      const auto found = families.predict(row.kernel, row.blocks, row.op, gpu, row.base);
      ASSERT_TRUE(found) << row.kernel;
      for (const std::string& name : {row.family, std::string("all")})
        sums[name].add(row, *found);
    }
    for (const auto& [name, sum] : sums)
      sum.print(fmt::format("{} {}", trace, name));
    sums.at("all").expect(trace, 0.2, 0.22);
  }
}

}  // namespace
}  // namespace inline_prof::model
