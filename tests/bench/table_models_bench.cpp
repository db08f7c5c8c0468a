// How fast models of tables predict, without reading and writing the tables.
//
//   table_models_bench   each published DLRM model on the rows of its golden file, again and again
//
// Wanted: a million rows in 3 s of processor time on one core.
#include "model/registry.hpp"
#include "model/row_reader.hpp"
#include "read/table.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace inline_prof {
namespace {

const std::string kGolden = INLINE_PROF_TEST_DATA "/golden/dlrm/";

void predict_rows(benchmark::State& state, const std::string& name, const std::string& file,
                  const std::string& params = "") {
  model::ModelOptions options;
  if (!params.empty()) options.params = kGolden + params;
  const auto model = model::find_model(name).make(options);
  const read::Table table = read::read_table(kGolden + file);
  // A row lasts as long as its reader reads no other one.
  std::vector<model::RowReader> readers(table.row_count(),
                                        model::RowReader(table, model->inputs()));
  std::vector<model::Row> rows;
  for (std::size_t i = 0; i < table.row_count(); ++i)
    rows.push_back(readers[i].read(i));
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(model->predict(rows[next]));
    next = next + 1 == rows.size() ? 0 : next + 1;
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(predict_rows, embedding_forward, "embedding_forward", "embedding_forward.csv");
BENCHMARK_CAPTURE(predict_rows, embedding_backward_sgd, "embedding_backward_sgd",
                  "embedding_backward_sgd.csv");
BENCHMARK_CAPTURE(predict_rows, embedding_v2, "embedding_v2", "embedding_upstream_v2.csv");
BENCHMARK_CAPTURE(predict_rows, fc, "fc", "fc_interp.csv", "fc_microbench_table.csv");

}  // namespace
}  // namespace inline_prof
