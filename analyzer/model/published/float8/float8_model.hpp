// What the three table models of the published roofline share.
#pragma once

#include "model/model.hpp"
#include "model/published/float8/linear.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace inline_prof::model::float8 {

inline constexpr Column kGpuColumn{"gpu", "", ColumnKind::kText, 0, 0, true, "name of the GPU"};
inline constexpr Column kFloat8Column{"float8_recipe",           "", ColumnKind::kText, 0, 0, false,
                                      "tensorwise, rowwise, ..."};
inline constexpr Column kMxColumn{"mx_recipe", "",    ColumnKind::kText,  0,
                                  0,           false, "mxfp8_cublas, ..."};

[[nodiscard]] constexpr Column size_column(std::string_view name, std::string_view meaning) {
  // 1e9: beyond it a size is in another unit.
  return {name, "", ColumnKind::kInteger, 1, 1e9, true, meaning};
}

// The text of a cell, or nothing if there is none.
[[nodiscard]] std::string_view word(const Row& row, std::size_t input);

[[nodiscard]] RowPrediction none(const Refusal& refusal);
[[nodiscard]] RowPrediction timed(Seconds time, std::string_view bound);
[[nodiscard]] std::string text_of(const Refusal& refusal);
// A line for each kernel, each with a line break before it.
[[nodiscard]] std::string explain_casts(std::span<const NamedCast> casts, const Gpu& gpu);

// Rows name their GPU, and the edition of the constants says what it can do.
class Float8Model : public Model {
 public:
  explicit Float8Model(ConstantSet constants) : constants_(constants) {}

 protected:
  [[nodiscard]] ConstantSet constants() const { return constants_; }

  // Null, with a refusal, where the original ends with a KeyError.
  [[nodiscard]] const Gpu* look_up(std::string_view name, Precision precision,
                                   std::optional<Refusal>& refusal) const;

 private:
  ConstantSet constants_;
};

[[nodiscard]] ModelEntry float8_entry(std::string_view name, std::string_view summary,
                                      std::span<const Column> inputs,
                                      std::unique_ptr<Model> (*make)(const ModelOptions&));

}  // namespace inline_prof::model::float8
