#include "read/param_log.hpp"

#include "golden.hpp"
#include "read/file_text.hpp"
#include "read/table.hpp"
#include "testing.hpp"

namespace inline_prof::read {
namespace {

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
