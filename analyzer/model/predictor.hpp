// Which model predicts an operation: the best one that parameters are at hand for.
#pragma once

#include "model/prediction.hpp"
#include "model/table_model.hpp"
#include "read/machine.hpp"
#include "read/op.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace inline_prof::model {

// A parameter file compiled into the program, so that it works wherever it is copied to.
struct ParameterText {
  std::string_view file_name;  // MODEL_MACHINE_KEY.json
  std::string_view text;
};
[[nodiscard]] std::span<const ParameterText> parameter_texts();  // generated from params/*.json

// The kernel that computes an operation, as far as it is known.
struct LaunchedKernel {
  std::string_view name;  // may be empty
  double blocks = 0;      // 0: not known
};

class Predictor {
 public:
  // kCompat: the plain roofline for everything.  kCalibrated: matrix products, convolutions whose
  // kernel is known, data movement and collectives by the shipped parameters of the machine or,
  // with wider intervals, of one with the same compute units; embeddings by their model; everything
  // else by the roofline.
  explicit Predictor(Mode mode);
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  [[nodiscard]] Outcome predict(const read::Op& op, const read::Machine& machine,
                                const LaunchedKernel& kernel = {}) const;

 private:
  struct Shipped;  // the files that were needed so far, read
  std::unique_ptr<Shipped> shipped_;
};

}  // namespace inline_prof::model
