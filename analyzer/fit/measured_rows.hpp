// Measured tables as a fit wants them: numbers, checked, in an order that the seed decides.
#pragma once

#include "fit/fits.hpp"
#include "model/model.hpp"

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::fit {

struct MeasuredRow {
  std::vector<model::Cell> own_cells;
  std::span<const model::Column> columns;  // those asked for
  double time_us = 0;
  std::string place;  // "FILE: line 7"

  [[nodiscard]] model::Row cells() const { return model::Row(own_cells, columns); }
};

class MeasuredRows {
 public:
  MeasuredRows(const MeasuredRows&) = delete;  // its rows refer to its columns
  MeasuredRows& operator=(const MeasuredRows&) = delete;
  // The columns `inputs` and "time_us" of all tables of `request`.  Where `keep` is given, only
  // rows for which it is true.  Shuffled with the seed, and cut to request.points if that is set.
  // Throws read::InputError: a bad cell with its line, and "FILE: ..." for a request for more
  // points than there are.
  MeasuredRows(const FitRequest& request, std::span<const model::Column> inputs,
               const std::function<bool(const MeasuredRow&)>& keep = {});

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] const MeasuredRow& operator[](std::size_t i) const { return rows_[i]; }
  [[nodiscard]] auto begin() const { return rows_.begin(); }
  [[nodiscard]] auto end() const { return rows_.end(); }

  // Throws read::InputError if there are fewer rows than `least`: a fit of so many numbers would
  // only repeat what was assumed before.
  void require(std::size_t least, const std::string& what) const;
  // Throws read::InputError if this column has the same value in all rows: what depends on it
  // cannot be told from what does not.
  void require_variety(std::string_view column) const;

 private:
  [[noreturn]] void fail(const std::string& what) const;

  std::vector<MeasuredRow> rows_;
  std::vector<model::Column> inputs_;
  std::string labels_;
};

// A setting of the request that is the fit's own; `otherwise` if it is not set.  Throws
// std::invalid_argument for another word than these and `otherwise`, where there are any.
[[nodiscard]] std::string setting(const FitRequest& request, const std::string& name,
                                  const std::string& otherwise,
                                  std::initializer_list<std::string_view> words = {});

struct BoundedRow {
  const MeasuredRow* row;
  double bound_us;  // what the work takes at the least by the machine's data sheet, or 0
};

// Throws read::InputError where half of the rows are so far from what their machine can do that
// their times have another unit: nanoseconds look a thousand times too long, milliseconds a
// thousand times too short.  Names the row in the middle.
void refuse_another_unit(std::vector<BoundedRow> rows);

}  // namespace inline_prof::fit
