#include "export/dataset.hpp"

#include "base/text.hpp"
#include "join/diagnose/belonging.hpp"
#include "join/rows/row.hpp"
#include "report/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <set>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

namespace inline_prof::exports {
namespace {

constexpr std::size_t kAlignment = 64;  // bytes; Arrow's rule for buffers

using enum ColumnType;
enum Number : std::size_t {
  kRun,
  kDevice,
  kPhase,
  kIteration,
  kEvent,
  kSample,
  kHistory,
  kFinding
};

struct TypeFacts {
  std::string_view name;
  std::size_t bytes;  // of a value; strings have their own
};
constexpr std::array<TypeFacts, 6> kTypes{
    {{"int64", 8}, {"int32", 4}, {"double", 8}, {"float", 4}, {"bool", 1}, {"string", 0}}};
const TypeFacts& facts_of(ColumnType type) {
  return kTypes.at(static_cast<std::size_t>(type));
}

std::size_t padded(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::string_view bytes_of(const std::vector<std::int32_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof values.front()};
}

bool is_valid(const std::string& bits, std::size_t row) {
  const unsigned byte = static_cast<unsigned char>(bits[row / 8]);
  return ((byte >> (row % 8)) & 1U) != 0;
}

template <typename Value>
Value value_at(const std::string& values, std::size_t row) {
  Value value{};
  std::memcpy(&value, values.data() + row * sizeof value, sizeof value);
  return value;
}

// True if no row that encloses this one is of its layer.  Such rows add up to the layer.
bool is_outermost(const std::vector<join::Row>& rows, std::size_t i) {
  for (auto parent = rows[i].parent; parent; parent = rows[*parent].parent) {
    if (rows[*parent].layer.str() == rows[i].layer.str()) return false;
  }
  return true;
}

std::optional<std::int64_t> known(std::int64_t value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

std::optional<double> lower(const std::optional<join::Interval>& interval) {
  return interval ? std::optional(interval->lower) : std::nullopt;
}

std::optional<double> upper(const std::optional<join::Interval>& interval) {
  return interval ? std::optional(interval->upper) : std::nullopt;
}

std::int64_t whole(std::size_t number) {
  return static_cast<std::int64_t>(number);
}

// The subject of one row of a table.
struct Source {
  const DatasetPhase& part;
  const read::Profile& profile;
  const join::Run& run;
  const std::vector<join::Row>& rows;
  bool is_main = true;
  std::size_t i = 0;                   // number of the device, phase, iteration or event
  const read::Phase* phase = nullptr;  // in the table `phase`

  explicit Source(const DatasetPhase& of)
      : part(of), profile(of.profile()), run(of.analysis.runs.front()), rows(of.analysis.rows) {}

  [[nodiscard]] const read::Device& device() const { return profile.devices[i]; }
  [[nodiscard]] const read::Event& event() const { return profile.events[i]; }
  [[nodiscard]] std::int64_t place_of(std::size_t row) const { return whole(part.places[row]); }
};
using Of = const Source&;

// A column: its name and type, and how its cell of a row comes about.
struct DataColumn {
  std::string_view name;
  ColumnType type;
  void (*add)(Table& table, Of source) = nullptr;
  int place = 0;                                         // among the columns of reports
  const report::Column<join::Row>* of_report = nullptr;  // in place of `add`
};

// Makes a column whose cell `get` computes from a Source.
template <typename Get>
DataColumn column(std::string_view name, ColumnType type, Get /*get*/, int place = 0) {
  return {name, type, [](Table& table, Of source) { table.add(Get()(source)); }, place};
}

// The columns that begin every table but `sample`.
std::vector<DataColumn> with_origin(std::vector<DataColumn> columns) {
  std::vector<DataColumn> all{column("version", kInt32, [](Of) { return kDatasetVersion; }),
                              column("file", kString, [](Of of) { return of.profile.file; }),
                              column("rank", kInt32, [](Of of) { return of.profile.rank; })};
  all.insert(all.end(), columns.begin(), columns.end());
  return all;
}

std::vector<DataColumn> run_columns() {
  return with_origin(
      {column("world_size", kInt32, [](Of of) { return of.profile.world_size; }),
       column("local_rank", kInt32, [](Of of) { return of.profile.local_rank; }),
       column("command", kString, [](Of of) { return of.profile.command; }),
       column("started_at", kString, [](Of of) { return of.profile.started_at; }),
       column("complete", kBool, [](Of of) { return of.profile.complete; }),
       column("profiler", kString, [](Of of) { return of.profile.profiler.version; }),
       column("event_list_hash", kString,
              [](Of of) { return of.profile.profiler.event_list_hash; }),
       column("machine", kString, [](Of of) { return of.part.analysis.machine; }),
       column("event_bias_source", kString,
              [](Of of) { return of.part.analysis.event_bias_source; }),
       column("iterations", kInt64, [](Of of) { return whole(of.profile.iter_time_ms.size()); }),
       column("iteration_us", kDouble, [](Of of) { return of.run.iteration.us; }),
       column("iteration_lower_us", kDouble, [](Of of) { return lower(of.run.iteration.ci95_us); }),
       column("iteration_upper_us", kDouble, [](Of of) { return upper(of.run.iteration.ci95_us); }),
       column("overhead_percent", kDouble, [](Of of) {
         const auto& overhead = of.profile.overhead;
         return overhead ? overhead->slowdown_percent : std::nullopt;
       })});
}

std::vector<DataColumn> device_columns() {
  return with_origin(
      {column("device_id", kInt32, [](Of of) { return of.device().device_id; }),
       column("name", kString, [](Of of) { return of.device().name; }),
       column("uuid", kString, [](Of of) { return of.device().uuid; }),
       column("machine", kString, [](Of of) { return of.run.machines[of.i]; }),
       column("sm_count", kInt64, [](Of of) { return known(of.device().sm_count); }),
       column("memory_bytes", kInt64, [](Of of) { return known(of.device().memory_bytes); }),
       column("sm_clock_khz", kInt64, [](Of of) { return known(of.device().sm_clock_khz); }),
       column("memory_clock_khz", kInt64,
              [](Of of) { return known(of.device().memory_clock_khz); }),
       column("driver_version", kString, [](Of of) { return of.device().driver_version; }),
       column("cuda_version", kString, [](Of of) { return of.device().cuda_version; })});
}

std::vector<DataColumn> phase_columns() {
  return with_origin(
      {column("phase", kInt32, [](Of of) { return whole(of.i + 1); }),
       column("is_main_phase", kBool, [](Of of) { return of.i == of.profile.phase; }),
       column("measured", kBool, [](Of of) { return of.phase->measured; }),
       column("iterations", kInt64, [](Of of) { return of.phase->iterations; }),
       column("first_iteration", kInt64,
              [](Of of) {
                const auto& stretches = of.phase->stretches;
                return stretches.empty() ? std::nullopt : std::optional(stretches.front().first);
              }),
       column("stretches", kInt32,
              [](Of of) { return std::max<std::int64_t>(std::ssize(of.phase->stretches), 1); }),
       column("iteration_us", kDouble,
              [](Of of) { return join::iteration_of(of.phase->iter_time_ms).us; }),
       column("share", kDouble, [](Of of) { return of.phase->share; }),
       column("kernel_launches", kInt64, [](Of of) { return of.phase->kernel_launches; }),
       column("graph_launches", kInt64, [](Of of) { return of.phase->graph_launches; }),
       column("graph_kernels", kInt64, [](Of of) { return of.phase->graph_kernels; }),
       column("iteration_source", kString, [](Of of) { return of.phase->iteration_source; }),
       column("iteration_confidence", kDouble,
              [](Of of) { return of.phase->iteration_confidence; }),
       column("reason", kString, [](Of of) { return of.phase->reason; })});
}

std::int64_t phase_number(Of of) {
  return whole(of.profile.phase + 1);
}

std::vector<DataColumn> iteration_columns() {
  return with_origin(
      {column("phase", kInt32, [](Of of) { return phase_number(of); }),
       column("number", kInt64, [](Of of) { return whole(of.i); }),
       column("time_ms", kFloat, [](Of of) { return of.profile.iter_time_ms[of.i]; })});
}

// Returns the type that the table `event` has for a column of reports.
ColumnType type_of(const report::Column<join::Row>& column) {
  if (std::holds_alternative<bool>(column.type)) return kBool;
  if (std::holds_alternative<std::string>(column.type)) return kString;
  if (!std::holds_alternative<std::int64_t>(column.type)) return kDouble;
  return column.shown.is_int64_in_dataset ? kInt64 : kInt32;
}

// Returns the columns of `event`: its own, and those of reports that have a place in it.
std::vector<DataColumn> event_columns() {
  std::vector<DataColumn> columns = with_origin(
      {column("event_index", kInt32, [](Of of) { return of.place_of(of.i); }),
       column("phase", kInt32, [](Of of) { return phase_number(of); }),
       column("is_main_phase", kBool, [](Of of) { return of.is_main; }),
       column(
           "is_collective", kBool, [](Of of) { return join::is_collective(of.event()); }, 14),
       column(
           "parent_index", kInt32,
           [](Of of) {
             const auto parent = of.rows[of.i].parent;
             return parent ? std::optional(of.place_of(*parent)) : std::nullopt;
           },
           16),
       column(
           "is_outermost_of_layer", kBool, [](Of of) { return is_outermost(of.rows, of.i); }, 17),
       // The same median as in `prof-analyze ranks`.
       column(
           "raw_us", kDouble,
           [](Of of) {
             const auto& times_ms = of.event().measured_ms;
             return times_ms.empty() ? std::nullopt : std::optional(join::median(times_ms) * 1e3);
           },
           22)});
  for (const auto* of_report : report::columns_in(&report::Shown<join::Row>::dataset)) {
    const auto& shown = of_report->shown;
    const std::string_view name = shown.dataset_name.empty() ? of_report->name : shown.dataset_name;
    columns.push_back({name, type_of(*of_report), nullptr, shown.dataset, of_report});
  }
  std::ranges::stable_sort(columns, {}, &DataColumn::place);
  return columns;
}

// Adds a value of a report as one or two cells.  An unknown text is empty.
void add_value(Table& table, const report::Column<join::Row>& column, const join::Row& row) {
  const bool is_text = std::holds_alternative<std::string>(column.type);
  std::visit(
      [&]<typename Found>(const Found& found) {
        if constexpr (std::is_same_v<Found, std::optional<join::Interval>>) {
          table.add(lower(found)).add(upper(found));
        } else if constexpr (std::is_arithmetic_v<Found> || std::is_same_v<Found, std::string>) {
          table.add(found);
        } else if constexpr (std::is_same_v<Found, std::monostate>) {
          is_text ? table.add(std::string_view()) : table.add_null();
        }
      },
      column.value(row));
}

struct DataTable {
  TableFacts facts;
  std::vector<DataColumn> columns;

  DataTable(std::string name, std::vector<DataColumn> of)
      : facts{std::move(name), {}}, columns(std::move(of)) {
    for (const DataColumn& column : columns) {
      const auto names = column.of_report == nullptr
                             ? std::vector<std::string>{std::string(column.name)}
                             : report::flat_names(column.name, column.of_report->type);
      for (const std::string& one : names)
        facts.columns.push_back({one, column.type});
    }
  }

  void add_row(Table& table, Of source) const {
    for (const DataColumn& column : columns) {
      if (column.of_report != nullptr) {
        add_value(table, *column.of_report, source.rows[source.i]);
      } else {
        column.add(table, source);
      }
    }
  }
};

// Returns every table, in the order of Number.
const std::vector<DataTable>& all_tables() {
  static const std::vector<DataTable> tables{
      {"run", run_columns()},
      {"device", device_columns()},
      {"phase", phase_columns()},
      {"iteration", iteration_columns()},
      {"event", event_columns()},
      {"sample",
       {{"rank", kInt32},
        {"event_index", kInt32},
        {"iteration", kInt64},
        {"measured_ms", kDouble}}},
      {"history",
       {{"version", kInt32},
        {"file", kString},
        {"rank", kInt32},
        {"event_index", kInt32},  // null: the iteration
        {"started_at", kString},
        {"start_s", kDouble},
        {"end_s", kDouble},
        {"first_iteration", kInt64},
        {"last_iteration", kInt64},
        {"samples", kInt64},
        {"p05_us", kDouble},
        {"median_us", kDouble},
        {"p95_us", kDouble}}},
      {"finding", {{"version", kInt32}, {"file", kString}, {"kind", kString}, {"text", kString}}}};
  return tables;
}

// Adds a row for each of `count` devices, iterations or events.
void add_rows(Table& table, Number number, Source source, std::size_t count) {
  for (source.i = 0; source.i < count; ++source.i)
    all_tables()[number].add_row(table, source);
}

// Returns the table `phase`.  A run without phases in its file has one.
Table phase_table(Source source) {
  const read::Profile& main = source.profile;
  std::vector<read::Phase> phases = main.phases;
  if (phases.empty())
    phases.push_back({.iterations = static_cast<std::int64_t>(main.iter_time_ms.size()),
                      .iteration_source = main.profiler.iteration_source,
                      .iteration_confidence = main.profiler.iteration_confidence});
  if (phases.size() == 1) {
    phases.front().share = 1.0;
    phases.front().iter_time_ms = main.iter_time_ms;
  }
  Table table(all_tables()[kPhase].facts);
  for (source.i = 0; source.i < phases.size(); ++source.i) {
    source.phase = &phases[source.i];
    all_tables()[kPhase].add_row(table, source);
  }
  return table;
}

// Adds the samples cell by cell: they are most of a dataset.
void add_samples(Table& table, const DatasetPhase& phase) {
  const read::Profile& profile = phase.profile();
  for (std::size_t i = 0; i < profile.events.size(); ++i) {
    const read::Event& event = profile.events[i];
    const bool has_iterations = event.iterations.size() == event.measured_ms.size();
    for (std::size_t k = 0; k < event.measured_ms.size(); ++k)
      table.add(profile.rank)
          .add(whole(phase.places[i]))
          .add(has_iterations ? std::optional(event.iterations[k]) : std::nullopt)
          .add(event.measured_ms[k]);
  }
}

void add_history(Table& table, const read::Profile& profile, std::optional<std::int64_t> place,
                 const std::vector<watch::Bin>& bins) {
  constexpr double us_of_ns = 1e-3;
  for (const watch::Bin& bin : bins) {
    table.add(kDatasetVersion)
        .add(profile.file)
        .add(profile.rank)
        .add(place)
        .add(profile.started_at)
        .add(bin.start_s)
        .add(bin.end_s)
        .add(bin.first_iteration)
        .add(bin.last_iteration)
        .add(static_cast<std::int64_t>(bin.sketch.count()));
    for (const double quantile : {0.05, 0.5, 0.95})
      table.add(bin.sketch.quantile(quantile) * us_of_ns);
  }
}

}  // namespace

void Table::append_bit(Column& column, bool bit) const {
  if (rows_ % 8 == 0) column.validity.push_back('\0');
  const auto byte = static_cast<unsigned char>(column.validity.back());
  if (bit) column.validity.back() = static_cast<char>(byte | 1U << (rows_ % 8));
}

template <typename Value>
void Table::append_value(Column& column, Value value) {
  column.values.append(reinterpret_cast<const char*>(&value), sizeof value);
}

Table& Table::add(std::int64_t value) {
  const ColumnType type = facts_->columns[next_].type;
  Column& column = begin_cell();
  if (type == kInt32) {
    append_value(column, static_cast<std::int32_t>(value));
  } else if (type == kInt64) {
    append_value(column, value);
  } else {
    throw std::logic_error("a whole number in another column");
  }
  return *this;
}

Table& Table::add(double value) {
  if (!std::isfinite(value)) return add_null();
  const ColumnType type = facts_->columns[next_].type;
  Column& column = begin_cell();
  if (type == kFloat) {
    append_value(column, static_cast<float>(value));
  } else if (type == kDouble) {
    append_value(column, value);
  } else {
    throw std::logic_error("a number in another column");
  }
  return *this;
}

Table& Table::add(bool value) {
  append_value(begin_cell(), static_cast<char>(value ? 1 : 0));
  return *this;
}

Table& Table::add(std::string_view value) {
  Column& column = begin_cell();
  column.values += base::printable(value);  // readers refuse what is no UTF-8
  column.ends.push_back(static_cast<std::int32_t>(column.values.size()));
  return *this;
}

Table& Table::add_null() {
  const ColumnType type = facts_->columns[next_].type;
  Column& column = columns_[next_];
  if (column.validity.empty()) {
    column.validity.assign(rows_ / 8, '\xff');
    if (rows_ % 8 != 0) column.validity.push_back(static_cast<char>((1U << (rows_ % 8)) - 1));
  }
  append_bit(column, false);
  ++column.nulls;
  end_cell();
  column.values.append(facts_of(type).bytes, '\0');
  if (type == kString) column.ends.push_back(static_cast<std::int32_t>(column.values.size()));
  return *this;
}

void Table::append_frame(std::string& out, std::string_view more, Layout layout) const {
  std::string columns;
  std::string body;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    const ColumnFacts& facts = facts_->columns[i];
    std::vector<std::string_view> buffers;
    if (layout == Layout::kArrow) {
      buffers.emplace_back(column.validity);
      if (facts.type == kString) buffers.push_back(bytes_of(column.ends));
      buffers.emplace_back(column.values);
    }
    std::string sizes;
    for (const std::string_view buffer : buffers) {
      sizes += fmt::format("{}{}", sizes.empty() ? "" : ",", padded(buffer.size()));
      body.append(buffer).append(padded(buffer.size()) - buffer.size(), '\0');
    }
    columns +=
        fmt::format("{}{{\"name\":\"{}\",\"type\":\"{}\",\"nulls\":{},\"sizes\":[{}]}}",
                    i == 0 ? "" : ",", facts.name, facts_of(facts.type).name, column.nulls, sizes);
  }
  if (layout == Layout::kCsv) append_csv(body);
  out += fmt::format("{{\"table\":\"{}\",\"rows\":{},\"bytes\":{},{}\"columns\":[{}]}}\n",
                     facts_->name, rows_, body.size(), more, columns);
  out += body;
}

void Table::append_csv(std::string& out) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    out += i == 0 ? "" : ",";
    out += facts_->columns[i].name;
  }
  out += '\n';
  for (std::size_t row = 0; row < rows_; ++row) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) out += ',';
      const Column& column = columns_[i];
      if (!column.validity.empty() && !is_valid(column.validity, row)) continue;
      const auto add = [&]<typename Value>(Value) {
        fmt::format_to(std::back_inserter(out), "{}", value_at<Value>(column.values, row));
      };
      switch (facts_->columns[i].type) {
        case kInt64:
          add(std::int64_t{});
          break;
        case kInt32:
          add(std::int32_t{});
          break;
        case kDouble:
          add(double{});
          break;
        case kFloat:
          add(float{});
          break;
        case kBool:
          out += column.values[row] != 0 ? "true" : "false";
          break;
        case kString: {
          const auto begin = static_cast<std::size_t>(column.ends[row]);
          const auto end = static_cast<std::size_t>(column.ends[row + 1]);
          const std::string cell =
              base::csv_cell(std::string_view(column.values).substr(begin, end - begin));
          out += cell.empty() ? "\"\"" : cell;  // an empty text is not null
          break;
        }
      }
    }
    out += '\n';
  }
}

