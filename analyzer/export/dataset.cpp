#include "export/dataset.hpp"

#include "base/csv.hpp"
#include "base/text.hpp"
#include "join/communicator.hpp"
#include "join/statistics.hpp"
#include "join/verdict.hpp"
#include "read/phases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <set>
#include <stdexcept>
#include <utility>

namespace inline_prof::exports {
namespace {

constexpr std::size_t kAlignment = 64;  // what Arrow wants of a buffer

enum Number : std::size_t { kRun, kDevice, kPhase, kIteration, kEvent, kSample, kFinding };

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

// Whether nothing that encloses the row is of its layer: such rows add up to the layer.
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

Table& start(Table& table, const read::Profile& profile) {
  return table.add(kDatasetVersion).add(std::string_view(profile.file)).add(profile.rank);
}

Table run_table(const read::Profile& profile, const join::Analysis& analysis) {
  Table table(dataset_tables()[kRun]);
  std::vector<double> times_us;
  for (const double time_ms : profile.iter_time_ms)
    times_us.push_back(time_ms * 1e3);
  std::optional<join::MedianAndInterval> iteration;
  if (!times_us.empty()) iteration = join::median_and_interval95(std::span(times_us));
  start(table, profile)
      .add(profile.world_size)
      .add(profile.local_rank)
      .add(std::string_view(profile.command))
      .add(std::string_view(profile.started_at))
      .add(profile.complete)
      .add(std::string_view(profile.profiler.version))
      .add(std::string_view(profile.profiler.event_list_hash))
      .add(std::string_view(analysis.machine))
      .add(std::string_view(analysis.event_bias_source))
      .add(static_cast<std::int64_t>(times_us.size()))
      .add(iteration ? std::optional(iteration->median) : std::nullopt)
      .add(iteration ? lower(iteration->ci95) : std::nullopt)
      .add(iteration ? upper(iteration->ci95) : std::nullopt)
      .add(profile.overhead ? profile.overhead->slowdown_percent : std::nullopt);
  return table;
}

Table device_table(const read::Profile& profile, const join::Analysis& analysis) {
  Table table(dataset_tables()[kDevice]);
  for (std::size_t i = 0; i < profile.devices.size(); ++i) {
    const read::Device& device = profile.devices[i];
    start(table, profile)
        .add(device.device_id)
        .add(std::string_view(device.name))
        .add(std::string_view(device.uuid))
        .add(std::string_view(analysis.runs.front().machines[i]))
        .add(known(device.sm_count))
        .add(known(device.memory_bytes))
        .add(known(device.sm_clock_khz))
        .add(known(device.memory_clock_khz))
        .add(std::string_view(device.driver_version))
        .add(std::string_view(device.cuda_version));
  }
  return table;
}

std::int64_t number_of(const read::Profile& profile) {
  return static_cast<std::int64_t>(profile.phase) + 1;
}

// A run that says nothing of phases has one.
Table phase_table(const read::Profile& main) {
  Table table(dataset_tables()[kPhase]);
  std::vector<read::Phase> phases = main.phases;
  if (phases.empty()) {
    phases.push_back({.iterations = static_cast<std::int64_t>(main.iter_time_ms.size()),
                      .iteration_source = main.profiler.iteration_source,
                      .iteration_confidence = main.profiler.iteration_confidence});
  }
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const read::Phase& phase = phases[i];
    const std::vector<double>& times_ms =
        phases.size() == 1 ? main.iter_time_ms : phase.iter_time_ms;
    std::optional<double> iteration_us;
    if (!times_ms.empty()) iteration_us = join::median(times_ms) * 1e3;
    std::optional<std::int64_t> first;
    if (!phase.stretches.empty()) first = phase.stretches.front().first;
    start(table, main)
        .add(static_cast<std::int64_t>(i) + 1)
        .add(i == main.phase)
        .add(phase.measured)
        .add(phase.iterations)
        .add(first)
        .add(std::max<std::int64_t>(std::ssize(phase.stretches), 1))
        .add(iteration_us)
        .add(phases.size() == 1 ? std::optional(1.0) : phase.share)
        .add(phase.kernel_launches)
        .add(phase.graph_launches)
        .add(phase.graph_kernels)
        .add(std::string_view(phase.iteration_source))
        .add(phase.iteration_confidence)
        .add(std::string_view(phase.reason));
  }
  return table;
}

void add_iterations(Table& table, const read::Profile& profile) {
  for (std::size_t i = 0; i < profile.iter_time_ms.size(); ++i) {
    start(table, profile)
        .add(number_of(profile))
        .add(static_cast<std::int64_t>(i))
        .add(profile.iter_time_ms[i]);
  }
}

void add_events(Table& table, const DatasetPhase& phase, bool is_main) {
  const read::Profile& profile = phase.profile();
  const std::vector<join::Row>& rows = phase.analysis.rows;
  const auto place_of = [&](std::size_t i) { return static_cast<std::int64_t>(phase.places[i]); };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const join::Row& row = rows[i];
    const read::Event& event = profile.events[i];
    // As `prof-analyze ranks` takes it.
    std::optional<double> raw_us;
    if (!event.measured_ms.empty()) raw_us = join::median(event.measured_ms) * 1e3;
    start(table, profile)
        .add(place_of(i))
        .add(number_of(profile))
        .add(is_main)
        .add(row.device_id)
        .add(row.stream_index)
        .add(row.layer.str())
        .add(row.event.str())
        .add(row.occurrence)
        .add(row.kernel_name.str())
        .add(row.op_kind.str())
        .add(join::is_collective(event))
        .add(row.meeting.str())
        .add(row.parent ? std::optional(place_of(*row.parent)) : std::nullopt)
        .add(is_outermost(rows, i))
        .add(row.start_index)
        .add(row.end_index)
        .add(row.calls)
        .add(static_cast<std::int64_t>(row.samples))
        .add(raw_us)
        .add(lower(row.raw_ci95_us))
        .add(upper(row.raw_ci95_us))
        .add(row.bias_us)
        .add(row.corrected_us)
        .add(row.in_iteration_us)
        .add(row.offset_us)
        .add(row.predicted_us)
        .add(lower(row.predicted_ci90_us))
        .add(upper(row.predicted_ci90_us))
        .add(row.ratio)
        .add(row.bound.str())
        .add(row.model.str())
        .add(std::string_view(join::verdict_text(row)));
  }
}

