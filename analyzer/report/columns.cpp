#include "report/columns.hpp"

#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <functional>
#include <type_traits>

namespace inline_prof::report {
namespace {

using join::MergedRow;
using join::Row;

template <typename Member>
struct Known {
  using Type = Member;
  static constexpr bool kAlways = true;
};
template <typename Member>
struct Known<std::optional<Member>> {
  using Type = Member;
  static constexpr bool kAlways = false;
};

template <typename Member>
Value value_of(const Member& member) {
  constexpr bool is_one_value = std::same_as<Member, std::optional<join::Interval>> ||
                                std::same_as<Member, std::optional<join::Isolated>>;
  if constexpr (!Known<Member>::kAlways && !is_one_value) {
    return member ? value_of(*member) : Value();
  } else if constexpr (std::integral<Member> && !std::same_as<Member, bool>) {
    return static_cast<std::int64_t>(member);
  } else if constexpr (std::same_as<Member, join::SharedText>) {
    return member.str();
  } else {
    return member;
  }
}

// A row of the table.  `kValue` is a member of the row, or a function of it.
template <typename AnyRow, auto kValue>
Column<AnyRow> column(std::string_view name, const Shown<AnyRow>& shown = {}) {
  using Member = std::remove_cvref_t<std::invoke_result_t<decltype(kValue), const AnyRow&>>;
  return {.name = name,
          .unit = name.ends_with("_us")        ? Unit::kMicroseconds
                  : name.ends_with("_percent") ? Unit::kPercent
                                               : Unit::kNone,
          .value = [](const AnyRow& row) { return value_of(std::invoke(kValue, row)); },
          .type = value_of(Member(typename Known<Member>::Type())),
          .may_be_unknown = !Known<Member>::kAlways,
          .shown = shown};
}

// A text that is unknown if it is empty.
template <auto kText>
constexpr auto kKnown = [](const auto& row) -> std::optional<std::string> {
  const std::string& text = std::invoke(kText, row);
  return text.empty() ? std::nullopt : std::optional(text);
};

constexpr auto kReason = [](const auto& row) -> std::optional<std::string> {
  return row.predicted_us ? std::nullopt : std::optional<std::string>(row.reason);
};

// The columns that a row and a merged row have in common.
template <typename AnyRow>
void add_comparison(std::vector<Column<AnyRow>>& columns) {
  // clang-format off
  const Column<AnyRow> common[] = {
      column<AnyRow, &AnyRow::samples>("samples", {.in_page = true, .csv = 8, .dataset = 21}),
      column<AnyRow, &AnyRow::not_tight>("not_tight", {
          .description = "samples that are upper bounds",
          .in_page = true, .csv = 9}),
      column<AnyRow, &AnyRow::raw_us>("raw_us", {
          .heading = "raw us",
          .meaning = "median over the samples of all devices. `<=`: in most samples the "
                     "GPU had caught up with the host, so the time is an upper bound",
          .width = 10, .in_page = true, .table = 3, .markdown = 5, .csv = 11}),
      column<AnyRow, &AnyRow::raw_ci95_us>("raw_ci95_us", {
          .heading = "+-95%",
          .meaning = "half width of the 95 % confidence interval of the median, from order "
                     "statistics (H. A. David, H. N. Nagaraja, *Order Statistics*, 3rd ed., 2003, "
                     "section 7.1); `-` for fewer than 6 samples",
          .cell = [](const AnyRow& row) {
            const auto percent = join::half_width_percent(row.raw_us, row.raw_ci95_us);
            return percent ? fmt::format("{:.1f}%", *percent) : std::string();
          },
          .width = 6, .in_page = true, .table = 4, .csv = 12, .dataset = 23, .dataset_name = "raw_us"}),
      column<AnyRow, &AnyRow::corrected_us>("corrected_us", {
          .heading = "corrected",
          .meaning = "with the event bias taken off each sample, at least 0",
          .width = 10, .in_page = true, .table = 5, .markdown = 6, .csv = 13, .dataset = 25}),
      column<AnyRow, &AnyRow::waited_us>("waited_us", {
          .description = "of corrected_us, for the rank that comes last to the collective; null: no "
                         "collective, or not met by other ranks' files"}),
      column<AnyRow, &AnyRow::in_iteration_us>("in_iteration_us", {
          .description = "of all its calls in one iteration",
          .in_page = true, .csv = 14, .dataset = 26}),
      column<AnyRow, &AnyRow::predicted_us>("predicted_us", {
          .heading = "predicted",
          .meaning = "by the [model of its kind](models/README.md)",
          .width = 10, .in_page = true, .table = 6, .markdown = 7, .csv = 15, .dataset = 28}),
      column<AnyRow, &AnyRow::predicted_ci90_us>("predicted_ci90_us", {
          .heading = "90 %",
          .meaning = "interval of the prediction, where the width allows it",
          .cell = [](const AnyRow& row) {
            const auto& ci90 = row.predicted_ci90_us;
            return ci90 ? fmt::format("{:.1f} to {:.1f}", ci90->lower, ci90->upper) : std::string();
          },
          .width = 17,
          .in_page = true, .table = 6, .csv = 16, .dataset = 29, .dataset_name = "predicted_us"}),
      column<AnyRow, &AnyRow::ratio>("ratio", {
          .description = "(corrected - waited) / predicted",
          .in_page = true, .csv = 17, .dataset = 31}),
      column<AnyRow, &AnyRow::raw_ratio>("raw_ratio", {
          .description = "(raw - waited) / predicted: what ratio would be without the correction"}),
      column<AnyRow, kKnown<&AnyRow::bound>>("bound", {
          .heading = "bound",
          .meaning = "`compute`, `memory`, `link` or `launch`",
          .schema = R"("enum": ["compute", "memory", "link", "launch", "mixed", null])",
          .width = -7, .in_page = true, .table = 8, .markdown = 9, .csv = 18, .dataset = 32}),
      column<AnyRow, kKnown<&AnyRow::model>>("model", {.in_page = true, .csv = 19, .dataset = 33}),
      column<AnyRow, kKnown<&AnyRow::parameters>>("parameters", {
          .description = "what the model was fitted on, e.g. \"h200-sxm-141gb bf16\"",
          .in_page = true}),
      column<AnyRow, [](const AnyRow& row) { return join::verdict_text(row); }>("verdict", {
          .heading = "verdict",
          .meaning = "see below",
          .in_page = true, .table = 9, .markdown = 10, .csv = 20, .dataset = 34}),
      column<AnyRow, kReason>("reason", {.description = "why there is no prediction"}),
      column<AnyRow, &AnyRow::isolated>("isolated")};
  // clang-format on
  columns.insert(columns.end(), std::begin(common), std::end(common));
}

}  // namespace

template <>
std::span<const Column<Row>> columns_of() {
  static const std::vector<Column<Row>> columns = [] {
    // clang-format off
    std::vector<Column<Row>> all{
        column<Row, &Row::profile>("run", {.description = "index into runs", .in_page = true}),
        column<Row, &Row::layer>("layer", {.csv = 1, .dataset = 9}),
        column<Row, &Row::event>("event", {.csv = 2, .dataset = 10}),
        column<Row, kKnown<&Row::kernel_name>>("kernel_name", {.dataset = 12}),
        column<Row, &Row::device_id>("device_id", {.in_page = true, .csv = 3, .dataset = 7}),
        column<Row, &Row::stream_index>("stream_index", {.in_page = true, .csv = 4, .dataset = 8}),
        column<Row, &Row::start_index>("start_index", {
            .csv = 5, .dataset = 18, .is_int64_in_dataset = true}),
        column<Row, &Row::end_index>("end_index", {
            .in_json = false, .dataset = 19, .is_int64_in_dataset = true}),
        column<Row, &Row::occurrence>("occurrence", {.csv = 6, .dataset = 11}),
        column<Row, &Row::calls>("calls", {.csv = 7, .dataset = 20, .is_int64_in_dataset = true}),
        column<Row, &Row::is_region>("is_region", {.csv = 10}),
        column<Row, &Row::parent>("parent", {
            .description = "index of the region that encloses it"}),
        column<Row, kKnown<&Row::op_kind>>("op", {
            .description = "kind of operation", .dataset = 13, .dataset_name = "op_kind"}),
        column<Row, kKnown<&Row::source>>("op_source", {
            .description = "the call, operator or file that said so, as aten::gelu"}),
        column<Row, [](const Row& row) -> std::optional<double> {
          return row.raw_spread_us ? std::optional(row.raw_spread_us->mad) : std::nullopt;
        }>("raw_mad_us", {
            .description = "median distance of the samples from their median; null for fewer than 3",
            .in_page = true}),
        column<Row, [](const Row& row) -> std::optional<std::size_t> {
          return row.raw_spread_us ? std::optional(row.raw_spread_us->outliers) : std::nullopt;
        }>("outliers", {.description = "samples further than 5 raw_mad_us from their median"}),
        column<Row, kKnown<&Row::meeting>>("meeting", {.in_json = false, .dataset = 15}),
        column<Row, &Row::bias_us>("bias_us", {.in_json = false, .dataset = 24}),
        column<Row, &Row::offset_us>("offset_us", {.in_json = false, .dataset = 27})};
    // clang-format on
    add_comparison(all);
    return all;
  }();
  return columns;
}

template <>
std::span<const Column<MergedRow>> columns_of() {
  static const std::vector<Column<MergedRow>> columns = [] {
    // clang-format off
    std::vector<Column<MergedRow>> all{
        column<MergedRow, &MergedRow::layer>("layer", {
            .heading = "layer", .in_page = true, .markdown = 1}),
        column<MergedRow, &MergedRow::event>("event", {
            .heading = "event",
            .cell = [](const MergedRow& row) {
              return readable_event(row.event, row.source) +
                     (row.occurrence > 0 ? fmt::format(" #{}", row.occurrence) : "");
            },
            .in_page = true, .markdown = 2}),
        column<MergedRow, &MergedRow::occurrence>("occurrence"),
        column<MergedRow, &MergedRow::calls>("calls", {
            .heading = "calls",
            .meaning = "in an iteration",
            .width = 6, .in_page = true, .table = 2, .markdown = 4}),
        column<MergedRow, &MergedRow::is_region>("is_region"),
        column<MergedRow, &MergedRow::parent>("parent", {
            .description = "index of the region that encloses it", .in_page = true}),
        column<MergedRow, &MergedRow::rows>("rows", {
            .description = "indices into rows", .in_page = true}),
        column<MergedRow, &MergedRow::share_percent>("share_percent", {
            .heading = "share",
            .meaning = "part of the iteration, mean over devices; that of a region holds those of "
                       "its inner rows",
            .width = 7, .in_page = true, .table = 1, .markdown = 3}),
        column<MergedRow, &MergedRow::slowest_us>("slowest_device_us"),
        column<MergedRow, &MergedRow::outliers>("outliers", {
            .description = "sum over rows", .in_page = true})};
    // clang-format on
    add_comparison(all);
    all.push_back(column<MergedRow, &MergedRow::saved_us_if_predicted>(
        "saved_us_if_predicted",
        {.description = "of the iteration, if this row took what is predicted for it on all "
                        "devices, and everything else what it took; 0: hidden, or not slower than "
                        "predicted"}));
    return all;
  }();
  return columns;
}

template <typename AnyRow>
std::vector<const Column<AnyRow>*> columns_in(int Shown<AnyRow>::*format) {
  std::vector<const Column<AnyRow>*> columns;
  for (const Column<AnyRow>& column : columns_of<AnyRow>()) {
    if (column.shown.*format > 0) columns.push_back(&column);
  }
  std::ranges::stable_sort(columns, {}, [&](const auto* column) { return column->shown.*format; });
  return columns;
}
template std::vector<const Column<Row>*> columns_in(int Shown<Row>::*format);
template std::vector<const Column<MergedRow>*> columns_in(int Shown<MergedRow>::*format);

template <typename AnyRow>
std::string cell_text(const Column<AnyRow>& column, const AnyRow& row, std::string_view percent) {
  if (column.shown.cell != nullptr) return column.shown.cell(row);
  const Value value = column.value(row);
  if (const auto* number = std::get_if<double>(&value))
    return column.unit == Unit::kPercent ? fmt::format("{:.1f}{}", *number, percent)
                                         : fmt::format("{:.2f}", *number);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *number);
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : "";
}
template std::string cell_text(const Column<MergedRow>& column, const MergedRow& row,
                               std::string_view percent);

std::vector<std::string> flat_names(std::string_view name, const Value& type) {
  if (!std::holds_alternative<std::optional<join::Interval>>(type)) return {std::string(name)};
  const std::string_view stem = name.substr(0, name.rfind("us"));
  return {fmt::format("{}lower_us", stem), fmt::format("{}upper_us", stem)};
}

}  // namespace inline_prof::report
