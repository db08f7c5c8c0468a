// A table of comma-separated values (RFC 4180), kept as it was written: what is added to a row goes
// behind the row's own text, so every column of the input comes out byte for byte.
#pragma once

#include "read/input_error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::read {

class Table {
 public:
  // `label` is what complaints call the table, usually the file's path.  Throws InputError: no
  // header, a row with another number of cells than the header, an empty line before the end, a
  // quoted cell that does not end.
  Table(std::string text, std::string label);

  [[nodiscard]] const std::string& label() const { return label_; }
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  [[nodiscard]] std::size_t row_count() const { return lines_.size(); }

  // The column of this name, if there is one.  Throws InputError if there are two: nobody can say
  // which one was meant.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  // The same for a column that has to be there.
  [[nodiscard]] std::size_t require(std::string_view name) const;

  // Rows and columns count from 0.  A cell comes without its quotes and outer blanks.
  [[nodiscard]] std::string cell(std::size_t row, std::size_t column) const;
  // A finite number.  Throws InputError for anything else, the empty cell included.
  [[nodiscard]] double number(std::size_t row, std::size_t column) const;
  // The same; an empty cell is no number.
  [[nodiscard]] std::optional<double> optional_number(std::size_t row, std::size_t column) const;

  // The text of the header and of a row, as written, without the end of the line.
  [[nodiscard]] std::string_view header_text() const;
  [[nodiscard]] std::string_view row_text(std::size_t row) const;
  // Returns the line in which a row starts; the header stands in line 1.
  [[nodiscard]] std::size_t line(std::size_t row) const { return lines_[row]; }

  // Throws InputError "LABEL: line 7, column batch_size: WHAT".
  [[noreturn]] void fail(std::size_t row, std::size_t column, std::string_view what) const;
  // Throws InputError "LABEL: line 7: WHAT".
  [[noreturn]] void fail(std::size_t row, std::string_view what) const;

 private:
  // Records are the header (0) and the rows.
  [[nodiscard]] std::string_view record_text(std::size_t record) const;
  [[nodiscard]] std::string_view cell_text(std::size_t record, std::size_t column) const;

  std::string text_;
  std::string label_;
  std::vector<std::string> columns_;
  // The start of each cell, and one past the end of the record's last: (columns + 1) numbers a
  // record.  32 bits, because a file that they cannot count is refused.
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint32_t> lines_;
};

// Throws InputError.
[[nodiscard]] Table read_table(const std::filesystem::path& file);

}  // namespace inline_prof::read
