#include "measure/case.hpp"

#include "measure/suites.hpp"
#include "read/measurements/measurements.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>

namespace inline_prof::measure {

std::int64_t integer(const read::Op& op, std::string_view name) {
  const auto value = op.get<std::int64_t>(name);
  if (!value) throw Skipped(fmt::format("{} without {}", op.kind, name));
  if (*value < 1) throw Skipped(fmt::format("{} with {} = {}", op.kind, name, *value));
  return *value;
}

std::int64_t integer_or(const read::Op& op, std::string_view name, std::int64_t otherwise) {
  return op.find(name) == nullptr ? otherwise : integer(op, name);
}

std::string text_or(const read::Op& op, std::string_view name, std::string_view otherwise) {
  return op.get<std::string>(name).value_or(std::string(otherwise));
}

bool is_set(const read::Op& op, std::string_view name) {
  return op.get<bool>(name).value_or(op.get<std::int64_t>(name).value_or(0) != 0);
}

double number_or(const read::Op& op, std::string_view name, double otherwise) {
  if (const auto value = op.get<double>(name)) return *value;
  const auto whole = op.get<std::int64_t>(name);
  return whole ? static_cast<double>(*whole) : otherwise;
}

namespace {

read::Attribute attribute_of(const read::Table& table, std::size_t row, std::size_t column,
                             const std::string& cell) {
  const std::string& name = table.columns()[column];
  switch (read::attribute_type(name)) {
    case read::AttributeType::kInteger: {
      std::int64_t value = 0;
      const auto [rest, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
      if (error != std::errc{} || rest != cell.data() + cell.size()) {
        table.fail(row, column, fmt::format("expected a whole number, found {}", cell));
      }
      return value;
    }
    case read::AttributeType::kBoolean:
      if (cell != "true" && cell != "false") {
        table.fail(row, column, fmt::format("expected true or false, found {}", cell));
      }
      return cell == "true";
    case read::AttributeType::kText:
      return cell;
    case read::AttributeType::kAny:
      break;
  }
  std::int64_t whole = 0;
  const auto [rest, error] = std::from_chars(cell.data(), cell.data() + cell.size(), whole);
  if (error == std::errc{} && rest == cell.data() + cell.size()) return whole;
  double number = 0;
  const auto [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (problem == std::errc{} && end == cell.data() + cell.size()) return number;
  return cell;
}

// Returns the kind of the suite's operations.
std::string kind_of(const Suite& suite) {
  const auto ops = suite.ops(GpuFacts{});
  return ops.front().kind;
}

}  // namespace

std::vector<read::Op> ops_of_grid(const std::filesystem::path& file, const Suite& suite) {
  const std::string kind = kind_of(suite);
  // SEER's file is converted to a table first.
  const bool is_seers = file.extension() == ".txt" && kind == op_kind_name(OpKind::kConv);
  const read::Table table = is_seers ? read::Table(read::csv_text(read::convert_measurements(
                                                       file, kind, read::ConvertSettings{})),
                                                   file.string())
                                     : read::read_table(file);
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    if (std::ranges::find(suite.columns, table.columns()[i]) != suite.columns.end())
      columns.push_back(i);
  }
  if (columns.empty()) {
    throw read::InputError(fmt::format("{}: line 1: no column of suite {}: expected some of {}",
                                       file.string(), suite.name, fmt::join(suite.columns, ", ")));
  }
  std::vector<read::Op> ops;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    read::Op op{.kind = kind, .source = {}, .attributes = {}};
    for (const std::size_t column : columns) {
      const std::string cell = table.cell(row, column);
      // SEER's layers name no pass: with all algorithms, each stands for all three.
      const bool is_assumed =
          is_seers && suite.each_way != nullptr && table.columns()[column] == "direction";
      if (!cell.empty() && !is_assumed) {
        op.attributes.emplace_back(table.columns()[column], attribute_of(table, row, column, cell));
      }
    }
    if (suite.each_way == nullptr) {
      ops.push_back(std::move(op));
    } else {
      std::ranges::move(suite.each_way(op), std::back_inserter(ops));
    }
  }
  return ops;
}

ProfileOps ops_of_profile(const read::Profile& profile) {
  ProfileOps found;
  std::set<std::string> seen;
  for (const read::Event& event : profile.events) {
    const OpKindEntry* kind = event.op ? find_op_kind(event.op->kind) : nullptr;
    if (!event.op) {
      ++found.skipped["operation not known"];
    } else if (kind == nullptr || !kind->is_measured) {
      ++found.skipped[fmt::format("{} cannot be replayed", event.op->kind)];
    } else if (seen.insert(read::op_text(*event.op)).second) {
      found.ops.push_back(*event.op);
    }
  }
  return found;
}

}  // namespace inline_prof::measure
