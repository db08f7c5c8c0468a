#include "export/csv.hpp"

#include "base/csv.hpp"

#include <fmt/format.h>

#include <iterator>

namespace inline_prof::exports {

std::string csv_number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string csv_interval(const std::optional<join::Interval>& interval) {
  return interval ? fmt::format("{},{}", interval->lower, interval->upper) : ",";
}

std::string csv_report(const join::Analysis& analysis) {
  std::string out =
      "file,host_name,rank,layer,event,device_id,stream_index,start_index,occurrence,calls,samples,"
      "not_tight,is_region,raw_us,raw_ci95_lower_us,raw_ci95_upper_us,corrected_us,in_iteration_us,"
      "predicted_us,predicted_ci90_lower_us,predicted_ci90_upper_us,ratio,bound,model,verdict\n";
  for (const join::Row& row : analysis.rows) {
    const read::Profile& profile = analysis.runs[row.profile].profile;
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{},{},{},",
                   base::csv_cell(profile.file), base::csv_cell(profile.host_name),
                   profile.rank ? fmt::format("{}", *profile.rank) : "",
                   base::csv_cell(row.layer.str()), base::csv_cell(row.event.str()), row.device_id,
                   row.stream_index, row.start_index, row.occurrence, row.calls, row.samples,
                   row.not_tight, row.is_region);
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{}\n",
                   csv_number(row.raw_us), csv_interval(row.raw_ci95_us),
                   csv_number(row.corrected_us), csv_number(row.in_iteration_us),
                   csv_number(row.predicted_us), csv_interval(row.predicted_ci90_us),
                   csv_number(row.ratio), row.bound, base::csv_cell(row.model.str()),
                   base::csv_cell(join::verdict_text(row)));
  }
  return out;
}

}  // namespace inline_prof::exports
