#include "model/published/dlrm/walk.hpp"

#include "model/published/dlrm/overheads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

namespace inline_prof::model {
namespace {

using read::IterationOperator;

constexpr const char* kCopyName = "aten::to";
constexpr double kShortCopyLaunchUs = 2.0;  // of an aten::to without children

// A cost that the original looks up without asking whether it is there.
struct MissingCost {
  std::string what;
};

double cost(const std::map<std::string, double>& costs, const char* which,
            const std::string& name) {
  const auto it = costs.find(name);
  if (it == costs.end()) throw MissingCost{fmt::format("{} of {}", which, name)};
  return it->second;
}

class Walker {
 public:
  explicit Walker(const read::HostCosts& costs) : costs_(costs) {}

  void visit(const IterationOperator& op) {
    if ((op.uses_collective && is_collective_pending_) || op.is_wait || op.has_collective) {
      is_collective_pending_ = false;
      compute_ = collective_ = front_;
    }
    host_ += costs_.between;
    const auto launches = costs_.launches.find(op.name);
    if (launches == costs_.launches.end()) {
      const auto among = costs_.among.find(op.name);
      if (among != costs_.among.end()) host_ += among->second;
    } else {
      launch(op, launches->second);
    }
    if (op.name == kCopyName) host_ = std::max(host_, compute_);  // waits for its copy
    if (op.has_collective) is_collective_pending_ = true;
  }

  [[nodiscard]] WalkResult result() const {
    WalkResult result;
    result.end_to_end = std::max({host_, compute_, collective_});
    result.gpu_active = active_;
    result.busiest_stream = std::max(compute_busy_, collective_busy_);
    if (result.end_to_end > 0) {
      result.exposed_collective_share = std::max(exposed_ / result.end_to_end, 0.0);
    }
    result.host = host_;
    result.compute_stream = compute_;
    result.collective_stream = collective_;
    result.compute_busy = compute_busy_;
    result.collective_busy = collective_busy_;
    result.exposed_collective = exposed_;
    return result;
  }

 private:
  void launch(const IterationOperator& op, const std::vector<std::string>& calls) {
    host_ += cost(costs_.before, "T2", op.name);
    if (op.is_modelled) {
      start_kernels(op, calls);
    } else {
      double sum = 0.0;
      for (const std::string& call : calls)
        sum += cost(costs_.launch, "T4", call);
      // An empty list takes one T5 off, as in the original.
      host_ += sum + cost(costs_.among, "T5", op.name) * (static_cast<double>(calls.size()) - 1.0);
    }
    host_ += cost(costs_.after, "T3", op.name);
    front_ = std::max(compute_, collective_);
  }

  void start_kernels(const IterationOperator& op, const std::vector<std::string>& calls) {
    const std::size_t kernels = op.kernels_us.size();
    for (std::size_t i = 0; i < std::min(calls.size(), kernels); ++i) {
      const double call = cost(costs_.launch, "T4", calls[i]);
      // The last kernel of a collective moves the data; those before it prepare them.
      start_kernel(op.kernels_us[i] + kKernelUs, call, op.has_collective && i + 1 == kernels);
      host_ += op.name == kCopyName && !op.has_children ? kShortCopyLaunchUs : call;
      if (i + 1 < kernels) host_ += cost(costs_.among, "T5", op.name);
    }
  }

  void start_kernel(double time, double call, bool is_collective) {
    double& stream = is_collective ? collective_ : compute_;
    stream = std::max(stream + 1, host_ + call);
    if (is_collective) {
      collective_ = std::max(compute_ + 1, collective_);
      exposed_ += time - std::max(front_ - collective_, 0.0);
    } else if (is_collective_pending_ && compute_ < collective_) {
      exposed_ -= time - std::max(compute_ + time - collective_, 0.0);
    }
    // `front_` is from before this operator.
    active_ += std::min(std::max(stream + time - front_, 0.0), time);
    stream += time;
    (is_collective ? collective_busy_ : compute_busy_) += time;
  }

  const read::HostCosts& costs_;
  double host_ = 0.0;
  double compute_ = 0.0;
  double collective_ = 0.0;
  double front_ = 0.0;
  double active_ = 0.0;
  double compute_busy_ = 0.0;
  double collective_busy_ = 0.0;
  double exposed_ = 0.0;
  bool is_collective_pending_ = false;
};

}  // namespace

WalkResult walk(const read::IterationGraph& graph) {
  const auto mark = std::find_if(
      graph.operators.begin(), graph.operators.end(),
      [](const IterationOperator& op) { return op.name.find("## ") != std::string::npos; });
  Walker walker(graph.costs);
  try {
    for (auto op = mark == graph.operators.end() ? graph.operators.begin() : mark;
         op != graph.operators.end(); ++op) {
      if (!op->is_mark) walker.visit(*op);
    }
  } catch (const MissingCost& missing) {
    WalkResult result;
    result.error = "KeyError";
    result.reason = fmt::format("no {}", missing.what);
    return result;
  }
  return walker.result();
}

}  // namespace inline_prof::model
