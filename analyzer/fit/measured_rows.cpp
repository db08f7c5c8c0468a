#include "fit/measured_rows.hpp"

#include "base/random.hpp"
#include "model/row_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace inline_prof::fit {
namespace {

// Below a nanosecond and above a quarter of an hour it is another unit.
constexpr model::Column kTime{"time_us", "us",           model::ColumnKind::kNumber, 1e-3, 1e9,
                              true,      "measured time"};

// The timer dominates small work: 2 us within a CUDA graph, up to 350 us where a host
// launches between two events.  A unit that is wrong makes a factor of a thousand.
constexpr double kUsualTimerUs = 10;
constexpr double kTooLong = 100;
constexpr double kTooShort = 1.0 / 50;

double expected_us(const BoundedRow& row) {
  return std::max(row.bound_us, kUsualTimerUs);
}

double ratio(const BoundedRow& row) {
  return row.row->time_us / expected_us(row);
}

}  // namespace

MeasuredRows::MeasuredRows(const FitRequest& request, std::span<const model::Column> inputs,
                           const std::function<bool(const MeasuredRow&)>& keep)
    : inputs_(inputs.begin(), inputs.end()) {
  inputs_.push_back(kTime);
  for (const read::Table& table : request.tables) {
    labels_ += (labels_.empty() ? "" : ", ") + table.label();
    std::map<std::string, std::string> constants;
    for (const auto& [name, value] : request.settings) {
      if (!table.find(name)) constants.emplace(name, value);
    }
    model::RowReader reader(table, inputs_, constants);
    for (std::size_t i = 0; i < table.row_count(); ++i) {
      const model::Row cells = reader.read(i);
      MeasuredRow row{reader.cells(), inputs_, cells.number(kTime.name),
                      fmt::format("{}: line {}", table.label(), table.line(i))};
      if (!keep || keep(row)) rows_.push_back(std::move(row));
    }
  }
  base::shuffle_by_twister(std::span(rows_), request.seed);
  if (request.points) {
    if (*request.points > rows_.size()) {
      fail(fmt::format("--points {}, but there are {} rows", *request.points, rows_.size()));
    }
    rows_.resize(*request.points);
  }
}

void MeasuredRows::fail(const std::string& what) const {
  throw read::InputError(fmt::format("{}: {}", labels_, what));
}

void MeasuredRows::require(std::size_t least, const std::string& what) const {
  if (rows_.size() < least) {
    fail(fmt::format("{} rows, but {} needs {} at least", rows_.size(), what, least));
  }
}

void MeasuredRows::require_variety(std::string_view column) const {
  const double first = rows_.front().cells().number(column);
  if (std::ranges::all_of(
          rows_, [&](const MeasuredRow& row) { return row.cells().number(column) == first; })) {
    fail(fmt::format("column {}: {} in every row, so nothing can be learnt about it", column,
                     first));
  }
}

std::string setting(const FitRequest& request, const std::string& name,
                    const std::string& otherwise, std::initializer_list<std::string_view> words) {
  const auto it = request.settings.find(name);
  if (it == request.settings.end() || it->second == otherwise) return otherwise;
  if (words.size() == 0 || std::ranges::find(words, it->second) != words.end()) return it->second;
  const std::span before_last(words.begin(), words.end() - 1);
  throw std::invalid_argument(fmt::format("--set {}={}: expected {}{}{}", name, it->second,
                                          fmt::join(before_last, ", "),
                                          before_last.empty() ? "" : " or ", *(words.end() - 1)));
}

void refuse_another_unit(std::vector<BoundedRow> rows) {
  if (rows.empty()) return;
  const auto middle = rows.begin() + static_cast<std::ptrdiff_t>(rows.size() / 2);
  std::nth_element(rows.begin(), middle, rows.end(),
                   [](const BoundedRow& a, const BoundedRow& b) { return ratio(a) < ratio(b); });
  if (ratio(*middle) >= kTooShort && ratio(*middle) <= kTooLong) return;
  throw read::InputError(fmt::format(
      "{}, column time_us: {} us where about {:.3g} us were expected, and half of all rows are as "
      "far off: another unit, type or GPU?",
      middle->row->place, middle->row->time_us, expected_us(*middle)));
}

}  // namespace inline_prof::fit
