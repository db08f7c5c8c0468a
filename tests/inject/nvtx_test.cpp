// NVTX ranges of the application become layers, and a tool of the user's own still gets every call.
#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace inline_prof::test {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

const std::vector<std::string> kShort{"INLINE_PROF_WARMUP=2", "INLINE_PROF_REPEAT=1"};

// What host_nvtx's comments say.
const std::vector<std::string> kLayers{"a",
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

std::vector<std::string> layers_of(const nlohmann::json& profile) {
  std::map<int, std::string> by_occurrence;
  for (const auto& event : profile["events"]) {
    by_occurrence[event["met_times_within_this_stream"].get<int>()] =
        event["layer_name"].get<std::string>();
  }
  std::vector<std::string> layers;
  layers.reserve(by_occurrence.size());
  for (const auto& [occurrence, layer] : by_occurrence)
    layers.push_back(layer);
  return layers;
}

HostOptions with_tool(const std::string& takes, bool with_library) {
  HostOptions options;
  options.environment = kShort;
  options.environment.emplace_back("NVTX_INJECTION64_PATH=" INLINE_PROF_TEST_NVTX_TOOL);
  options.environment.emplace_back("NVTX_TOOL_LOG=tool.log");
  options.environment.emplace_back("NVTX_TOOL_TAKES=" + takes);
  options.with_library = with_library;
  return options;
}

TEST(NvtxRanges, AreTheLayersOfTheLaunchesInside) {
  const Workplace place;
  const HostRun run = run_host(place, "host_nvtx", {.environment = kShort});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(layers_of(place.json()), ElementsAreArray(kLayers));
}

TEST(NvtxRanges, ThatAreIterationsAreNoLayers) {
  const Workplace place;
  HostOptions options{.arguments = {"--marked"}, .environment = kShort};
  options.environment.emplace_back("INLINE_PROF_ITERATION=nvtx:step *");
  const HostRun run = run_host(place, "host_nvtx", options);
  EXPECT_EQ(run.exit_status, 0) << run.output;
  const auto profile = place.json();
  EXPECT_THAT(profile["profiler"]["iteration_source"].get<std::string>(), HasSubstr("nvtx"));
  EXPECT_THAT(layers_of(profile), ElementsAreArray(kLayers));
}

TEST(NvtxRanges, GiveTheHostTheAnswersItHasWithoutUs) {
  const Workplace with;
  const Workplace without;
  const HostRun plain = run_host(without, "host_nvtx", {.with_library = false});
  EXPECT_EQ(plain.output, "push -2 pop -2\nhost ok\n");
  EXPECT_THAT(run_host(with, "host_nvtx", {}).output, HasSubstr("push -2 pop -2\n"));
}

TEST(NvtxRanges, TakeBoundedMemoryWhateverTheirNames) {
  const Workplace place;
  const HostRun run =
      run_host(place, "host_nvtx", {.arguments = {"--hostile", "100000"}, .environment = kShort});
  EXPECT_EQ(run.exit_status, 0) << run.output;
  const auto at = run.output.find("grown by ");
  ASSERT_NE(at, std::string::npos) << run.output;
  // Kept without a bound, the 3 x 100000 names of 200 bytes would be 60 MB.
  const long kib = std::strtol(run.output.c_str() + at + 9, nullptr, 10);
  // A sanitizer holds back what was freed.
  EXPECT_TRUE(INLINE_PROF_TEST_SANITIZED != 0 || kib < 8000) << kib;
  // Ranges that were never ended fill the path, and no more is asked of them.
  EXPECT_EQ(layers_of(place.json()).size(), kLayers.size());
}

TEST(AnNvtxToolOfTheUser, GetsEveryCallAndTheHostItsAnswers) {
  for (const std::string takes : {"all", "ranges", "nothing"}) {
    const Workplace with;
    const Workplace without;
    const HostRun plain = run_host(without, "host_nvtx", with_tool(takes, false));
    const HostRun chained = run_host(with, "host_nvtx", with_tool(takes, true));
    EXPECT_EQ(chained.exit_status, 0) << chained.output;
    EXPECT_THAT(chained.output, HasSubstr(plain.output)) << takes;
    // Not EXPECT_EQ: a difference in 80000 lines would take minutes to print.
    EXPECT_TRUE(with.text("tool.log") == without.text("tool.log")) << takes;
    EXPECT_EQ(without.text("tool.log").empty(), takes == "nothing");
    // A tool that gives no handles leaves the application with null ones, and us without their
    // texts.
    const auto layers = layers_of(with.json());
    if (takes == "ranges") {
      EXPECT_EQ(layers.at(0), "a");
    } else {
      EXPECT_THAT(layers, ElementsAreArray(kLayers)) << takes;
    }
  }
}

TEST(AnNvtxToolOfTheUser, ThatIsNotThereLeavesNvtxAsItWouldBe) {
  const Workplace place;
  HostOptions options{.environment = kShort};
  options.environment.emplace_back("NVTX_INJECTION64_PATH=/nowhere/libtool.so");
  const HostRun run = run_host(place, "host_nvtx", options);
  EXPECT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("push -2 pop -2\n"));
}

}  // namespace
}  // namespace inline_prof::test
