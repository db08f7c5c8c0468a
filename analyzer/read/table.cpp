#include "read/table.hpp"

#include "read/file_text.hpp"
#include "read/text_lines.hpp"

#include <fmt/format.h>

#include <utility>

namespace inline_prof::read {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// A cell's text as its writer meant it.
std::string unquoted(std::string_view cell) {
  if (!cell.starts_with('"')) return std::string(trimmed(cell));
  std::string text;
  for (std::size_t i = 1; i + 1 < cell.size(); ++i) {
    text += cell[i];
    if (cell[i] == '"') ++i;  // the second one of a doubled quote
  }
  return text;
}

// Returns what was found, as a complaint quotes it.
std::string quoted(std::string_view text) {
  if (text.empty()) return "an empty cell";
  constexpr std::size_t longest = 40;
  return text.size() <= longest ? fmt::format("\"{}\"", text)
                                : fmt::format("\"{}...\"", text.substr(0, longest));
}

struct Record {
  std::vector<std::size_t> starts;  // of the cells, and one past the end of the last
  std::size_t next = 0;             // where the next record starts
  bool quote_is_open = false;
};

// Splits the record that starts at `place` into cells.  Quotes count at the start of a cell only.
void split_record(std::string_view text, std::size_t place, Record& record) {
  record.starts.assign(1, place);
  record.quote_is_open = false;
  std::size_t i = place;
  for (; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '"' && i == record.starts.back()) {
      record.quote_is_open = true;
      for (++i; i < text.size(); ++i) {
        if (text[i] != '"') continue;
        if (i + 1 < text.size() && text[i + 1] == '"') {
          ++i;
          continue;
        }
        record.quote_is_open = false;
        break;
      }
      if (record.quote_is_open) break;
    } else if (text[i] == ',') {
      record.starts.push_back(i + 1);
    }
  }
  record.next = i + 1;
  if (i > place && text[i - 1] == '\r') --i;
  record.starts.push_back(i + 1);  // as if a comma followed
}

}  // namespace

Table::Table(std::string text, std::string label)
    : text_(std::move(text)), label_(std::move(label)) {
  if (text_.size() >= UINT32_MAX) throw InputError(fmt::format("{}: longer than 4 GiB", label_));
  // The last line may end or not; several empty ones at the end are none.
  text_.resize(text_.find_last_not_of("\r\n") + 1);  // npos + 1 is 0
  Record record;
  std::size_t line = 1;
  record.next = text_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  if (record.next == text_.size())
    throw InputError(fmt::format("{}: line 1: empty, expected a header", label_));
  while (record.next < text_.size()) {
    const std::size_t place = record.next;
    split_record(text_, place, record);
    if (record.quote_is_open)
      throw InputError(fmt::format("{}: line {}: a quoted cell does not end", label_, line));
    const std::size_t cells = record.starts.size() - 1;
    if (starts_.empty()) {
      for (std::size_t i = 0; i < cells; ++i) {
        const std::size_t start = record.starts[i];
        columns_.push_back(
            unquoted(std::string_view(text_).substr(start, record.starts[i + 1] - 1 - start)));
      }
    } else {
      if (record.starts.back() == place + 1 && columns_.size() > 1)
        throw InputError(fmt::format("{}: line {}: empty", label_, line));
      if (cells != columns_.size())
        throw InputError(fmt::format("{}: line {}: {} cells, the header has {}", label_, line,
                                     cells, columns_.size()));
      lines_.push_back(static_cast<std::uint32_t>(line));
    }
    for (const std::size_t start : record.starts)
      starts_.push_back(static_cast<std::uint32_t>(start));
    for (std::size_t i = place; i < record.next && i < text_.size(); ++i) {
      if (text_[i] == '\n') ++line;
    }
  }
  if (columns_.size() == 1 && columns_[0].find_first_of(";\t") != std::string::npos)
    throw InputError(fmt::format("{}: line 1: expected commas between the columns", label_));
}

std::optional<std::size_t> Table::find(std::string_view name) const {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] != name) continue;
    if (found) throw InputError(fmt::format("{}: line 1: two columns {}", label_, name));
    found = i;
  }
  return found;
}

std::size_t Table::require(std::string_view name) const {
  const auto found = find(name);
  if (!found) throw InputError(fmt::format("{}: line 1: no column {}", label_, name));
  return *found;
}

std::string_view Table::record_text(std::size_t record) const {
  const std::size_t first = record * (columns_.size() + 1);
  const std::size_t start = starts_[first];
  return std::string_view(text_).substr(start, starts_[first + columns_.size()] - 1 - start);
}

std::string_view Table::cell_text(std::size_t record, std::size_t column) const {
  const std::size_t first = record * (columns_.size() + 1) + column;
  const std::size_t start = starts_[first];
  return std::string_view(text_).substr(start, starts_[first + 1] - 1 - start);
}

std::string_view Table::header_text() const {
  return record_text(0);
}

std::string_view Table::row_text(std::size_t row) const {
  return record_text(row + 1);
}

std::string Table::cell(std::size_t row, std::size_t column) const {
  return unquoted(cell_text(row + 1, column));
}

std::optional<double> Table::optional_number(std::size_t row, std::size_t column) const {
  std::string storage;
  std::string_view text = cell_text(row + 1, column);
  if (text.starts_with('"')) {
    storage = unquoted(text);
    text = storage;
  }
  text = trimmed(text);
  if (text.empty()) return std::nullopt;
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  const auto value = number_of(digits);
  if (!value) fail(row, column, fmt::format("expected a number, found {}", quoted(text)));
  return value;
}

double Table::number(std::size_t row, std::size_t column) const {
  const auto value = optional_number(row, column);
  if (!value) fail(row, column, "expected a number, found an empty cell");
  return *value;
}

void Table::fail(std::size_t row, std::size_t column, std::string_view what) const {
  throw InputError(
      fmt::format("{}: line {}, column {}: {}", label_, line(row), columns_[column], what));
}

void Table::fail(std::size_t row, std::string_view what) const {
  throw InputError(fmt::format("{}: line {}: {}", label_, line(row), what));
}

Table read_table(const std::filesystem::path& file) {
  return {read_text(file), file.string()};
}

}  // namespace inline_prof::read
