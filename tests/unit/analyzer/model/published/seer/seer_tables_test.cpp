#include "read/seer_tables.hpp"

#include "model/published/seer/parameters.hpp"
#include "model/published/seer/predictor.hpp"
#include "testing.hpp"

namespace inline_prof::read {
namespace {

constexpr const char* kSampleHead =
    "N,C,Wi,K,Wo,k,s,p,algo,time_ms,fp32,reads,writes,bmax,blocks,waves,spu,dramu\n";
const std::string kSample = "128,3,224,64,224,3,1,1,0,9.5,1000,200,100,240,300,2,9,3\n";
constexpr const char* kPickHead = "N,C,Wi,K,Wo,k,s,p,t0,t1,t2,t3,t4,t5,t6,t7,best,cudnn\n";

TEST(ReadSeerSamples, KnowsTheColumnsByTheirPlace) {
  const auto samples = read_seer_samples(Table(kSampleHead + kSample, "t.csv"));
  ASSERT_EQ(samples.size(), 1U);
  const SeerSample& sample = samples[0];
  EXPECT_EQ(sample.layer, (SeerLayer{128, 3, 224, 64, 224, 3, 1, 1}));
  EXPECT_EQ(sample.time_ms, 9.5);
  EXPECT_EQ(sample.fp32_instructions, 1000);
  EXPECT_EQ(sample.dram_reads, 200);
  EXPECT_EQ(sample.dram_writes, 100);
  EXPECT_EQ(sample.resident_blocks, 240);
  EXPECT_EQ(sample.blocks, 300);
}

TEST(SeerSample, IsOfTheTypeOfTheBusyUnit) {
  SeerSample sample;
  sample.fp32_utilisation = 8;
  sample.dram_utilisation = 9;
  EXPECT_EQ(sample.type(), 0);  // both are busy: compute-bound
  sample.fp32_utilisation = 7;
  EXPECT_EQ(sample.type(), 1);
  sample.dram_utilisation = 7;
  EXPECT_EQ(sample.type(), 2);
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kSample;
  return text.replace(text.find(from), from.size(), to);
}

TEST(ReadSeerSamplesRefuses, AndSaysWhere) {
  const auto read = [](const std::string& text) {
    return read_seer_samples(Table(kSampleHead + text, "t.csv"));
  };
  test::expect_complaints(
      read,
      {{with("9.5", ""), "t.csv: line 2, column time_ms: expected a number, found an empty cell"},
       {with("9.5", "-1"), "t.csv: line 2, column time_ms: expected more than 0, found -1"},
       {with("9.5", "nan"), "t.csv: line 2, column time_ms: expected a number, found \"nan\""},
       {with("128,3,", "128,3.5,"), "t.csv: line 2, column C: expected an integer, found 3.5"},
       {with("128,3,", "0,3,"), "t.csv: line 2, column N: expected 1 to 1e+09, found 0"},
       {with("224,3,1,1", "222,3,1,1"),
        "t.csv: line 2, column Wo: expected 224 from the input, filter, stride and "
        "padding, found 222"},
       {with("1,1,0,9.5", "1,1,8,9.5"), "t.csv: line 2, column algo: expected 0 to 7, found 8"},
       {with("9,3\n", "90,3\n"), "t.csv: line 2, column spu: expected 0 to 10, found 90"}});
}

TEST(ReadSeerSamples, RefusesATableOfAnotherKind) {
  const Table table("N,C,Wi\n1,2,3\n", "t.csv");
  EXPECT_EQ(test::complaint([&] { return read_seer_samples(table); }),
            "t.csv: line 1: 3 columns, expected 18 to 19");
  EXPECT_EQ(test::complaint([&] { return read_seer_timed_layers(table); }),
            "t.csv: line 1: 3 columns, expected 10");
}

TEST(ReadSeerPicks, RefusesABestAlgorithmThatFailed) {
  const Table table(std::string(kPickHead) + "1,3,8,4,8,3,1,1,2,3,4,-1,5,6,7,8,3,0\n", "t.csv");
  EXPECT_EQ(test::complaint([&] { return read_seer_picks(table); }),
            "t.csv: line 2, column best: algorithm 3 has no time in this row");
}

TEST(ReadSeerLayerList, ReadsACountAndEightNumbersALine) {
  const auto layers =
      read_seer_layer_list("2\n128 3 224 64 224 3 1 1\r\n64\t16 10 32 8 3 1 0\n\n", "t.txt");
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[1], (SeerLayer{64, 16, 10, 32, 8, 3, 1, 0}));
}

TEST(ReadSeerLayerListRefuses, AndSaysWhere) {
  const auto read = [](const std::string& text) { return read_seer_layer_list(text, "t.txt"); };
  test::expect_complaints(
      read,
      {{"", "t.txt: line 1: expected the number of layers"},
       {"128 3 224 64 224 3 1 1\n", "t.txt: line 1: expected the number of layers"},
       {"3\n128 3 224 64 224 3 1 1\n", "t.txt: line 1: says 3 layers, the file has 1"},
       {"1\n128 3 224 64 224 3 1\n", "t.txt: line 2: expected 8 integers, found 7"},
       {"1\n128 3 x 64 224 3 1 1\n", "t.txt: line 2: number 3: expected an integer, found \"x\""},
       {"1\n128 3 224 64 220 3 1 1\n",
        "t.txt: line 2: number 5: expected 224 from the input, filter, stride and "
        "padding, found 220"},
       {"1\n128 3 224 64 224 3 0 1\n", "t.txt: line 2: number 7: expected 1 to 1e+09, found 0"}});
}

// A pair of files as read_seer_parameters() takes them.
class SeerParameterFiles : public Test {
 protected:
  [[nodiscard]] std::string complaint(const std::string& coefficients, const std::string& trees) {
    const auto folder =
        std::filesystem::path(TempDir()) / UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "coeffs.csv") << "model,kind,coef,value\n" << coefficients;
    std::ofstream(folder / "trees.csv")
        << "tree,node,feature,feature_index,threshold,left,right,value,n\n"
        << trees;
    const std::string text =
        test::complaint([&] { return model::seer::read_seer_parameters(folder / "coeffs.csv"); });
    std::filesystem::remove_all(folder);
    return text.substr(text.find(".csv") + 6);
  }
};

TEST_F(SeerParameterFiles, NameUnknownCoefficients) {
  EXPECT_EQ(complaint("algo9_1x1,flop,a,1\n", ""),
            "line 2: SEER has no coefficients flop of algo9_1x1");
}

TEST_F(SeerParameterFiles, NameCoefficientsThatAreLeftOut) {
  EXPECT_EQ(complaint("algo5,poly,a,1\nalgo5,poly,c,1\n", ""),
            "2 of the 4 coefficients poly of algo5");
  EXPECT_EQ(complaint("algo5,poly,a,1\nalgo5,poly,a,1\n", ""), "line 3, column coef: given twice");
}

TEST_F(SeerParameterFiles, RefuseATreeThatRunsInACircle) {
  EXPECT_EQ(
      complaint("", "ctree_algo5,0,in_chan,0,5,0,1,0,4\nctree_algo5,1,leaf,-1,nan,-1,-1,1,2\n"),
      "line 2: child 0, expected 1 to 1");
}

TEST_F(SeerParameterFiles, RefuseAFeatureOfAnotherTree) {
  EXPECT_EQ(complaint("", "ctree_algo5,0,in_wid,1,5,1,2,0,4\n"),
            "line 2, column feature: is not feature 1 of ctree_algo5");
}

}  // namespace
}  // namespace inline_prof::read
