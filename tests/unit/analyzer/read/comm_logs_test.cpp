#include "golden.hpp"
#include "read/file_text.hpp"
#include "read/nccl_tests_log.hpp"
#include "read/param_log.hpp"
#include "read/table.hpp"
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

using test::golden_path;

struct Layout {
  const char* log;
  const char* expected;
};

TEST(OriginalParamRows, AreThoseOfTheOriginal) {
  const Layout layouts[] = {{"all_reduce_4.txt", "expected_all_reduce_4.csv"},
                            {"all_to_allv_4.txt", "expected_all_to_allv_4.csv"},
                            {"general_all_to_allv_4.txt", "expected_general_all_to_allv_4.csv"}};
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(layout.log);
    const std::string log = golden_path(std::string("collective/param_format/") + layout.log);
    const Table golden =
        read_table(golden_path(std::string("collective/param_format/") + layout.expected));
    const auto rows = original_param_rows(read_text(log), log);
    ASSERT_EQ(rows.size(), golden.row_count());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto expect = [&](double value, const char* column) {
        const double expected = golden.number(i, golden.require(column));
        EXPECT_NEAR(value, expected, 1e-12 * std::abs(expected)) << "row " << i << ", " << column;
      };
      expect(rows[i].bytes, "size");
      expect(rows[i].latency_us, "latency");
      expect(rows[i].algorithm_gb_per_s, "alg_bw");
      expect(rows[i].bus_gb_per_s, "bus_bw");
      const auto column = golden.find("btd");
      EXPECT_EQ(rows[i].exchange, column ? golden.cell(i, *column) : "");
    }
  }
}

ParamLog newest_layout() {
  const std::string log = golden_path("collective/param_format/all_reduce_8_newest_layout.txt");
  return parse_param_log(read_text(log), log);
}

TEST(ParamLog, SaysCollectiveTypeAndRanks) {
  const ParamLog log = newest_layout();
  EXPECT_EQ(log.collective, "all_reduce");
  EXPECT_EQ(log.type, "float32");
  EXPECT_EQ(log.ranks, 8);
}

// The newest layout has a time behind the bandwidths: the original takes it for a bandwidth.
TEST(ParamLog, TakesColumnsByTheirNames) {
  const ParamLog log = newest_layout();
  ASSERT_GT(log.rows.size(), 9U);
  EXPECT_EQ(log.rows[0].bytes, 4);
  EXPECT_EQ(log.rows[0].time_us, 86.7);
  EXPECT_EQ(log.rows[9].algorithm_gb_per_s, 0.024);
  EXPECT_EQ(log.rows[9].bus_gb_per_s, 0.018);
}

TEST(ParamLog, ReadsPointToPoint) {
  const ParamLog log = parse_param_log(
      "COMMS-RES size (B) pingLatency(us):p50 p75 p95 pingPongLatency(us):p50 p75 p95 "
      "avgUniBW(GB/s) avgBiBW(GB/s) totalUniBW(GB/s) totalBiBW(GB/s)\n"
      "COMMS-RES 1024 5.5 6 7 11 12 13 0.2 0.3 0.4 0.5\n",
      "p.txt");
  EXPECT_EQ(log.collective, "sendrecv");
  ASSERT_EQ(log.rows.size(), 1U);
  EXPECT_EQ(log.rows[0].time_us, 5.5);
  EXPECT_EQ(log.rows[0].algorithm_gb_per_s, 0.2);
}

// Quantised runs print percentiles of their parts, and no bandwidths.
TEST(ParamLog, ReadsQuantisedRuns) {
  const ParamLog log = parse_param_log(
      "COMMS-RES-QUANT size (B) nElementsPerRank P95 Latency(us): Quant Comms De-Quant Overall\n"
      "COMMS-RES-QUANT 1024 256 1.5 20 2.5 24\n",
      "all_reduce_4.txt");
  EXPECT_EQ(log.collective, "all_reduce");
  ASSERT_EQ(log.rows.size(), 1U);
  EXPECT_EQ(log.rows[0].time_us, 24);
  EXPECT_FALSE(log.rows[0].bus_gb_per_s);
}

constexpr const char* kHeader = "COMMS-RES size (B) nElements Latency(us):p50 AlgBW(GB/s)\n";

TEST(ParamLogRefuses, AndSaysWhere) {
  const auto read = [](const std::string& text) { return parse_param_log(text, "p.txt"); };
  test::expect_complaints(
      read,
      {{"hello\n", "p.txt: no line with COMMS-RES: not a log of PARAM"},
       {"COMMS-RES 4 1 86.7 0.1\n", "p.txt: line 1: a row before the line that names the columns"},
       {std::string(kHeader) + "COMMS-RES-all_reduce 4 1 86.7\n",
        "p.txt: line 2: expected 4 values behind COMMS-RES-all_reduce, found 3"},
       {std::string(kHeader) + "COMMS-RES-all_reduce 4 1 fast 0.1\n",
        "p.txt: line 2, column Latency(us):p50: expected a number >= 0, found \"fast\""},
       {"COMMS-RES size (B) nElements\n",
        "p.txt: line 1: expected columns for a size and a median time (p50)"}});
}

}  // namespace
}  // namespace inline_prof::read
