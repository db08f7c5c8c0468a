// Words and columns, for every report.
#pragma once

#include "base/text.hpp"
#include "model/model.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inline_prof::report {

using base::columns;
using base::printable;
using base::readable_name;
using base::shortened;

// Columns of a layer and its kernel in a sentence: a word is not broken into lines.
inline constexpr std::size_t kMostOfAName = 68;

// Returns the names cut to `width`.  Those that would look alike are cut so that what tells them
// apart stays.
[[nodiscard]] std::vector<std::string> shortened_apart(const std::vector<std::string>& names,
                                                       std::size_t width);

// Appends "label       text", the text broken between words at `width` columns and indented to its
// own column.
void add_labelled(std::string& out, std::string_view label, std::string_view text,
                  std::size_t width);

// Returns an event's name for a reader.  A kernel with a known operator has both names, "aten::gelu
// vectorized_elementwise_kernel", without the namespaces and template arguments that would fill the
// line.
[[nodiscard]] std::string readable_event(std::string_view event, std::string_view source);

// Returns "9.1 %", with `sign` for " %", or "90.2 us" of an iteration of unknown time.
[[nodiscard]] std::string part_of_step(const std::optional<double>& percent, std::string_view sign,
                                       double time_us);

// Returns a cell of a CSV file.
[[nodiscard]] std::string csv_text(const model::Part& value);

// Returns "1,789".
[[nodiscard]] std::string grouped(std::int64_t number);

// Returns "1 row", "3 rows".
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun);

// Notes below a table: they are long and few, so that a row shows a number only.
class Footnotes {
 public:
  // Returns "(1)".
  std::string number_of(std::string_view note);
  // Appends a line for each, `with_rows` with how many rows have it.
  void write(std::string& out, std::size_t width, bool with_rows = false) const;

  // Returns each with the number of rows that have it.
  [[nodiscard]] const std::vector<std::pair<std::string, std::size_t>>& notes() const {
    return notes_;
  }

 private:
  std::vector<std::pair<std::string, std::size_t>> notes_;
};

// The meaning of a status.  A terminal shows it as a colour too, never as a colour alone.
enum class Mood { kGood, kBad, kUnsure, kPlain };
[[nodiscard]] std::string painted(std::string_view text, Mood mood, bool colour);

// A small table of results, in the shapes that people and programs want.
struct Grid {
  std::vector<std::string> columns;
  std::vector<std::vector<model::Part>> rows;  // as many values as columns
  std::string_view note{};                     // above the table, for people only
};

enum class GridFormat { kTable, kCsv, kMarkdown, kJson };

// Returns text that ends with an end of line.  kTable and kMarkdown round numbers to five digits;
// kCsv and kJson (a list of objects) hold all of them.
[[nodiscard]] std::string grid_text(const Grid& grid, GridFormat format);

}  // namespace inline_prof::report
