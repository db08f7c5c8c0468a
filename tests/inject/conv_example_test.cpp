// The example of cuDNN convolutions, preloaded and under prof-run --sim.
#include "run_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace inline_prof::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

// Each layer has 4 launches forward and 5 backward, 4 where nobody wants the gradient of the
// images, and there is the loss: 18 events, one of which is sampled in each iteration.
TEST(ConvExample, EachLaunchIsAnEventOfItsLayerAndConvolutionsAreKnownByTheirCalls) {
  const ProfiledRun run(INLINE_PROF_TEST_CONV, {.arguments = {"--iterations", "200"},
                                                .environment = {"INLINE_PROF_REPEAT=5"}});
  EXPECT_EQ(run.profile["complete"], true);
  std::map<std::string, int> events_of;
  std::map<std::string, std::set<std::string>> layers_of;
  for (const json& event : run.profile["events"]) {
    const std::string layer = event["layer_name"];
    ++events_of[layer];
    EXPECT_EQ(event["measured_times_ms"].size(), 5U) << event["event_name"];
    if (!event.contains("op") || event["op"]["kind"] != "conv") continue;
    const std::string direction = event["op"]["direction"];
    layers_of[direction].insert(layer);
    EXPECT_EQ(event["op"]["n"], 32) << direction;
    EXPECT_EQ(event["op"]["r"], 3) << direction;
  }
  EXPECT_THAT(events_of, UnorderedElementsAre(Pair("conv1", 8), Pair("conv2", 9), Pair("loss", 1)));
  EXPECT_THAT(layers_of["forward"], UnorderedElementsAre("conv1", "conv2"));
  EXPECT_THAT(layers_of["backward_filter"], UnorderedElementsAre("conv1", "conv2"));
  EXPECT_THAT(layers_of["backward_data"], UnorderedElementsAre("conv2"));
}

// Whatever path the program was linked with for the vendor's library.
TEST(ConvExample, RunsUnderProfRunOnTheSimulatedGpu) {
  const ProfiledRun run(INLINE_PROF_TEST_PROF_RUN,
                        {.arguments = {"--sim", "--", INLINE_PROF_TEST_CONV, "--iterations", "200"},
                         .environment = {"INLINE_PROF_REPEAT=5"},
                         .with_library = false});
  EXPECT_THAT(run.output, HasSubstr("simulated GPU: values are not computed"));
  std::set<std::string> layers;
  for (const json& event : run.profile["events"])
    layers.insert(event["layer_name"]);
  EXPECT_EQ(layers.size(), 3U);
}

}  // namespace
}  // namespace inline_prof::test
