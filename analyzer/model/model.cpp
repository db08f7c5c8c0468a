#include "model/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace inline_prof::model {
namespace {

std::string word(const Part& part) {
  if (const auto* number = std::get_if<double>(&part)) return fmt::format("{}", *number);
  if (const auto* text = std::get_if<std::string>(&part)) return *text;
  return "-";
}

}  // namespace

RowPrediction Model::predict(const Row& row) const {
  try {
    return of_row(row);
  } catch (const NoAnswer& none) {
    return RowPrediction::none(none.error, none.reason);
  } catch (const std::invalid_argument& error) {
    return RowPrediction::none("", error.what());
  }
}

const Cell& Row::cell(std::string_view name) const {
  static const Cell absent;
  const auto place = std::ranges::find(columns_, name, &Column::name) - columns_.begin();
  const auto i = static_cast<std::size_t>(place);
  return i < cells_.size() ? cells_[i] : absent;
}

std::string_view Row::first_of(std::initializer_list<std::string_view> names) const {
  const auto* const found =
      std::ranges::find_if(names, [&](std::string_view name) { return has(name); });
  return found == names.end() ? *(names.end() - 1) : *found;
}

std::string Model::explain(const Row& row) const {
  std::string text;
  for (const Column& column : inputs) {
    if (!row.has(column.name)) continue;
    const bool is_text = column.kind == ColumnKind::kText;
    text += fmt::format("  {} = {}{}{}\n", column.name,
                        is_text ? row.text(column.name) : word(row.number(column.name)),
                        column.unit.empty() ? "" : " ", column.unit);
  }
  const RowPrediction prediction = predict(row);
  for (std::size_t i = 0; i < prediction.parts.size(); ++i) {
    text += fmt::format("  {} = {}\n", parts[i], word(prediction.parts[i]));
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
