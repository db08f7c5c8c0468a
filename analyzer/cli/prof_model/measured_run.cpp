#include "cli/prof_model/measured_run.hpp"

#include "base/text.hpp"
#include "join/join.hpp"
#include "model/machines.hpp"
#include "model/registry.hpp"
#include "read/file_text.hpp"
#include "read/input_error.hpp"
#include "read/iteration_input.hpp"
#include "read/layers.hpp"
#include "read/profile.hpp"
#include "read/read_profile.hpp"
#include "report/text.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace inline_prof::cli {
namespace {

const read::Machine* machine_of(const join::Analysis& analysis, const join::Row& row,
                                const std::vector<read::Machine>& machines) {
  const join::Run& run = analysis.runs[row.profile];
  for (std::size_t i = 0; i < run.profile.devices.size(); ++i) {
    if (run.profile.devices[i].device_id != row.device_id) continue;
    const auto found = std::ranges::find(machines, run.machines[i], &read::Machine::id);
    return found == machines.end() ? nullptr : &*found;
  }
  return nullptr;
}

// Returns null for a table, and for an iteration's tasks, which are no run.
const read::ProfileFormat* format_of(const std::filesystem::path& file) {
  const std::string text = read::read_beginning(file, read::kBeginning);
  const std::string_view beginning = std::string_view(text).substr(0, read::kBeginning);
  if (beginning.find(read::kTaskGraphSchema) != std::string_view::npos) return nullptr;
  const auto formats = read::profile_formats();
  const auto found = std::ranges::find_if(
      formats, [&](const read::ProfileFormat& format) { return format.recognises(beginning); });
  return found == formats.end() ? nullptr : &*found;
}

using Cells = std::map<std::string, std::string, std::less<>>;

std::string csv_of(const std::vector<Cells>& rows) {
  std::set<std::string> columns;
  for (const Cells& row : rows) {
    for (const auto& [column, value] : row)
      columns.insert(column);
  }
  std::string text = fmt::format("{}\n", fmt::join(columns, ","));
  for (const Cells& row : rows) {
    std::string line;
    for (const std::string& column : columns) {
      const auto found = row.find(column);
      line += fmt::format("{}{}", line.empty() ? "" : ",", found == row.end() ? "" : found->second);
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace

bool is_run(const std::filesystem::path& file) {
  return format_of(file) != nullptr;
}

bool is_prof_json(const std::filesystem::path& file) {
  return format_of(file) == &read::profile_formats().front();
}

join::Analysis analyse_run(read::Profile profile, const std::optional<read::Machine>& machine,
                           const std::string& layers, model::Models models,
                           const std::string& products) {
  join::JoinOptions options;
  options.machine = machine;
  options.models = models;
  options.keep_events = true;
  if (!layers.empty()) options.layers = read::read_layers(std::filesystem::path(layers));
  model::ModelChoices choices;
  if (!products.empty()) choices.params.emplace("fc", products);
  if (models == model::Models::kPublished)
    options.each_model = std::make_shared<model::EachModel>(std::move(choices));
  std::vector<read::Profile> profiles;
  profiles.push_back(std::move(profile));
  return join::join_profiles(std::move(profiles), model::builtin_machines(), options);
}

read::Table read_measured(const std::filesystem::path& file, const model::ModelEntry* entry,
                          const std::optional<read::Machine>& machine) {
  const bool takes_runs = entry != nullptr && entry->inputs_of != nullptr;
  if (!takes_runs || !is_run(file)) return read::read_table(file);
  const join::Analysis analysis =
      analyse_run(read::read_profile(file), machine, "", model::Models::kRoofline);
  std::vector<read::Machine> machines = model::builtin_machines();
  if (machine) machines.insert(machines.begin(), *machine);
  std::vector<Cells> rows;
  std::size_t of_kind = 0;
  std::string reason;
  for (std::size_t i = 0; i < analysis.rows.size(); ++i) {
    const join::Row& row = analysis.rows[i];
    const read::Event& event = analysis.runs[row.profile].profile.events[i];
    const read::Machine* own = machine_of(analysis, row, machines);
    if (!event.op || own == nullptr || !row.corrected_us || !(*row.working_us() > 0)) continue;
    if (!model::covers(entry->operations, op_kind_from_name(event.op->kind))) continue;
    ++of_kind;
    const auto inputs = entry->inputs_of(
        {*event.op, *own, {.name = row.kernel_name.str(), .launch = &event.launch}});
    if (!inputs.reason.empty()) {
      reason = inputs.reason;
      continue;
    }
    Cells& cells = rows.emplace_back();
    for (const auto& [column, value] : inputs.values)
      cells.insert_or_assign(std::string(column), report::csv_text(value));
    cells["machine"] = own->id;
    cells["time_us"] = fmt::format("{}", *row.working_us());
    cells["kernel_name"] = base::csv_cell(row.kernel_name.str());
  }
  if (rows.empty()) {
    throw read::InputError(fmt::format("{}: no measured row that {} covers, of {} of its kind{}{}",
                                       file.string(), entry->name, of_kind,
                                       reason.empty() ? "" : ": ", reason));
  }
  return {csv_of(rows), file.string()};
}

}  // namespace inline_prof::cli
