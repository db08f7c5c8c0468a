#include "model/published/models.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace inline_prof::model {

RowPrediction with_time(double time_us, std::string_view bound, std::vector<Part> parts) {
  if (!std::isfinite(time_us)) {
    return RowPrediction::none("", fmt::format("the time would be {}", time_us));
  }
  RowPrediction prediction;
  prediction.time_us = time_us;
  prediction.bound = bound;
  prediction.parts = std::move(parts);
  return prediction;
}

void add_machine(OperationInputs& inputs, const read::Machine& machine, const std::string& type) {
  inputs.add("peak_dram_bw_gbps", machine.reached_gb_per_s());
  inputs.add("num_sm", static_cast<double>(machine.sm_count));
  if (machine.l2_mb) inputs.add("l2_size_bytes", *machine.l2_mb * 1e6);
  if (machine.l2_gb_per_s) inputs.add("peak_l2_bw_gbps", *machine.l2_gb_per_s);
  // Data sheets count a multiply-add as two operations.
  if (machine.peak_tflops.contains(type)) {
    inputs.add("peak_throughput_gflops", machine.reached_tflops(type) * 1e3 / 2);
  }
}

}  // namespace inline_prof::model
