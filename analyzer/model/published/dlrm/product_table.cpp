#include "model/published/dlrm/product_table.hpp"

#include "model/published/models.hpp"
#include "model/row_reader.hpp"
#include "read/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>

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

// The sizes of the table around a size.
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

// One of the measured products around a shape, as it is found size by size.
struct Corner {
  std::array<Limits, kSizes> limits{};
  bool is_zero = false;  // stands for a product of size 0: contributes nothing
  bool is_peak = false;  // stands for an endless one: reaches the peaks
};

using Rows = std::vector<const MeasuredProduct*>;

Rows with_size(const Rows& rows, std::size_t size, int64_t value) {
  Rows kept;
  std::ranges::copy_if(rows, std::back_inserter(kept),
                       [&](const MeasuredProduct* row) { return row->shape[size] == value; });
  return kept;
}

struct Interpolation {
  const ProductShape& shape;
  const ProductPeaks& peaks;
  std::vector<std::size_t> unknown = {};  // sizes that stand in no row of the table
  ProductPrediction result = {};

  void add_corner(const MeasuredProduct& product, const Corner& corner) {
    ++result.corners;
    if (corner.is_zero) return;
    const ProductPeaks reached =
        corner.is_peak ? peaks
                       : ProductPeaks{operations_of(product.shape) / product.time_us / 1000.0,
                                      bytes_of(product.shape) / product.time_us / 1000.0};
    for (const std::size_t size : unknown) {
      const Limits& limits = corner.limits[size];
      const Weights both = weights(limits, shape[size]);
      const bool is_low = product.shape[size] == limits.low && !corner.is_peak;
      const double weight = (is_low ? both.low : both.high) / static_cast<double>(unknown.size());
      result.effective.gflops += weight * reached.gflops;
      result.effective.gb_per_s += weight * reached.gb_per_s;
    }
  }

  void add_corners(const Rows& rows, std::size_t depth, const Corner& corner) {
    if (depth == unknown.size()) return add_corner(*rows.front(), corner);
    const std::size_t size = unknown[depth];
    Corner less = corner, more = corner;
    Limits limits;
    for (const MeasuredProduct* row : rows) {
      const int64_t value = row->shape[size];
      if (value < shape[size]) limits.low = std::max(limits.low, value);
      if (value > shape[size] && (limits.high == -1 || value < limits.high)) limits.high = value;
    }
    less.is_zero = less.is_zero || limits.low == -1;
    more.is_peak = more.is_peak || limits.high == -1;
    less.limits[size] = more.limits[size] = limits;
    add_corners(with_size(rows, size, limits.low == -1 ? limits.high : limits.low), depth + 1,
                less);
    add_corners(with_size(rows, size, limits.high == -1 ? limits.low : limits.high), depth + 1,
                more);
  }
};

}  // namespace

