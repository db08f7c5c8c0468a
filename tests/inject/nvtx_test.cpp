// NVTX ranges of the application become layers, and a tool of the user's own still gets every call.
#include "run_host.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

const Texts kShort{"INLINE_PROF_WARMUP=2", "INLINE_PROF_REPEAT=1"};

// As the comments of host_nvtx say.
const Texts kLayers{"a",
                    "a.narrow",
                    "narrow",
                    "",
                    "scope.\u4e2d\U0001f600",
                    "scope",
                    "",
                    "first.wide \u00e9",
                    "wide \u00e9",
                    "",
                    "",
                    "plain",
                    "deep.deep",
                    "",
                    "\x01\x1f\uFFFD\uFFFD"};

Texts layers_of(const json& profile) {
  std::map<int, std::string> by_occurrence;
  for (const auto& event : profile["events"]) {
    by_occurrence[event["met_times_within_this_stream"].get<int>()] =
        event["layer_name"].get<std::string>();
  }
  Texts layers;
  layers.reserve(by_occurrence.size());
  for (const auto& [occurrence, layer] : by_occurrence)
    layers.push_back(layer);
  return layers;
}

HostOptions ranges(const Texts& arguments, const Texts& environment = {}) {
  return {.arguments = arguments, .environment = joined(kShort, environment)};
}

TEST(NvtxRanges, AreTheLayersOfTheLaunchesInside) {
  const ProfiledRun run("host_nvtx", ranges({}));
  EXPECT_THAT(layers_of(run.profile), ElementsAreArray(kLayers));
  // The host gets the answers that it has without us.
  EXPECT_THAT(run.output, HasSubstr("push -2 pop -2\n"));
  EXPECT_EQ(run_host("host_nvtx", {.with_library = false}).output, "push -2 pop -2\nhost ok\n");
}

TEST(NvtxRanges, ThatAreIterationsAreNoLayers) {
  const ProfiledRun run("host_nvtx", ranges({"--marked"}, {"INLINE_PROF_ITERATION=nvtx:step *"}));
  EXPECT_THAT(run.profile["profiler"]["iteration_source"].get<std::string>(), HasSubstr("nvtx"));
  EXPECT_THAT(layers_of(run.profile), ElementsAreArray(kLayers));
}

TEST(NvtxRanges, TakeBoundedMemoryWhateverTheirNames) {
  const ProfiledRun run("host_nvtx", ranges({"--hostile=100000"}));
  const auto at = run.output.find("grown by ");
  ASSERT_NE(at, std::string::npos) << run.output;
  // Kept without a bound, the 3 x 100000 names of 200 bytes would be 60 MB.
  const long kib = std::strtol(run.output.c_str() + at + 9, nullptr, 10);
  // A sanitizer holds back memory that was freed.
  EXPECT_TRUE(INLINE_PROF_TEST_SANITIZED != 0 || kib < 8000) << kib;
  // Ranges that were never ended fill the path, and no more is asked of them.
  EXPECT_EQ(layers_of(run.profile).size(), kLayers.size());
}

TEST(AnNvtxToolOfTheUser, GetsEveryCallAndTheHostItsAnswers) {
  for (const std::string takes : {"all", "ranges", "nothing"}) {
    HostOptions options = ranges({}, {"NVTX_INJECTION64_PATH=" INLINE_PROF_TEST_NVTX_TOOL,
                                      "NVTX_TOOL_LOG=tool.log", "NVTX_TOOL_TAKES=" + takes});
    const ProfiledRun chained("host_nvtx", options);
    options.with_library = false;
    const Workplace without;
    const HostRun plain = run_host(without, "host_nvtx", options);
    EXPECT_THAT(chained.output, HasSubstr(plain.output)) << takes;
    // Not EXPECT_EQ: a difference in 80000 lines would take minutes to print.
    EXPECT_TRUE(chained.place.content("tool.log") == without.content("tool.log")) << takes;
    EXPECT_EQ(without.content("tool.log").empty(), takes == "nothing");
    // A tool that gives no handles leaves the application with null ones, and us without their
    // texts.
    const auto layers = layers_of(chained.profile);
    if (takes == "ranges") {
      EXPECT_EQ(layers.at(0), "a");
    } else {
      EXPECT_THAT(layers, ElementsAreArray(kLayers)) << takes;
    }
  }
}

TEST(AnNvtxToolOfTheUser, ThatIsNotThereLeavesNvtxAsItWouldBe) {
  const HostRun run =
      run_host("host_nvtx", ranges({}, {"NVTX_INJECTION64_PATH=/nowhere/libtool.so"}));
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("push -2 pop -2\n"));
}

}  // namespace
}  // namespace inline_prof::test
