#include "join/rollups.hpp"
#include "joined_profiles.hpp"
#include "report/tables.hpp"
#include "testing.hpp"

namespace inline_prof::report {
namespace {

using test::joined;

TEST(Findings, ABoundIsNoReasonToCallARowSlow) {
  const Findings found = findings(joined(profile_of(
      {EventBuilder("copy", 0, 1).layer("in").op(memory_op(500000, 500000)).samples_us({40})},
      50)));
  EXPECT_THAT(found.what, HasSubstr("An iteration takes 0.050 ms. 80.0 % of it is measured and"));
  EXPECT_EQ(found.why, "Far above the bound 80.0 % (1 kernel) of the step.");
  EXPECT_THAT(found.next,
              HasSubstr("Far above the bound, up to 60.0 % of the step: look for a better kernel"));
  EXPECT_THAT(found.next, HasSubstr("first in in test."));
}

TEST(Findings, SayThatNoIterationWasFound) {
  read::Profile profile = profile_of({EventBuilder("a", 0, 1).samples_us({40})}, 50);
  profile.profiler.iteration_source = "none";
  EXPECT_THAT(findings(joined(profile)).what,
              MatchesRegex("DOUBTFUL: no iteration was found. Mark the steps .*"
                           "The whole run takes 0.050 ms. .*"));
  profile.warnings = {"INLINE_PROF_TORCH is 1, but no PyTorch was hooked in this process: ..."};
  EXPECT_THAT(findings(joined(profile)).what,
              HasSubstr("No PyTorch was hooked, so no module has a name: see the warnings. The"));
  profile.events.front() = EventBuilder("a", 0, 1);
  EXPECT_EQ(findings(joined(profile)).next, "Run longer, and say where an iteration begins.");
}

TEST(Findings, DoubtIterationsThatWereGuessed) {
  read::Profile profile = profile_of({EventBuilder("a", 0, 1).samples_us({40})}, 50);
  profile.profiler.iteration_source = "auto";
  profile.profiler.iteration_confidence = 0.45;
  EXPECT_THAT(findings(joined(profile)).what,
              StartsWith("DOUBTFUL: these may be no iterations (confidence 0.45). An iteration "));
}

TEST(Findings, SayThatLongerIterationsHoldMuchOfTheTime) {
  read::Profile profile = profile_of({EventBuilder("a", 0, 1).samples_us({40})}, 50);
  profile.profiler.iteration_source = "macro";
  profile.iter_time_ms.assign(22, 0.05);
  profile.iter_time_ms.insert(profile.iter_time_ms.end(), 2, 0.1);
  EXPECT_THAT(findings(joined(profile)).what, StartsWith("An iteration takes 0.050 ms"));
  profile.iter_time_ms.insert(profile.iter_time_ms.end(), 2, 0.25);
  EXPECT_THAT(findings(joined(profile)).what,
              StartsWith("DOUBTFUL: 4 of 26 iterations take over 1.5 times the median, and 39 % of "
                         "the time: what follows is of the others. An iteration takes 0.050 ms"));
}

TEST(Findings, ProposeModulesNamesOnlyWhereTheyWereNotAskedFor) {
  read::Profile profile = profile_of({EventBuilder("at::native::copy", 0, 1).samples_us({40})}, 50);
  EXPECT_THAT(findings(joined(profile)).next, StartsWith("PyTorch seen: run again with"));
  for (const char* const fact : {"inline_prof.iterations", "inline_prof.torch"}) {
    profile.runtime_data = {{fact, 0, "", {"2.11.0"}}};
    EXPECT_THAT(findings(joined(profile)).next, Not(HasSubstr("PyTorch seen")));
  }
}

TEST(Findings, SlowRowsComeFirst) {
  join::Analysis analysis = joined(profile_of(
      {EventBuilder("copy", 0, 1).layer("in").op(memory_op(500000, 500000)).samples_us({20}),
       EventBuilder("copy", 2, 3).layer("out").op(memory_op(500000, 500000)).samples_us({30})},
      50));
  for (join::MergedRow& row : analysis.merged) {
    row.predicted_ci90_us = join::Interval{9, 11};
    row.verdict = join::Verdict::kSlower;
  }
  const Findings found = findings(analysis);
  EXPECT_EQ(found.why, "Slower than predicted 100.0 % (2 kernels) of the step.");
  EXPECT_EQ(found.next,
            "Slower than predicted, up to 60.0 % of the step: look at the largest; first in out "
            "test.");
}

TEST(Findings, TimesStandForSharesOfAnIterationThatIsNotKnown) {
  read::Profile profile = profile_of(
      {EventBuilder("copy", 0, 1).layer("in").op(memory_op(500000, 500000)).samples_us({40})}, 50);
  profile.iter_time_ms.clear();
  const join::Analysis analysis = joined(profile);
  const Findings found = findings(analysis);
  EXPECT_EQ(found.why, "Far above the bound 40.0 us (1 kernel) of the step.");
  EXPECT_THAT(found.next, HasSubstr("up to 30.0 us of the step"));
  EXPECT_FALSE(join::find_causes(analysis).front().share_percent);
}

TEST(Findings, AskForWhatIsMissing) {
  const Findings found = findings(
      joined(profile_of({EventBuilder("mystery", 0, 1).layer("x").samples_us({30})}, 100)));
  EXPECT_THAT(found.next, HasSubstr("Say what x mystery computes"));
  const Findings idle = findings(joined(profile_of(
      {EventBuilder("copy", 0, 1).op(memory_op(500000, 500000)).samples_us({11})}, 100)));
  EXPECT_THAT(idle.next, HasSubstr("Find out what the other 89 % is"));
}

TEST(Findings, SayWhyNothingIsKnown) {
  EXPECT_THAT(findings(joined(profile_of({}, 100))).what, HasSubstr("p.json has no events."));
}

TEST(LayerSums, CountARegionOnceAndCompareItsPredictedParts) {
  const auto sums = layer_sums(joined(profile_of(
      {EventBuilder("fc", 0, 5).layer("fc1").samples_us({100}),
       EventBuilder("fc.copy", 1, 2).layer("fc1").op(memory_op(500000, 500000)).samples_us({15}),
       EventBuilder("fc.other", 3, 4).layer("fc1").samples_us({50}),
       EventBuilder("loss", 6, 7).layer("loss").samples_us({7})},
      1000)));
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].layer, "fc1");
  EXPECT_EQ(sums[0].rows.size(), 3U);
  EXPECT_EQ(sums[0].outer_rows.size(), 1U);
  EXPECT_NEAR(*sums[0].time_us, 100, 1e-9);
  EXPECT_NEAR(*sums[0].compared_us, 15, 1e-9);
  EXPECT_NEAR(*sums[0].predicted_us, 10, 1e-9);
  EXPECT_NEAR(*sums[0].ratio, 1.5, 1e-9);
  EXPECT_FALSE(sums[1].ratio);
}