ProductPrediction predict_product(const ProductTable& table, const ProductShape& shape,
                                  const ProductPeaks& peaks) {
  Rows rows;
  for (const MeasuredProduct& row : table)
    rows.push_back(&row);
  Interpolation interpolation{.shape = shape, .peaks = peaks};
  for (std::size_t size = 0; size < kSizes; ++size) {
    const auto has_size = [&](const auto& row) { return row.shape[size] == shape[size]; };
    if (std::ranges::any_of(table, has_size)) {
      rows = with_size(rows, size, shape[size]);
    } else {
      interpolation.unknown.push_back(size);
    }
  }
  ProductPrediction& result = interpolation.result;
  result.unmatched = interpolation.unknown.size();
  if (rows.empty()) {
    // The original divides by the number of corners, or asks for the smallest size of no rows.
    result.error = result.unmatched == 0 ? kDivisionByZero : kNoElement;
    return result;
  }
  if (result.unmatched == 0) {
    result.is_measured = true;
    result.time_us = rows.front()->time_us;
    return result;
  }
  interpolation.add_corners(rows, 0, Corner{});
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

namespace {

constexpr double kMostSize = 1e6;  // the product of four of them is below the largest double
constexpr const char* kPrefixSetting = "kernel_prefix";
constexpr const char* kUsualType = "f32";

constexpr Column kProducts = size_column("batch_size", "products of one call", kMostSize);
constexpr Column kM = size_column("M", "rows of A and C", kMostSize);
constexpr Column kN = size_column("N", "columns of B and C", kMostSize);
constexpr Column kK = size_column("K", "columns of A, rows of B", kMostSize);
constexpr Column kType = word_column("type", "of A; f32 if absent");
constexpr std::array kProductInputs{columns::kDram, columns::kThroughput, kProducts, kM, kN, kK,
                                    kType};

constexpr std::array<std::string_view, 7> kParts{"n_unmatched",    "n_corners",  "effective_gflops",
                                                 "effective_gbps", "flop_count", "dram_bytes",
                                                 "exact_match"};

// The measured table.  A row may have empty cells, and then counts for nothing.
constexpr std::array kTableInputs{
    optional(kProducts),
    optional(kM),
    optional(kN),
    optional(kK),
    Column{"kernel_runtime", "us", ColumnKind::kNumber, 1e-3, 1e9, false, "time of the kernel"},
    word_column("kernel_name", "name of the kernel"),
    kType};
constexpr std::size_t kNeeded = 6;  // of them

ProductShape product_of(const Row& row) {
  return {row.whole("batch_size"), row.whole("M"), row.whole("N"), row.whole("K")};
}

std::string type_of(const Row& row) {
  return row.has("type") ? row.text("type") : kUsualType;
}

RowPrediction predict_row(const ProductFile& file, const Row& row) {
  const std::string type = type_of(row);
  const auto table = file.tables.find(type);
  if (table == file.tables.end())
    throw NoAnswer{"", fmt::format("the table has no products of {}", type)};
  const ProductPrediction result = predict_product(table->second, product_of(row),
                                                   {.gflops = row.number("peak_throughput_gflops"),
                                                    .gb_per_s = row.number("peak_dram_bw_gbps")});
  if (!result.error.empty()) {
    throw NoAnswer{result.error, result.error == kNoElement
                                     ? "no measured product has those sizes that the table knows"
                                     : "the table knows each size, but no product of all of them"};
  }
  if (result.is_measured)
    return with_time(result.time_us, "", {0.0, Part(), Part(), Part(), Part(), Part(), 1.0});
  return with_time(
      result.time_us, result.by_memory ? "memory" : "compute",
      {static_cast<double>(result.unmatched), static_cast<double>(result.corners),
       result.effective.gflops, result.effective.gb_per_s, result.operations, result.bytes, 0.0});
}

OperationInputs fc_inputs(const Operation& operation) {
  OperationInputs inputs;
  const read::Op& op = operation.op;
  inputs.add("batch_size", static_cast<double>(op.get<std::int64_t>("batch").value_or(1)));
  inputs.add_size("M", op, "m");
  inputs.add_size("N", op, "n");
  inputs.add_size("K", op, "k");
  std::string type = op.get<std::string>("a_type").value_or(kUsualType);
  // Tensor cores on parts of a single-precision number: another rate.
  if (type == kUsualType && op.get<std::string>("compute_type") == "tf32") type = "tf32";
  add_machine(inputs, operation.machine, type);
  inputs.values.emplace_back("type", std::move(type));
  return inputs;
}

}  // namespace

ProductFile read_product_file(const std::filesystem::path& path, const std::string& kernel_prefix) {
  const read::Table table = read::read_table(path);
  for (const Column& column : std::span(kTableInputs).first(kNeeded))
    static_cast<void>(table.require(column.name));
  RowReader reader(table, kTableInputs);
  ProductFile file;
  std::map<std::pair<std::string, ProductShape>, std::size_t> lines;
  std::size_t incomplete = 0, repeated = 0;
  std::string first;
  for (std::size_t i = 0; i < table.row_count(); ++i) {
    const Row row = reader.read(i);
    const std::string& kernel = row.text("kernel_name");
    if (kernel.empty() || !kernel.starts_with(kernel_prefix)) continue;
    if (std::ranges::any_of(std::span(kTableInputs).first(kNeeded),
                            [&](const Column& column) { return !row.has(column.name); })) {
      ++incomplete;
      continue;
    }
    const ProductShape shape = product_of(row);
    const std::string type = type_of(row);
    const auto [place, is_new] = lines.emplace(std::pair(type, shape), table.line(i));
    if (!is_new && repeated++ == 0)
      first = fmt::format("line {} as line {}", table.line(i), place->second);
    file.tables[type].push_back({shape, row.number("kernel_runtime")});
  }
  if (file.tables.empty()) {
    throw read::InputError(
        fmt::format("{}: no complete row of a kernel {}*", table.label(), kernel_prefix));
  }
  if (incomplete > 0) {
    file.warnings.push_back(
        fmt::format("{}: rows with empty cells, left out: {}", table.label(), incomplete));
  }
  if (repeated > 0) {
    file.warnings.push_back(
        fmt::format("{}: shapes that stand there before, whose first time counts: {} ({}{})",
                    table.label(), repeated, first, repeated > 1 ? ", ..." : ""));
  }
  return file;
}

ModelEntry fc_entry() {
  return {.name = "fc",
          .summary = "matrix product of DLRM (2021): between the measured ones of a table",
          .editions = {Edition::kPublished},
          .inputs = kProductInputs,
          .params = Need::kRequired,
          .params_meaning = "CSV with batch_size, M, N, K, kernel_runtime (us), kernel_name",
          .settings = {{kPrefixSetting, "", "use only rows whose kernel_name starts so"}},
          .make =
              [](const ModelOptions& options) {
                auto file = std::make_shared<const ProductFile>(
                    read_product_file(options.params, setting(options, kPrefixSetting, "")));
                return Model{kProductInputs, kParts,
                             [file](const Row& row) { return predict_row(*file, row); },
                             file->warnings};
              },
          .operations = {OpKind::kGemm},
          .inputs_of = fc_inputs};
}

}  // namespace inline_prof::model
