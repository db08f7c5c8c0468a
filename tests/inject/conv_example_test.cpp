// The example of cuDNN convolutions under the injected library, by preloading and by prof-run
// --sim.
#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace inline_prof::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// 4 launches forward and 5 backward that every layer has, or 4 where nobody wants the gradient of
// the images, and the loss: 18 events, a sample of each in every iteration that is left.
const HostOptions kRun{.arguments = {"--iterations", "200"},
                       .environment = {"INLINE_PROF_REPEAT=5", "SIMGPU_TRUTH=truth.json"}};

std::map<std::string, int> events_by_layer(const json& profile) {
  std::map<std::string, int> count;
  for (const json& event : profile["events"])
    ++count[event["layer_name"].get<std::string>()];
  return count;
}

TEST(ConvExample, EachLaunchIsAnEventOfItsLayer) {
  const Workplace place;
  const HostRun run = run_host(place, INLINE_PROF_TEST_CONV, kRun);
  ASSERT_EQ(run.exit_status, 0) << run.output;
  const json profile = place.json();
  EXPECT_EQ(profile["complete"], true);
  EXPECT_THAT(events_by_layer(profile),
              UnorderedElementsAre(testing::Pair("conv1", 8), testing::Pair("conv2", 9),
                                   testing::Pair("loss", 1)));
  for (const json& event : profile["events"]) {
    EXPECT_EQ(event["measured_times_ms"].size(), 5U) << event["event_name"];
  }
}

TEST(ConvExample, ConvolutionsAreKnownByTheirCalls) {
  const Workplace place;
  ASSERT_EQ(run_host(place, INLINE_PROF_TEST_CONV, kRun).exit_status, 0);
  std::map<std::string, std::set<std::string>> layers_of;
  const json profile = place.json();
  for (const json& event : profile["events"]) {
    if (!event.contains("op") || event["op"]["kind"] != "conv") continue;
    const std::string direction = event["op"]["direction"];
    layers_of[direction].insert(event["layer_name"].get<std::string>());
    EXPECT_EQ(event["op"]["n"], 32) << direction;
    EXPECT_EQ(event["op"]["r"], 3) << direction;
  }
  EXPECT_THAT(layers_of["forward"], UnorderedElementsAre("conv1", "conv2"));
  EXPECT_THAT(layers_of["backward_filter"], UnorderedElementsAre("conv1", "conv2"));
  EXPECT_THAT(layers_of["backward_data"], UnorderedElementsAre("conv2"));
}

// The path of the vendor's library that the program was linked with does not matter.
TEST(ConvExample, RunsUnderProfRunOnTheSimulatedGpu) {
  const Workplace place;
  const HostRun run =
      run_host(place, INLINE_PROF_TEST_PROF_RUN,
               {.arguments = {"--sim", "--", INLINE_PROF_TEST_CONV, "--iterations", "200"},
                .environment = {"INLINE_PROF_REPEAT=5"},
                .with_library = false});
  ASSERT_EQ(run.exit_status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("simulated GPU: values are not computed"));
  EXPECT_EQ(events_by_layer(place.json()).size(), 3U);
}

}  // namespace
}  // namespace inline_prof::test
