#include "model/published/dlrm/fc.hpp"

#include "model/published/dlrm/shape_columns.hpp"
#include "model/row_reader.hpp"
#include "read/table.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <memory>
#include <utility>

namespace inline_prof::model {
namespace {

constexpr double kMostSize = 1e6;  // the product of four of them is below the largest double
constexpr const char* kPrefixSetting = "kernel_prefix";

constexpr Column size_column(std::string_view name, std::string_view meaning) {
  return {name, "", ColumnKind::kInteger, 1, kMostSize, true, meaning};
}

enum Input : std::size_t { kDram, kThroughput, kBatch, kM, kN, kK };

constexpr std::array kInputs{columns::kDram,
                             columns::kThroughput,
                             size_column("batch_size", "products of one call"),
                             size_column("M", "rows of A and C"),
                             size_column("N", "columns of B and C"),
                             size_column("K", "columns of A, rows of B")};

constexpr std::array<std::string_view, 7> kParts{"n_unmatched",    "n_corners",  "effective_gflops",
                                                 "effective_gbps", "flop_count", "dram_bytes",
                                                 "exact_match"};

// The measured table.  A row may have empty cells, and then counts for nothing.
enum TableInput : std::size_t { kTableBatch, kTableM, kTableN, kTableK, kTableTime, kTableKernel };

constexpr std::array kTableInputs{
    columns::optional(kInputs[kBatch]),
    columns::optional(kInputs[kM]),
    columns::optional(kInputs[kN]),
    columns::optional(kInputs[kK]),
    Column{"kernel_runtime", "us", ColumnKind::kNumber, 1e-3, 1e9, false, "time of the kernel"},
    Column{"kernel_name", "", ColumnKind::kText, 0, 0, false, "name of the kernel"}};

class Fc : public Model {
 public:
  explicit Fc(ProductFile file)
      : table_(std::move(file.rows)), warnings_(std::move(file.warnings)) {}

  [[nodiscard]] std::span<const Column> inputs() const override { return kInputs; }
  [[nodiscard]] std::span<const std::string_view> parts() const override { return kParts; }
  [[nodiscard]] std::vector<std::string> warnings() const override { return warnings_; }

  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    const ProductPrediction result = predict_product(row);
    if (!result.error.empty()) {
      return RowPrediction::none(result.error,
                                 result.error == kNoElement
                                     ? "no measured product has those sizes that the table knows"
                                     : "the table knows each size, but no product of all of them");
    }
    if (result.is_measured) {
      RowPrediction prediction = with_time(result.time_us, "");
      prediction.parts = {0.0, Part(), Part(), Part(), Part(), Part(), 1.0};
      return prediction;
    }
    RowPrediction prediction = with_time(result.time_us, result.by_memory ? "memory" : "compute");
    if (!prediction.time_us) return prediction;
    prediction.parts = {static_cast<double>(result.unmatched),
                        static_cast<double>(result.corners),
                        result.effective.gflops,
                        result.effective.gb_per_s,
                        result.operations,
                        result.bytes,
                        0.0};
    return prediction;
  }

  [[nodiscard]] std::string explain(const Row& row) const override {
    const ProductPrediction result = predict_product(row);
    if (!result.error.empty()) return Model::explain(row);
    if (result.is_measured) return fmt::format("  time = {} us, as measured", result.time_us);
    return fmt::format(
        "  {} of 4 sizes stand in no row; the {} corners around them reach {} GFLOP/s, {} GB/s\n"
        "  compute: {} multiply-adds / {} GFLOP/s = {} us\n"
        "  memory: {} bytes / {} GB/s = {} us\n"
        "  time = max(compute, memory) = {} us",
        result.unmatched, result.corners, result.effective.gflops, result.effective.gb_per_s,
        result.operations, result.effective.gflops,
        result.operations / result.effective.gflops / 1e3, result.bytes, result.effective.gb_per_s,
        result.bytes / result.effective.gb_per_s / 1e3, result.time_us);
  }

 private:
  [[nodiscard]] ProductPrediction predict_product(const Row& row) const {
    return table_.predict({whole(row, kBatch), whole(row, kM), whole(row, kN), whole(row, kK)},
                          {.gflops = row.number(kThroughput), .gb_per_s = row.number(kDram)});
  }

  ProductTable table_;
  std::vector<std::string> warnings_;
};

std::unique_ptr<Model> make(const ModelOptions& options) {
  return std::make_unique<Fc>(
      read_product_file(options.params, setting(options, kPrefixSetting, "")));
}

}  // namespace

ProductFile read_product_file(const std::filesystem::path& path, const std::string& kernel_prefix) {
  const read::Table table = read::read_table(path);
  for (const Column& column : kTableInputs)
    static_cast<void>(table.require(column.name));
  RowReader reader(table, kTableInputs);

  ProductFile file;
  std::map<ProductShape, std::size_t> lines;
  std::size_t incomplete = 0;
  std::vector<std::string> repeated;
  for (std::size_t i = 0; i < table.row_count(); ++i) {
    const Row row = reader.read(i);
    if (!row.has(kTableKernel) || !row.text(kTableKernel).starts_with(kernel_prefix)) continue;
    bool is_complete = true;
    for (std::size_t input = 0; input < kTableInputs.size(); ++input)
      is_complete = is_complete && row.has(input);
    if (!is_complete) {
      ++incomplete;
      continue;
    }
    const ProductShape shape{whole(row, kTableBatch), whole(row, kTableM), whole(row, kTableN),
                             whole(row, kTableK)};
    const auto [place, is_new] = lines.emplace(shape, table.line(i));
    if (!is_new)
      repeated.push_back(fmt::format("line {} as line {}", table.line(i), place->second));
    file.rows.push_back({shape, row.number(kTableTime)});
  }
  if (file.rows.empty()) {
    throw read::InputError(
        fmt::format("{}: no complete row of a kernel {}*", table.label(), kernel_prefix));
  }
  if (incomplete > 0) {
    file.warnings.push_back(
        fmt::format("{}: rows with empty cells, left out: {}", table.label(), incomplete));
  }
  if (!repeated.empty()) {
    file.warnings.push_back(fmt::format(
        "{}: shapes that stand there before, whose first time counts: {} ({}{})", table.label(),
        repeated.size(), repeated.front(), repeated.size() > 1 ? ", ..." : ""));
  }
  return file;
}

ModelEntry fc_entry() {
  return {.name = "fc",
          .summary = "matrix product of DLRM (2021): between the measured ones of a table",
          .modes = {Mode::kCompat},
          .inputs = kInputs,
          .params = Need::kRequired,
          .params_meaning = "CSV with batch_size, M, N, K, kernel_runtime (us), kernel_name",
          .settings = {{kPrefixSetting, "", "use only rows whose kernel_name starts so"}},
          .make = make};
}

}  // namespace inline_prof::model