std::vector<const TableFacts*> dataset_tables() {
  std::vector<const TableFacts*> facts;
  for (const DataTable& table : all_tables())
    facts.push_back(&table.facts);
  return facts;
}

std::vector<Table> dataset_of(const std::vector<DatasetPhase>& phases) {
  const DatasetPhase* main = &phases.front();
  for (const DatasetPhase& phase : phases) {
    if (phase.profile().phase == read::main_phase(phase.profile())) main = &phase;
  }
  const read::Profile& profile = main->profile();
  std::vector<Table> tables;
  for (const DataTable& table : all_tables())
    tables.emplace_back(table.facts);
  add_rows(tables[kRun], kRun, Source(*main), 1);
  add_rows(tables[kDevice], kDevice, Source(*main), profile.devices.size());
  tables[kPhase] = phase_table(Source(*main));
  Table& histories = tables[kHistory];
  if (profile.watched) add_history(histories, profile, std::nullopt, profile.watched->iteration);
  const auto find = [&](std::string_view kind, std::string_view text) {
    tables[kFinding].add(kDatasetVersion).add(profile.file).add(kind).add(text);
  };
  if (!profile.complete) find("incomplete", join::why_incomplete(profile));
  std::set<std::string_view> found;
  for (const DatasetPhase& phase : phases) {
    Source source(phase);
    source.is_main = &phase == main;
    add_rows(tables[kIteration], kIteration, source, phase.profile().iter_time_ms.size());
    add_rows(tables[kEvent], kEvent, source, phase.analysis.rows.size());
    add_samples(tables[kSample], phase);
    for (std::size_t i = 0; i < phase.places.size(); ++i)
      add_history(histories, profile, whole(phase.places[i]), phase.profile().events[i].history);
    for (const std::string& warning : phase.analysis.warnings) {
      if (found.insert(warning).second) find("warning", warning);
    }
  }
  std::erase_if(tables, [](const Table& table) { return table.rows() == 0; });
  return tables;
}

Table dataset_finding(std::string_view kind, std::string_view file, std::string_view text) {
  Table table(all_tables()[kFinding].facts);
  table.add(kDatasetVersion).add(file).add(kind).add(text);
  return table;
}

}  // namespace inline_prof::exports
