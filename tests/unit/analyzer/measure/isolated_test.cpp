// A run beside the same operations alone: the table, the causes, the reports.
#include "read/isolated.hpp"

#include "export/formats.hpp"
#include "join/analysis.hpp"
#include "join/predict/predicted_file.hpp"
#include "report/tables.hpp"
#include "temporary_folder.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

constexpr const char* kHeader =
    "operation,kernel_name,stand_in,time_lower_us,time_upper_us,time_us\n";

read::IsolatedTimes table_of(const std::string& rows) {
  const test::TestFolder folder;
  return read::read_isolated(folder.file("isolated.csv", kHeader + rows));
}

std::string complaint_about(const std::string& rows) {
  return test::complaint([&] { return table_of(rows); });
}

TEST(IsolatedTable, RefusesWhatItCannotBe) {
  EXPECT_THAT(complaint_about("gemm m=1,k,,1,2,0\n"), HasSubstr("expected a time > 0, found 0"));
  EXPECT_THAT(complaint_about("gemm m=1,k,,3,4,2\n"), HasSubstr("expected a time between 3 and 4"));
  EXPECT_THAT(complaint_about("gemm m=1,k,,1,2,2\ngemm m=1,k,,1,2,2\n"),
              HasSubstr("line 3, column operation: this operation stands in an earlier line, too"));
}

class Isolate : public Test {
 protected:
  Isolate() {
    row_.event = "gemm";
    row_.kernel_name = "kernel_a";
    row_.raw_us = 100;
    row_.raw_ci95_us = Interval{99, 101};
    row_.corrected_us = 100;
    row_.samples = 50;
    row_.predicted_us = 100;
    row_.predicted_ci90_us = Interval{90, 110};
    row_.verdict = join::Verdict::kAsPredicted;
  }
  // The cause for a row of the table: kernel, stand-in, lower, upper, time.
  std::string cause(const std::string& alone) {
    Analysis analysis;
    analysis.rows = {row_};
    counts_ = set_isolated(analysis.rows, {&op_}, table_of("gemm m=1," + alone + "\n"));
    MergedRow merged;
    merged.event = row_.event;
    merged.rows = {0};
    merged.corrected_us = row_.corrected_us;
    merged.isolated = analysis.rows.front().isolated;
    analysis.merged = {merged};
    analysis_ = analysis;
    return analysis.merged[0].isolated ? analysis.merged[0].isolated->cause : "not measured alone";
  }

  read::Op op_{.kind = "gemm", .source = "cublasGemmEx", .attributes = {{"m", std::int64_t{1}}}};
  Row row_;
  Analysis analysis_;
  IsolatedRows counts_;
};

TEST_F(Isolate, NamesTheCause) {
  EXPECT_EQ(cause("kernel_a,,99,101,100"), "none: as alone");
  EXPECT_EQ(cause("kernel_a,,97,99,98"), "none: as alone");  // two processes differ by so much
  EXPECT_EQ(cause("kernel_b,,90,95,93"), "none: as alone");
  EXPECT_EQ(cause("kernel_a,,79,81,80"), "contention or clock; model");
  EXPECT_EQ(cause("kernel_a,,91,93,92"), "contention or clock");
  EXPECT_EQ(cause("kernel_b,,91,93,92"), "kernel choice");
  EXPECT_EQ(cause("kernel_a,,107,109,108"), "warmer cache or clock");
  EXPECT_EQ(cause(",,91,93,92"), "contention or clock");  // its kernel is not known
  EXPECT_EQ(cause("kernel_b,true,49,51,50"), "another kernel was measured alone");
  row_.predicted_ci90_us.reset();
  row_.predicted_us = 50;
  EXPECT_EQ(cause("kernel_a,,99,101,100"), "model");
  row_.predicted_us.reset();
  EXPECT_EQ(cause("kernel_a,,99,101,100"), "none: as alone");
}

TEST_F(Isolate, CountsEventsThatAreNotInTheTable) {
  op_.attributes.emplace_back("n", std::int64_t{7});
  EXPECT_EQ(cause("kernel_a,,99,101,100"), "not measured alone");
  EXPECT_EQ(counts_.with_op, 1U);
  EXPECT_EQ(counts_.found, 0U);
}

TEST_F(Isolate, StandsInTheReports) {
  ASSERT_EQ(cause("kernel_b,,91,93,92"), "kernel choice");
  const std::string table = report::table_report(analysis_, {});
  EXPECT_THAT(table, HasSubstr("the same operations alone on the GPU"));
  EXPECT_THAT(table, HasSubstr("    100.00      92.00          - kernel choice"));
  const std::string json = exports::json_report(analysis_);
  EXPECT_THAT(json, HasSubstr(R"("alone_us": 92.0)"));
  EXPECT_THAT(json, HasSubstr(R"("cause": "kernel choice")"));
}

TEST(OpText, LeavesOutWhatTellsEqualOperationsApart) {
  const read::Op op{.kind = "collective",
                    .source = "ncclAllReduce",
                    .attributes = {{"type", std::string("bf16")},
                                   {"bytes", std::int64_t{4096}},
                                   {"comm", std::string("0x12")},
                                   {"sequence", std::int64_t{4}},
                                   {"stride", std::vector<std::int64_t>{1, 2}},
                                   {"causal", true}}};
  EXPECT_EQ(read::op_text(op), "collective bytes=4096 causal=true stride=1x2 type=bf16");
}

}  // namespace
}  // namespace inline_prof::join
