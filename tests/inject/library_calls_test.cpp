// Calls of cuBLAS describe their launches, and the program gets the library's own results.
#include "run_host.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

const Texts kShortBlas{"INLINE_PROF_WARMUP=2", "INLINE_PROF_REPEAT=2"};

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
    const ProfiledRun run("host_library_calls", {.arguments = {way}, .environment = kShortBlas});
    const std::string left_out =
        "cublasCgemm: data type 4 is not supported: its operation is not described";
    EXPECT_EQ(run.output, "inline_prof: " + left_out + "\nhost ok\n") << way;
    EXPECT_EQ(run.profile["warnings"], json::array({left_out})) << way;
    EXPECT_EQ(operations(run.profile, "gemm"), expected_products()) << way;
    for (const json& event : run.profile["events"]) {
      EXPECT_EQ(event["measured_times_ms"].size(), 2U) << way;
      EXPECT_THAT(event["kernel_names"].dump(), HasSubstr("gemm"));
    }
    EXPECT_EQ(run.profile["events"].back()["kernel_names"].size(), 2U) << way;
  }
}

// As host_library_calls_lt asks for them: D is column-major if the case does not say otherwise, so
// that the row-major product is the transposed one.
TEST(ACublasLtCall, SaysWhatItsDescriptorsDescribe) {
  const ProfiledRun run("host_library_calls_lt", {.environment = kShortBlas});
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
  EXPECT_EQ(operations(run.profile, "gemm"), expected);
  EXPECT_THAT(run.output, HasSubstr("cublasLtMatmul: data type 4 is not supported"));
}

TEST(ACublasCall, ReturnsTheVendorsError) {
  for (const auto& [host, rule] :
       {std::pair{"host_library_calls",
                  "SIMGPU_FAIL=cublasSgemm:14,cublasDgemm_v2_64:14,cublasSgemmStridedBatched:14,"
                  "cublasGemmEx:14,cublasCgemm:14"},
        std::pair{"host_library_calls_lt", "SIMGPU_FAIL=cublasLtMatmul:14"}}) {
    const HostRun run =
        run_host(host, {.arguments = {"--expect=14"}, .environment = joined(kShortBlas, {rule})});
    EXPECT_EQ(run.exit_status, 0) << run.output;
  }
}

TEST(ACublasCall, IsLeftAloneWhereProfilingIsOff) {
  const Workplace place;
  const HostRun run =
      run_host(place, "host_library_calls", {.environment = {"INLINE_PROF_DISABLE=1"}});
  EXPECT_EQ(run.output, "host ok\n");
  EXPECT_TRUE(place.names().empty());
}

TEST(AStaticCopy, IsNamedAndItsKernelsAreTimed) {
  const ProfiledRun run(
      "host_static", {.environment = joined(kShortBlas, {"LD_LIBRARY_PATH=" INLINE_PROF_TEST_SIMGPU
                                                         ":" INLINE_PROF_TEST_COPIES})});
  EXPECT_EQ(run.output, "host ok\n");
  ASSERT_EQ(run.profile["events"].size(), 1U);
  EXPECT_EQ(run.profile["events"][0]["event_name"], "volta_sgemm_128x64_nn");
  EXPECT_EQ(run.profile["events"][0]["measured_times_ms"].size(), 2U);
  EXPECT_EQ(run.profile["not_seen"],
            json::array({"libcublas inside libstatic_blas.so: static copy, kernels timed, shapes "
                         "missing"}));
}

// A kernel is its module and its name, whatever handle is launched and however old the driver is.
TEST(AKernel, IsOneWhateverHandleIsLaunchedAndHoweverItsNameIsFound) {
  for (const char* driver :
       {INLINE_PROF_TEST_SIMGPU, INLINE_PROF_TEST_OLDER_DRIVERS "/cuFuncGetName"}) {
    for (const char* entry_point : {"--linked", "--looked-up"}) {
      const ProfiledRun run(
          "host_kernels",
          {.arguments = {entry_point},
           .environment = joined(kShortBlas, {std::string("LD_LIBRARY_PATH=") + driver})});
      EXPECT_EQ(run.output, "host ok\n");
      Texts events;  // names and occurrences, in the order of the iteration
      for (const json& event : run.profile["events"]) {
        events.push_back(event["event_name"].get<std::string>() + ' ' +
                         event["met_times_within_this_stream"].dump());
        EXPECT_EQ(event["kernel_name"], "_Z4samev");
        EXPECT_EQ(event["measured_times_ms"].size(), 2U) << events.back();
      }
      EXPECT_THAT(events, ElementsAre("same 0", "same 1", "same~2 0", "same 2"))
          << driver << ' ' << entry_point;
    }
  }
}

}  // namespace
}  // namespace inline_prof::test
