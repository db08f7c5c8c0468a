// What a vendor call says of its launches, and that the call is the application's as it was.
#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inline_prof::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::vector<std::string> kShortRun{"INLINE_PROF_WARMUP=2", "INLINE_PROF_REPEAT=2"};

// The operations of the events named `name`, by occurrence.
std::vector<json> operations(const json& profile, const std::string& name) {
  std::vector<json> found;
  for (const json& event : profile["events"]) {
    if (event["event_name"] != name) continue;
    const auto occurrence = event["met_times_within_this_stream"].get<std::size_t>();
    if (found.size() <= occurrence) found.resize(occurrence + 1);
    found[occurrence] = event.value("op", json());
  }
  return found;
}

json gemm(int m, int n, int k, const char* type, const char* compute, const char* source) {
  return {{"kind", "gemm"},
          {"m", m},
          {"n", n},
          {"k", k},
          {"batch", 1},
          {"a_type", type},
          {"b_type", type},
          {"c_type", type},
          {"trans_a", false},
          {"trans_b", false},
          {"epilogue", "none"},
          {"compute_type", compute},
          {"source", source}};
}

json with(json op, const char* key, const json& value) {
  op[key] = value;
  return op;
}

// As host_library_calls asks for them, in row-major terms.
std::vector<json> expected_products() {
  return {gemm(7, 5, 3, "f32", "f32", "cublasSgemm"),
          with(gemm(7, 5, 3, "f32", "f32", "cublasSgemm"), "trans_a", true),
          with(gemm(7, 5, 3, "f32", "tf32", "cublasSgemm"), "trans_b", true),
          gemm(70, 50, 30, "f64", "f64", "cublasDgemm_64"),
          with(gemm(7, 5, 3, "f32", "f32", "cublasSgemmStridedBatched"), "batch", 12),
          gemm(6912, 1024, 512, "f16", "f32", "cublasGemmEx"),
          gemm(64, 64, 64, "f32", "bf16", "cublasGemmEx"),
          json(),
          gemm(64, 64, 8192, "f32", "f32", "cublasSgemm")};
}

TEST(ACublasCall, SaysItsShapeByEveryWayThatLeadsToIt) {
  for (const char* way : {"--linked", "--looked-up"}) {
    const Workplace place;
    const HostRun run =
        run_host(place, "host_library_calls", {.arguments = {way}, .environment = kShortRun});
    EXPECT_EQ(run.exit_status, 0) << way << run.output;
    const std::string left_out =
        "cublasCgemm: data type 4 is not supported: its operation is not described";
    EXPECT_EQ(run.output, "inline_prof: " + left_out + "\nhost ok\n") << way;
    const json profile = place.json();
    EXPECT_EQ(profile["warnings"], json::array({left_out})) << way;
    EXPECT_EQ(operations(profile, "gemm"), expected_products()) << way;
    for (const json& event : profile["events"]) {
      EXPECT_EQ(event["measured_times_ms"].size(), 2U) << way;
      EXPECT_THAT(event["kernel_names"].dump(), HasSubstr("gemm"));
    }
    EXPECT_EQ(profile["events"].back()["kernel_names"].size(), 2U) << way;
  }
}

// As host_library_calls_lt asks for them: D is column-major but where the case says otherwise, so
// that the row-major product is the transposed one.
TEST(ACublasLtCall, SaysWhatItsDescriptorsDescribe) {
  const Workplace place;
  const HostRun run = run_host(place, "host_library_calls_lt", {.environment = kShortRun});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  const json plain = gemm(7, 5, 3, "bf16", "f32", "cublasLtMatmul");
  const json by_rows = gemm(5, 7, 3, "bf16", "f32", "cublasLtMatmul");
  json fp8 = with(gemm(32, 16, 64, "bf16", "f32", "cublasLtMatmul"), "trans_b", true);
  fp8["a_type"] = "f8e5m2";
  fp8["b_type"] = "f8e4m3";
  const std::vector<json> expected{plain,
                                   with(with(plain, "trans_b", true), "epilogue", "gelu_bias"),
                                   with(with(plain, "trans_a", true), "epilogue", "bgrad_a"),
                                   with(by_rows, "batch", 4),
                                   with(by_rows, "trans_a", true),
                                   with(plain, "trans_b", true),
                                   fp8,
                                   json()};
  EXPECT_EQ(operations(place.json(), "gemm"), expected);
  EXPECT_THAT(run.output, HasSubstr("cublasLtMatmul: data type 4 is not supported"));
}

TEST(ACublasLtCall, ReturnsTheVendorsError) {
  const Workplace place;
  std::vector<std::string> environment = kShortRun;
  environment.emplace_back("SIMGPU_FAIL=cublasLtMatmul:14");
  const HostRun run = run_host(place, "host_library_calls_lt",
                               {.arguments = {"--expect", "14"}, .environment = environment});
  EXPECT_EQ(run.exit_status, 0) << run.output;
}

TEST(AStaticCopy, IsNamedAndItsKernelsAreTimed) {
  const Workplace place;
  std::vector<std::string> environment = kShortRun;
  environment.emplace_back("LD_LIBRARY_PATH=" INLINE_PROF_TEST_SIMGPU ":" INLINE_PROF_TEST_COPIES);
  const HostRun run = run_host(place, "host_static", {.environment = environment});
  EXPECT_EQ(run.output, "host ok\n");
  const json profile = place.json();
  ASSERT_EQ(profile["events"].size(), 1U);
  EXPECT_EQ(profile["events"][0]["event_name"], "volta_sgemm_128x64_nn");
  EXPECT_EQ(profile["events"][0]["measured_times_ms"].size(), 2U);
  EXPECT_EQ(profile["not_seen"],
            json::array({"libcublas inside libstatic_blas.so: static copy, kernels timed, shapes "
                         "missing"}));
}

TEST(ACublasCall, ReturnsTheVendorsError) {
  const Workplace place;
  std::vector<std::string> environment = kShortRun;
  environment.emplace_back(
      "SIMGPU_FAIL=cublasSgemm:14,cublasDgemm_v2_64:14,cublasSgemmStridedBatched:14,"
      "cublasGemmEx:14,cublasCgemm:14");
  const HostRun run = run_host(place, "host_library_calls",
                               {.arguments = {"--expect", "14"}, .environment = environment});
  EXPECT_EQ(run.exit_status, 0) << run.output;
}

TEST(ACublasCall, IsLeftAloneWhereProfilingIsOff) {
  const Workplace place;
  const HostRun run =
      run_host(place, "host_library_calls", {.environment = {"INLINE_PROF_DISABLE=1"}});
  EXPECT_EQ(run.output, "host ok\n");
  EXPECT_TRUE(place.files().empty());
}

}  // namespace
}  // namespace inline_prof::test
