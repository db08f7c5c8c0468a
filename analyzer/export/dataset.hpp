// A profile as the tables of a dataset (docs/dataset.md): columns of plain values, which become
// Parquet or CSV.
#pragma once

#include "join/analysis.hpp"
#include "read/profile.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::exports {

// Stands in every row; a reader refuses another one.
inline constexpr std::int64_t kDatasetVersion = 1;

enum class ColumnType { kInt64, kInt32, kDouble, kFloat, kBool, kString };

struct ColumnFacts {
  std::string name;
  ColumnType type;
};

struct TableFacts {
  std::string name;
  std::vector<ColumnFacts> columns;
};

// Returns every table of a dataset, without the columns `run` and `host`, which are folder names.
[[nodiscard]] std::vector<const TableFacts*> dataset_tables();

enum class Layout {
  // The buffers of each column as Apache Arrow lays them out, of the sizes that its frame says:
  // bits of what is not null (size 0: all), for strings the offsets, and the values.
  kArrow,
  kCsv,  // the names of the columns and the rows; null is an empty cell
};

// The values of one table, column by column.  Rows are added cell by cell, in the order of the
// columns.
class Table {
 public:
  explicit Table(const TableFacts& facts) : facts_(&facts), columns_(facts.columns.size()) {}

  Table& add(std::int64_t value);
  Table& add(double value);  // one that is not finite is null
  Table& add(bool value);
  Table& add(std::string_view value);
  Table& add(const std::string& value) { return add(std::string_view(value)); }
  Table& add_null();
  template <typename Value>
  Table& add(const std::optional<Value>& value) {
    return value ? add(*value) : add_null();
  }

  [[nodiscard]] const TableFacts& facts() const { return *facts_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }

  // Appends a line of JSON that says what follows, {"table", "rows", "bytes", "columns": [{"name",
  // "type", "nulls", "sizes"}], ...`more`}, and the rows, in so many bytes.
  void append_frame(std::string& out, std::string_view more, Layout layout) const;
  void append_csv(std::string& out) const;

 private:
  struct Column {
    std::string validity;  // one bit a row, the lowest first; empty: nothing is null
    std::size_t nulls = 0;
    std::vector<std::int32_t> ends{0};  // of strings: that of row i stands behind its own
    std::string values;
  };
  [[nodiscard]] Column& begin_cell() {
    Column& column = columns_[next_];
    if (!column.validity.empty()) append_bit(column, true);
    end_cell();
    return column;
  }
  void append_bit(Column& column, bool bit) const;
  void end_cell() {
    if (++next_ < columns_.size()) return;
    next_ = 0;
    ++rows_;
  }
  template <typename Value>
  static void append_value(Column& column, Value value);

  const TableFacts* facts_;
  std::vector<Column> columns_;
  std::size_t next_ = 0;  // the column of the next cell
  std::size_t rows_ = 0;
};

// One phase of a file, joined by itself.
struct DatasetPhase {
  join::Analysis analysis;          // of this phase alone; its one profile still has its events
  std::vector<std::size_t> places;  // of the events in the file

  [[nodiscard]] const read::Profile& profile() const { return analysis.runs.front().profile; }
};

// Returns the tables of one file that have rows.  A phase that was not measured has a row in
// `phase` only.
[[nodiscard]] std::vector<Table> dataset_of(const std::vector<DatasetPhase>& phases);

// Returns a table `finding` of one row: about a file that could not be read, or about the run.
[[nodiscard]] Table dataset_finding(std::string_view kind, std::string_view file,
                                    std::string_view text);

}  // namespace inline_prof::exports
