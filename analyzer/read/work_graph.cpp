#include "read/tree_time.hpp"
#include "read/work_graph_tree.hpp"

#include <map>
#include <utility>

namespace inline_prof::read {
namespace {

Wait read_wait(const TreeNode& node, std::size_t work_count) {
  Wait wait;
  const TreeNode work = node.member("work");
  wait.work = static_cast<std::size_t>(work.count());
  if (wait.work >= work_count) {
    work.fail(
        fmt::format("expected the index of one of {} works, found {}", work_count, wait.work));
  }
  if (node.has("delay_us")) wait.delay_us = duration_us(node.member("delay_us"));
  return wait;
}

Work read_work(const TreeNode& node, std::size_t work_count) {
  Work work;
  work.name = node.member("name").text();
  work.time_us = duration_us(node.member("time_us"));
  if (node.has("predicted_us") && !node.member("predicted_us").is_null()) {
    work.predicted_us = duration_us(node.member("predicted_us"));
  }
  if (node.has("not_before_us")) work.not_before_us = duration_us(node.member("not_before_us"));
  if (node.has("waits")) {
    node.member("waits").each_element(
        [&](const TreeNode& wait) { work.waits.push_back(read_wait(wait, work_count)); });
  }
  return work;
}

}  // namespace

WorkGraph work_graph_from(const TreeNode& node) {
  const TreeNode schema = node.member("schema");
  if (schema.text() != kWorkGraphSchema) {
    schema.fail(fmt::format("expected \"{}\", found \"{}\"", kWorkGraphSchema, schema.text()));
  }
  const TreeNode works = node.member("works");
  std::size_t work_count = 0;
  works.each_element([&](const TreeNode&) { ++work_count; });
  WorkGraph graph;
  std::map<std::string, std::vector<std::size_t>> meetings;
  works.each_element([&](const TreeNode& work) {
    if (work.has("meeting")) {
      meetings[work.member("meeting").text()].push_back(graph.works.size());
    }
    graph.works.push_back(read_work(work, work_count));
  });
  for (auto& [name, members] : meetings)
    graph.meetings.push_back(std::move(members));
  return graph;
}

}  // namespace inline_prof::read
