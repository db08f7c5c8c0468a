#include "model/calibrated/softmax/softmax.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdint>
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

double time_us(double bytes, const read::Machine& machine) {
  return machine.launch_floor_us +
         bytes / (machine.memory_fraction * machine.memory_gb_per_s * 1e3);
}

// A row of a table: every cell was checked against kInputs.
RowPrediction predict_row(const Row& row, const read::Machine& machine) {
  const std::string type = row.has("type") ? row.text("type") : "f32";
  const auto element_bytes = number_type_bytes(type);
  if (!element_bytes) return RowPrediction::none("", fmt::format("unknown type {}", type));
  const double bytes = 2 * row.number("rows") * row.number("cols") * *element_bytes;
  RowPrediction prediction;
  prediction.time_us = time_us(bytes, machine);
  prediction.bound = "memory";
  prediction.parts = {bytes};
  return prediction;
}

// An operation of a profile: its attributes may be missing, or be anything.
std::optional<Prediction> predict_operation(const Operation& operation) {
  const auto rows = operation.op.get<std::int64_t>("rows");
  const auto cols = operation.op.get<std::int64_t>("cols");
  const auto element_bytes = number_type_bytes(operation.op.get<std::string>("type").value_or(""));
  if (!rows || !cols || !element_bytes || *rows < 1 || *cols < 1) return std::nullopt;
  const double bytes = 2 * static_cast<double>(*rows) * static_cast<double>(*cols) * *element_bytes;
  Prediction prediction;
  prediction.time = microseconds(time_us(bytes, operation.machine));
  prediction.bound = Bound::kMemory;
  prediction.model = "softmax";
  return prediction;
}

Model make(const ModelOptions& options) {
  return {
      .inputs = kInputs,
      .parts = kParts,
      .of_row = [machine = *options.machine](const Row& row) { return predict_row(row, machine); },
      .of_operation = predict_operation};
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
