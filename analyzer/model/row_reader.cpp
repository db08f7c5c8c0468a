#include "model/row_reader.hpp"

#include "read/text_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

namespace inline_prof::model {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::max();
constexpr double kLargestInteger = 9007199254740992.0;  // 2^53: beyond it doubles skip integers

bool fits(const Column& column, double value) {
  if (column.kind == ColumnKind::kFlag) return value == 0.0 || value == 1.0;
  if (!(value >= column.least && value <= column.most)) return false;
  if (column.kind == ColumnKind::kNumber) return true;
  return value == std::floor(value) && std::abs(value) <= kLargestInteger;
}

std::string complaint(const Column& column, std::string_view written) {
  return fmt::format("expected {}, found {}", expectation(column), written);
}

// A value from the command line in the place of a cell.
Cell constant_cell(const Column& column, const std::string& text) {
  Cell cell{.is_present = true, .number = 0.0, .text = text};
  if (column.kind == ColumnKind::kText) return cell;
  const auto number = read::number_of(text);
  if (!number || !fits(column, *number))
    throw std::invalid_argument(fmt::format("{}: {}", column.name, complaint(column, text)));
  cell.number = *number;
  return cell;
}

}  // namespace

std::string expectation(const Column& column) {
  if (column.kind == ColumnKind::kText) return "a word";
  if (column.kind == ColumnKind::kFlag) return "0, 1, true or false";
  std::string text = column.kind == ColumnKind::kInteger ? "an integer" : "a number";
  if (!column.unit.empty()) text += fmt::format(" of {}", column.unit);
  if (column.most == kUnlimited) return text + fmt::format(" >= {}", column.least);
  return text + fmt::format(" from {} to {}", column.least, column.most);
}

RowPrediction predict_inputs(const Model& model, const OperationInputs& inputs) {
  if (!inputs.reason.empty()) return RowPrediction::none("", inputs.reason);
  std::vector<Cell> cells;
  std::string missing;
  for (const Column& column : model.inputs) {
    Cell& cell = cells.emplace_back();
    for (const auto& [name, value] : inputs.values) {
      if (name != column.name) continue;
      const auto* number = std::get_if<double>(&value);
      const auto* text = std::get_if<std::string>(&value);
      cell = {.is_present = number != nullptr || text != nullptr,
              .number = number == nullptr ? 0.0 : *number,
              .text = text == nullptr ? "" : *text};
    }
    const bool is_number = column.kind != ColumnKind::kText;
    if (cell.is_present &&
        (is_number ? !cell.text.empty() || !fits(column, cell.number) : cell.text.empty())) {
      const bool is_wrong = is_number && cell.text.empty();
      return RowPrediction::none(
          kRefused, fmt::format("{}: {}", column.name,
                                complaint(column, is_wrong ? fmt::format("{}", cell.number)
                                                           : "\"" + cell.text + "\"")));
    }
    if (cell.is_present || !column.is_required) continue;
    missing += fmt::format("{}{}", missing.empty() ? "without " : ", ", column.name);
  }
  if (!missing.empty()) return RowPrediction::none("", missing);
  try {
    return model.predict(Row(cells, model.inputs));
  } catch (const read::InputError& error) {  // a row that no table may have
    return RowPrediction::none("", error.what());
  }
}

RowReader::RowReader(const read::Table& table, std::span<const Column> inputs,
                     const std::map<std::string, std::string>& constants)
    : table_(&table), inputs_(inputs), columns_(inputs.size()), cells_(inputs.size()) {
  std::string missing;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Column& column = inputs[i];
    columns_[i] = table.find(column.name);
    const auto constant = constants.find(std::string(column.name));
    if (constant != constants.end()) {
      if (columns_[i]) {
        throw std::invalid_argument(
            fmt::format("{} is a column of {} and cannot be set", column.name, table.label()));
      }
      cells_[i] = constant_cell(column, constant->second);
    } else if (!columns_[i] && column.is_required) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", column.name);
    }
  }
  if (!missing.empty()) {
    throw read::InputError(fmt::format("{}: line 1: missing column {}", table.label(), missing));
  }
}

void RowReader::read_cell(std::size_t row, std::size_t input) {
  const Column& column = inputs_[input];
  const std::size_t place = *columns_[input];
  Cell& cell = cells_[input];
  if (column.kind == ColumnKind::kText) {
    cell.text = table_->cell(row, place);
    cell.is_present = !cell.text.empty();
  } else if (column.kind == ColumnKind::kFlag) {
    const std::string text = read::lower(table_->cell(row, place));
    cell.is_present = !text.empty();
    cell.number = text == "1" || text == "true" ? 1.0 : 0.0;
    if (cell.is_present && cell.number == 0.0 && text != "0" && text != "false") {
      table_->fail(row, place, complaint(column, text));
    }
  } else if (column.nan_is_missing && read::lower(table_->cell(row, place)) == "nan") {
    cell = {};
  } else {
    const auto value = table_->optional_number(row, place);
    cell.is_present = value.has_value();
    cell.number = value.value_or(0.0);
    if (value && !fits(column, *value)) {
      table_->fail(row, place, complaint(column, table_->cell(row, place)));
    }
  }
  if (!cell.is_present && column.is_required) {
    table_->fail(row, place, complaint(column, "an empty cell"));
  }
}

Row RowReader::read(std::size_t row) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (columns_[i]) read_cell(row, i);
  }
  return Row(cells_, inputs_);
}

void check_same_machine(const read::Table& table, const read::Machine& machine) {
  for (const char* name : {"gpu", "machine"}) {
    const auto column = table.find(name);
    if (!column) continue;
    for (std::size_t row = 0; row < table.row_count(); ++row) {
      const std::string found = read::lower(table.cell(row, *column));
      const bool is_same =
          found == machine.id || std::ranges::any_of(machine.names, [&](const std::string& own) {
            return read::lower(own) == found;
          });
      if (!is_same) {
        table.fail(row, *column,
                   fmt::format("\"{}\" is not {}", table.cell(row, *column), machine.id));
      }
    }
  }
}

std::string repeated_rows(const read::Table& table) {
  std::unordered_map<std::string_view, std::size_t> lines;
  std::size_t count = 0;
  std::string first;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const auto [place, is_new] = lines.emplace(table.row_text(row), table.line(row));
    if (!is_new && count++ == 0) {
      first = fmt::format("line {} as line {}", table.line(row), place->second);
    }
  }
  if (count == 0) return "";
  return fmt::format("{}: rows that stand there before and count again: {} ({}{})", table.label(),
                     count, first, count > 1 ? ", ..." : "");
}

}  // namespace inline_prof::model
