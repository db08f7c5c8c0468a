#include "schedule/iteration_finder.hpp"

#include "schedule/iteration_follower.hpp"
#include "schedule/recurrence.hpp"
#include "schedule/update_steps.hpp"
#include "testing.hpp"

namespace inline_prof::schedule {
namespace {

// The order in which a training program launches its kernels, made up, with the truth about where
// its iterations begin.
//
// The network is a transformer's caricature: `layers` equal layers between an embedding and a head.
// With 24 layers an iteration has some 500 launches.
enum Kernel : std::uint32_t {
  kFill = 100,
  kNormal,
  kCopy,
  kEmbedding,
  kNorm,
  kGemm,
  kBias,
  kAttention,
  kGemmWide,
  kActivation,
  kAdd,
  kHead,
  kLoss,
  kLossBackward,
  kHeadBackward,
  kAddBackward,
  kGemmInput,
  kGemmWeight,
  kActivationBackward,
  kAttentionBackward,
  kNormBackward,
  kReduce,
  kEmbeddingBackward,
  kClip,
  kAdam,
  kAccuracy,
  kOther,  // and above: further models, by multiples of kModel
  kModel = 1000,
};

class LaunchProgram {
 public:
  explicit LaunchProgram(std::uint64_t seed = 1) : random_(seed) {}

  void launch(std::uint32_t kernel, std::size_t times = 1) {
    launches_.insert(launches_.end(), times, kernel);
  }
  void begin_iteration() { starts_.push_back(launches_.size()); }

  // 0 <= result < bound
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(random_() % static_cast<std::uint64_t>(bound));
  }
  bool chance(double probability) {
    return static_cast<double>(random_() >> 11U) * 0x1p-53 < probability;
  }

  // Weights are drawn and copied; the loop over the layers is itself a repetition.
  void set_up(std::size_t layers) {
    launch(kCopy, 3);
    for (std::size_t i = 0; i < layers; ++i) {
      launch(kNormal, 4);
      launch(kFill, 5);
    }
    launch(kCopy, 1 + below(7));
  }

  void forward(std::size_t layers, std::uint32_t model = 0) {
    launch(kEmbedding + model);
    for (std::size_t i = 0; i < layers; ++i) {
      for (const std::uint32_t kernel :
           {kNorm, kGemm, kBias, kAttention, kGemm, kAdd, kGemmWide, kActivation}) {
        launch(kernel + model);
      }
    }
    launch(kHead + model);
  }

  void backward(std::size_t layers, std::uint32_t model = 0) {
    launch(kLoss + model);
    launch(kLossBackward + model);
    launch(kHeadBackward + model);
    for (std::size_t i = 0; i < layers; ++i) {
      for (const std::uint32_t kernel :
           {kAddBackward, kGemmInput, kGemmWeight, kActivationBackward, kReduce, kGemmInput,
            kGemmWeight, kAttentionBackward, kNormBackward}) {
        launch(kernel + model);
      }
    }
    launch(kEmbeddingBackward + model);
  }

  void optimizer(std::size_t layers, std::uint32_t model = 0) {
    launch(kReduce + model, 2);
    launch(kClip + model);
    launch(kAdam + model, 4 * layers);
  }

  void training_step(std::size_t layers, std::uint32_t model = 0) {
    forward(layers, model);
    backward(layers, model);
    optimizer(layers, model);
  }

  [[nodiscard]] const std::vector<std::uint32_t>& launches() const { return launches_; }
  // Index of the first launch of each iteration.
  [[nodiscard]] const std::vector<std::uint64_t>& starts() const { return starts_; }

 private:
  std::mt19937_64 random_;
  std::vector<std::uint32_t> launches_;
  std::vector<std::uint64_t> starts_;
};

// The shapes of programs, `iterations` long.

LaunchProgram plain(std::uint64_t seed, std::size_t layers, std::size_t iterations) {
  LaunchProgram program(seed);
  program.set_up(layers);
  for (std::size_t i = 0; i < iterations; ++i) {
    program.begin_iteration();
    program.training_step(layers);
  }
  return program;
}

// Gradients of `micro_steps` batches are added up before the optimizer's step.
LaunchProgram accumulation(std::uint64_t seed, std::size_t layers, std::size_t iterations,
                           std::size_t micro_steps) {
  LaunchProgram program(seed);
  program.set_up(layers);
  for (std::size_t i = 0; i < iterations; ++i) {
    program.begin_iteration();
    for (std::size_t k = 0; k < micro_steps; ++k) {
      program.forward(layers);
      program.backward(layers);
    }
    program.optimizer(layers);
  }
  return program;
}

// An inference server: each batch is one of several kinds, which differ in some of their kernels
// (the shape chooses them) and in how many there are.
LaunchProgram batches(std::uint64_t seed, std::size_t kinds, std::size_t count = 150) {
  LaunchProgram program(seed);
  const std::size_t layers = 3 + program.below(12);
  for (std::size_t i = 0; i < count; ++i) {
    const auto kind = static_cast<std::uint32_t>(program.below(kinds));
    program.launch(kEmbedding);
    for (std::size_t layer = 0; layer < layers + kind; ++layer) {
      program.launch(kNorm);
      program.launch(kGemm + kind * kModel);
      program.launch(kAttention + kind * kModel);
      program.launch(kAdd);
      program.launch(kGemmWide + kind * kModel);
    }
    program.launch(kHead);
    program.launch(kCopy);
  }
  return program;
}

// The first answer; one of no launches if there is none.
struct Outcome {
  FoundIteration found{};
  std::uint64_t found_at = 0;  // launches that had been added
};

Outcome run(const std::vector<std::uint32_t>& launches) {
  IterationFinder finder;
  for (std::uint64_t i = 0; i < launches.size(); ++i)
    if (finder.add(launches[i]) && finder.found()) return {*finder.found(), i + 1};
  return {};
}

// A sanitizer takes 30 times as long, and finds no more in the fiftieth program than in the fifth.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kProgramsWithout = 5;
#else
constexpr std::uint64_t kProgramsWithout = 50;
#endif

// --- programs in which nothing may be found

struct Shape {
  std::string name;
  std::function<LaunchProgram(std::uint64_t seed)> make;

  friend void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }
};

class FindsNothingIn : public TestWithParam<Shape> {};

TEST_P(FindsNothingIn, AnyOfManySuchPrograms) {
  for (std::uint64_t seed = 1; seed <= kProgramsWithout; ++seed)
    EXPECT_EQ(run(GetParam().make(seed).launches()).found_at, 0U) << "seed " << seed;
}

// `kernels` different ones, one of them more often than the others.
LaunchProgram random_launches(std::uint64_t seed, std::size_t kernels, double preference) {
  LaunchProgram program(seed);
  for (int i = 0; i < 5000; ++i) {
    const bool is_preferred = program.chance(preference);
    program.launch(is_preferred ? 0U : 1U + static_cast<std::uint32_t>(program.below(kernels - 1)));
  }
  return program;
}

// Each kernel is followed by the next of a circle, or by any.
LaunchProgram random_walk(std::uint64_t seed, std::size_t kernels, double straight_on) {
  LaunchProgram program(seed);
  std::size_t kernel = 0;
  for (int i = 0; i < 5000; ++i) {
    kernel = program.chance(straight_on) ? (kernel + 1) % kernels : program.below(kernels);
    program.launch(static_cast<std::uint32_t>(kernel));
  }
  return program;
}

