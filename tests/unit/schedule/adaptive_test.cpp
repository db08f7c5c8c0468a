#include "schedule/adaptive.hpp"

#include "testing.hpp"

#include <deque>

namespace inline_prof::schedule {
namespace {

// Events one behind the other, each with a launch of its own.
std::vector<IndexRange> in_a_row(std::size_t count) {
  std::vector<IndexRange> ranges;
  for (std::size_t i = 0; i < count; ++i) {
    const auto start = static_cast<std::int64_t>(2 * i);
    ranges.push_back({.start = start, .end = start + 1});
  }
  return ranges;
}

Settings adaptive_settings() {
  Settings settings;
  settings.policy = Policy::kAdaptive;
  return settings;
}

// A training step of a model with 60 equal layers.
struct TrainingStep {
  std::vector<ClassMember> events;
  std::vector<double> true_ms;  // by event
  double total_ms = 0;

  void add(const std::string& layer, const std::string& event, double ms) {
    events.push_back({.event = event, .layer = layer, .kernel = "kernel of " + event});
    true_ms.push_back(ms);
    total_ms += ms;
  }
};

constexpr double kPairMs = 0.006;  // 5.9 us: the closure of the published A100 profile

// 60 * 41 + 40 = 2500 launches, of 5 us to 250 us.
TrainingStep large_step() {
  TrainingStep step;
  for (int i = 0; i < 20; ++i)
    step.add("head", "head_" + std::to_string(i) + "x", 0.01 * (1 + i));
  for (int layer = 0; layer < 60; ++layer) {
    for (int i = 0; i < 41; ++i) {
      const double ms = i < 6 ? 0.1 + 0.03 * i : i < 20 ? 0.015 + 0.002 * i : 0.005;
      step.add("layers." + std::to_string(layer), "op_" + std::to_string(i) + "x", ms);
    }
  }
  for (int i = 0; i < 20; ++i)
    step.add("tail", "tail_" + std::to_string(i) + "x", 0.02);
  return step;
}

struct Course {
  std::int64_t iterations = 0;  // behind the warm-up, until all is known
  std::size_t pairs = 0;
  std::size_t most_at_once = 0;
};

// Samples come `delay` iterations late, as they do where the GPU is behind.
Course measure(AdaptivePlan& plan, const TrainingStep& step, double noise, std::uint64_t seed,
               std::int64_t delay = 3, std::int64_t most_iterations = 5000) {
  Course run;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(1.0, noise);
  const PairCost cost{.iteration_ms = step.total_ms, .pair_ms = kPairMs};
  std::deque<std::vector<std::size_t>> under_way;
  for (std::int64_t i = 1; i <= most_iterations; ++i) {
    under_way.push_back(plan.next(10 + i, cost));
    run.pairs += under_way.back().size();
    run.most_at_once = std::max(run.most_at_once, under_way.back().size());
    if (std::cmp_greater(under_way.size(), delay)) {
      for (const std::size_t event : under_way.front())
        plan.add(event, step.true_ms[event] * normal(random));
      under_way.pop_front();
    }
    if (plan.is_done()) {
      run.iterations = i;
      break;
    }
  }
  return run;
}

TEST(AdaptivePlan, KnowsALargeStepInAHundredIterations) {
  const TrainingStep step = large_step();
  ASSERT_EQ(step.events.size(), 2500U);
  int intervals = 0;
  int hits = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Settings settings = adaptive_settings();
    settings.seed = seed;
    AdaptivePlan plan(step.events, in_a_row(2500), settings, false);
    const Course run = measure(plan, step, 0.03, seed);
    EXPECT_GT(run.iterations, 0);
    EXPECT_LE(run.iterations, 100) << "seed " << seed;
    // The default budget: 0.1 % of the iterations' time.
    EXPECT_LE(static_cast<double>(run.pairs) * kPairMs,
              0.001 * static_cast<double>(run.iterations) * step.total_ms);
    for (const AdaptivePlan::Class& one : plan.classes()) {
      if (one.share < 0.005) continue;
      ASSERT_TRUE(one.median_ms);
      EXPECT_TRUE(one.is_known);
      EXPECT_LE(one.median_ms->relative_half_width(), 0.03);
      const double truth = step.true_ms[one.what.members.front()];
      EXPECT_NEAR(one.median_ms->median, truth, 0.04 * truth) << one.what.name;
      ++intervals;
      ASSERT_TRUE(one.median_ms->ci95);
      if (one.median_ms->ci95->lower <= truth && truth <= one.median_ms->ci95->upper) ++hits;
    }
  }
  EXPECT_GE(intervals, 200);
  EXPECT_GE(hits, intervals * 95 / 100);
}

TEST(AdaptivePlan, MeasuresTheLargestFirstOnceAllAreMet) {
  TrainingStep step;
  step.add("a", "large", 10);
  step.add("b", "small", 0.2);
  step.add("c", "medium", 2);
  AdaptivePlan plan(step.events, in_a_row(3), adaptive_settings(), false);
  const PairCost cost{.iteration_ms = 12.2, .pair_ms = 0.0122};  // one pair an iteration
  std::set<std::size_t> met;
  for (std::int64_t i = 11; i < 14; ++i) {
    const auto chosen = plan.next(i, cost);
    ASSERT_THAT(chosen, SizeIs(1));
    met.insert(chosen[0]);
    plan.add(chosen[0], step.true_ms[chosen[0]]);
  }
  EXPECT_THAT(met, SizeIs(3));
  for (std::int64_t i = 14; i < 19; ++i) {  // until it has kFewestForInterval samples
    const auto chosen = plan.next(i, cost);
    EXPECT_EQ(chosen, std::vector<std::size_t>{0});
    plan.add(0, 10);
  }
  EXPECT_EQ(plan.next(19, cost), std::vector<std::size_t>{2});
}

TEST(AdaptivePlan, StopsMeasuringWhatIsKnown) {
  TrainingStep step;
  for (int i = 0; i < 10; ++i)
    step.add("fc" + std::to_string(i), "e", 1);
  AdaptivePlan plan(step.events, in_a_row(10), adaptive_settings(), false);
  const Course course = measure(plan, step, 0.0001, 1, 0);
  EXPECT_EQ(course.pairs, 10U);  // one class, hardly any noise
  EXPECT_THAT(plan.next(1000, {.iteration_ms = 10, .pair_ms = kPairMs}), IsEmpty());
  EXPECT_EQ(plan.iterations_left({.iteration_ms = 10, .pair_ms = kPairMs}), 0);
}

TEST(AdaptivePlan, TakesTheFewestSamplesOfWhatIsSmall) {
  TrainingStep step;
  step.add("a", "large", 100);
  step.add("b", "small", 0.4);  // 0.4 %, and noisy
  AdaptivePlan plan(step.events, in_a_row(2), adaptive_settings(), false);
  static_cast<void>(measure(plan, step, 0.05, 1, 0));
  EXPECT_EQ(plan.classes()[1].sample_count, base::kFewestForInterval);
  EXPECT_GT(plan.classes()[0].sample_count, base::kFewestForInterval);
  EXPECT_TRUE(plan.classes()[1].is_known);
}

TEST(AdaptivePlan, NeverTakesMoreSamplesOfAnEventThanRepeat) {
  TrainingStep step;
  step.add("fc1", "e", 1);
  step.add("fc2", "e", 1);
  Settings settings = adaptive_settings();
  settings.repeat = 20;
  settings.target_ci = 0.001;  // never reached
  AdaptivePlan plan(step.events, in_a_row(2), settings, false);
  const Course course = measure(plan, step, 0.3, 1, 0);
  EXPECT_EQ(course.pairs, 40U);
  EXPECT_TRUE(plan.is_done());
  EXPECT_FALSE(plan.classes()[0].is_known);
}

TEST(AdaptivePlan, GivesUpWhatNeverGivesASample) {
  TrainingStep step;
  step.add("a", "gone", 1);
  step.add("b", "there", 1);
  AdaptivePlan plan(step.events, in_a_row(2), adaptive_settings(), false);
  const PairCost cost{.iteration_ms = 100, .pair_ms = 0.01};
  std::int64_t iteration = 11;
  for (; iteration < 5000 && !plan.is_done(); ++iteration) {
    for (const std::size_t event : plan.next(iteration, cost)) {
      if (event == 0) {
        plan.lose(event);
      } else {
        plan.add(event, 1.0);
      }
    }
  }
  EXPECT_LT(iteration, 11 + 100);
  EXPECT_TRUE(plan.classes()[0].was_given_up);
  EXPECT_FALSE(plan.classes()[0].is_known);
  EXPECT_TRUE(plan.classes()[1].is_known);
}

TEST(AdaptivePlan, GivesUpALittleLaterWhatIsNeverAnswered) {
  TrainingStep step;
  step.add("a", "gone", 1);
  AdaptivePlan plan(step.events, in_a_row(1), adaptive_settings(), false);
  std::int64_t iteration = 11;
  for (; iteration < 5000 && !plan.is_done(); ++iteration)
    static_cast<void>(plan.next(iteration, {.iteration_ms = 100, .pair_ms = 0.01}));
  EXPECT_TRUE(plan.is_done());
  EXPECT_TRUE(plan.classes()[0].was_given_up);
}

TEST(AdaptivePlan, SplitsAClassWhoseMembersDiffer) {
  TrainingStep step;
  for (int i = 0; i < 4; ++i)
    step.add("fc" + std::to_string(i), "e", i == 2 ? 1.5 : 1.0);
  Settings settings = adaptive_settings();
  settings.repeat = 500;
  AdaptivePlan plan(step.events, in_a_row(4), settings, false);
  settings.target_ci = 0.03;
  const Course course = measure(plan, step, 0.2, 3, 0);
  EXPECT_GT(course.iterations, 0);
  ASSERT_THAT(plan.classes(), SizeIs(2));
  EXPECT_EQ(plan.classes()[0].what.name, "fc*.e");
  EXPECT_EQ(plan.classes()[1].what.name, "fc*.e /2");
  EXPECT_EQ(plan.classes()[1].what.members, std::vector<std::size_t>{2});
  for (const auto& one : plan.classes()) {
    const double truth = step.true_ms[one.what.members.front()];
    EXPECT_NEAR(one.median_ms->median, truth, 0.06 * truth);
  }
}

TEST(AdaptivePlan, ChoosesEventsThatDoNotOverlap) {
  const TrainingStep step = large_step();
  auto ranges = in_a_row(2500);
  for (std::size_t i = 0; i < 2500; i += 50)
    ranges[i].end = ranges[std::min<std::size_t>(i + 20, 2499)].end;  // a region
  AdaptivePlan plan(step.events, ranges, adaptive_settings(), false);
  std::mt19937_64 random(1);
  for (std::int64_t i = 11; i < 200; ++i) {
    auto chosen = plan.next(i, {.iteration_ms = 5000, .pair_ms = kPairMs});
    EXPECT_LE(chosen.size(), kMostPairs);
    std::sort(chosen.begin(), chosen.end());
    for (std::size_t a = 1; a < chosen.size(); ++a)
      EXPECT_GT(ranges[chosen[a]].start, ranges[chosen[a - 1]].end);
    for (const std::size_t event : chosen)
      plan.add(event, step.true_ms[event]);
  }
  EXPECT_TRUE(plan.is_done());
}

TEST(AdaptivePlan, EstimatesWhatIsLeftByTheSquareRootLaw) {
  TrainingStep step;
  step.add("a", "e", 1);
  Settings settings = adaptive_settings();
  settings.repeat = 100'000;
  AdaptivePlan plan(step.events, in_a_row(1), settings, false);
  const PairCost cost{.iteration_ms = 6, .pair_ms = 0.006};  // one pair an iteration
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(1.0, 0.3);
  std::int64_t iteration = 11;
  for (; iteration < 61; ++iteration) {
    for (const std::size_t event : plan.next(iteration, cost))
      plan.add(event, normal(random));
  }
  const std::int64_t left = plan.iterations_left(cost);
  std::int64_t taken = 0;
  for (; !plan.is_done(); ++taken, ++iteration) {
    for (const std::size_t event : plan.next(iteration, cost))
      plan.add(event, normal(random));
  }
  // (1.96 * 1.2533 * 0.3 / 0.03)^2 = 603 samples in all, with noise in the estimate.
  EXPECT_GT(taken, 150);
  EXPECT_GT(left, taken / 2);
  EXPECT_LT(left, taken * 2);
}

// --- several ranks

TEST(AdaptivePlan, ProposesTheSameToRanksThatMeasureDifferentTimes) {
  const TrainingStep step = large_step();
  AdaptivePlan one(step.events, in_a_row(2500), adaptive_settings(), true);
  AdaptivePlan other(step.events, in_a_row(2500), adaptive_settings(), true);
  std::mt19937_64 random(1);
  int both = 0;
  int one_alone = 0;
  for (std::int64_t i = 11; i < 600; ++i) {
    const auto of_one = one.next(i, {.iteration_ms = 110, .pair_ms = 0.0060});
    const auto of_other = other.next(i, {.iteration_ms = 112, .pair_ms = 0.0061});
    const std::set<std::size_t> others(of_other.begin(), of_other.end());
    for (const std::size_t event : of_one) {
      (others.count(event) > 0 ? both : one_alone) += 1;
      one.add(event, step.true_ms[event] * std::normal_distribution<double>(1, 0.03)(random));
    }
    for (const std::size_t event : of_other)
      other.add(event, step.true_ms[event] * std::normal_distribution<double>(1, 0.05)(random));
  }
  EXPECT_TRUE(one.is_done());
  EXPECT_GT(both, 20 * one_alone);  // the other needs more samples and is the one that goes on
  for (const auto& known : one.classes())
    EXPECT_TRUE(known.is_known) << known.what.name;
}

TEST(AdaptivePlan, RoundsDoNotDependOnSamples) {
  TrainingStep step;
  for (int i = 0; i < 40; ++i)
    step.add("l", "e" + std::to_string(i) + "x", 1);
  Settings settings = adaptive_settings();
  settings.target_ci = 1e-9;
  const PairCost cost{.iteration_ms = 40, .pair_ms = 0.02};
  AdaptivePlan quiet(step.events, in_a_row(40), settings, true);
  AdaptivePlan noisy(step.events, in_a_row(40), settings, true);
  for (std::int64_t i = 11; i < 300; ++i) {
    const auto expected = quiet.next(i, cost);
    EXPECT_EQ(noisy.next(i, cost), expected);
    for (const std::size_t event : expected) {
      quiet.add(event, 1.0 + 0.01 * static_cast<double>(i % 7));
      noisy.add(event, 1.0 + static_cast<double>(i % 5));
    }
  }
}

// --- the budget

TEST(PairRate, FollowsTheBudget) {
  // 0.1 % of 2 ms are 2 us: a pair of 6 us every third iteration.
  EXPECT_EQ(pair_rate(0.1, {.iteration_ms = 2, .pair_ms = 0.006}, false),
            (PairRate{.every = 3, .pairs = 1}));
  EXPECT_EQ(pair_rate(0.1, {.iteration_ms = 2, .pair_ms = 0.006}, true),
            (PairRate{.every = 4, .pairs = 1}));
  // 0.1 % of 50 ms: eight pairs.  Of 5 s: 833, which is more than anybody needs.
  EXPECT_EQ(pair_rate(0.1, {.iteration_ms = 50, .pair_ms = 0.006}, false),
            (PairRate{.every = 1, .pairs = 8}));
  EXPECT_EQ(pair_rate(0.1, {.iteration_ms = 80, .pair_ms = 0.006}, false),
            (PairRate{.every = 1, .pairs = 13}));
  EXPECT_EQ(pair_rate(0.1, {.iteration_ms = 80, .pair_ms = 0.006}, true),
            (PairRate{.every = 1, .pairs = 8}));
  EXPECT_EQ(pair_rate(0.1, {.iteration_ms = 5000, .pair_ms = 0.006}, false),
            (PairRate{.every = 1, .pairs = kMostPairs}));
  EXPECT_EQ(pair_rate(0.1, {.iteration_ms = 1e-9, .pair_ms = 0.006}, false).every, 1'000'000);
}

TEST(AdaptivePlan, SpacesPairsOverIterationsWhereOneIsTooDear) {
  TrainingStep step;
  step.add("a", "e", 2);
  AdaptivePlan plan(step.events, in_a_row(1), adaptive_settings(), false);
  std::vector<std::int64_t> measured;
  for (std::int64_t i = 11; i < 21; ++i) {
    for (const std::size_t event : plan.next(i, {.iteration_ms = 2, .pair_ms = 0.006})) {
      measured.push_back(i);
      plan.add(event, 2);
    }
  }
  EXPECT_THAT(measured, ElementsAre(11, 14, 17, 20));
}

TEST(AdaptiveBounds, CountIterations) {
  Settings settings = adaptive_settings();  // warm-up 10, repeat 50
  const IterationBounds one = adaptive_bounds(100, 4, settings, {.every = 1, .pairs = 1});
  EXPECT_EQ(one.least, 10 + 24);
  EXPECT_EQ(one.most, 10 + 5000);
  const IterationBounds many = adaptive_bounds(100, 4, settings, {.every = 1, .pairs = 5});
  EXPECT_EQ(many.least, 10 + 5);
  EXPECT_EQ(many.most, 10 + 1000);
  EXPECT_EQ(adaptive_bounds(100, 4, settings, {.every = 3, .pairs = 1}).least, 10 + 72);
}

TEST(Adaptive, RefusesMoreSamplesThanThereIsRoomFor) {
  const std::vector<ClassMember> events(1000);
  Settings settings = adaptive_settings();
  settings.repeat = 1'000'000;
  EXPECT_EQ(inline_prof::test::complaint(
                [&] { return AdaptivePlan(events, in_a_row(1000), settings, false); }),
            "1000 events with 1000000 samples each, expected at most 4000000 samples: name fewer "
            "events or lower the number of repeats");
}

}  // namespace
}  // namespace inline_prof::schedule
