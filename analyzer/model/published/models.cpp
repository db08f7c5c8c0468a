#include "model/published/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace inline_prof::model {
namespace {

class FunctionModel : public Model {
 public:
  explicit FunctionModel(RowFunction function) : function_(std::move(function)) {}

  [[nodiscard]] std::span<const Column> inputs() const override { return function_.inputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return function_.parts; }
  [[nodiscard]] std::vector<std::string> warnings() const override { return function_.warnings; }
  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    try {
      return function_.predict(NamedRow(row, function_.inputs));
    } catch (const NoAnswer& none) {
      return RowPrediction::none(none.error, none.reason);
    } catch (const std::invalid_argument& error) {
      return RowPrediction::none("", error.what());
    }
  }

 private:
  RowFunction function_;
};

}  // namespace

std::unique_ptr<Model> as_model(RowFunction function) {
  return std::make_unique<FunctionModel>(std::move(function));
}

std::size_t NamedRow::place(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::find(columns_, name, &Column::name) -
                                  columns_.begin());
}

bool NamedRow::has(std::string_view name) const {
  const std::size_t i = place(name);
  return i < columns_.size() && row_.has(i);
}

double NamedRow::number(std::string_view name, double otherwise) const {
  return has(name) ? row_.number(place(name)) : otherwise;
}

std::int64_t NamedRow::whole(std::string_view name) const {
  return static_cast<std::int64_t>(number(name));
}

const std::string& NamedRow::text(std::string_view name) const {
  static const std::string none;
  return has(name) ? row_.text(place(name)) : none;
}

std::string_view NamedRow::first_of(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    if (has(name)) return name;
  }
  return *(names.end() - 1);
}

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
