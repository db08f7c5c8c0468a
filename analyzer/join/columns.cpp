#include "join/columns.hpp"

#include <algorithm>
#include <concepts>
#include <functional>
#include <stdexcept>

namespace inline_prof::join {
namespace {

template <typename Value>
struct Known {
  using Type = Value;
  static constexpr bool kAlways = true;
};
template <typename Value>
struct Known<std::optional<Value>> {
  using Type = Value;
  static constexpr bool kAlways = false;
};

template <typename Value>
ColumnValue value_of(const Value& value) {
  constexpr bool is_one_value =
      std::same_as<Value, std::optional<Interval>> || std::same_as<Value, std::optional<Isolated>>;
  if constexpr (!Known<Value>::kAlways && !is_one_value) {
    return value ? value_of(*value) : ColumnValue();
  } else if constexpr (std::integral<Value> && !std::same_as<Value, bool>) {
    return static_cast<std::int64_t>(value);
  } else if constexpr (std::same_as<Value, SharedText>) {
    return value.str();
  } else {
    return value;
  }
}

// `kValue` is a member of the row, or a function of it.
template <typename AnyRow, auto kValue>
Column<AnyRow> column(std::string_view name, std::string_view title = {},
                      std::string_view meaning = {}) {
  using Value = std::remove_cvref_t<std::invoke_result_t<decltype(kValue), const AnyRow&>>;
  return {.name = name,
          .value = [](const AnyRow& row) { return value_of(std::invoke(kValue, row)); },
          .type = value_of(Value(typename Known<Value>::Type())),
          .may_be_unknown = !Known<Value>::kAlways,
          .title = title,
          .meaning = meaning};
}

// A text that is not known where it is empty.
template <auto kText>
constexpr auto kKnown = [](const auto& row) -> std::optional<std::string> {
  const std::string& text = std::invoke(kText, row);
  return text.empty() ? std::nullopt : std::optional(text);
};

// What a row and a merged row have in common.
template <typename Row>
void add_comparison(std::vector<Column<Row>>& columns) {
  const Column<Row> common[] = {
      column<Row, &Row::samples>("samples"),
      column<Row, &Row::not_tight>("not_tight"),
      column<Row, &Row::raw_us>("raw_us", "raw us",
                                "median over the samples of all devices. `<=`: in most samples the "
                                "GPU had caught up with the host, so the time is an upper bound"),
      column<Row, &Row::raw_ci95_us>(
          "raw_ci95_us", "+-95%",
          "half width of the 95 % confidence interval of the median, from order statistics (H. A. "
          "David, H. N. Nagaraja, *Order Statistics*, 3rd ed., 2003, section 7.1); `-` for fewer "
          "than 6 samples"),
      column<Row, &Row::corrected_us>("corrected_us", "corrected",
                                      "with the event bias taken off each sample, at least 0"),
      column<Row, &Row::waited_us>("waited_us"),
      column<Row, &Row::in_iteration_us>("in_iteration_us"),
      column<Row, &Row::predicted_us>("predicted_us", "predicted",
                                      "by the [model of its kind](models/README.md)"),
      column<Row, &Row::predicted_ci90_us>("predicted_ci90_us"),
      column<Row, &Row::vendor_estimate_us>("vendor_estimate_us", "vendor's estimate",
                                            "`--model nvmmh`: of [NVIDIA's "
                                            "package](models/nvmmh.md)"),
      column<Row, &Row::ratio>("ratio"),
      column<Row, &Row::raw_ratio>("raw_ratio"),
      column<Row, kKnown<&Row::bound>>("bound", "bound", "`compute`, `memory`, `link` or `launch`"),
      column<Row, kKnown<&Row::model>>("model"),
      column<Row, kKnown<&Row::parameters>>("parameters"),
      column<Row, [](const Row& row) { return verdict_text(row); }>("verdict", "verdict",
                                                                    "see below"),
      column<Row,
             [](const Row& row) -> std::optional<std::string> {
               return row.predicted_us ? std::nullopt : std::optional<std::string>(row.reason);
             }>("reason"),
      column<Row, &Row::isolated>("isolated")};
  columns.insert(columns.end(), std::begin(common), std::end(common));
}

}  // namespace

template <>
std::span<const Column<Row>> columns_of() {
  static const std::vector<Column<Row>> columns = [] {
    std::vector<Column<Row>> all{
        column<Row, &Row::profile>("run"),
        column<Row, &Row::layer>("layer"),
        column<Row, &Row::event>("event"),
        column<Row, kKnown<&Row::kernel_name>>("kernel_name"),
        column<Row, &Row::device_id>("device_id"),
        column<Row, &Row::stream_index>("stream_index"),
        column<Row, &Row::start_index>("start_index"),
        column<Row, &Row::occurrence>("occurrence"),
        column<Row, &Row::calls>("calls"),
        column<Row, &Row::is_region>("is_region"),
        column<Row, &Row::parent>("parent"),
        column<Row, kKnown<&Row::op_kind>>("op"),
        column<Row, kKnown<&Row::source>>("op_source"),
        column<Row,
               [](const Row& row) -> std::optional<double> {
                 return row.raw_spread_us ? std::optional(row.raw_spread_us->mad) : std::nullopt;
               }>("raw_mad_us"),
        column<Row, [](const Row& row) -> std::optional<std::size_t> {
          return row.raw_spread_us ? std::optional(row.raw_spread_us->outliers) : std::nullopt;
        }>("outliers")};
    add_comparison(all);
    return all;
  }();
  return columns;
}

template <>
std::span<const Column<MergedRow>> columns_of() {
  static const std::vector<Column<MergedRow>> columns = [] {
    std::vector<Column<MergedRow>> all{
        column<MergedRow, &MergedRow::layer>("layer", "layer"),
        column<MergedRow, &MergedRow::event>("event", "event"),
        column<MergedRow, &MergedRow::occurrence>("occurrence"),
        column<MergedRow, &MergedRow::calls>("calls", "calls", "in an iteration"),
        column<MergedRow, &MergedRow::is_region>("is_region"),
        column<MergedRow, &MergedRow::parent>("parent"),
        column<MergedRow, &MergedRow::rows>("rows"),
        column<MergedRow, &MergedRow::share_percent>(
            "share_percent", "share",
            "part of the iteration, mean over devices; that of a region holds those of its inner "
            "rows"),
        column<MergedRow, &MergedRow::slowest_us>("slowest_device_us"),
        column<MergedRow, &MergedRow::outliers>("outliers")};
    add_comparison(all);
    all.push_back(column<MergedRow, &MergedRow::saved_us_if_predicted>("saved_us_if_predicted"));
    return all;
  }();
  return columns;
}

template <typename AnyRow>
const Column<AnyRow>& column_of(std::string_view name) {
  const auto columns = columns_of<AnyRow>();
  const auto it = std::ranges::find(columns, name, &Column<AnyRow>::name);
  if (it == columns.end()) throw std::out_of_range("no column is called " + std::string(name));
  return *it;
}
template const Column<Row>& column_of(std::string_view name);
template const Column<MergedRow>& column_of(std::string_view name);

}  // namespace inline_prof::join