// All batches have the same kernels, but each kind has another number of layers.
LaunchProgram batches_of_different_length(std::uint64_t seed, std::size_t kinds) {
  LaunchProgram program(seed);
  for (int i = 0; i < 200; ++i)
    program.forward(4 + 3 * program.below(kinds));
  return program;
}

// Each round is longer than the one before by `kernels` launches of `width` kernels in turn.
LaunchProgram growing(std::uint64_t seed, std::size_t kernels, std::size_t width) {
  LaunchProgram program(seed);
  const std::size_t start = program.below(100);
  for (std::size_t round = 0; round < 30; ++round) {
    program.launch(kEmbedding);
    program.launch(kNorm);
    for (std::size_t i = 0; i < start + round * kernels; ++i)
      program.launch(kOther + static_cast<std::uint32_t>(i % width));
    program.launch(kHead);
  }
  return program;
}

// Loops of some dozen rounds, one after the other, as a set-up has them: weights layer by layer,
// the search for the best kernel, a first forward pass over equal layers.
LaunchProgram loops(std::uint64_t seed) {
  LaunchProgram program(seed);
  for (std::uint32_t loop = 0; loop < 12; ++loop) {
    std::vector<std::uint32_t> body(1 + program.below(40));
    for (auto& kernel : body)
      kernel = loop * 7 + static_cast<std::uint32_t>(program.below(20));
    const std::size_t rounds = 12 + program.below(49);
    for (std::size_t round = 0; round < rounds; ++round) {
      for (const std::uint32_t kernel : body)
        program.launch(kernel);
    }
    for (std::size_t i = program.below(30); i > 0; --i)
      program.launch(500 + static_cast<std::uint32_t>(program.below(20)));
  }
  return program;
}

