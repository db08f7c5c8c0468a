#include "model/published/nvmmh/nvmmh.hpp"

#include "model/published/nvmmh/answering_process.hpp"
#include "nvmmh_estimates.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace inline_prof::model {
namespace {

namespace fs = std::filesystem;

constexpr double kMost = 1 << 24;  // larger ones are bytes, not elements
// To load Python and the package on a busy machine takes seconds, an estimate far less.
constexpr std::chrono::seconds kPatience{60};

enum Input : std::size_t {
  kM,
  kN,
  kK,
  kBatch,
  kAType,
  kBType,
  kCType,
  kComputeType,
  kTransA,
  kTransB
};

constexpr std::array<Column, 10> kInputs{{
    {"m", "", ColumnKind::kInteger, 1, kMost, true, "rows of C"},
    {"n", "", ColumnKind::kInteger, 1, kMost, true, "columns of C"},
    {"k", "", ColumnKind::kInteger, 1, kMost, true, "columns of A, rows of B"},
    {"batch", "", ColumnKind::kInteger, 1, kMost, false, "products in one call; 1 if absent"},
    {"a_type", "", ColumnKind::kText, 0, 0, true, "type of A, e.g. bf16"},
    {"b_type", "", ColumnKind::kText, 0, 0, false, "type of B; that of A if absent"},
    {"c_type", "", ColumnKind::kText, 0, 0, false,
     "type of C; if absent that of A, bf16 for 8 bits"},
    {"compute_type", "", ColumnKind::kText, 0, 0, false, "f32 if absent, for f64 f64"},
    {"trans_a", "", ColumnKind::kFlag, 0, 1, false, "whether A is stored by columns"},
    {"trans_b", "", ColumnKind::kFlag, 0, 1, false, "whether B is stored by columns"},
}};

constexpr std::array<Setting, 2> kSettings{{
    {"python", "", "Python that has the package; else that beside this program, else python3"},
    {"target", "generic", "whose kernels: generic, cutlass, cutlass3, triton or nvfuser"},
}};

struct Product {
  double m = 0, n = 0, k = 0, batch = 1;
  std::string a_type, b_type, c_type, compute_type;
  bool trans_a = false, trans_b = false;
};

std::string usual_compute_type(const std::string& a_type) {
  return a_type == "f64" ? "f64" : "f32";
}

Product product_of(const Row& row) {
  const auto text_or = [&](std::size_t input, const std::string& otherwise) {
    return row.has(input) ? row.text(input) : otherwise;
  };
  const auto flag = [&](std::size_t input) { return row.has(input) && row.flag(input); };
  const std::string a_type = row.text(kAType);
  return {.m = row.number(kM),
          .n = row.number(kN),
          .k = row.number(kK),
          .batch = row.number_or(kBatch, 1),
          .a_type = a_type,
          .b_type = text_or(kBType, a_type),
          .c_type = text_or(kCType, a_type.starts_with("f8") ? "bf16" : a_type),
          .compute_type = text_or(kComputeType, usual_compute_type(a_type)),
          .trans_a = flag(kTransA),
          .trans_b = flag(kTransB)};
}

bool is_true(const read::Op& op, std::string_view name) {
  return op.get<bool>(name).value_or(op.get<std::int64_t>(name).value_or(0) != 0);
}

std::optional<Product> product_of(const read::Op& op) {
  const auto m = op.get<std::int64_t>("m"), n = op.get<std::int64_t>("n"),
             k = op.get<std::int64_t>("k");
  const auto batch = op.get<std::int64_t>("batch").value_or(1);
  const auto a_type = op.get<std::string>("a_type"), c_type = op.get<std::string>("c_type");
  if (op.kind != op_kind_name(OpKind::kGemm) || !m || !n || !k || !a_type || !c_type)
    return std::nullopt;
  for (const std::int64_t size : {*m, *n, *k, batch}) {
    if (size < 1 || static_cast<double>(size) > kMost) return std::nullopt;
  }
  return Product{
      .m = static_cast<double>(*m),
      .n = static_cast<double>(*n),
      .k = static_cast<double>(*k),
      .batch = static_cast<double>(batch),
      .a_type = *a_type,
      .b_type = op.get<std::string>("b_type").value_or(*a_type),
      .c_type = *c_type,
      .compute_type = op.get<std::string>("compute_type").value_or(usual_compute_type(*a_type)),
      .trans_a = is_true(op, "trans_a"),
      .trans_b = is_true(op, "trans_b")};
}

// Types come from files, and a line is words.
bool is_word(std::string_view text) {
  return !text.empty() && text.find_first_of(" \t\r\n") == std::string_view::npos;
}

class NvmmhModel : public Model {
 public:
  explicit NvmmhModel(const ModelOptions& options) {
    const std::string asked = setting(options, "python", "");
    std::vector<std::string> pythons{asked};
    if (asked.empty()) {
      std::error_code error;
      const fs::path beside = fs::read_symlink("/proc/self/exe", error).parent_path() / "python3";
      pythons = {"python3"};
      if (access(beside.c_str(), X_OK) == 0) pythons.insert(pythons.begin(), beside.string());
    }
    for (const std::string& python : pythons) {
      if (start(python, options.machine->id, setting(options, "target", "generic"))) return;
    }
    throw std::invalid_argument(fmt::format(
        "{} has no package nvidia-matmul-heuristics, which is NVIDIA's and under its licence: pip "
        "install nvidia-matmul-heuristics",
        fmt::join(pythons, " and ")));
  }

