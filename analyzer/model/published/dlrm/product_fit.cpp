// The product table from measured rows: each shape once, with the median of its times.
#include "base/csv.hpp"
#include "base/median.hpp"
#include "fit/measured_rows.hpp"
#include "read/input_error.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inline_prof::fit {
namespace {

constexpr model::Column size_column(std::string_view name) {
  return {name, "", model::ColumnKind::kInteger, 1, 1e9, true, "a size of the product"};
}
constexpr std::array kProductColumns{
    size_column("batch_size"),
    size_column("M"),
    size_column("N"),
    size_column("K"),
    model::Column{"machine", "", model::ColumnKind::kText, 0, 0, false, "an id"},
    model::Column{"kernel_name", "", model::ColumnKind::kText, 0, 0, false, "of the kernel"}};

constexpr std::size_t kMachine = 4;

FitResult fit_products(const FitRequest& request) {
  const MeasuredRows rows(request, kProductColumns);
  std::map<std::array<double, 4>, std::pair<std::vector<double>, std::string>> shapes;
  for (const MeasuredRow& row : rows) {
    auto& [times, kernel] =
        shapes[{row.numbers[0], row.numbers[1], row.numbers[2], row.numbers[3]}];
    times.push_back(row.time_us);
    // A row without a name would be left out of the table.
    kernel = row.texts.empty() || row.texts.back().empty() ? "unknown" : row.texts.back();
  }
  // A table that names its machine is refused on another.
  std::string machine = request.machine ? request.machine->id : std::string();
  for (const MeasuredRow& row : rows) {
    const std::string& own = row.texts[kMachine];
    if (machine.empty()) machine = own;
    if (!own.empty() && own != machine) {
      throw read::InputError(
          fmt::format("{}: measured on {}, other rows on {}", row.place, own, machine));
    }
  }
  FitResult result;
  result.file_text = "batch_size,M,N,K,kernel_runtime,kernel_name,machine\n";
  for (auto& [shape, measured] : shapes) {
    result.file_text += fmt::format("{},{},{},{},{},{},{}\n", shape[0], shape[1], shape[2],
                                    shape[3], base::median(std::move(measured.first)),
                                    base::csv_cell(measured.second), machine);
  }
  result.summary = fmt::format("{} shapes of {} measured products\n", shapes.size(), rows.size());
  return result;
}

}  // namespace

FitEntry fc_fit_entry() {
  return {.model = "fc", .settings = {}, .needs_machine = false, .fit = fit_products};
}

}  // namespace inline_prof::fit