LaunchProgram one_kernel(std::uint64_t seed, std::size_t copies) {
  LaunchProgram program(seed);
  program.launch(kCopy, copies);
  program.launch(kGemm, 20'000);
  return program;
}

// The first iteration of a model with equal layers, and nothing after it.
LaunchProgram one_iteration(std::uint64_t seed) {
  LaunchProgram program(seed);
  program.set_up(96);
  program.training_step(96);
  return program;
}

// Fibonacci's word over blocks: it never repeats, and comes close all the time.
LaunchProgram fibonacci(std::uint64_t seed) {
  LaunchProgram program(seed);
  const std::size_t layers = 1 + program.below(30);
  std::string word = "a";
  std::string before = "b";
  while (word.size() < 200) {
    std::string longer = word;
    longer += before;
    before = std::exchange(word, std::move(longer));
  }
  for (const char letter : word) {
    if (letter == 'a') {
      program.forward(layers);
    } else {
      program.backward(layers);
    }
  }
  return program;
}

INSTANTIATE_TEST_SUITE_P(
    Program, FindsNothingIn,
    Values(Shape{"RandomOfTwo", [](auto seed) { return random_launches(seed, 2, 0.5); }},
           Shape{"RandomOfThree", [](auto seed) { return random_launches(seed, 3, 0.9); }},
           Shape{"RandomOfTen", [](auto seed) { return random_launches(seed, 10, 0.6); }},
           Shape{"RandomOfHundred", [](auto seed) { return random_launches(seed, 100, 0.01); }},
           Shape{"WalkOfFive", [](auto seed) { return random_walk(seed, 5, 0.9); }},
           Shape{"WalkOfForty", [](auto seed) { return random_walk(seed, 40, 0.97); }},
           Shape{"WalkOfSixHundred", [](auto seed) { return random_walk(seed, 600, 0.998); }},
           Shape{"BatchesOfTwoKinds", [](auto seed) { return batches(seed, 2); }},
           Shape{"BatchesOfFiveKinds", [](auto seed) { return batches(seed, 5); }},
           Shape{"BatchesOfTwoLengths",
                 [](auto seed) { return batches_of_different_length(seed, 2); }},
           Shape{"BatchesOfSixLengths",
                 [](auto seed) { return batches_of_different_length(seed, 6); }},
           Shape{"GrowingByOne", [](auto seed) { return growing(seed, 1, 1000); }},
           Shape{"GrowingByOneKernel", [](auto seed) { return growing(seed, 1, 1); }},
           Shape{"GrowingByThree", [](auto seed) { return growing(seed, 3, 7); }},
           Shape{"GrowingByTwenty", [](auto seed) { return growing(seed, 20, 2000); }},
           Shape{"Loops", loops},
           Shape{"OneKernel", [](auto seed) { return one_kernel(seed, seed); }},
           Shape{"OneIteration", one_iteration}, Shape{"Fibonacci", fibonacci}),
    [](const auto& shape) { return shape.param.name; });

// --- what else programs do

// The optimizer makes its state in the first iteration: more launches in the middle of it.
TEST(IterationFinder, SeesThroughAFirstIterationThatSetsUpMore) {
  LaunchProgram program(1);
  program.set_up(24);
  for (int i = 0; i < 30; ++i) {
    program.begin_iteration();
    program.forward(24);
    program.backward(24);
    if (i == 0) {
      for (int parameter = 0; parameter < 96; ++parameter) {
        program.launch(kFill, 2);
        program.launch(kCopy);
      }
    }
    program.optimizer(24);
  }
  const Outcome outcome = run(program.launches());
  EXPECT_EQ(outcome.found.first_launch, program.starts().front());
}

// Two batches are evaluated before the training begins, to see that it works.
TEST(IterationFinder, SeesThroughAnEvaluationBeforeTheTraining) {
  LaunchProgram program(1);
  program.set_up(24);
  for (int batch = 0; batch < 2; ++batch) {
    program.forward(24);
    program.launch(kAccuracy);
  }
  for (int i = 0; i < 30; ++i) {
    program.begin_iteration();
    program.training_step(24);
  }
  const Outcome outcome = run(program.launches());
  EXPECT_EQ(outcome.found.first_launch, program.starts().front());
}

TEST(IterationFinder, PrefersTheLastAnchorOfTheIteration) {
  const Outcome outcome = run(plain(1, 24, 20).launches());
  EXPECT_EQ(outcome.found.anchor, kClip);  // launched once, before the many of kAdam
  EXPECT_EQ(outcome.found.first, kEmbedding);
  EXPECT_EQ(outcome.found.firsts_after_anchor, 1U);
  EXPECT_EQ(outcome.found.launches_per_iteration, 513U);  // 2 + 8*24 + 4 + 9*24 + 3 + 4*24
}

// The first kernel of the iteration is launched elsewhere in it too.
TEST(IterationFinder, CountsLaunchesOfTheFirstKernel) {
  LaunchProgram program(1);
  for (int i = 0; i < 20; ++i) {
    program.begin_iteration();
    program.launch(kFill, 5);
    program.training_step(24);
    program.launch(kFill, 2);
    program.launch(kCopy, 2);
  }
  const Outcome outcome = run(program.launches());
  EXPECT_EQ(outcome.found.first_launch, program.starts().front());
  EXPECT_EQ(outcome.found.first, kFill);
  EXPECT_EQ(outcome.found.firsts_before_anchor, 5U);
  EXPECT_EQ(outcome.found.firsts_after_anchor, 3U);
}

// Twelve micro-steps look like twelve iterations; the thirteenth launch of an optimizer does not.
TEST(IterationFinder, WithdrawsWhatTurnsOutToBeAMicroStep) {
  const LaunchProgram program = accumulation(1, 30, 40, 12);
  IterationFinder finder;
  std::vector<std::size_t> lengths;  // of what was found, 0: withdrawn
  for (const std::uint32_t kernel : program.launches()) {
    if (!finder.add(kernel)) continue;
    lengths.push_back(finder.found() ? finder.found()->launches_per_iteration : 0);
  }
  const std::size_t micro_step = 2 + 8 * 30 + 4 + 9 * 30;
  EXPECT_THAT(lengths, ElementsAre(micro_step, 0, 12 * micro_step + 123));  // 3 + 4 * 30
}

TEST(IterationFinder, FindsAShortIterationLater) {
  LaunchProgram program(1);
  for (int i = 0; i < 1200; ++i) {
    program.begin_iteration();
    for (const std::uint32_t kernel : {kGemm, kGemm, kLoss, kAdam})
      program.launch(kernel);
  }
  const Outcome outcome = run(program.launches());
  EXPECT_GE(outcome.found.periods_seen, 1024U);
  EXPECT_LE(outcome.found_at, program.starts()[1100]);
  EXPECT_EQ(outcome.found.first_launch, 0U);
}

// More launches than are kept before the training, where looks are up to 16,384 launches apart.
TEST(IterationFinder, FindsAnIterationBehindALongSetUp) {
  LaunchProgram program(1);
  for (std::size_t i = 0; i < 2 * IterationFinder::kMostLaunches; ++i)
    program.launch(5000 + static_cast<std::uint32_t>(program.below(50)));
  const std::size_t set_up = program.launches().size();
  for (int i = 0; i < 60; ++i) {
    program.begin_iteration();
    program.training_step(24);
  }
  const Outcome outcome = run(program.launches());
  EXPECT_EQ(outcome.found.first_launch, set_up);
}

// The longest iteration that is promised, wherever the older half of what is kept is dropped.
TEST(IterationFinder, FindsALongIteration) {
  for (const std::size_t set_up : {0U, 100'000U, 150'000U, 200'000U}) {
    LaunchProgram program(1);
    for (std::size_t i = 0; i < set_up; ++i)
      program.launch(5000 + static_cast<std::uint32_t>(program.below(50)));
    for (int i = 0; i < 30; ++i) {
      program.begin_iteration();
      for (std::uint32_t part = 0; part < 25; ++part)
        program.training_step(24, part * kModel);  // 21 * 24 + 9 launches
    }
    const Outcome outcome = run(program.launches());
    EXPECT_EQ(outcome.found.launches_per_iteration, 25U * 513U);
  }
}

TEST(IterationFinder, GivesUpWhereThereAreTooManyKernels) {
  IterationFinder finder;
  for (std::uint32_t kernel = 0; kernel < IterationFinder::kMostKernels + 10; ++kernel)
    finder.add(kernel);
  const LaunchProgram program = plain(1, 24, 20);
  for (const std::uint32_t kernel : program.launches())
    EXPECT_FALSE(finder.add(kernel));
  EXPECT_FALSE(finder.found());
}

// Nine equal iterations may be micro-steps of a longer one; of ninety, ninety-one in ninety-two are
// what they seem (Laplace's rule).
TEST(IterationFinder, IsAsSureAsLaplaceAfterAWhile) {
  const Outcome outcome = run(plain(1, 24, 20).launches());
  EXPECT_EQ(outcome.found.periods_seen, 9U);
  EXPECT_DOUBLE_EQ(outcome.found.confidence, 0.88);

  const LaunchProgram longer = plain(1, 24, 300);
  for (const bool waits : {true, false}) {
    IterationFinder finder;
    std::uint64_t launches = 0;
    for (const std::uint32_t kernel : longer.launches()) {
      if (waits && std::ranges::binary_search(longer.starts(), launches)) finder.add_wait();
      ++launches;
      finder.add(kernel);
      if (finder.found() && finder.found()->periods_seen >= 90) break;
    }
    ASSERT_TRUE(finder.found());
    const auto periods = static_cast<double>(finder.found()->periods_seen);
    EXPECT_GE(periods, 90);
    EXPECT_DOUBLE_EQ(finder.found()->confidence, (periods + 1) / (periods + 2));
  }
}

// Five steps are launched kernel by kernel, the others as a graph and the update behind it: that
// the launches of the update end a step is told by nothing.
TEST(IterationFinder, DoubtsABeginningWithLaunchesThatCameBefore) {
  IterationFinder finder;
  const auto add = [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t kernel = begin; kernel < end; ++kernel)
      finder.add(kernel);
  };
  add(0, 10);
  for (int step = 0; step < 30; ++step) {
    finder.add(10);
    if (step < 5) {
      add(20, 120);
    } else {
      finder.add(200, 100);
    }
    add(120, 160);
  }
  ASSERT_TRUE(finder.found());
  EXPECT_EQ(finder.found()->launches_per_iteration, 141);
  EXPECT_LT(finder.found()->confidence, 0.5);
}

// Ten launches of one thread, seven of another.
TEST(IterationFinder, FindsAShortIterationByTheThreadsThatLaunchIt) {
  for (const bool turns : {true, false}) {
    IterationFinder finder;
    for (std::uint32_t i = 0; i < 17 * 30 && !finder.found(); ++i) {
      if (turns && i != 0 && (i % 17 == 0 || i % 17 == 10)) finder.add_turn();
      finder.add(i % 17);
    }
    EXPECT_EQ(finder.found().has_value(), turns);
    if (!finder.found()) continue;
    EXPECT_EQ(finder.found()->launches_per_iteration, 17U);
    EXPECT_EQ(finder.found()->first_launch, 0U);
    EXPECT_EQ(finder.found()->first, 0U);
    EXPECT_LE(finder.launch_count(), 17U * 23);
  }
}

// The host copies behind the third launch.  Before the first iteration it has waited, too, or
// nothing was launched: there is no end of another iteration that belongs to what comes before.
TEST(IterationFinder, BeginsWithTheFirstLaunchWhateverIsCopiedSoonAfter) {
  for (const bool has_setup : {true, false}) {
    IterationFinder finder;
    const std::uint32_t setup = has_setup ? 40 : 0;
    for (std::uint32_t i = 0; i < setup; ++i)
      finder.add(100 + i % 9);
    for (std::uint32_t i = 0; i < 60 * 30; ++i) {
      if (i == 0 || i % 60 == 3) finder.add_wait();
      finder.add(i % 60);
    }
    ASSERT_TRUE(finder.found());
    EXPECT_EQ(finder.found()->launches_per_iteration, 60U);
    EXPECT_EQ(finder.found()->first_launch, setup);
    EXPECT_EQ(finder.found()->first, 0U);
  }
}

// Two equal launches begin each iteration of a few blocks, and no kernel is launched once in it.
LaunchProgram blocks_without_own_kernels(bool waits, IterationFinder& finder) {
  LaunchProgram program(1);
  const auto launch = [&](std::uint32_t kernel) {
    program.launch(kernel);
    finder.add(kernel);
  };
  // The set-up ends as an iteration does.
  for (int i = 0; i < 100; ++i)
    launch(50 + static_cast<std::uint32_t>(i % 7));
  for (const std::uint32_t kernel : {3U, 3U, 5U})
    launch(kernel);
  for (int i = 0; i < 40; ++i) {
    if (waits) finder.add_wait();
    program.begin_iteration();
    for (const std::uint32_t kernel : {2U, 4U})
      launch(kernel);
    for (int block = 0; block < 9; ++block) {
      for (const std::uint32_t kernel : {1U, 2U, 3U, 4U, 2U, 5U, 6U, 7U, 8U})
        launch(kernel);
    }
    for (const std::uint32_t kernel : {3U, 3U, 5U})
      launch(kernel);
  }
  return program;
}

TEST(IterationFinder, TakesTheOutermostPeriodAndNamesTheOther) {
  IterationFinder finder;
  const LaunchProgram program = blocks_without_own_kernels(true, finder);
  ASSERT_TRUE(finder.found());
  EXPECT_EQ(finder.found()->launches_per_iteration, 86U);
  EXPECT_EQ(finder.found()->other_period, 9U);
  EXPECT_LT(finder.found()->confidence, 0.9);
}

TEST(IterationFinder, TakesThePeriodThatIsGiven) {
  for (const std::size_t period : {std::size_t{9}, std::size_t{86}, std::size_t{172}}) {
    IterationFinder finder(period);
    blocks_without_own_kernels(true, finder);
    ASSERT_TRUE(finder.found()) << period;
    EXPECT_EQ(finder.found()->launches_per_iteration, period);
    EXPECT_EQ(finder.found()->confidence, 1);
  }
  IterationFinder finder(85);
  blocks_without_own_kernels(true, finder);
  EXPECT_FALSE(finder.found());
}

TEST(IterationFinder, BeginsAGivenPeriodWhereTheLaunchesBeginToRepeat) {
  const LaunchProgram program = plain(3, 6, 12);
  const auto& starts = program.starts();
  IterationFinder finder(starts[1] - starts[0]);
  std::optional<IterationFollower> follower;
  std::vector<std::uint64_t> followed;
  for (std::uint64_t i = 0; i < program.launches().size(); ++i) {
    const std::uint32_t kernel = program.launches()[i];
    if (follower && kernel == finder.found()->first && follower->on_first() == Step::kStarts)
      followed.push_back(i);
    if (follower && kernel == finder.found()->anchor) static_cast<void>(follower->on_anchor());
    if (finder.add(kernel)) follower.emplace(*finder.found());
  }
  ASSERT_TRUE(finder.found());
  EXPECT_EQ(finder.found()->first_launch, starts.front());
  EXPECT_EQ(followed, std::vector(starts.begin() + 4, starts.end()));
}

TEST(IterationFinder, BeginsWhereTheHostWaits) {
  IterationFinder with_waits;
  const LaunchProgram program = blocks_without_own_kernels(true, with_waits);
  ASSERT_TRUE(with_waits.found());
  EXPECT_EQ(with_waits.found()->first_launch, program.starts().front());
  IterationFinder without;
  blocks_without_own_kernels(false, without);
  ASSERT_TRUE(without.found());
  EXPECT_EQ(without.found()->first_launch, program.starts().front() - 3);
}

TEST(IterationFinder, TakesALaunchOfAGraphForLaunchesOfItsKernels) {
  IterationFinder finder;
  for (int i = 0; i < 20; ++i)
    finder.add(7, 97);
  ASSERT_FALSE(finder.found());  // it might be a layer's
  for (int i = 0; i < 30; ++i)
    finder.add(7, 97);
  ASSERT_TRUE(finder.found());
  EXPECT_EQ(finder.found()->launches_per_iteration, 97U);
  EXPECT_EQ(finder.found()->first_launch, 0U);
}

// --- what real programs do, each in the smallest program that shows it

// `round` is told the number of the iteration, and launches it.  Returns an iteration of no
// launches if none is found.
template <typename Round>
FoundIteration found_after(std::size_t iterations, const Round& round) {
  IterationFinder finder;
  for (std::size_t i = 0; i < iterations; ++i)
    round(finder, i);
  return finder.found().value_or(FoundIteration{});
}

void launch(IterationFinder& finder, std::uint32_t first, std::uint32_t kernels) {
  for (std::uint32_t kernel = first; kernel < first + kernels; ++kernel)
    finder.add(kernel);
}

// No kernel comes once: the optimizer's are launched twice in a row.
TEST(IterationFinder, TakesLaunchesInARowForOneOccurrence) {
  const auto found = found_after(12, [](IterationFinder& finder, std::size_t) {
    for (int step = 0; step < 2; ++step) {
      launch(finder, 0, 100);
      for (int block = 0; block < 4; ++block)
        launch(finder, 10, 30);
      if (step == 1) launch(finder, 10, 20);  // gradients are added from the second on
    }
    for (const std::uint32_t kernel : {500U, 500U, 501U, 501U})
      finder.add(kernel);
  });
  EXPECT_EQ(found.launches_per_iteration, 464U);
}

// A copy at the begin of each step: no need to wait for 2048 launches.
TEST(IterationFinder, FindsAShortIterationWhereTheHostWaitsOnceInEach) {
  const auto round = [](bool waits) {
    return [waits](IterationFinder& finder, std::size_t) {
      if (waits) finder.add_wait();
      launch(finder, 0, 12);
    };
  };
  const auto found = found_after(25, round(true));
  EXPECT_EQ(found.launches_per_iteration, 12U);
  EXPECT_EQ(found.first_launch, 0U);
  EXPECT_EQ(found_after(25, round(false)).launches_per_iteration, 0U);
}

// Weights that are read one by one and changed in type: as regular, but few kernels.
TEST(IterationFinder, TakesNoCopyOfWeightsForAnIteration) {
  const auto found = found_after(100, [](IterationFinder& finder, std::size_t) {
    finder.add_wait();
    launch(finder, 0, 4);
  });
  EXPECT_EQ(found.launches_per_iteration, 0U);
}

// Nothing that is launched tells one pass of the network from the last one, only the host does.
TEST(IterationFinder, FindsWhereTheHostWaitsWhatNoLaunchTells) {
  const auto found = found_after(12, [](IterationFinder& finder, std::size_t) {
    finder.add_wait();
    for (int pass = 0; pass < 25; ++pass) {
      for (int layer = 0; layer < 4; ++layer)
        launch(finder, 0, 6);
      launch(finder, 6, 2);
    }
    for (int layer = 0; layer < 2; ++layer)
      launch(finder, 0, 6);
  });
  EXPECT_EQ(found.launches_per_iteration, 662U);
  EXPECT_EQ(found.first_launch, 0U);
}

// A kernel for aligned memory and one for other, in turn.
TEST(IterationFinder, TakesNoTwoIterationsForOneWhereAVariantAlternates) {
  const auto found = found_after(40, [](IterationFinder& finder, std::size_t i) {
    finder.add_wait();
    launch(finder, 0, 60);
    finder.add(i % 2 == 0 ? 100U : 101U);
    launch(finder, 200, 60);
  });
  EXPECT_EQ(found.launches_per_iteration, 121U);
}

TEST(IterationFinder, TakesNoTenIterationsForOneWhereAMeanIsReadEveryTen) {
  const auto found = found_after(40, [](IterationFinder& finder, std::size_t i) {
    finder.add_wait();
    launch(finder, 0, 120);
    if (i % 10 == 9) {
      finder.add_wait();
      finder.add(300);
    }
  });
  EXPECT_EQ(found.launches_per_iteration, 120U);
}

// Experts that the data choose, of the same kernels as all else: the host's copy of a batch tells.
TEST(IterationFinder, FindsBetweenWaitsWhatVariesMost) {
  LaunchProgram chance(1);
  std::vector<std::uint64_t> starts;
  const auto found = found_after(40, [&](IterationFinder& finder, std::size_t) {
    starts.push_back(finder.launch_count());
    finder.add_wait();
    finder.add(50);
    for (int layer = 0; layer < 3; ++layer) {
      for (std::size_t expert = 4 + chance.below(5); expert > 0; --expert)
        launch(finder, 50, 7);
      launch(finder, 10, 2);
    }
    launch(finder, 20, 10);
  });
  EXPECT_TRUE(std::binary_search(starts.begin(), starts.end(), found.first_launch));
  EXPECT_EQ(found.first, 50U);
  EXPECT_LT(found.confidence, 0.86);
}

TEST(IterationFinder, IsLessSureWhereAPartFitsAsWell) {
  const auto confidence = [](std::size_t blocks, std::uint32_t tail) {
    const auto found = found_after(20, [=](IterationFinder& finder, std::size_t) {
      for (std::size_t block = 0; block < blocks; ++block)
        launch(finder, 0, 40);
      launch(finder, 100, tail);
    });
    return found.confidence;
  };
  EXPECT_GT(confidence(4, 200), 0.86);
  EXPECT_LT(confidence(16, 4), 0.85);
  EXPECT_GT(confidence(16, 4), 0.8);
}

// As regular as a training loop; the training that follows tells it was none.
TEST(IterationFinder, GivesUpALoopInTheSetUpThatEnded) {
  IterationFinder finder;
  for (int round = 0; round < 40; ++round) {
    finder.add_wait();
    launch(finder, 1000, 30);
  }
  for (int i = 0; i < 20; ++i) {
    finder.add_wait();
    launch(finder, 0, 400);
  }
  ASSERT_TRUE(finder.found());
  EXPECT_EQ(finder.found()->launches_per_iteration, 400U);
  EXPECT_EQ(finder.found()->first_launch, 1200U);
}

// Four micro-steps, then a step that the host waits for, as Megatron's for the norm of gradients:
// by its launches alone it might be an evaluation.
FoundIteration found_in_accumulation(bool reduces, bool updates) {
  return found_after(30, [=](IterationFinder& finder, std::size_t) {
    for (int micro_step = 0; micro_step < 4; ++micro_step) {
      finder.add_wait();
      launch(finder, 0, 183);
    }
    if (reduces) finder.add_reduction(std::size_t{1} << 20U);
    finder.add_wait();
    for (std::uint32_t kernel = 500; kernel < 600; ++kernel)
      finder.add(kernel, 1, updates);
  });
}

TEST(IterationFinder, TakesNoMicroStepsForIterationsWhereGradientsAreReducedBehindThem) {
  const auto alone = found_in_accumulation(false, false);
  ASSERT_EQ(alone.launches_per_iteration, 183U);
  EXPECT_LT(alone.confidence, 0.5);
  const auto found = found_in_accumulation(true, false);
  EXPECT_EQ(found.launches_per_iteration, 832U);
  EXPECT_EQ(found.first_launch, 0U);
}

TEST(IterationFinder, TakesNoMicroStepsForIterationsWhereParametersAreUpdatedBehindThem) {
  const auto found = found_in_accumulation(false, true);
  EXPECT_EQ(found.launches_per_iteration, 832U);
}

TEST(IterationFinder, TakesASumOfLossesForNoReductionOfGradients) {
  const auto found = found_after(80, [](IterationFinder& finder, std::size_t i) {
    launch(finder, 0, 183);
    if (i % 8 != 7) return;
    launch(finder, 0, 60);  // an evaluation
    finder.add_reduction(4);
    launch(finder, 0, 60);
  });
  EXPECT_EQ(found.launches_per_iteration, 183U);
}

// The set-up ends with launches of the backward pass.
TEST(IterationFinder, BeginsBehindTheOptimizersStep) {
  for (const bool updates : {false, true}) {
    IterationFinder finder;
    launch(finder, 300, 20);
    launch(finder, 150, 50);
    for (int i = 0; i < 14; ++i) {
      if (i > 0) launch(finder, 0, 200);
      finder.add(250, 1, updates);
      launch(finder, 251, 3);
    }
    ASSERT_TRUE(finder.found());
    EXPECT_EQ(finder.found()->launches_per_iteration, 204U);
    EXPECT_EQ(finder.found()->first, updates ? 251U : 150U);
  }
}

TEST(IterationFinder, IsInDoubtWhereMostLaunchesAreInEvaluations) {
  const auto confidence = [](int batches) {
    const auto found = found_after(60, [=](IterationFinder& finder, std::size_t i) {
      finder.add_wait();
      launch(finder, 0, 200);
      if (i % 6 != 5) return;
      for (int batch = 0; batch < batches; ++batch) {
        launch(finder, 0, 90);
        finder.add_wait();
      }
    });
    return found.launches_per_iteration == 200 ? found.confidence : 0.0;
  };
  EXPECT_GT(confidence(4), 0.8);
  EXPECT_LT(confidence(40), 0.5);
  EXPECT_GT(confidence(40), 0.4);
}

TEST(IterationFinder, DoubtsWhatGraphsHaveTakenThePlaceOf) {
  const auto found = found_after(18, [](IterationFinder& finder, std::size_t i) {
    finder.add_wait();
    if (i < 11) return launch(finder, 0, 400);
    finder.add(900, 400);
  });
  EXPECT_EQ(found.launches_per_iteration, 400U);
  EXPECT_LT(found.confidence, 0.5);
}

TEST(IterationFinder, KeepsStepsThatSomethingElseInterrupts) {
  const auto found = found_after(30, [](IterationFinder& finder, std::size_t i) {
    launch(finder, 0, 300);
    if (i == 15 || i == 22 || i == 24) launch(finder, 500, 50);
    for (std::uint32_t kernel = 400; kernel < 410; ++kernel)
      finder.add(kernel, 1, true);
  });
  EXPECT_EQ(found.launches_per_iteration, 310U);
  EXPECT_GE(found.periods_seen, 20U);
}

// A server, some of whose steps take a prompt: another kernel in each of ten layers.
TEST(IterationFinder, FindsStepsOfWhichSomeDifferInSeveralPlaces) {
  const auto found = found_after(30, [](IterationFinder& finder, std::size_t i) {
    const bool takes_prompt = i == 5 || i == 12 || i == 14 || i == 21 || i == 27;
    finder.add_wait();
    launch(finder, 0, 5);
    for (int layer = 0; layer < 10; ++layer) {
      launch(finder, 10, 12);
      launch(finder, takes_prompt ? 30 : 40, takes_prompt ? 2 : 1);
    }
    launch(finder, 50, 5);
  });
  EXPECT_EQ(found.launches_per_iteration, 140U);
  EXPECT_EQ(found.first, 0U);
  EXPECT_GT(found.confidence, 0.5);
}

void repeat(IterationFinder& finder, std::uint32_t kernel, int times) {
  for (int i = 0; i < times; ++i)
    finder.add(kernel);
}

void update(IterationFinder& finder, std::uint32_t first, std::uint32_t kernels) {
  for (std::uint32_t kernel = first; kernel < first + kernels; ++kernel)
    finder.add(kernel, 1, true);
}

// Kernel 1 ends each iteration and begins the next one.
TEST(IterationFinder, BeginsWithAKernelThatEndsIterationsToo) {
  const auto found = found_after(20, [](IterationFinder& finder, std::size_t i) {
    if (i == 0) launch(finder, 900, 7);
    finder.add(1);
    launch(finder, 10, 200);
    finder.add(1);
  });
  EXPECT_EQ(found.first_launch, 7U);
  EXPECT_EQ(found.first, 1U);
}

// Kernel 4 fills memory once at the beginning, and as often as the data choose in the middle.
TEST(IterationFinder, BeginsWithAKernelThatVariesInTheMiddle) {
  const auto found = found_after(40, [](IterationFinder& finder, std::size_t i) {
    if (i == 0) launch(finder, 900, 7);
    finder.add(4);
    launch(finder, 10, 60);
    repeat(finder, 4, 1 + static_cast<int>(i % 7 % 3));
    launch(finder, 100, 60);
  });
  EXPECT_EQ(found.first_launch, 7U);
  EXPECT_EQ(found.first, 4U);
  EXPECT_EQ(found.firsts_after_anchor, 1U);
  EXPECT_GT(found.confidence, 0.5);
}

// The optimizer's step stays outside the graph, and is the same before there is one.
TEST(IterationFinder, BeginsNoIterationWithTheLastUpdateBeforeTheGraph) {
  const auto found = found_after(40, [](IterationFinder& finder, std::size_t i) {
    if (i < 6) {
      launch(finder, 0, 300);
    } else {
      repeat(finder, 700, 2);
      finder.add(900, 300);
    }
    update(finder, 500, 4);
    update(finder, 500, 4);
  });
  EXPECT_EQ(found.first, 700U);
}

// One thread launches all, and reads the loss before the backward pass.
TEST(IterationFinder, BeginsBehindTheSetUpThoughTheHostWaitsLater) {
  const auto found = found_after(40, [](IterationFinder& finder, std::size_t i) {
    if (i == 0) repeat(finder, 3, 40);
    launch(finder, 20, 60);
    finder.add_wait();
    launch(finder, 200, 180);
    finder.add(3);
    launch(finder, 400, 2);
  });
  EXPECT_EQ(found.first, 20U);
  EXPECT_EQ(found.first_launch, 40U);
}

// The backward pass has the forward pass's kernels, in another order; no update is known.
TEST(IterationFinder, KnowsEvaluationsByTheOrderOfTheirKernels) {
  const auto found = found_after(40, [](IterationFinder& finder, std::size_t i) {
    finder.add_wait();
    launch(finder, 0, 90);
    for (std::uint32_t kernel = 90; kernel > 0; --kernel)
      finder.add(kernel - 1);
    launch(finder, 200, 20);
    for (int batch = 0; batch < (i % 6 == 5 ? 4 : 0); ++batch) {
      launch(finder, 0, 90);
      finder.add_wait();
    }
  });
  EXPECT_EQ(found.launches_per_iteration, 200U);
  EXPECT_EQ(found.first_launch, 0U);
}

// A step of two networks that are trained in turn; another thread makes the backward pass.
void train_in_turn(IterationFinder& finder, bool is_second, int passes) {
  launch(finder, 0, 60);
  finder.add_turn();
  for (int pass = 0; pass < passes; ++pass)
    launch(finder, 200, 60);
  if (is_second) launch(finder, 300, 60);
  finder.add_turn();
  update(finder, 500, 2);
}

// Every fourth iteration has one more step of the first network.
TEST(IterationFinder, DoubtsWhatMayBeSeveralIterationsAndAFurtherStep) {
  const auto found = found_after(60, [](IterationFinder& finder, std::size_t i) {
    train_in_turn(finder, false, 1);
    if (i % 4 == 0) train_in_turn(finder, false, 2);
    train_in_turn(finder, true, 1);
  });
  EXPECT_LT(found.confidence, 0.5);
}

// Some batches hold pictures, which another network reads first.
TEST(IterationFinder, DoubtsWhereSomeIterationsMayBeginWithFurtherLaunches) {
  const auto confidence = [](std::size_t seldom) {
    return found_after(60,
                       [=](IterationFinder& finder, std::size_t i) {
                         if (i * i % seldom == 1) launch(finder, 300, 60);
                         launch(finder, 0, 100);
                         update(finder, 500, 1);
                       })
        .confidence;
  };
  EXPECT_LT(confidence(7), 0.5);
  EXPECT_GT(confidence(47), 0.5);
}

// Copies end the set-up, and each iteration.
TEST(IterationFinder, DoubtsWhetherARowBeginsTheIterationOrEndsTheOneBefore) {
  const auto found = found_after(40, [](IterationFinder& finder, std::size_t i) {
    if (i == 0) repeat(finder, 3, 50);
    launch(finder, 10, 300);
    update(finder, 500, 2);
    repeat(finder, 3, 6);
  });
  EXPECT_EQ(found.launches_per_iteration, 308U);
  EXPECT_TRUE(found.first_launch == 50U || found.confidence < 0.5);
}

// The optimizer's step has as many launches in a row as the sums of gradients that it replaces.
TEST(IterationFinder, TakesNoMicroStepsForIterationsWhereOnlySomeAreUpdated) {
  IterationFinder finder;
  for (int i = 0; i < 3; ++i) {
    for (int step = 0; step < 30; ++step) {
      launch(finder, 0, 300);
      if (step != 0) repeat(finder, 400, 20);
    }
    update(finder, 500, 1);
  }
  EXPECT_FALSE(finder.found() && finder.found()->confidence > 0.5);
}

// The host reads the loss in the middle, and waits nowhere else.
TEST(IterationFinder, BeginsNoIterationWithABackwardPass) {
  IterationFinder finder;
  launch(finder, 900, 7);
  for (int i = 0; i < 20; ++i) {
    launch(finder, 0, 50);
    finder.add_wait();
    finder.add_turn();
    launch(finder, 50, 110);
    finder.add_turn();
    launch(finder, 160, 40);
  }
  ASSERT_TRUE(finder.found());
  EXPECT_EQ(finder.found()->first, 0U);
  EXPECT_EQ(finder.found()->first_launch, 7U);
}

// Two launches behind each eight steps: a mean that the host reads, or the update that eight
// micro-steps are for.
TEST(IterationFinder, TakesNoMicroStepsForIterationsWhereAnUpdateIsShort) {
  const auto found_with = [](bool step_updates, bool updates) {
    return found_after(200, [=](IterationFinder& finder, std::size_t i) {
      finder.add_wait();
      launch(finder, 0, 100);
      finder.add(100, 1, step_updates);
      if (i % 8 != 7) return;
      finder.add(500, 1, updates);
      finder.add(501, 1, updates);
      finder.add_wait();
    });
  };
  EXPECT_GT(found_with(true, false).confidence, 0.5);
  EXPECT_EQ(found_with(false, true).launches_per_iteration, 810U);
  const auto found = found_with(false, false);
  EXPECT_GT(found.confidence, 0);
  EXPECT_LT(found.confidence, 0.5);
}

// Two layers in a row are a part of the iteration, but with their length given none is found.
TEST(IterationFinder, NamesNoOtherPeriodThatWouldNotBeFound) {
  const auto found = found_after(20, [](IterationFinder& finder, std::size_t) {
    for (int layer = 0; layer < 3; ++layer)
      launch(finder, 0, 60);
    launch(finder, 100, 200);
  });
  EXPECT_EQ(found.launches_per_iteration, 380U);
  EXPECT_EQ(found.other_period, 0U);
}

// A step that updates, then the averages of the parameters, which a loop makes: with or without a
// loss that the host reads between them.
TEST(IterationFinder, BeginsBehindAveragesOfTheParameters) {
  for (const bool reads : {false, true}) {
    IterationFinder finder;
    launch(finder, 900, 7);
    for (int i = 0; i < 14; ++i) {
      launch(finder, 0, 200);
      for (std::uint32_t kernel = 300; kernel < 310; ++kernel)
        finder.add(kernel, 1, true);
      if (reads) finder.add_wait();
      for (int parameter = 0; parameter < 50; ++parameter)
        launch(finder, 400, 2);
    }
    ASSERT_TRUE(finder.found());
    EXPECT_EQ(finder.found()->first, 0U);
    EXPECT_EQ(finder.found()->first_launch, 7U);
  }
}

// Two networks in turn, of which the second one is longer.
TEST(IterationFinder, BeginsBehindTheSecondOfTwoUpdates) {
  IterationFinder finder;
  launch(finder, 900, 7);
  for (int i = 0; i < 14; ++i) {
    launch(finder, 0, 100);
    finder.add(500, 1, true);
    launch(finder, 200, 150);
    finder.add(500, 1, true);
    finder.add(501, 1, true);
  }
  ASSERT_TRUE(finder.found());
  EXPECT_EQ(finder.found()->first, 0U);
  EXPECT_EQ(finder.found()->first_launch, 7U);
}

// Two equal passes, behind the second one an update: sharpness-aware minimisation.  No kernel is
// launched once in an iteration, and none is given up at a later look.
TEST(IterationFinder, TakesTwoPassesOfWhichOneUpdatesForOneIteration) {
  IterationFinder finder;
  int changes = 0;
  for (int i = 0; i < 100; ++i) {
    for (const std::uint32_t kernels : {1U, 2U}) {
      for (std::uint32_t kernel = 0; kernel < 150; ++kernel)
        changes += finder.add(kernel) ? 1 : 0;
      for (int parameter = 0; parameter < 40; ++parameter) {
        for (std::uint32_t kernel = 200; kernel < 200 + kernels; ++kernel)
          changes += finder.add(kernel) ? 1 : 0;
      }
    }
  }
  ASSERT_TRUE(finder.found());
  EXPECT_EQ(finder.found()->launches_per_iteration, 420U);
  EXPECT_EQ(changes, 1);
  EXPECT_GE(finder.found()->periods_seen, 75U);
}

// Each step has one of four kernels for the length of its texts; the first sets up more.
TEST(IterationFinder, FindsVaryingIterationsOfWhichTheFirstIsLonger) {
  LaunchProgram chance(1);
  const auto found = found_after(30, [&](IterationFinder& finder, std::size_t i) {
    const auto variant = static_cast<std::uint32_t>(500 + chance.below(4));
    for (std::uint32_t layer = 0; layer < 4; ++layer) {
      launch(finder, 50 * layer, 50);
      finder.add(variant);
    }
    for (int parameter = 0; i == 0 && parameter < 40; ++parameter)
      finder.add(600);
    launch(finder, 700, 40);
  });
  EXPECT_EQ(found.launches_per_iteration, 244U);
  EXPECT_EQ(found.first_launch, 0U);
}

// The first backward pass adds no gradients up, and the optimizer sets up its state behind it.
TEST(IterationFinder, SeesThroughAFirstIterationThatLacksLaunchesAndSetsUpMore) {
  const auto found = found_after(14, [](IterationFinder& finder, std::size_t i) {
    if (i == 0) launch(finder, 900, 7);
    launch(finder, 0, 200);
    if (i > 0) launch(finder, 300, 2);
    launch(finder, 302, 2);
    for (int parameter = 0; i == 0 && parameter < 20; ++parameter)
      finder.add(400);
    launch(finder, 500, 10);
  });
  EXPECT_EQ(found.first_launch, 7U);
}

// An optimizer without a name of its own launches kernels that the passes launch, too.
TEST(IterationFinder, TakesALoopOverTheParametersForNoEvaluation) {
  const auto found = found_after(14, [](IterationFinder& finder, std::size_t) {
    for (int micro_step = 0; micro_step < 12; ++micro_step)
      launch(finder, 0, 180);
    for (int parameter = 0; parameter < 40; ++parameter)
      launch(finder, 4, 3);
  });
  EXPECT_EQ(found.launches_per_iteration, 2280U);
}

// Steps of an optimizer without a name, and metrics behind every twelfth: the twelve are no
// micro-steps of one iteration.
TEST(IterationFinder, IsInDoubtWhereTheRepeatedPartHasALoopOverTheParameters) {
  const auto found_with = [](std::size_t parameters_of_each) {
    return found_after(15, [=](IterationFinder& finder, std::size_t) {
      for (int step = 0; step < 12; ++step) {
        launch(finder, 0, 180);
        for (std::size_t parameter = 0; parameter < parameters_of_each; ++parameter)
          launch(finder, 500, 3);
      }
      for (int parameter = 0; parameter < 40; ++parameter)
        launch(finder, 600, 3);
    });
  };
  EXPECT_GT(found_with(0).confidence, 0.5);
  const auto found = found_with(40);
  EXPECT_GT(found.launches_per_iteration, 3000U);
  EXPECT_LT(found.confidence, 0.5);
}

// A closure's passes, as often as a line search asks for them, and as many products of vectors as
// it has kept: no kernel that updates parameters tells which are a step.
TEST(IterationFinder, IsInDoubtWhereBackwardPassesVaryAndNothingUpdates) {
  const auto found_with = [](bool updates) {
    LaunchProgram chance(1);
    return found_after(200, [&](IterationFinder& finder, std::size_t) {
      launch(finder, 0, 40);
      finder.add_turn();
      launch(finder, 100, 60);
      finder.add_turn();
      finder.add_wait();
      for (std::size_t kept = chance.below(10); kept > 0; --kept)
        launch(finder, 200, 2);
      launch(finder, 300, 4);
      finder.add(400, 1, updates);
    });
  };
  EXPECT_GT(found_with(true).confidence, 0.5);
  const auto found = found_with(false);
  EXPECT_GT(found.confidence, 0);
  EXPECT_LT(found.confidence, 0.5);
}

// A policy plays 32 rounds, then is trained in 8 steps.
TEST(IterationFinder, IsInDoubtWhereMostLaunchesAreBetweenTheUpdates) {
  const auto found = found_after(12, [](IterationFinder& finder, std::size_t) {
    for (int round = 0; round < 32; ++round)
      launch(finder, 0, 30);
    for (int step = 0; step < 8; ++step) {
      launch(finder, 0, 90);
      for (std::uint32_t kernel = 300; kernel < 310; ++kernel)
        finder.add(kernel, 1, true);
    }
  });
  EXPECT_EQ(found.launches_per_iteration, 100U);
  EXPECT_LT(found.confidence, 0.5);
}

// A loop over 30 layers and a head; nothing but launches tells it from training.
TEST(IterationFinder, IsInDoubtWhereLaunchesAloneTellAndSomethingInterrupts) {
  IterationFinder finder;
  for (int pass = 0; pass < 12; ++pass) {
    for (int layer = 0; layer < 30; ++layer)
      launch(finder, 0, 40);
    launch(finder, 0, 15);
    launch(finder, 2, 12);
  }
  ASSERT_TRUE(finder.found());
  EXPECT_TRUE(finder.found()->launches_per_iteration > 1000 || finder.found()->confidence < 0.5);
}

// 20 rounds of a solver for each step of the time; the host reads each residual.
TEST(IterationFinder, IsInDoubtWhereTheHostWaitsForFewLaunchesAndSomethingInterrupts) {
  const auto found = found_after(60, [](IterationFinder& finder, std::size_t step) {
    launch(finder, 100, 4);
    for (std::size_t round = 0; round < 20 + step % 2; ++round) {
      launch(finder, 0, 6);
      finder.add_wait();
    }
    launch(finder, 200, 3);
  });
  EXPECT_EQ(found.launches_per_iteration, 6U);
  EXPECT_LT(found.confidence, 0.5);
}

// A gradient scaler leaves out the updates where the gradients have overflown.
TEST(IterationFinder, KeepsStepsOfWhichSomeLeaveOutTheUpdate) {
  const auto found = found_after(30, [](IterationFinder& finder, std::size_t i) {
    launch(finder, 0, 150);
    if (i > 1 && i != 9 && i != 21 && i != 23) update(finder, 500, 10);
    finder.add(600);
  });
  EXPECT_EQ(found.launches_per_iteration, 161U);
  EXPECT_GE(found.periods_seen, 15U);
}

// A small model writes four words one after the other, a large one reads them all; the host waits
// for each result, and then adds what was right to the text.
TEST(IterationFinder, EndsAnIterationBehindTheWaitForItsResult) {
  const auto found = found_after(30, [](IterationFinder& finder, std::size_t i) {
    if (i == 0) launch(finder, 900, 7);
    for (int word = 0; word < 4; ++word) {
      launch(finder, 0, 20);
      finder.add_wait();
    }
    launch(finder, 100, 150);
    finder.add_wait();
    launch(finder, 300, 1);
  });
  EXPECT_EQ(found.first_launch, 7U);
  EXPECT_EQ(found.first, 0U);
}

// Some batches are flipped, some are turned, before or behind which an iteration may begin.
TEST(IterationFinder, IsInDoubtWhereIterationsMayBeginWithLaunchesThatVary) {
  LaunchProgram chance(1);
  const auto found = found_after(60, [&](IterationFinder& finder, std::size_t i) {
    if (i == 0) launch(finder, 900, 7);
    if (chance.chance(0.5)) finder.add(700);
    if (chance.chance(0.5)) finder.add(701);
    launch(finder, 0, 200);
    update(finder, 500, 2);
  });
  EXPECT_GT(found.confidence, 0);
  EXPECT_LT(found.confidence, 0.5);
}

// A graph has the kernels of a whole step; the mean of the losses is read behind every tenth.
TEST(IterationFinder, CountsKernelsOfGraphsWhereSomethingIsReadBetween) {
  const auto found = found_after(30, [](IterationFinder& finder, std::size_t i) {
    finder.add_wait();
    finder.add(1);
    finder.add(2, 300);
    if (i % 10 == 9) finder.add(3);
  });
  EXPECT_EQ(found.launches_per_iteration, 301U);
  EXPECT_EQ(found.first, 1U);
}

// The graph of an optimizer's step, without names, behind every few micro-steps.
TEST(IterationFinder, TakesNoGraphForSomethingThatIsRead) {
  const auto found = found_after(40, [](IterationFinder& finder, std::size_t i) {
    for (std::size_t step = 0; step < 4 + i % 2; ++step) {
      finder.add_wait();
      finder.add(1);
      finder.add(2, 300);
    }
    finder.add(3, 300);
  });
  EXPECT_TRUE(found.launches_per_iteration > 1000 || found.confidence < 0.5);
}

// Another network with the same layers comes before the loop.
TEST(IterationFinder, IsInDoubtWhereTheFirstIterationLacksLaunchesInTheMiddle) {
  const auto layers = [](IterationFinder& finder, int count) {
    for (int layer = 0; layer < count; ++layer)
      launch(finder, 100, 10);
    launch(finder, 110, 2);
  };
  const auto found = found_after(60, [&](IterationFinder& finder, std::size_t i) {
    if (i == 0) launch(finder, 900, 7);
    if (i == 0) layers(finder, 8);
    launch(finder, 0, 5);
    layers(finder, 20);
    launch(finder, 200, 6);
  });
  EXPECT_TRUE(found.first_launch == 7 + 82U || found.confidence < 0.5);
}

TEST(OptimizerKernels, AreKnownByTheirNames) {
  for (const char* name :
       {"_ZN2at6native57_GLOBAL__N__e658eeb9_24_ForeachBinaryOpScalar_cu_86b9896c25multi_tensor",
        "_ZN2at6native52_GLOBAL__N__c815dac0_19_fused_adamw_impl_cu_8b44f",
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>",
        "split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_warp"}) {
    EXPECT_TRUE(updates_parameters(name)) << name;
  }
  for (const char* name :
       {"sm90_xmma_gemm_bf16bf16_bf16f32_bf16_tn_n_tilesize64x64x64", "fast_hadamard_transform",
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEE", "softmax",
        "_ZN2at6native55_GLOBAL__N__14d38b32_13_AmpKernels_cu_6d41cd2725multi_tensor_apply",
        "_ZN2at6native51_GLOBAL__N__d9d46141_18_ForeachReduceOp_cu_b83ec425multi_tensor_apply",
        "_ZN2at6native63_GLOBAL__N__7580b8de_30_ForeachBinaryOpScalarTensor_cu_ab"}) {
    EXPECT_FALSE(updates_parameters(name)) << name;
  }
}

TEST(NeededSegments, AreFewerForLongerOnes) {
  EXPECT_EQ(needed_segments(2), 2048U);
  EXPECT_EQ(needed_segments(32), 128U);
  EXPECT_EQ(needed_segments(100), 41U);
  EXPECT_EQ(needed_segments(456), 9U);
  EXPECT_EQ(needed_segments(100'000), 9U);
  EXPECT_EQ(needed_structured_segments(97), 22U);
  EXPECT_EQ(needed_structured_segments(456), 9U);
  EXPECT_EQ(needed_structured_segments(4096), 4U);
}

TEST(LaunchLog, KeepsHashesAndLinksWhenItDropsTheOlderHalf) {
  LaunchLog log;
  for (std::size_t i = 0; i < LaunchLog::kMostLaunches + 100; ++i) {
    if (i % 10 == 0) log.append_wait();
    log.append(log.number_of(1000 + static_cast<std::uint32_t>(i % 10)), 1);
  }
  EXPECT_EQ(log.dropped(), LaunchLog::kMostLaunches / 2);
  EXPECT_EQ(log.launches().size(), LaunchLog::kMostLaunches / 2 + 100);
  const std::size_t last = log.last_of(log.launches().back());
  EXPECT_EQ(last, log.launches().size() - 1);
  EXPECT_EQ(log.before(last), last - 10);
  EXPECT_EQ(log.hash(0, 20), log.hash(10, 30));
  EXPECT_NE(log.hash(0, 20), log.hash(1, 21));
  EXPECT_EQ(log.hash_of_three(0), log.hash(10, 13));
  for (const std::uint32_t wait : log.waits())
    EXPECT_EQ(log.symbol(log.launches()[wait]), 1000U);
  EXPECT_GE(log.waits().size(), LaunchLog::kMostLaunches / 20);
}

}  // namespace
}  // namespace inline_prof::schedule
