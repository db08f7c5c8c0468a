#include "read/nccl_tests_log.hpp"

#include "testing.hpp"

namespace inline_prof::read {
namespace {

const std::string kHead =
    "# nccl-tests version 2.17.8 nccl-headers=22902 nccl-library=22902\n"
    "# Collective test starting: all_reduce_perf\n"
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid 4175 on n1 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid 4176 on n1 device  1 [0x43] NVIDIA H100 80GB HBM3\n"
    "# Reducing maxBytes to 32 due to memory limitation\n"
    "#                                                out-of-place                  in-place\n"
    "#       size   count   type   redop  root     time   algbw  busbw  #wrong     time   algbw  "
    "busbw  #wrong\n"
    "#        (B)  (elements)                      (us)  (GB/s) (GB/s)\n";
const std::string kRow =
    " 33554432 4194304 double  sum  -1  171.88 195.22 292.83  0  173.28 193.64 290.46  N/A\n";

TEST(NcclTestsLog, SaysWhatWasMeasuredWhere) {
  const auto tests = parse_nccl_tests(
      kHead + kRow + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 343.554\n", "n.log");
  ASSERT_EQ(tests.size(), 1U);
  EXPECT_EQ(tests[0].name, "all_reduce");
  EXPECT_EQ(tests[0].ranks, 2);
  ASSERT_EQ(tests[0].rows.size(), 1U);
  const NcclRow& row = tests[0].rows[0];
  EXPECT_EQ(row.bytes, 33554432);
  EXPECT_EQ(row.type, "double");
  EXPECT_EQ(row.out_of_place.time_us, 171.88);
  EXPECT_EQ(row.out_of_place.wrong, 0);
  EXPECT_EQ(row.in_place->bus_gb_per_s, 290.46);
  EXPECT_FALSE(row.in_place->wrong);  // N/A
}

TEST(NcclTestsLog, KnowsSeveralTestsInOneFile) {
  std::string second = kHead;
  second.replace(second.find("all_reduce_perf"), 15, "alltoall_perf");
  const auto tests = parse_nccl_tests(kHead + kRow + "\n" + second + kRow + kRow, "n.log");
  ASSERT_EQ(tests.size(), 2U);
  EXPECT_EQ(tests[1].name, "alltoall");
  EXPECT_EQ(tests[1].rows.size(), 2U);
}

TEST(NcclTestsLog, TakesPlacesFromTheHeader) {
  // Per-iteration statistics after each half, and a time stamp behind all.
  const std::string text =
      "# nThread 1 nGpus 8\n"
      "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% cputime algbw "
      "busbw #wrong i_min i_max i_p99 i_cv%\n"
      "8 2 float sum -1 10 0.01 0.02 0 9 11 11 3 20 0.03 0.04 0 19 21 21 3 12:00:00\n";
  const auto tests = parse_nccl_tests(text, "n.log");
  ASSERT_EQ(tests.at(0).rows.size(), 1U);
  EXPECT_EQ(tests[0].name, "");
  EXPECT_EQ(tests[0].rows[0].out_of_place.bus_gb_per_s, 0.02);
  EXPECT_EQ(tests[0].rows[0].in_place->time_us, 20);
}

TEST(NcclTestsLog, ReadsOldLogsWithBlankColumns) {
  // 2020: no root; redop is blank where a test has none; a deviation in the place of a count.
  const std::string text =
      "# nThread 1 nGpus 8\n"
      "# size count type redop time algbw busbw error time algbw busbw error\n"
      "1024 256 float 10.5 0.10 0.09 2e-07 11.5 0.09 0.08 2e-07\n";
  const auto tests = parse_nccl_tests(text, "n.log");
  ASSERT_EQ(tests.at(0).rows.size(), 1U);
  EXPECT_EQ(tests[0].rows[0].out_of_place.time_us, 10.5);
  EXPECT_EQ(tests[0].rows[0].out_of_place.wrong, 2e-07);
  EXPECT_EQ(tests[0].rows[0].in_place->time_us, 11.5);
}

TEST(NcclTestsLog, ReadsJson) {
  const auto tests = parse_nccl_tests(
      R"({"results": [{"size": 8, "count": 2, "type": "float",
          "out_of_place": {"time": 10.5, "alg_bw": 0.1, "bus_bw": 0.2, "nwrong": 0},
          "in_place": {"cpu_time": 11.5, "alg_bw": 0.1, "bus_bw": 0.2, "nwrong": "N/A"}}],
          "average_bus_bandwidth": {"bandwidth": 0.2}})",
      "n.json");
  ASSERT_EQ(tests.at(0).rows.size(), 1U);
  EXPECT_EQ(tests[0].rows[0].out_of_place.time_us, 10.5);
  EXPECT_EQ(tests[0].rows[0].in_place->time_us, 11.5);
  EXPECT_FALSE(tests[0].rows[0].in_place->wrong);
}

TEST(NcclTestsLogRefuses, AndSaysWhere) {
  const auto read = [](const std::string& text) { return parse_nccl_tests(text, "n.log"); };
  test::expect_complaints(
      read,
      {{"hello\n",
        "n.log: no line \"# Collective test starting\" or \"# nThread\": not a log of "
        "nccl-tests"},
       {"# nThread 1\n" + kRow, "n.log: line 2: a row before the line that names the columns"},
       {kHead + "33554432 4194304 double sum -1 171.88 195.22 292.83\n",
        "n.log: line 12: expected 13 words in a row, found 8"},
       {kHead + "33554432 4194304 double sum -1 fast 195 292 0 173 193 290 0\n",
        "n.log: line 12, column time: expected a number >= 0, found \"fast\""},
       {"# nThread 1\n# size count time\n",
        "n.log: line 2: expected columns time, algbw and busbw"},
       {"{\"results\": [{\"size\": 8}]}", "n.log: /results/0: missing \"type\""}});
}

}  // namespace
}  // namespace inline_prof::read