void add_samples(Table& table, const DatasetPhase& phase) {
  const read::Profile& profile = phase.profile();
  for (std::size_t i = 0; i < profile.events.size(); ++i) {
    const read::Event& event = profile.events[i];
    const bool has_iterations = event.iterations.size() == event.measured_ms.size();
    for (std::size_t k = 0; k < event.measured_ms.size(); ++k) {
      table.add(profile.rank)
          .add(static_cast<std::int64_t>(phase.places[i]))
          .add(has_iterations ? std::optional(event.iterations[k]) : std::nullopt)
          .add(event.measured_ms[k]);
    }
  }
}

}  // namespace

std::string_view column_type_name(ColumnType type) {
  switch (type) {
    case ColumnType::kInt64:
      return "int64";
    case ColumnType::kInt32:
      return "int32";
    case ColumnType::kDouble:
      return "double";
    case ColumnType::kFloat:
      return "float";
    case ColumnType::kBool:
      return "bool";
    case ColumnType::kString:
      return "string";
  }
  return "";
}

const std::vector<TableFacts>& dataset_tables() {
  using enum ColumnType;
  static const std::vector<TableFacts> tables{
      {"run",
       {{"version", kInt32},
        {"file", kString},
        {"rank", kInt32},
        {"world_size", kInt32},
        {"local_rank", kInt32},
        {"command", kString},
        {"started_at", kString},
        {"complete", kBool},
        {"profiler", kString},
        {"event_list_hash", kString},
        {"machine", kString},
        {"event_bias_source", kString},
        {"iterations", kInt64},
        {"iteration_us", kDouble},
        {"iteration_lower_us", kDouble},
        {"iteration_upper_us", kDouble},
        {"overhead_percent", kDouble}}},
      {"device",
       {{"version", kInt32},
        {"file", kString},
        {"rank", kInt32},
        {"device_id", kInt32},
        {"name", kString},
        {"uuid", kString},
        {"machine", kString},
        {"sm_count", kInt64},
        {"memory_bytes", kInt64},
        {"sm_clock_khz", kInt64},
        {"memory_clock_khz", kInt64},
        {"driver_version", kString},
        {"cuda_version", kString}}},
      {"phase",
       {{"version", kInt32},
        {"file", kString},
        {"rank", kInt32},
        {"phase", kInt32},
        {"is_main_phase", kBool},
        {"measured", kBool},
        {"iterations", kInt64},
        {"first_iteration", kInt64},
        {"stretches", kInt32},
        {"iteration_us", kDouble},
        {"share", kDouble},
        {"kernel_launches", kInt64},
        {"graph_launches", kInt64},
        {"graph_kernels", kInt64},
        {"iteration_source", kString},
        {"iteration_confidence", kDouble},
        {"reason", kString}}},
      {"iteration",
       {{"version", kInt32},
        {"file", kString},
        {"rank", kInt32},
        {"phase", kInt32},
        {"number", kInt64},
        {"time_ms", kFloat}}},
      {"event",
       {{"version", kInt32},
        {"file", kString},
        {"rank", kInt32},
        {"event_index", kInt32},
        {"phase", kInt32},
        {"is_main_phase", kBool},
        {"device_id", kInt32},
        {"stream_index", kInt32},
        {"layer", kString},
        {"event", kString},
        {"occurrence", kInt32},
        {"kernel_name", kString},
        {"op_kind", kString},
        {"is_collective", kBool},
        {"meeting", kString},
        {"parent_index", kInt32},
        {"is_outermost_of_layer", kBool},
        {"start_index", kInt64},
        {"end_index", kInt64},
        {"calls", kInt64},
        {"samples", kInt32},
        {"raw_us", kDouble},
        {"raw_lower_us", kDouble},
        {"raw_upper_us", kDouble},
        {"bias_us", kDouble},
        {"corrected_us", kDouble},
        {"in_iteration_us", kDouble},
        {"offset_us", kDouble},
        {"predicted_us", kDouble},
        {"predicted_lower_us", kDouble},
        {"predicted_upper_us", kDouble},
        {"ratio", kDouble},
        {"bound", kString},
        {"model", kString},
        {"verdict", kString}}},
      {"sample",
       {{"rank", kInt32},
        {"event_index", kInt32},
        {"iteration", kInt64},
        {"measured_ms", kDouble}}},
      {"finding", {{"version", kInt32}, {"file", kString}, {"kind", kString}, {"text", kString}}}};
  return tables;
}

