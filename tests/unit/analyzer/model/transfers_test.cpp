// One GPU left out: its products predicted with the parameters of the others.
#include "base/error_metrics.hpp"
#include "model/machines.hpp"
#include "model/predictor.hpp"
#include "model/registry.hpp"
#include "model/row_reader.hpp"
#include "profile_builder.hpp"
#include "read/table.hpp"
#include "testing.hpp"

namespace inline_prof::model {
namespace {

struct Transfer {
  const char* machine;
  const char* parameters;  // those that prof-analyze would take if the machine had none
  const char* table;
  double most_mape;
};

void PrintTo(const Transfer& transfer, std::ostream* out) {
  *out << transfer.machine << " from " << transfer.parameters;
}

class AGpuLeftOut : public TestWithParam<Transfer> {};

TEST_P(AGpuLeftOut, IsPredictedWithAnIntervalThatHolds) {
  const auto& [machine, parameters, file, most_mape] = GetParam();
  ModelOptions options;
  options.edition = Edition::kCalibrated;
  options.machine = builtin_machine(machine);
  options.params = parameters;
  const auto gemm = find_model("gemm").make(options);
  const auto table = read::read_table(std::string(INLINE_PROF_TEST_DATA "/transfers/") + file);
  RowReader reader(table, gemm.inputs, {});
  const std::size_t measured = table.require("time_us");
  std::vector<base::Judged> rows;
  for (std::size_t i = 0; i < table.row_count(); ++i) {
    const RowPrediction prediction = gemm.predict(reader.read(i));
    ASSERT_TRUE(prediction.time_us && prediction.lower_us && prediction.upper_us) << i;
    rows.push_back({*prediction.time_us, table.optional_number(i, measured).value(),
                    prediction.lower_us, prediction.upper_us});
  }
  const auto summary = base::summarize(rows);
  ASSERT_TRUE(summary && summary->coverage);
  EXPECT_LT(summary->mape, most_mape);
  EXPECT_GE(*summary->coverage, 0.8);
}

// Rows of every stack with the shipped sets, as `set` names them; `knows_stack`: or without a word
// of whose they are.
base::ErrorSummary errors_of_stacks(const std::string& set, bool knows_stack) {
  const auto table = read::read_table(INLINE_PROF_TEST_DATA "/transfers/stacks.csv");
  const std::size_t measured = table.require("time_us"), stack = table.require("stack");
  std::vector<base::Judged> rows;
  for (const read::Machine& machine : builtin_machines()) {
    ModelOptions options;
    options.edition = Edition::kCalibrated;
    options.machine = machine;
    options.params = "gemm_" + machine.id + "_" + set;
    std::optional<Model> gemm;
    for (std::size_t i = 0; i < table.row_count(); ++i) {
      if (table.cell(i, 0) != machine.id || table.cell(i, 1) != set) continue;
      if (!gemm) gemm = find_model("gemm").make(options);
      OperationInputs inputs;
      for (const char* const size : {"m", "n", "k"})
        inputs.values.emplace_back(size, table.number(i, table.require(size)));
      if (knows_stack) inputs.values.emplace_back("stack", table.cell(i, stack));
      const RowPrediction prediction = predict_inputs(*gemm, inputs);
      rows.push_back({*prediction.time_us, table.optional_number(i, measured).value(),
                      prediction.lower_us, prediction.upper_us});
    }
  }
  return base::summarize(rows).value();
}

// Each bound is a quarter above the error of whole groups held out (docs/accuracy.md).
TEST(ShippedProducts, HoldTheRowsOfTheirStacks) {
  for (const auto& [set, most_mape] :
       {std::pair("bf16", 0.075), std::pair("f8e4m3_cublas", 0.04), std::pair("f8e4m3", 0.1),
        std::pair("f8e4m3_block", 0.09), std::pair("f4e2m1", 0.08)}) {
    const auto known = errors_of_stacks(set, true), unknown = errors_of_stacks(set, false);
    EXPECT_LT(known.mape, most_mape) << set;
    EXPECT_GE(*known.coverage, 0.86) << set;
    EXPECT_GE(*unknown.coverage, 0.86) << set;
  }
}

// docs/accuracy.md has the errors on whole tables; each bound is a quarter above that.
INSTANTIATE_TEST_SUITE_P(
    Transfers, AGpuLeftOut,
    Values(Transfer{"h200-sxm-141gb", "gemm_h100-sxm5-80gb_bf16", "h200_bf16.csv", 0.055},
           Transfer{"h100-sxm5-80gb", "gemm_h200-sxm-141gb_bf16", "h100_bf16.csv", 0.055},
           Transfer{"a100-sxm4-80gb", "gemm_h100-sxm5-80gb_bf16", "a100_bf16.csv", 0.16},
           Transfer{"b200-sxm-180gb", "gemm_h100-sxm5-80gb_bf16", "b200_bf16.csv", 0.17},
           Transfer{"v100-sxm2-16gb", "gemm_a100-sxm4-80gb_bf16", "v100_f16.csv", 0.23}));

read::Op product(const std::string& type) {
  read::Op op;
  op.kind = "gemm";
  op.attributes = {{"m", std::int64_t{4096}}, {"n", std::int64_t{4096}}, {"k", std::int64_t{4096}},
                   {"a_type", type},          {"b_type", type},          {"c_type", type}};
  return op;
}

TEST(Transfers, EveryGpuOfTheListHasAPredictionWithAnInterval) {
  const Predictor calibrated(Models::kCalibrated);
  for (const read::Machine& machine : builtin_machines()) {
    for (const char* type : {"f16", "bf16"}) {
      if (!machine.peak_tflops.contains(type)) continue;  // TITAN Xp; no bf16 before Ampere
      const auto found = calibrated.predict(product(type), machine).prediction;
      ASSERT_TRUE(found && found->interval90) << machine.id << ' ' << type;
      EXPECT_EQ(found->model, "gemm") << machine.id << ' ' << type;
    }
  }
}

}  // namespace
}  // namespace inline_prof::model
