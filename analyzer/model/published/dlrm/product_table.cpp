#include "model/published/dlrm/product_table.hpp"

#include "model/published/dlrm/shape_columns.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace inline_prof::model {
namespace {

using std::int64_t;

constexpr std::size_t kSizes = 4;

double operations_of(const ProductShape& shape) {
  double product = 1.0;
  for (const int64_t size : shape)
    product *= static_cast<double>(size);
  return product;
}

double bytes_of(const ProductShape& shape) {
  const auto [b, m, n, k] = shape;
  const auto real = [](int64_t size) { return static_cast<double>(size); };
  return 4.0 * real(b) * (real(m) * real(k) + real(k) * real(n) + real(m) * real(n));
}

// Where a size lies between those of the table.
struct Limits {
  int64_t low = -1;   // -1: below all of them
  int64_t high = -1;  // -1: above all of them
};

// Weights of the corners at the low and at the high end.  They are the wrong way round: the nearer
// corner weighs less.
struct Weights {
  double low = 0.5;
  double high = 0.5;
};

Weights weights(const Limits& limits, int64_t size) {
  const auto value = static_cast<double>(size);
  const auto low = static_cast<double>(limits.low);
  const auto high = static_cast<double>(limits.high);
  if (limits.high == -1) return {};
  if (limits.low == -1) return {value / high, (high - value) / high};
  return {(value - low) / (high - low), (high - value) / (high - low)};
}

}  // namespace

// One of the measured products around a shape, as it is found size by size.
struct ProductTable::Corner {
  std::array<Limits, kSizes> limits{};
  bool is_zero = false;  // stands for a product of size 0: contributes nothing
  bool is_peak = false;  // stands for an endless one: reaches the peaks
};

ProductTable::ProductTable(std::vector<MeasuredProduct> rows) : rows_(std::move(rows)) {
  for (std::size_t size = 0; size < kSizes; ++size) {
    for (const MeasuredProduct& row : rows_)
      values_[size].push_back(row.shape[size]);
    std::sort(values_[size].begin(), values_[size].end());
    values_[size].erase(std::unique(values_[size].begin(), values_[size].end()),
                        values_[size].end());
  }
  for (std::size_t mask = 0; mask < indices_.size(); ++mask) {
    Index& index = indices_[mask];
    std::iota(index.order.begin(), index.order.end(), std::size_t{0});
    std::stable_partition(index.order.begin(), index.order.end(),
                          [&](std::size_t size) { return (mask >> size & 1U) != 0; });
    index.rows.resize(rows_.size());
    std::iota(index.rows.begin(), index.rows.end(), std::uint32_t{0});
    std::stable_sort(index.rows.begin(), index.rows.end(),
                     [&](std::uint32_t left, std::uint32_t right) {
                       for (const std::size_t size : index.order) {
                         if (value(left, size) != value(right, size)) {
                           return value(left, size) < value(right, size);
                         }
                       }
                       return false;
                     });
  }
}

ProductTable::Range ProductTable::equal(Range range, std::size_t size, int64_t wanted) const {
  const auto first =
      std::lower_bound(range.begin(), range.end(), wanted,
                       [&](std::uint32_t row, int64_t bound) { return value(row, size) < bound; });
  const auto last =
      std::upper_bound(first, range.end(), wanted,
                       [&](int64_t bound, std::uint32_t row) { return bound < value(row, size); });
  return {first, last};
}

void ProductTable::add_corner(const Index& index, std::uint32_t row, const ProductShape& shape,
                              const Corner& corner, const ProductPeaks& peaks,
                              ProductPrediction& result) const {
  ++result.corners;
  if (corner.is_zero) return;
  const MeasuredProduct& product = rows_[row];
  const ProductPeaks reached =
      corner.is_peak ? peaks
                     : ProductPeaks{operations_of(product.shape) / product.time_us / 1000.0,
                                    bytes_of(product.shape) / product.time_us / 1000.0};
  for (std::size_t depth = kSizes - result.unmatched; depth < kSizes; ++depth) {
    const std::size_t size = index.order[depth];
    const Limits& limits = corner.limits[size];
    const Weights both = weights(limits, shape[size]);
    const bool is_low = product.shape[size] == limits.low && !corner.is_peak;
    const double weight = (is_low ? both.low : both.high) / static_cast<double>(result.unmatched);
    result.effective.gflops += weight * reached.gflops;
    result.effective.gb_per_s += weight * reached.gb_per_s;
  }
}

void ProductTable::add_corners(const Index& index, std::size_t depth, Range range,
                               const ProductShape& shape, const Corner& corner,
                               const ProductPeaks& peaks, ProductPrediction& result) const {
  if (depth == kSizes) return add_corner(index, range.front(), shape, corner, peaks, result);
  const std::size_t size = index.order[depth];
  const int64_t smallest = value(range.front(), size);
  const int64_t largest = value(range.back(), size);
  Corner less = corner;
  Corner more = corner;
  Limits limits;
  if (shape[size] < smallest) {
    limits.high = smallest;
    less.is_zero = true;
  } else if (shape[size] > largest) {
    limits.low = largest;
    more.is_peak = true;
  } else {
    const auto above = std::upper_bound(
        range.begin(), range.end(), shape[size],
        [&](int64_t bound, std::uint32_t row) { return bound < value(row, size); });
    limits = {value(*(above - 1), size), value(*above, size)};
  }
  less.limits[size] = limits;
  more.limits[size] = limits;
  const int64_t low = limits.low == -1 ? limits.high : limits.low;
  const int64_t high = limits.high == -1 ? limits.low : limits.high;
  add_corners(index, depth + 1, equal(range, size, low), shape, less, peaks, result);
  add_corners(index, depth + 1, equal(range, size, high), shape, more, peaks, result);
}

ProductPrediction ProductTable::predict(const ProductShape& shape,
                                        const ProductPeaks& peaks) const {
  ProductPrediction result;
  std::size_t mask = 0;
  for (std::size_t size = 0; size < kSizes; ++size) {
    if (std::binary_search(values_[size].begin(), values_[size].end(), shape[size])) {
      mask |= std::size_t{1} << size;
    } else {
      ++result.unmatched;
    }
  }
  const Index& index = indices_[mask];
  Range range(index.rows);
  for (std::size_t depth = 0; depth < kSizes - result.unmatched; ++depth) {
    range = equal(range, index.order[depth], shape[index.order[depth]]);
  }
  if (range.empty()) {
    // The original divides by the number of corners, or asks for the smallest size of no rows.
    result.error = result.unmatched == 0 ? kDivisionByZero : kNoElement;
    return result;
  }
  if (result.unmatched == 0) {
    result.is_measured = true;
    result.time_us = rows_[range.front()].time_us;
    return result;
  }

  add_corners(index, kSizes - result.unmatched, range, shape, Corner{}, peaks, result);
  const double halves = static_cast<double>(std::size_t{1} << (result.unmatched - 1));
  result.effective.gflops /= halves;
  result.effective.gb_per_s /= halves;
  result.operations = operations_of(shape);
  result.bytes = bytes_of(shape);
  const double compute_us = result.operations / result.effective.gflops / 1000.0;
  const double memory_us = result.bytes / result.effective.gb_per_s / 1000.0;
  result.by_memory = memory_us > compute_us;
  result.time_us = std::max(compute_us, memory_us);
  return result;
}

}  // namespace inline_prof::model
