// How often rows are asked for: whatever a table says, sums end and are finite.
#include "model/calibrated/embedding/embedding.hpp"
#include "property.hpp"
#include "read/table.hpp"

#include <cmath>
#include <string>

namespace {

using namespace inline_prof;

void check_indices(const model::IndexDistribution& indices) {
  for (const double requests : {1.0, 1e3, 1e15}) {
    for (const double capacity : {0.0, 1.0, 1e6, 1e15}) {
      const double rate = indices.hit_rate(requests, capacity);
      fuzz::require(rate >= 0 && rate <= 1, "a share of hits is between 0 and 1");
    }
    const double unique = indices.unique_rows(requests);
    fuzz::require(std::isfinite(unique) && unique >= 0, "so many rows can be counted");
  }
}

}  // namespace

void fuzz::check(const std::string& text) {
  const read::Table table(text, "fuzz");
  if (table.find("accesses")) check_indices(model::IndexDistribution::histogram(table));
  // As the model of a table's rows takes them: integers from 1, exponents from 0 to 8.
  const auto rows = table.find("rows");
  const auto alpha = table.find("alpha");
  for (std::size_t row = 0; rows && alpha && row < table.row_count(); ++row) {
    const double count = std::floor(table.number(row, *rows));
    const double exponent = table.number(row, *alpha);
    if (count < 1 || exponent < 0 || exponent > 8) continue;
    check_indices(model::IndexDistribution::zipf(count, exponent));
  }
}
