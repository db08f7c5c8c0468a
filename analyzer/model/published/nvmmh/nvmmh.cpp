#include "model/published/models.hpp"
#include "model/published/nvmmh/answering_process.hpp"
#include "model/row_reader.hpp"
#include "nvmmh_estimates.hpp"
#include "read/text_lines.hpp"

#include <inline_prof/op_kind.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace inline_prof::model {
namespace {

namespace fs = std::filesystem;

constexpr double kMost = 1 << 24;  // larger ones are bytes, not elements
// To load Python and the package on a busy machine takes seconds, an estimate far less.
constexpr std::chrono::seconds kPatience{60};

constexpr std::array kInputs{
    size_column("m", "rows of C", kMost),
    size_column("n", "columns of C", kMost),
    size_column("k", "columns of A, rows of B", kMost),
    optional(size_column("batch", "products in one call; 1 if absent", kMost)),
    word_column("a_type", "type of A, e.g. bf16", true),
    word_column("b_type", "type of B; that of A if absent"),
    word_column("c_type", "type of C; if absent that of A, bf16 for 8 bits"),
    word_column("compute_type", "f32 if absent, for f64 f64"),
    flag_column("trans_a", "whether A is stored by columns"),
    flag_column("trans_b", "whether B is stored by columns"),
};

constexpr std::array<Setting, 2> kSettings{{
    {"python", "", "Python that has the package; else that beside this program, else python3"},
    {"target", "generic", "whose kernels: generic, cutlass, cutlass3, triton or nvfuser"},
}};

OperationInputs inputs_of(const Operation& operation) {
  const read::Op& op = operation.op;
  OperationInputs inputs;
  for (const std::string_view size : {"m", "n", "k", "batch"})
    inputs.add_size(size, op, size);
  for (const std::string_view type : {"a_type", "b_type", "c_type", "compute_type"})
    inputs.add_text(type, op, type);
  for (const std::string_view flag : {"trans_a", "trans_b"})
    inputs.add(flag, op.get<bool>(flag).value_or(op.get<std::int64_t>(flag) == 1) ? 1.0 : 0.0);
  if (op.kind != op_kind_name(OpKind::kGemm) || !op.get<std::string>("c_type")) {
    inputs.reason = "no matrix product into a known type";
  }
  return inputs;
}

// Types come from files, and a line is words.
bool is_word(std::string_view text) {
  return !text.empty() && text.find_first_of(" \t\r\n") == std::string_view::npos;
}

class Nvmmh {
 public:
  explicit Nvmmh(const ModelOptions& options) {
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

  [[nodiscard]] RowPrediction predict(const Row& row) const {
    const auto text_or = [&](std::string_view name, std::string_view otherwise) {
      return row.has(name) ? std::string_view(row.text(name)) : otherwise;
    };
    const std::string_view a_type = row.text("a_type");
    const std::array types{a_type, text_or("b_type", a_type),
                           text_or("c_type", a_type.starts_with("f8") ? "bf16" : a_type),
                           text_or("compute_type", a_type == "f64" ? "f64" : "f32")};
    for (const std::string_view type : types) {
      if (!is_word(type)) return RowPrediction::none("", fmt::format("unknown type {}", type));
    }
    return estimate(fmt::format("{:.0f} {:.0f} {:.0f} {:.0f} {}{} {}", row.number("m"),
                                row.number("n"), row.number("k"), row.number("batch", 1),
                                row.flag("trans_a") ? 'T' : 'N', row.flag("trans_b") ? 'T' : 'N',
                                fmt::join(types, " ")));
  }

 private:
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

  // `problem`: a line as estimates.py reads it.
  [[nodiscard]] RowPrediction estimate(const std::string& problem) const {
    const auto answer = process_->ask(problem);
    if (!answer) return RowPrediction::none("", fmt::format("{} {}", name_, process_->complaint()));
    constexpr std::string_view none = "none ", time = "time ";
    if (answer->starts_with(none)) return RowPrediction::none("", answer->substr(none.size()));
    const auto seconds = answer->starts_with(time)
                             ? read::number_of(std::string_view(*answer).substr(time.size()))
                             : std::nullopt;
    if (!seconds || !(*seconds > 0)) {
      return RowPrediction::none(
          "", fmt::format("expected a time above 0 of {}, found {}", name_, *answer));
    }
    return with_time(*seconds * 1e6, "");
  }

  std::unique_ptr<AnsweringProcess> process_;
  std::string name_;
};

}  // namespace

ModelEntry nvmmh_entry() {
  return {.name = "nvmmh",
          .summary =
              "NVIDIA's own estimate of a matrix product, by its Python package "
              "nvidia-matmul-heuristics",
          .editions = {Edition::kPublished},
          .inputs = kInputs,
          .machine = Need::kRequired,
          .settings = {kSettings.begin(), kSettings.end()},
          .make =
              [](const ModelOptions& options) {
                const auto nvmmh = std::make_shared<const Nvmmh>(options);
                return Model{.inputs = kInputs,
                             .of_row = [nvmmh](const Row& row) { return nvmmh->predict(row); }};
              },
          .operations = {OpKind::kGemm},
          .inputs_of = inputs_of};
}

}  // namespace inline_prof::model
