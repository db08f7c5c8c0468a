#include "schedule/classes.hpp"

#include "testing.hpp"

namespace inline_prof::schedule {
namespace {

ClassMember member(std::string layer, std::string event, unsigned grid = 1,
                   std::string kernel = "k", std::string op = "") {
  return {.event = std::move(event),
          .layer = std::move(layer),
          .kernel = std::move(kernel),
          .grid = {grid, 1, 1},
          .op = std::move(op)};
}

std::vector<std::string> names(const std::vector<EventClass>& classes) {
  std::vector<std::string> result;
  for (const EventClass& one : classes)
    result.push_back(one.name);
  return result;
}

TEST(Classes, AreEqualLaunchesInLayersThatDifferInTheirIndex) {
  const auto classes =
      make_classes({member("layers.0.attn", "gemm"), member("layers.0.mlp", "gemm"),
                    member("layers.12.attn", "gemm"), member("layers.12.mlp", "gemm")});
  EXPECT_THAT(names(classes), ElementsAre("layers.*.attn.gemm", "layers.*.mlp.gemm"));
  EXPECT_THAT(classes[0].members, ElementsAre(0, 2));
  EXPECT_THAT(classes[1].members, ElementsAre(1, 3));
}

TEST(Classes, TakeDigitsAtTheEndOfAPartForAnIndex) {
  EXPECT_THAT(
      names(make_classes({member("TopMLP.fc1", "fprop.gemm"), member("TopMLP.fc5", "fprop.gemm")})),
      ElementsAre("TopMLP.fc*.fprop.gemm"));
  EXPECT_THAT(names(make_classes({member("a", "conv2d"), member("a", "conv3d")})),
              ElementsAre("a.conv2d", "a.conv3d"));
  EXPECT_THAT(names(make_classes({member("block1/unit2", "e"), member("block2/unit2", "e")})),
              ElementsAre("block*/unit2.e"));
}

TEST(Classes, KeepTheIndicesInWhichTheirMembersAgree) {
  EXPECT_THAT(names(make_classes({member("net1.fc1", "e"), member("net1.fc2", "e")})),
              ElementsAre("net1.fc*.e"));
}

TEST(Classes, KeepANameThatIsTheOnlyOne) {
  EXPECT_THAT(names(make_classes({member("", "loss"), member("TopMLP.fc5", "gemm", 7)})),
              ElementsAre("loss", "TopMLP.fc5.gemm"));
}

TEST(Classes, HaveOneKernelOneGridAndOneOperation) {
  const auto classes =
      make_classes({member("fc1", "e"), member("fc2", "e", 2), member("fc3", "e", 1, "other"),
                    member("fc4", "e", 1, "k", "gemm m=1"), member("fc5", "e")});
  EXPECT_THAT(names(classes), ElementsAre("fc*.e", "fc2.e", "fc3.e", "fc4.e"));
}

TEST(Classes, HaveNamesOfTheirOwn) {
  const auto classes = make_classes(
      {member("fc1", "e"), member("fc2", "e"), member("fc3", "e", 2), member("fc4", "e", 2)});
  EXPECT_THAT(names(classes), ElementsAre("fc*.e", "fc*.e #2"));
}

TEST(Classes, OfOccurrencesOfOneKernelHaveItsName) {
  const auto classes = make_classes({member("", "k"), member("", "k"), member("", "k")});
  EXPECT_THAT(names(classes), ElementsAre("k"));
  EXPECT_THAT(classes[0].members, ElementsAre(0, 1, 2));
}

// --- members that disagree

std::vector<double> noise_around(double centre, std::size_t count, std::mt19937_64& random) {
  std::normal_distribution<double> normal(centre, 0.03 * centre);
  std::vector<double> values(count);
  for (double& value : values)
    value = normal(random);
  return values;
}

TEST(GroupsThatAgree, AreOneWhereAllMembersAreAlike) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::vector<double>> samples;
    for (int i = 0; i < 60; ++i)
      samples.push_back(noise_around(1, 10, random));
    EXPECT_EQ(groups_that_agree(samples).size(), 1U) << "seed " << seed;
  }
}

TEST(GroupsThatAgree, SetTheOddMemberApart) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::vector<double>> samples;
    for (int i = 0; i < 12; ++i)
      samples.push_back(noise_around(i == 5 ? 1.2 : 1.0, 12, random));
    const auto groups = groups_that_agree(samples);
    ASSERT_EQ(groups.size(), 2U) << "seed " << seed;
    EXPECT_EQ(groups[0].size(), 11U);
    EXPECT_THAT(groups[1], ElementsAre(5));
  }
}

TEST(GroupsThatAgree, TellHalvesApart) {
  std::mt19937_64 random(1);
  std::vector<std::vector<double>> samples;
  for (int i = 0; i < 8; ++i)
    samples.push_back(noise_around(i % 2 == 0 ? 2.0 : 1.0, 15, random));
  EXPECT_THAT(groups_that_agree(samples),
              ElementsAre(ElementsAre(1, 3, 5, 7), ElementsAre(0, 2, 4, 6)));
}

TEST(GroupsThatAgree, IgnoreADifferenceThatDoesNotMatter) {
  std::vector<std::vector<double>> samples(2);
  for (int i = 0; i < 200; ++i) {
    samples[0].push_back(1.000 + 1e-6 * i);
    samples[1].push_back(1.015 + 1e-6 * i);  // certain, and 1.5 %
  }
  EXPECT_EQ(groups_that_agree(samples).size(), 1U);
}

TEST(GroupsThatAgree, LeaveMembersWithFewSamplesWhereMostAre) {
  std::mt19937_64 random(1);
  const std::vector<std::vector<double>> samples{noise_around(1, 20, random),
                                                 {},
                                                 noise_around(1, 20, random),
                                                 noise_around(3, 20, random),
                                                 {3.0, 3.0}};
  EXPECT_THAT(groups_that_agree(samples), ElementsAre(ElementsAre(0, 1, 2, 4), ElementsAre(3)));
}

TEST(GroupsThatAgree, TakeEqualTimesForAgreement) {
  EXPECT_EQ(groups_that_agree({std::vector<double>(20, 1.0), std::vector<double>(20, 1.0)}).size(),
            1U);
  EXPECT_EQ(groups_that_agree({}).size(), 1U);
}

}  // namespace
}  // namespace inline_prof::schedule
