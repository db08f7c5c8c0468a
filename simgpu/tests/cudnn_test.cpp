// The simulated cuDNN, called by programs built against the vendor's header.
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simgpu {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Cudnn, DescriptorsGiveBackWhatWasSet) {
  const ProgramRun run = run_program({CUDNN_PROGRAM, "descriptors"});
  EXPECT_THAT(run.lines(),
              ElementsAre("output 32 128 56 56", "4 dimensions, strides 200704 1 3584 64, type 9",
                          "filter 128 16 3 3, format 1", "4 groups",
                          "no channels CUDNN_STATUS_BAD_PARAM", "no stride CUDNN_STATUS_BAD_PARAM"))
      << run.errors;
}

TEST(Cudnn, EachAlgorithmHasKernelsOfItsOwn) {
  const ProgramRun scene = run_with_truth({CUDNN_PROGRAM, "every_algorithm"});
  EXPECT_THAT(
      scene.lines(),
      ElementsAre("forward 0 CUDNN_STATUS_SUCCESS, workspace none",
                  "forward 1 CUDNN_STATUS_SUCCESS, workspace needed",
                  "forward 2 CUDNN_STATUS_SUCCESS, workspace needed",
                  "forward 3 CUDNN_STATUS_NOT_SUPPORTED, workspace unknown",
                  "forward 4 CUDNN_STATUS_SUCCESS, workspace needed",
                  "forward 5 CUDNN_STATUS_SUCCESS, workspace needed",
                  "forward 6 CUDNN_STATUS_SUCCESS, workspace none",
                  "forward 7 CUDNN_STATUS_SUCCESS, workspace needed", "data 0 CUDNN_STATUS_SUCCESS",
                  "data 1 CUDNN_STATUS_SUCCESS", "data 2 CUDNN_STATUS_SUCCESS",
                  "data 3 CUDNN_STATUS_SUCCESS", "data 4 CUDNN_STATUS_SUCCESS",
                  "data 5 CUDNN_STATUS_SUCCESS", "filter 0 CUDNN_STATUS_SUCCESS",
                  "filter 1 CUDNN_STATUS_SUCCESS", "filter 2 CUDNN_STATUS_SUCCESS",
                  "filter 3 CUDNN_STATUS_SUCCESS", "filter 4 CUDNN_STATUS_NOT_SUPPORTED",
                  "filter 5 CUDNN_STATUS_SUCCESS", "filter 6 CUDNN_STATUS_SUCCESS"))
      << scene.errors;
  for (const char* name :
       {"cudnn::cnn::implicit_convolve_sgemm<float>()", "sm90_xmma_fprop_implicit_gemm_f32tf32",
        "cudnn::ops::im2col4d_kernel<float>()", "cudnn::fft::fft2d_c2r_32x32<float>()",
        "cudnn::winograd::winograd3x3Kernel<float>()",
        "cudnn::winograd_nonfused::winogradForwardOutput4x4<float>()",
        "cudnn::detail::dgrad_engine<float>()", "sm90_xmma_dgrad_implicit_gemm",
        "cudnn::detail::wgrad_alg0_engine<float>()", "sm90_xmma_wgrad_implicit_gemm",
        "cudnn::ops::reduce_parts_kernel<float>()"}) {
    EXPECT_GE(row_of(scene.truth, name).at("count"), 1) << name;
  }
}

// 2 * 32 * 128 * 56 * 56 * 64 * 3 * 3 flops at 346 Tflop/s (tf32), whichever way it goes.
TEST(Cudnn, KernelsTakeTheTimeOfTheirWork) {
  const ProgramRun scene = run_with_truth({CUDNN_PROGRAM, "every_algorithm"});
  for (const char* direction : {"fprop", "dgrad", "wgrad"}) {
    const auto row = row_of(scene.truth, std::string("sm90_xmma_") + direction);
    EXPECT_NEAR(row.at("nominal_us").get<double>(), 42.76, 0.01) << direction;
  }
}

TEST(Cudnn, ChecksItsArguments) {
  const ProgramRun run = run_program({CUDNN_PROGRAM, "checks"});
  EXPECT_THAT(
      run.lines(),
      ElementsAre("no room CUDNN_STATUS_BAD_PARAM", "nhwc winograd CUDNN_STATUS_NOT_SUPPORTED",
                  "nhwc gemm CUDNN_STATUS_SUCCESS", "wrong output CUDNN_STATUS_BAD_PARAM"))
      << run.errors;
}

TEST(Cudnn, FindingAnAlgorithmRunsThemAll) {
  const ProgramRun scene = run_with_truth({CUDNN_PROGRAM, "choice"});
  EXPECT_THAT(scene.lines(),
              ElementsAre("heuristic: 8 results, first 1, time -1, last CUDNN_STATUS_NOT_SUPPORTED",
                          "measured: 3 results, sorted"))
      << scene.errors;
  EXPECT_EQ(scene.truth.at("launches"), 17);  // 1 + 1 + 2 + 4 + 4 + 1 + 4 kernels
}