// A run on one device that is idle for 400 us of 1000.
join::Analysis idle_run(join::IdleReason reason, const std::string& place) {
  join::Analysis analysis;
  analysis.machine = "toy";
  analysis.iteration.us = analysis.runs.emplace_back().iteration.us = 1000;
  analysis.shares_us = analysis.shares_percent = join::Shares{.predicted = 60, .idle = 40};
  join::Idle& idle = analysis.idle.emplace_back();
  idle.idle_us = 400;
  for (std::size_t i = 0; i < join::kIdleReasons; ++i)
    idle.parts[i].reason = static_cast<join::IdleReason>(i);
  join::IdlePart& part = idle.parts[static_cast<std::size_t>(reason)];
  part.us = 310;
  if (!place.empty()) part.behind = {{.place = place, .us = 250}};
  return analysis;
}

TEST(Findings, SayWhatTheGpuWaitsForMost) {
  EXPECT_EQ(findings(idle_run(join::IdleReason::kLaunchingThread, "optimizer.AdamW")).next,
            "The GPU waits 31 % of the step for the thread that launches its work, the largest "
            "part (25 %) before optimizer.AdamW: fuse or capture it.");
  EXPECT_EQ(findings(idle_run(join::IdleReason::kBetweenIterations, "")).next,
            "The GPU waits 31 % of the step for the first launch or copy of an iteration: look at "
            "what the program does between two iterations, such as loading data.");
  EXPECT_EQ(findings(idle_run(join::IdleReason::kSynchronisation, "Gpt.blocks.0")).next,
            "The GPU waits 31 % of the step because the host waits for it and launches only then, "
            "the largest part before Gpt.blocks.0: leave the wait out, or make it later.");
}

TEST(Findings, TheLargestCauseIsTheNextStep) {
  join::Analysis analysis = joined(profile_of(
      {EventBuilder("copy", 0, 1).op(memory_op(500000, 500000)).samples_us({40})}, 1000));
  join::Idle idle = idle_run(join::IdleReason::kLaunchingThread, "fc").idle.front();
  analysis.idle = {idle};
  EXPECT_THAT(findings(analysis).next, StartsWith("The GPU waits 31 % of the step"));
  idle.parts[static_cast<std::size_t>(join::IdleReason::kLaunchingThread)].us = 20;
  analysis.idle = {idle};
  EXPECT_THAT(findings(analysis).next, StartsWith("Far above the bound"));
}

TEST(Findings, NameTheRankThatTheOthersWaitForAndWhatKeepsIt) {
  join::Analysis analysis = idle_run(join::IdleReason::kBetweenIterations, "");
  join::Run& other = analysis.runs.emplace_back();
  other.iteration.us = 1000;
  analysis.runs.front().profile.rank = 1;
  analysis.runs.front().profile.host_name = "node";
  analysis.rank_waits = {{.profile = 1, .for_profile = 0, .us = 500, .exposed_us = 450}};
  EXPECT_THAT(findings(analysis).next,
              HasSubstr("The other ranks wait 45 % of the step for rank 1 (node, device 0), which "
                        "comes last to collectives: its own GPU waits 31 % of the step between "
                        "iterations, as where data is loaded."));
}

}  // namespace
}  // namespace inline_prof::report