  [[nodiscard]] std::span<const Column> inputs() const override { return kInputs; }

  [[nodiscard]] RowPrediction predict(const Row& row) const override {
    RowPrediction prediction;
    const Answer answer = estimate(product_of(row));
    prediction.time_us = answer.time_us;
    prediction.reason = answer.reason;
    return prediction;
  }

  [[nodiscard]] std::optional<Prediction> predict_operation(
      const Operation& operation) const override {
    const auto product = product_of(operation.op);
    if (!product) return std::nullopt;
    const Answer answer = estimate(*product);
    if (!answer.time_us) return std::nullopt;
    Prediction prediction;
    prediction.time = microseconds(*answer.time_us);
    prediction.model = name_;
    return prediction;
  }

  [[nodiscard]] std::vector<std::string> warnings() const override {
    if (process_->complaint().empty()) return {};
    return {fmt::format("{} {}", name_, process_->complaint())};
  }

 private:
  struct Answer {
    std::optional<double> time_us;
    std::string reason;
  };

  // False where this Python does not have the package.
  bool start(const std::string& python, const std::string& machine, const std::string& target) {
    process_ = std::make_unique<AnsweringProcess>(
        std::vector<std::string>{python, "-c", kEstimates, machine, target}, kPatience);
    const std::string hello = process_->answer().value_or("");
    constexpr std::string_view ready = "ready ", failed = "failed ";
    if (hello == "missing") return false;
    if (hello.starts_with(ready)) {
      name_ = "nvidia-matmul-heuristics " + hello.substr(ready.size());
      return true;
    }
    throw std::invalid_argument(fmt::format(
        "the package nvidia-matmul-heuristics of {} cannot be used: {}", python,
        hello.starts_with(failed) ? hello.substr(failed.size()) : process_->complaint()));
  }

  [[nodiscard]] Answer estimate(const Product& product) const {
    for (const std::string* type :
         {&product.a_type, &product.b_type, &product.c_type, &product.compute_type}) {
      if (!is_word(*type)) return {{}, fmt::format("unknown type {}", *type)};
    }
    const auto answer = process_->ask(
        fmt::format("{:.0f} {:.0f} {:.0f} {:.0f} {}{} {} {} {} {}", product.m, product.n, product.k,
                    product.batch, product.trans_a ? 'T' : 'N', product.trans_b ? 'T' : 'N',
                    product.a_type, product.b_type, product.c_type, product.compute_type));
    if (!answer) return {{}, fmt::format("{} {}", name_, process_->complaint())};
    constexpr std::string_view none = "none ", time = "time ";
    if (answer->starts_with(none)) return {{}, answer->substr(none.size())};
    double seconds = 0;
    const char* end = answer->data() + answer->size();
    if (!answer->starts_with(time) ||
        std::from_chars(answer->data() + time.size(), end, seconds).ptr != end ||
        !std::isfinite(seconds) || !(seconds > 0)) {
      return {{}, fmt::format("expected a time above 0 of {}, found {}", name_, *answer)};
    }
    return {seconds * 1e6, ""};
  }

  std::unique_ptr<AnsweringProcess> process_;
  std::string name_;
};

std::unique_ptr<Model> make(const ModelOptions& options) {
  return std::make_unique<NvmmhModel>(options);
}

}  // namespace

ModelEntry nvmmh_entry() {
  return {.name = "nvmmh",
          .summary =
              "NVIDIA's own estimate of a matrix product, by its Python package "
              "nvidia-matmul-heuristics",
          .modes = {Mode::kCompat},
          .inputs = kInputs,
          .machine = Need::kRequired,
          .settings = {kSettings.begin(), kSettings.end()},
          .make = make};
}

}  // namespace inline_prof::model