TEST(Cudnn, ABlockIsOneKernelPerCall) {
  const ProgramRun scene = run_with_truth({CUDNN_PROGRAM, "block"});
  EXPECT_EQ(scene.exit_status, 0) << scene.output;
  EXPECT_EQ(scene.truth.at("launches"), 8);
  EXPECT_GE(row_of(scene.truth, "_nhwckrsc_nhwc_tilesize128x128x64_warpgroupsize1x1x1_bias_relu_")
                .at("count"),
            1);
}

TEST(Cudnn, FindsTheDriverAsARuntimeDoes) {
  const ProgramRun run = run_keeping("SIMGPU_LOG", {CUDNN_PROGRAM, "checks"});
  ASSERT_EQ(run.exit_status, 0);
  const std::size_t create = run.file.find("cudnnCreate\n");
  ASSERT_NE(create, std::string::npos);
  EXPECT_THAT(run.file.substr(create), HasSubstr("\ncuGetProcAddress_v2\n"));
}

TEST(Cudnn, FailsOnRequest) {
  const ProgramRun run =
      run_program({CUDNN_PROGRAM, "checks"}, {"SIMGPU_FAIL=cudnnConvolutionForward:5000:after=2"});
  EXPECT_THAT(run.lines(), Contains("nhwc gemm CUDNN_STATUS_EXECUTION_FAILED"));
  const ProgramRun unknown =
      run_program({CUDNN_PROGRAM, "checks"}, {"SIMGPU_FAIL=cudnnConvolutionForwards"});
  EXPECT_THAT(unknown.lines(), ElementsAre("create CUDNN_STATUS_NOT_INITIALIZED"));
  EXPECT_THAT(unknown.errors, HasSubstr("expected a function of the simulated libcudnn.so.9"));
}

TEST(CudnnLayers, BatchNormsReadAgainWhatTheyDoNotKeep) {
  const std::string model = model_of(R"({"rules":[{"name":"*cudnn*","gb_per_s":1}]})");
  const ProgramRun scene = run_with_truth({CUDNN_LAYERS_PROGRAM, "batch_norm"}, {model});
  EXPECT_THAT(scene.lines(),
              ElementsAre("channels CUDNN_STATUS_SUCCESS", "channels last CUDNN_STATUS_SUCCESS",
                          "activations CUDNN_STATUS_SUCCESS",
                          "parameters of another mode CUDNN_STATUS_BAD_PARAM",
                          "mean alone CUDNN_STATUS_BAD_PARAM", "inference CUDNN_STATUS_SUCCESS",
                          "backward CUDNN_STATUS_SUCCESS"))
      << scene.errors;
  EXPECT_EQ(scene.truth.at("launches"), 5);
  // 131072 bytes an image, at 1 GB/s; scale, bias and four statistics of 32 channels.
  const double image = 131.072, parameters = 6 * 0.128;
  const auto time = [&](const char* name) {
    return row_of(scene.truth, name).at("nominal_us").get<double>();
  };
  EXPECT_NEAR(time("cudnn::bn_fw_tr_1C11_kernel_NCHW"), 3 * image + parameters, 1e-6);
  EXPECT_NEAR(time("cudnn::batchnorm_fwtr_nhwc_semiPersist"), 2 * image + parameters, 1e-6);
  EXPECT_NEAR(time("cudnn::bn_fw_inf_1C11_kernel_NCHW"), 2 * image + parameters, 1e-6);
  EXPECT_NEAR(time("cudnn::bn_bw_1C11_kernel_new"), 5 * image + parameters, 1e-6);
}

// Four gates of 64 on 32 inputs, two layers.
TEST(CudnnLayers, ARecurrentNetworkRunsStepByStep) {
  const ProgramRun scene = run_with_truth({CUDNN_LAYERS_PROGRAM, "rnn"});
  EXPECT_THAT(scene.lines(),
              ElementsAre("layer 0, 0: 64 x 32 at 0, bias 64 at 57344",
                          "layer 0, 4: 64 x 64 at 8192, bias 64 at 57600",
                          "layer 1, 3: 64 x 64 at 36864, bias 64 at 58048", "58368 elements",
                          "no room CUDNN_STATUS_BAD_PARAM",
                          "lstm CUDNN_STATUS_SUCCESS CUDNN_STATUS_SUCCESS CUDNN_STATUS_SUCCESS"))
      << scene.errors;
  // Forward and backward: for each layer a product, and for each of five steps a product and the
  // gates.  Weights: for each layer two products and the sums of the biases.
  EXPECT_EQ(scene.truth.at("launches"), 2 * 2 * (1 + 5 * 2) + 2 * 3);
  EXPECT_EQ(row_of(scene.truth, "LSTM_elementWise_fp<float, float, float, (cudnnRNNBiasMode_t)2>")
                .at("count"),
            10);
}

