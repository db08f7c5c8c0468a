#include "model/calibrated/softmax/softmax.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace inline_prof::model {
namespace {

constexpr double kMost = 1e9;  // larger ones are bytes
constexpr std::array<Column, 3> kInputs{{
    {"rows", "", ColumnKind::kInteger, 1, kMost, true, "each of them normalised"},
    {"cols", "", ColumnKind::kInteger, 1, kMost, true, "elements of a row"},
    {"type", "", ColumnKind::kText, 0, 0, false, "of an element; f32 if absent"},
}};
constexpr std::array<std::string_view, 1> kParts{"bytes"};

class SoftmaxModel : public Model {
 public:
  explicit SoftmaxModel(const read::Machine& machine)
      : bytes_per_us_(machine.memory_fraction * machine.memory_gb_per_s * 1e3),
        launch_us_(machine.launch_floor_us) {}

  [[nodiscard]] std::span<const Column> inputs() const override { return kInputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kParts; }

  // A row of a table: every cell was checked against inputs().
  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    const std::string type = row.has("type") ? row.text("type") : "f32";
    const auto element_bytes = number_type_bytes(type);
    if (!element_bytes) return RowPrediction::none("", fmt::format("unknown type {}", type));
    const double bytes = 2 * row.number("rows") * row.number("cols") * *element_bytes;
    RowPrediction prediction;
    prediction.time_us = time_us(bytes);
    prediction.bound = "memory";
    prediction.parts = {bytes};
    return prediction;
  }

  // An operation of a profile: its attributes may be missing, or be anything.
  [[nodiscard]] std::optional<Prediction> predict_operation(
      const Operation& operation) const override {
    const auto rows = operation.op.get<std::int64_t>("rows");
    const auto cols = operation.op.get<std::int64_t>("cols");
    const auto element_bytes =
        number_type_bytes(operation.op.get<std::string>("type").value_or(""));
    if (!rows || !cols || !element_bytes || *rows < 1 || *cols < 1) return std::nullopt;
    Prediction prediction;
    prediction.time = microseconds(
        time_us(2 * static_cast<double>(*rows) * static_cast<double>(*cols) * *element_bytes));
    prediction.bound = Bound::kMemory;
    prediction.model = "softmax";
    return prediction;
  }

 private:
  [[nodiscard]] double time_us(double bytes) const { return launch_us_ + bytes / bytes_per_us_; }

  double bytes_per_us_, launch_us_;
};

std::unique_ptr<Model> make(const ModelOptions& options) {
  return std::make_unique<SoftmaxModel>(*options.machine);
}

}  // namespace

ModelEntry softmax_entry() {
  return {.name = "softmax",
          .summary = "softmax of rows: bytes over bandwidth, and a launch",
          .editions = {Edition::kCalibrated},
          .inputs = kInputs,
          .machine = Need::kRequired,
          .make = make,
          .operations = {OpKind::kSoftmax}};
}

}  // namespace inline_prof::model
