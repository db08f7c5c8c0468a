// Traces and iteration graphs: what is accepted gives finite times.
#include "model/published/dlrm/trace_iteration.hpp"
#include "property.hpp"
#include "read/iteration_input.hpp"

#include <cmath>
#include <string>

namespace {

using namespace inline_prof;

void require_finite(const model::WalkResult& walk) {
  fuzz::require(std::isfinite(walk.end_to_end) && std::isfinite(walk.gpu_active) &&
                    std::isfinite(walk.exposed_collective_share),
                "a walk takes a finite time");
}

void read_trace(const std::string& text) {
  const read::Trace trace = read::parse_trace(text, "fuzz");
  const auto result =
      model::trace_iteration(trace, 0, model::KernelTimes::kMeasured, model::OperatorModels{});
  fuzz::require(result.predicted.size() == result.tree.operators.size(),
                "every operator is asked for");
  fuzz::require(std::isfinite(result.total_us) && std::isfinite(result.costs.between.mean) &&
                    std::isfinite(result.streams.total_us),
                "sums are finite");
  require_finite(result.mean);
}

void read_graph(const std::string& text) {
  const base::JsonValue document = read::parse_json(text, "fuzz");
  require_finite(model::walk(read::graph_from(read::TreeNode(document, "fuzz"), "fuzz")));
}

}  // namespace

void fuzz::check(const std::string& text) {
  for (const auto parse : {read_trace, read_graph})
    attempt([&] { parse(text); });
}