TEST(CudnnLayers, ProjectionsDirectionsAndPersistentKernels) {
  const ProgramRun scene = run_with_truth({CUDNN_LAYERS_PROGRAM, "more_rnns"});
  EXPECT_THAT(
      scene.lines(),
      ElementsAre("layer 3, 8: 16 x 64 at 52224, no bias",
                  "projected CUDNN_STATUS_SUCCESS CUDNN_STATUS_SUCCESS CUDNN_STATUS_SUCCESS",
                  "gru CUDNN_STATUS_SUCCESS CUDNN_STATUS_SUCCESS CUDNN_STATUS_SUCCESS",
                  "unsorted CUDNN_STATUS_BAD_PARAM"))
      << scene.errors;
  EXPECT_EQ(row_of(scene.truth, "RNN_blockPersist_fp_GRU").at("count"), 2);
  EXPECT_EQ(row_of(scene.truth, "cudnn::dropout_fp").at("count"), 1);  // between the two layers
}

TEST(CudnnLayers, TheOthersAreOneKernelEach) {
  const ProgramRun scene = run_with_truth({CUDNN_LAYERS_PROGRAM, "layers"});
  EXPECT_THAT(scene.lines(),
              ElementsAre("grid CUDNN_STATUS_SUCCESS", "its gradient CUDNN_STATUS_SUCCESS",
                          "sampler CUDNN_STATUS_SUCCESS", "its gradient CUDNN_STATUS_SUCCESS",
                          "loss CUDNN_STATUS_SUCCESS", "loss without room CUDNN_STATUS_BAD_PARAM"))
      << scene.errors;
  EXPECT_EQ(scene.truth.at("launches"), 6);
}

TEST(CudnnBackend, ChecksDescriptorsAsTheVendorsDoes) {
  const ProgramRun simulated = run_program({CUDNN_BACKEND_PROGRAM, "descriptors"});
  EXPECT_THAT(
      simulated.lines(),
      ElementsAre("incomplete 2000", "get early 1001", "wrong type 2010", "not its own 2000",
                  "too many 2000", "two 0", "2: 8 64 3", "how many 0", "4",
                  "room for two where one is 2000", "virtual 0", "set late 2000", "twice 2000",
                  "x 8 2 32 56 56", "w 2 64 32 3 3", "y 8 2 64 56 56", "forward 0", "in it 0",
                  "backward data 2000", "in it 1001", "backward filter 0", "in it 1001",
                  "into another type 2000", "operations 3000", "engines", "unfinished child 2004",
                  "no descriptor 2002", "unknown 4003"))
      << simulated.errors;
}

#ifdef VENDOR_CUDNN_DIR
ProgramRun on_the_vendors(const char* scene) {
  return run_program(
      {"/usr/bin/env", "LD_LIBRARY_PATH=" VENDOR_CUDNN_DIR, CUDNN_BACKEND_PROGRAM, scene});
}

// The same program on the vendor's library, which needs no GPU for descriptors.
TEST(CudnnBackend, TheVendorsPrintsTheSame) {
  const auto version = on_the_vendors("version").lines();
  ASSERT_EQ(version.size(), 1U);
  if (!version.front().starts_with("919")) GTEST_SKIP() << "compared with 9.19 only";
  const ProgramRun vendor = on_the_vendors("descriptors");
  EXPECT_EQ(vendor.lines(), run_program({CUDNN_BACKEND_PROGRAM, "descriptors"}).lines())
      << vendor.errors;
}
#endif

TEST(CudnnBackend, PlansRunEachEngine) {
  // Nothing but the flops.
  const std::string model = model_of(R"({"rules":[{"name":"*gemm*","tflops":1}]})");
  const ProgramRun scene = run_with_truth({CUDNN_BACKEND_PROGRAM, "plans"}, {model});
  EXPECT_THAT(scene.lines(), ElementsAre("forward engine 0, workspace needed, 0",
                                         "forward engine 2, workspace none, 0",
                                         "backward data engine 0, workspace needed, 0",
                                         "backward data engine 2, workspace none, 0",
                                         "backward filter engine 0, workspace needed, 0",
                                         "backward filter engine 2, workspace none, 0"))
      << scene.errors;
  // 2 * 8 * 128 * 56 * 56 * 32 * 3 * 3 flops: a group sees half of the channels.
  for (const char* direction : {"fprop", "dgrad", "wgrad"}) {
    const auto row = row_of(scene.truth, std::string("sm90_xmma_") + direction);
    EXPECT_THAT(row.at("name").get<std::string>(), HasSubstr("_g2_"));
    EXPECT_NEAR(row.at("nominal_us").get<double>(), 1849.69, 0.01) << direction;
  }
}

TEST(CudnnBackend, PointwiseOperationsAreFused) {
  const ProgramRun scene = run_with_truth({CUDNN_BACKEND_PROGRAM, "fused"});
  EXPECT_THAT(scene.lines(), ElementsAre("1 engines", "without b 2000", "fused 0")) << scene.errors;
  EXPECT_EQ(scene.truth.at("launches"), 1);
  EXPECT_EQ(row_of(scene.truth, "_add_relu_").at("count"), 1);
}

}  // namespace
}  // namespace simgpu