Table::Column& Table::begin_null() {
  Column& column = columns_[next_];
  if (column.validity.empty()) {
    column.validity.assign(rows_ / 8, '\xff');
    if (rows_ % 8 != 0) column.validity.push_back(static_cast<char>((1U << (rows_ % 8)) - 1));
  }
  append_bit(column, false);
  ++column.nulls;
  end_cell();
  return column;
}

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
  if (type == ColumnType::kInt32) {
    append_value(column, static_cast<std::int32_t>(value));
  } else if (type == ColumnType::kInt64) {
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
  if (type == ColumnType::kFloat) {
    append_value(column, static_cast<float>(value));
  } else if (type == ColumnType::kDouble) {
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
  Column& column = begin_null();
  switch (type) {
    case ColumnType::kInt64:
      append_value(column, std::int64_t{0});
      break;
    case ColumnType::kInt32:
      append_value(column, std::int32_t{0});
      break;
    case ColumnType::kDouble:
      append_value(column, 0.0);
      break;
    case ColumnType::kFloat:
      append_value(column, 0.0F);
      break;
    case ColumnType::kBool:
      column.values.push_back('\0');
      break;
    case ColumnType::kString:
      column.ends.push_back(static_cast<std::int32_t>(column.values.size()));
      break;
  }
  return *this;
}

void Table::append_frame(std::string& out, std::string_view more) const {
  std::vector<std::string_view> buffers;
  std::string columns;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    const ColumnFacts& facts = facts_->columns[i];
    const std::size_t first = buffers.size();
    buffers.emplace_back(column.validity);
    if (facts.type == ColumnType::kString) buffers.push_back(bytes_of(column.ends));
    buffers.emplace_back(column.values);
    std::string sizes;
    for (std::size_t buffer = first; buffer < buffers.size(); ++buffer)
      sizes += fmt::format("{}{}", buffer == first ? "" : ",", padded(buffers[buffer].size()));
    columns += fmt::format("{}{{\"name\":\"{}\",\"type\":\"{}\",\"nulls\":{},\"sizes\":[{}]}}",
                           i == 0 ? "" : ",", facts.name, column_type_name(facts.type),
                           column.nulls, sizes);
  }
  fmt::format_to(std::back_inserter(out), "{{\"table\":\"{}\",\"rows\":{},{}\"columns\":[{}]}}\n",
                 facts_->name, rows_, more, columns);
  for (const std::string_view buffer : buffers)
    out.append(buffer).append(padded(buffer.size()) - buffer.size(), '\0');
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
      const auto to = std::back_inserter(out);
      switch (facts_->columns[i].type) {
        case ColumnType::kInt64:
          fmt::format_to(to, "{}", value_at<std::int64_t>(column.values, row));
          break;
        case ColumnType::kInt32:
          fmt::format_to(to, "{}", value_at<std::int32_t>(column.values, row));
          break;
        case ColumnType::kDouble:
          fmt::format_to(to, "{}", value_at<double>(column.values, row));
          break;
        case ColumnType::kFloat:
          fmt::format_to(to, "{}", value_at<float>(column.values, row));
          break;
        case ColumnType::kBool:
          out += column.values[row] != 0 ? "true" : "false";
          break;
        case ColumnType::kString: {
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

std::vector<Table> dataset_of(const std::vector<DatasetPhase>& phases) {
  const DatasetPhase* main = &phases.front();
  for (const DatasetPhase& phase : phases) {
    if (phase.profile().phase == read::main_phase(phase.profile())) main = &phase;
  }
  const read::Profile& profile = main->profile();
  Table iterations(dataset_tables()[kIteration]);
  Table events(dataset_tables()[kEvent]);
  Table samples(dataset_tables()[kSample]);
  Table findings(dataset_tables()[kFinding]);
  const auto find = [&](std::string_view kind, std::string_view text) {
    findings.add(kDatasetVersion).add(std::string_view(profile.file)).add(kind).add(text);
  };
  if (!profile.complete) find("incomplete", "a checkpoint of a run that was cut off");
  std::set<std::string_view> found;
  for (const DatasetPhase& phase : phases) {
    add_iterations(iterations, phase.profile());
    add_events(events, phase, &phase == main);
    add_samples(samples, phase);
    for (const std::string& warning : phase.analysis.warnings) {
      if (found.insert(warning).second) find("warning", warning);
    }
  }
  std::vector<Table> tables;
  const auto keep = [&](Table table) {
    if (table.rows() > 0) tables.push_back(std::move(table));
  };
  keep(run_table(profile, main->analysis));
  keep(device_table(profile, main->analysis));
  keep(phase_table(profile));
  keep(std::move(iterations));
  keep(std::move(events));
  keep(std::move(samples));
  keep(std::move(findings));
  return tables;
}

Table dataset_finding(std::string_view kind, std::string_view file, std::string_view text) {
  Table table(dataset_tables()[kFinding]);
  table.add(kDatasetVersion).add(file).add(kind).add(text);
  return table;
}

}  // namespace inline_prof::exports
