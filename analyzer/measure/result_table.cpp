#include "measure/result_table.hpp"

#include "read/measurements/measurements.hpp"
#include "read/table.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

namespace inline_prof::measure {
namespace {

namespace fs = std::filesystem;

}  // namespace

const std::vector<std::string_view>& measured_columns() {
  static const std::vector<std::string_view> columns{
      "kernel_name", "blocks",        "kernels",       "samples",        "raw_us",
      "floor_us",    "time_lower_us", "time_upper_us", "sm_clock_mhz",   "memory_clock_mhz",
      "power_w",     "temperature_c", "device_name",   "driver_version", "library",
      "algorithm",   "stand_in",      "time_us"};
  return columns;
}

std::string cell_of(const read::Op& op, std::string_view column) {
  if (column == "operation") return read::op_text(op);
  const read::Attribute* attribute = op.find(column);
  return attribute == nullptr ? std::string() : read::attribute_text(*attribute);
}

ResultTable::ResultTable(fs::path file, const std::vector<std::string_view>& columns,
                         IfThere if_there, const std::vector<std::string_view>& more)
    : file_(std::move(file)),
      columns_(columns.begin(), columns.end()),
      key_columns_(columns.size()) {
  columns_.insert(columns_.end(), measured_columns().begin(), measured_columns().end());
  columns_.insert(columns_.end() - 1, more.begin(), more.end());
  if (if_there == IfThere::kResume) {
    std::ifstream stopped(stopped_file());
    for (std::string line; std::getline(stopped, line);)
      stopped_gpu_.insert(line);
  } else if (if_there == IfThere::kReplace) {
    std::error_code none_there;
    fs::remove(stopped_file(), none_there);
  }
  if (!fs::exists(file_) || if_there == IfThere::kReplace) return;
  if (if_there == IfThere::kRefuse) {
    throw read::InputError(fmt::format(
        "{}: exists already; --resume adds to it, --force replaces it", file_.string()));
  }
  const read::Table table = read::read_table(file_);
  if (table.columns() != columns_) {
    throw read::InputError(
        fmt::format("{}: line 1: cannot be resumed: expected the columns {}, found {}",
                    file_.string(), fmt::join(columns_, ","), fmt::join(table.columns(), ",")));
  }
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    std::vector<std::string> cells;
    for (std::size_t column = 0; column < columns_.size(); ++column)
      cells.push_back(table.cell(row, column));
    keys_.emplace(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(key_columns_));
    rows_.push_back(std::move(cells));
  }
}

std::vector<std::string> ResultTable::key_of(const read::Op& op) const {
  std::vector<std::string> key;
  for (std::size_t i = 0; i < key_columns_; ++i)
    key.push_back(cell_of(op, columns_[i]));
  return key;
}

bool ResultTable::has(const read::Op& op) const {
  return keys_.contains(key_of(op));
}

void ResultTable::add(const read::Op& op, const Cells& cells) {
  std::vector<std::string> row = key_of(op);
  keys_.insert(row);
  for (std::size_t i = key_columns_; i < columns_.size(); ++i) {
    const auto cell = cells.find(columns_[i]);
    row.push_back(cell == cells.end() ? "" : cell->second);
  }
  rows_.push_back(std::move(row));
  is_changed_ = true;
}

bool ResultTable::has_stopped_gpu(const read::Op& op) const {
  return stopped_gpu_.contains(read::op_text(op));
}

void ResultTable::add_stopped_gpu(const read::Op& op) {
  stopped_gpu_.insert(read::op_text(op));
  std::ofstream out(stopped_file(), std::ios::app);
  out << read::op_text(op) << '\n';
  out.close();
  if (!out) throw std::runtime_error(fmt::format("{}: cannot be written", stopped_file().string()));
}

void ResultTable::save() {
  if (!is_changed_) return;
  const fs::path unfinished = fmt::format("{}.{}.tmp", file_.string(), getpid());
  {
    std::ofstream out(unfinished, std::ios::binary | std::ios::trunc);
    out << read::csv_text({.columns = columns_, .rows = rows_, .notes = {}});
    out.close();
    if (!out) {
      std::error_code ignored;
      fs::remove(unfinished, ignored);
      throw std::runtime_error(fmt::format("{}: cannot be written: {}", unfinished.string(),
                                           std::generic_category().message(errno)));
    }
  }
  fs::rename(unfinished, file_);
  is_changed_ = false;
}

}  // namespace inline_prof::measure
