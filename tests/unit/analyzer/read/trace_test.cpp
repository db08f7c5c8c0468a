#include "read/trace.hpp"

#include "complaint.hpp"

#include <gtest/gtest.h>

#include <string>

namespace inline_prof::read {
namespace {

Trace parse(const std::string& text) {
  return parse_trace(text, "t.json");
}

std::string complaint_about_trace(const std::string& text) {
  return test::complaint([&] { return parse(text); });
}

TEST(Trace, TakesEventsWithADuration) {
  const Trace trace = parse(R"({"schemaVersion": 1, "traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": 5.5, "dur": 3,
     "args": {"Input Dims": [[64, 13], [], [[2], [3]]]}},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 6, "dur": 1,
     "args": {"correlation": 3, "stream": 7, "block": [32, 4, 1]}}]})");
  ASSERT_EQ(trace.events.size(), 2U);
  const TraceEvent& op = trace.events[0];
  EXPECT_EQ(op.kind, TraceKind::kOperator);
  EXPECT_EQ(op.end_us(), 8.5);
  EXPECT_EQ(op.inputs, (std::vector<Shape>{{64, 13}, {}, {}}));
  EXPECT_EQ(op.shapes, "(((64, 13), (), ((2,), (3,))), ((-1,),))");
  EXPECT_EQ(trace.events[1].correlation, 3);
  EXPECT_EQ(trace.events[1].block, (Shape{32, 4, 1}));
  EXPECT_EQ(trace.events[1].thread, "stream 7");
}

TEST(Trace, OfAnOlderWriterIsTheSame) {
  const Trace trace = parse(R"([{"cat": "Operator", "name": "mm", "ts": 1, "dur": 1,
    "args": {"Input dims": [[8]]}}, {"cat": "Runtime", "name": "cudaLaunchKernel", "ts": 1, "dur": 1}])");
  EXPECT_EQ(trace.events[0].shapes, "(((8,),), ((-1,),))");
  EXPECT_EQ(trace.events[1].kind, TraceKind::kRuntime);
}

TEST(Trace, ThatIsNoneIsRefusedAtItsPlace) {
  EXPECT_EQ(complaint_about_trace("{}"), "t.json: /: missing \"traceEvents\"");
  EXPECT_EQ(complaint_about_trace("[]"), "t.json: /: no event with a duration (\"dur\")");
  EXPECT_EQ(complaint_about_trace(R"([{"name": "a", "dur": 1}])"), "t.json: /0: missing \"ts\"");
  EXPECT_EQ(complaint_about_trace(R"([{"ts": 1, "dur": 1}])"), "t.json: /0: missing \"name\"");
  EXPECT_EQ(complaint_about_trace(R"([{"name": "a", "ts": "x", "dur": 1}])"),
            "t.json: /0/ts: expected a number, found \"x\"");
  EXPECT_EQ(complaint_about_trace(R"([{"name": "a", "ts": 1, "dur": -1}])"),
            "t.json: /0/dur: expected a duration >= 0");
  EXPECT_EQ(complaint_about_trace(R"([{"name": "a", "ts": 1e300, "dur": 1}])"),
            "t.json: /0/ts: expected microseconds, not more than 1e16");
  EXPECT_EQ(complaint_about_trace(R"([{"name": "a", "ts": 1)"),
            "t.json: byte 23: not valid JSON: the file ends too early");
}

}  // namespace
}  // namespace inline_prof::read
