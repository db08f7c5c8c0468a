// Tests of prof-measure that need no GPU: shapes, repeats, tables.
#include "measure/pacing.hpp"
#include "measure/result_table.hpp"
#include "measure/suites.hpp"
#include "temporary_folder.hpp"
#include "testing.hpp"

namespace inline_prof::measure {
namespace {

using Folder = test::TemporaryFolder;
using test::complaint;

TEST(GemmGrid, HasEveryShapeOnceAndOnlyMultiples) {
  for (const std::int64_t multiple : {1, 16}) {
    const auto grid = gemm_grid(132, multiple);
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> shapes;
    for (const GridShape& product : grid) {
      shapes.emplace(product.m, product.n, product.k);
      for (const std::int64_t side : {product.m, product.n, product.k}) {
        EXPECT_GE(side, 1);
        EXPECT_EQ(side % multiple, 0);
      }
    }
    EXPECT_EQ(shapes.size(), grid.size());
    EXPECT_GE(grid.size(), 170U);
    EXPECT_LE(grid.size(), 210U);
  }
}

TEST(GemmGrid, FillsWavesOfThisGpuAndOneTileMore) {
  std::set<std::int64_t> tiles;
  for (const GridShape& product : gemm_grid(108, 1)) {
    if (product.m % 128 == 0 && product.n % 128 == 0)
      tiles.insert(product.m / 128 * (product.n / 128));
  }
  for (const std::int64_t waves : {1, 2, 3, 5}) {
    EXPECT_TRUE(tiles.contains(waves * 108)) << waves;
    EXPECT_TRUE(tiles.contains(waves * 108 + 1)) << waves;
  }
}

TEST(Suites, TellTheirCasesApartByTheirColumns) {
  for (const Suite& suite : all_suites()) {
    const auto ops = suite.ops(GpuFacts{});
    std::set<std::vector<std::string>> keys;
    for (const read::Op& op : ops) {
      std::vector<std::string> key;
      for (const std::string_view column : suite.columns)
        key.push_back(cell_of(op, column));
      keys.insert(key);
      for (const auto& [name, value] : op.attributes) {
        EXPECT_NE(std::find(suite.columns.begin(), suite.columns.end(), name), suite.columns.end())
            << suite.name << ": " << name;
      }
    }
    EXPECT_EQ(keys.size(), ops.size()) << suite.name;
    EXPECT_GE(ops.size(), 7U) << suite.name;
  }
}

TEST(Repeats, MedianAndItsInterval) {
  const MedianOfRepeats few = median_of({3, 1, 2});
  EXPECT_EQ(few.median, 2);
  EXPECT_EQ(few.lower, 1);
  EXPECT_EQ(few.upper, 3);
  std::vector<double> hundred;
  for (int i = 1; i <= 100; ++i)
    hundred.push_back(i);
  // (100 - 19.6) / 2 = 40.2: the 40th value from either end.
  const MedianOfRepeats many = median_of(hundred);
  EXPECT_EQ(many.median, 50.5);
  EXPECT_EQ(many.lower, 40);
  EXPECT_EQ(many.upper, 61);
  EXPECT_THROW(static_cast<void>(median_of({})), std::invalid_argument);
}

TEST(Repeats, EndWhenTheMedianIsKnownOrThereAreManyOfThem) {
  const RepeatLimits limits{.least = 5, .most = 20, .precision = 0.01};
  EXPECT_FALSE(is_enough({10, 10, 10, 10}, limits));
  EXPECT_TRUE(is_enough({10, 10, 10, 10, 10}, limits));
  EXPECT_FALSE(is_enough({10, 10, 10, 10, 11}, limits));
  std::vector<double> wild(19);
  std::iota(wild.begin(), wild.end(), 0.0);
  EXPECT_FALSE(is_enough(wild, limits));
  wild.push_back(19);
  EXPECT_TRUE(is_enough(wild, limits));
}

read::Op product(std::int64_t m) {
  return {.kind = "gemm", .source = "cublasGemmEx", .attributes = {{"m", m}, {"trans_b", true}}};
}

TEST_F(Folder, ATableIsWholeAndTakenUpAgain) {
  const std::string file = path("t.csv");
  ResultTable table(file, {"m", "trans_a", "trans_b"}, IfThere::kRefuse);
  EXPECT_FALSE(std::filesystem::exists(file));
  table.add(product(3), {{"time_us", "1.5"}, {"kernel_name", "a, \"b\""}});
  EXPECT_TRUE(table.has(product(3)));
  EXPECT_FALSE(table.has(product(4)));
  table.save();
  EXPECT_THAT(content("t.csv"), StartsWith("m,trans_a,trans_b,kernel_name,"));
  EXPECT_THAT(content("t.csv"), HasSubstr("\n3,,true,\"a, \"\"b\"\"\","));
  EXPECT_THAT(content("t.csv"), EndsWith(",1.5\n"));

  EXPECT_THAT(complaint([&] { return ResultTable(file, {"m"}, IfThere::kRefuse); }),
              HasSubstr("exists already; --resume adds to it, --force replaces it"));
  EXPECT_THAT(complaint([&] { return ResultTable(file, {"m"}, IfThere::kResume); }),
              HasSubstr("line 1: cannot be resumed"));
  ResultTable resumed(file, {"m", "trans_a", "trans_b"}, IfThere::kResume);
  EXPECT_EQ(resumed.row_count(), 1U);
  EXPECT_TRUE(resumed.has(product(3)));
  resumed.add(product(4), {{"time_us", "2"}});
  resumed.save();
  EXPECT_EQ(ResultTable(file, {"m", "trans_a", "trans_b"}, IfThere::kResume).row_count(), 2U);
  EXPECT_EQ(ResultTable(file, {"m"}, IfThere::kReplace).row_count(), 0U);
}

TEST_F(Folder, AGridGivesTheShapesOfASuite) {
  const auto ops = ops_of_grid(file("g.csv",
                                    "m,n,note,k,a_type,trans_b\n1,2,x,3,bf16,true\n"
                                    "4,5,,6,,\n"),
                               find_suite("gemm"));
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(read::op_text(ops[0]), "gemm a_type=bf16 k=3 m=1 n=2 trans_b=true");
  EXPECT_EQ(read::op_text(ops[1]), "gemm k=6 m=4 n=5");
}

TEST_F(Folder, AGridOfSeerIsRead) {
  const auto ops =
      ops_of_grid(file("Test-set-II.txt", "1\n128 3 224 64 112 7 2 3\n"), find_suite("conv"));
  ASSERT_EQ(ops.size(), 1U);
  EXPECT_EQ(ops[0].kind, "conv");
  EXPECT_EQ(integer(ops[0], "n"), 128);
}

TEST_F(Folder, ALayerOfAGridStandsForEveryWayThatItDoesNotName) {
  const auto count = [&](const char* name, const char* text, const char* suite) {
    return ops_of_grid(file(name, text), find_suite(suite)).size();
  };
  constexpr const char* layer = "1\n128 3 224 64 112 7 2 3\n";
  // Algorithms of cuDNN's three enumerations.
  EXPECT_EQ(count("t.txt", layer, "conv_algorithms"), 8U + 6U + 7U);
  EXPECT_EQ(count("g.csv", "n,direction\n8,backward_data\n", "conv_algorithms"), 6U);
  EXPECT_EQ(count("g.csv", "n,direction,algo\n8,backward_data,1\n", "conv_algorithms"), 1U);
}

TEST_F(Folder, AWrongGridIsRefusedWithItsPlace) {
  const Suite& gemm = find_suite("gemm");
  const auto complaint = [&](const char* text) {
    return test::complaint([&] { return ops_of_grid(file("g.csv", text), gemm); });
  };
  EXPECT_THAT(complaint("m,n,k\n1,two,3\n"),
              HasSubstr("g.csv: line 2, column n: expected a whole number, found two"));
  EXPECT_THAT(complaint("a,b\n1,2\n"), HasSubstr("g.csv: line 1: no column of suite gemm"));
  EXPECT_THAT(complaint("m,trans_a\n1,yes\n"), HasSubstr("expected true or false, found yes"));
  EXPECT_THAT(complaint(""), HasSubstr("g.csv"));
}

Case case_of(const char* table, std::int64_t m) {
  return {.table = table, .op = product(m)};
}

std::string name_of(const std::optional<Case>& one) {
  return one ? one->table + std::to_string(integer(one->op, "m")) : "none";
}

TEST(Turns, GoToTheTableWithTheLeastTimeInTheOrderGiven) {
  Turns turns({case_of("slow", 1), case_of("slow", 2), case_of("quick", 1), case_of("quick", 2),
               case_of("quick", 3)});
  EXPECT_EQ(name_of(turns.next()), "quick1");
  turns.add_time("quick", 1);
  EXPECT_EQ(name_of(turns.next()), "slow1");
  turns.add_time("slow", 5);
  EXPECT_EQ(turns.left(), 3U);
  EXPECT_EQ(name_of(turns.next()), "quick2");
  turns.add_time("quick", 1);
  EXPECT_EQ(name_of(turns.next()), "quick3");
  // The others get the time that a table leaves.
  EXPECT_EQ(name_of(turns.next()), "slow2");
  EXPECT_EQ(turns.left(), 0U);
  EXPECT_EQ(name_of(turns.next()), "none");
}

TEST(CaseAttributes, ThatAreMissingOrSenselessSkipTheCase) {
  const read::Op op{.kind = "gemm", .source = {}, .attributes = {{"m", std::int64_t{0}}}};
  EXPECT_THAT(complaint([&] { return integer(op, "n"); }), "gemm without n");
  EXPECT_THAT(complaint([&] { return integer(op, "m"); }), "gemm with m = 0");
  EXPECT_EQ(integer_or(op, "n", 7), 7);
}

}  // namespace
}  // namespace inline_prof::measure
