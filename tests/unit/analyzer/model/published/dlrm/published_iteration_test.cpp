// Overheads and end-to-end times against what the original code has printed.
#include "golden.hpp"
#include "model/published/dlrm/trace_iteration.hpp"
#include "read/file_text.hpp"
#include "read/iteration_input.hpp"
#include "read/json_tree.hpp"
#include "testing.hpp"

namespace inline_prof::model {
namespace {

using nlohmann::json;

constexpr double kTolerance = 1e-12;

json golden(const char* file) {
  return json::parse(read::read_text(test::golden_path(file)));
}

void expect_number(double value, const json& expected, const std::string& what) {
  EXPECT_NEAR(value, expected.get<double>(), kTolerance * std::abs(expected.get<double>())) << what;
}

void expect_spread(const Spread& spread, const json& expected, const std::string& what) {
  expect_number(spread.mean, expected.at(0), what);
  expect_number(spread.std, expected.at(1), what);
  EXPECT_EQ(spread.count, expected.at(2).get<std::size_t>()) << what;
}

void expect_spreads(const ByShape& spreads, const json& expected, const std::string& what) {
  ASSERT_EQ(spreads.size(), expected.size()) << what;
  for (const auto& [name, shapes] : expected.items()) {
    ASSERT_TRUE(spreads.contains(name)) << what << " of " << name;
    ASSERT_EQ(spreads.at(name).size(), shapes.size()) << what << " of " << name;
    for (const auto& [shape, spread] : shapes.items()) {
      ASSERT_TRUE(spreads.at(name).contains(shape)) << what << " of " << name << ": " << shape;
      expect_spread(spreads.at(name).at(shape), spread, what + " of " + name);
    }
  }
}

TEST(PublishedIteration, OverheadsOfATrace) {
  const json traces = golden("dlrm/trace_overheads.json");
  const auto file = read::read_iteration_file(test::golden_path("dlrm/trace_overheads.json"));
  ASSERT_EQ(file.inputs.size(), traces.size());
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const json& expected = traces[i].at("expected");
    const EventTree tree = event_tree(std::get<read::Trace>(file.inputs[i]));
    EXPECT_EQ(tree.operators.size(), expected.at("n_roots").get<std::size_t>());
    std::vector<std::string> names;
    for (const NodeId op : tree.operators)
      names.push_back(tree.event(op).name);
    EXPECT_EQ(names, expected.at("ops").get<std::vector<std::string>>());
    EXPECT_EQ(tree.start_us, expected.at("corrected_start").get<double>());
    EXPECT_EQ(tree.end_us, expected.at("corrected_end").get<double>());

    const Overheads costs = overheads(tree);
    expect_spread(costs.between, expected.at("t1"), "T1");
    expect_spreads(costs.before, expected.at("t2"), "T2");
    expect_spreads(costs.after, expected.at("t3"), "T3");
    expect_spreads(costs.among, expected.at("t5"), "T5");
    ASSERT_EQ(costs.launch.size(), expected.at("t4").size());
    for (const auto& [name, spread] : expected.at("t4").items())
      expect_spread(costs.launch.at(name), spread, "T4 of " + name);
    EXPECT_EQ(json(costs.launches), expected.at("launches"));

    const StreamTimes streams = stream_times(tree);
    json times;
    for (const auto& [stream, busy_us] : streams.busy_us)
      times[std::to_string(stream)] = busy_us;
    times["total"] = streams.total_us;
    EXPECT_EQ(times, expected.at("gpu_time"));
  }
}

TEST(PublishedIteration, EndToEndTimeOfAGraph) {
  const json scenarios = golden("dlrm/e2e_model.json");
  const auto file = read::read_iteration_file(test::golden_path("dlrm/e2e_model.json"));
  ASSERT_EQ(file.inputs.size(), scenarios.size());
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    const WalkResult result = walk(std::get<read::IterationGraph>(file.inputs[i]));
    const json& expected = scenarios[i].at("expected");
    const json& last = scenarios[i].at("final");
    const std::string what = "scenario " + scenarios[i].at("scenario").dump();
    EXPECT_EQ(result.error, "") << what;
    expect_number(result.end_to_end, expected.at("e2e_time"), what);
    expect_number(result.gpu_active, expected.at("gpu_active_time"), what);
    expect_number(result.busiest_stream, expected.at("baseline_e2e_time"), what);
    expect_number(result.exposed_collective_share, expected.at("eg_comm"), what);
    expect_number(result.host, last.at("cpu_time"), what);
    expect_number(result.exposed_collective, last.at("unoverlapped_comm"), what);
    expect_number(result.compute_stream, last.at("prediction_compute"), what);
    expect_number(result.collective_stream, last.at("prediction_comm"), what);
    expect_number(result.compute_busy, last.at("baseline_compute"), what);
    expect_number(result.collective_busy, last.at("baseline_comm"), what);
    expect_number(result.gpu_active, last.at("active"), what);
  }
}

}  // namespace
}  // namespace inline_prof::model
