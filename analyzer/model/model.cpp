#include "model/model.hpp"

#include <fmt/format.h>

namespace inline_prof::model {
namespace {

std::string word(const Part& part) {
  if (const auto* number = std::get_if<double>(&part)) return fmt::format("{}", *number);
  if (const auto* text = std::get_if<std::string>(&part)) return *text;
  return "-";
}

}  // namespace

// Inputs and results, for models that have nothing better to say.
std::string Model::explain(const Row& row) const {
  std::string text;
  const auto columns = inputs();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!row.has(i)) continue;
    const std::string value =
        columns[i].kind == ColumnKind::kText ? row.text(i) : fmt::format("{}", row.number(i));
    text += fmt::format("  {} = {}{}{}\n", columns[i].name, value,
                        columns[i].unit.empty() ? "" : " ", columns[i].unit);
  }
  const RowPrediction prediction = predict(row);
  for (std::size_t i = 0; i < prediction.parts.size(); ++i) {
    text += fmt::format("  {} = {}\n", parts()[i], word(prediction.parts[i]));
  }
  if (!prediction.time_us) return text + "  no prediction: " + prediction.reason;
  text += fmt::format("  time = {} us", *prediction.time_us);
  if (!prediction.bound.empty()) text += fmt::format(", bound by {}", prediction.bound);
  return text;
}

void OperationInputs::add_size(std::string_view column, const read::Op& op,
                               std::string_view attribute) {
  if (const auto size = op.get<std::int64_t>(attribute)) add(column, static_cast<double>(*size));
}

void OperationInputs::add_text(std::string_view column, const read::Op& op,
                               std::string_view attribute) {
  // In place: GCC 12 warns of a moved std::variant's number, which a text does not have.
  if (auto text = op.get<std::string>(attribute)) values.emplace_back(column, *std::move(text));
}

std::string setting(const ModelOptions& options, const std::string& name,
                    const std::string& otherwise) {
  const auto it = options.settings.find(name);
  return it == options.settings.end() ? otherwise : it->second;
}

}  // namespace inline_prof::model
