// The product table from measured rows: each shape once, with the median of its times.
#include "base/median.hpp"
#include "base/text.hpp"
#include "fit/measured_rows.hpp"
#include "model/published/models.hpp"
#include "read/input_error.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::fit {
namespace {

constexpr const char* kSizeMeaning = "a size of the product";
constexpr std::array kProductColumns{model::size_column("batch_size", kSizeMeaning, 1e9),
                                     model::size_column("M", kSizeMeaning, 1e9),
                                     model::size_column("N", kSizeMeaning, 1e9),
                                     model::size_column("K", kSizeMeaning, 1e9),
                                     model::word_column("type", "of A"),
                                     model::word_column("machine", "an id"),
                                     model::word_column("kernel_name", "of the kernel")};

FitResult fit_products(const FitRequest& request) {
  const MeasuredRows rows(request, kProductColumns);
  // A table that names its machine is refused on another.
  std::string machine = request.machine ? request.machine->id : std::string();
  std::map<std::pair<std::string, std::array<double, 4>>,
           std::pair<std::vector<double>, std::string>>
      shapes;
  for (const MeasuredRow& row : rows) {
    const model::Row cells = row.cells();
    const std::string &type = cells.text("type"), &own = cells.text("machine"),
                      &name = cells.text("kernel_name");
    auto& [times, kernel] = shapes[{
        type.empty() ? "f32" : type,
        {cells.number("batch_size"), cells.number("M"), cells.number("N"), cells.number("K")}}];
    times.push_back(row.time_us);
    kernel = name.empty() ? "unknown" : name;  // a row without a name is left out of the table
    if (machine.empty()) machine = own;
    if (!own.empty() && own != machine) {
      throw read::InputError(
          fmt::format("{}: measured on {}, other rows on {}", row.place, own, machine));
    }
  }
  FitResult result;
  result.file_text = "batch_size,M,N,K,kernel_runtime,kernel_name,machine,type\n";
  for (auto& [key, measured] : shapes) {
    const auto& [type, shape] = key;
    result.file_text += fmt::format("{},{},{},{},{},{},{},{}\n", shape[0], shape[1], shape[2],
                                    shape[3], base::median(std::move(measured.first)),
                                    base::csv_cell(measured.second), machine, type);
  }
  result.summary = fmt::format("{} shapes of {} measured products\n", shapes.size(), rows.size());
  return result;
}

}  // namespace

FitEntry fc_fit_entry() {
  return {.model = "fc", .settings = {}, .needs_machine = false, .fit = fit_products};
}

}  // namespace inline_prof::fit
