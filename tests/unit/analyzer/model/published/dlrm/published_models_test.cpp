// The models of 2021 to 2024 against what their own code has printed.
#include "golden.hpp"
#include "model/published/dlrm/embedding.hpp"
#include "testing.hpp"

namespace inline_prof::test {
namespace {

TEST(PublishedDlrmModel, EmbeddingForward) {
  expect_golden("embedding_forward", "dlrm/embedding_forward.csv",
                {{"time_us", ""},
                 {"num_tables_simul"},
                 {"avg_table_size_bytes"},
                 {"avg_num_rows_per_table"},
                 {"hit_rate"},
                 {"dram_traffic_bytes"},
                 {"l2_traffic_bytes"}},
                "error");
}

TEST(PublishedDlrmModel, EmbeddingBackwardWithSgd) {
  expect_golden("embedding_backward_sgd", "dlrm/embedding_backward_sgd.csv", {{"time_us", ""}}, "");
}

TEST(PublishedDlrmModel, EmbeddingBackwardWithAdagrad) {
  expect_golden("embedding_backward_rowwise_adagrad", "dlrm/embedding_backward_adagrad.csv",
                {{"time_us", ""}}, "");
}

// SciPy's binomial distribution, which the original uses, is good to some 1e-10.
TEST(PublishedDlrmModel, EmbeddingSecondVersion) {
  expect_golden("embedding_v2", "dlrm/embedding_upstream_v2.csv",
                {{"fwd_hitrate_us", "", 1e-8},
                 {"fwd_hitrate_us", "fwd_hitrate_us", 1e-8},
                 {"cached_rows"},
                 {"p_row_unused", "p_row_unused", 1e-8},
                 {"fwd_simple_us"},
                 {"bwd_sgd_simple_us"},
                 {"bwd_sgd_hitrate_us"},
                 {"bwd_error"}},
                "fwd_error");
}

const std::vector<GoldenColumn> kProductColumns{
    {"time_us", ""},    {"n_unmatched"}, {"n_corners"},  {"effective_gflops"},
    {"effective_gbps"}, {"flop_count"},  {"dram_bytes"}, {"exact_match"}};

TEST(PublishedDlrmModel, ProductsInATableWithHoles) {
  model::ModelOptions options;
  options.params = golden_path("dlrm/fc_microbench_table.csv");
  options.settings = {{"kernel_prefix", "volta"}};  // as in the original
  expect_golden("fc", "dlrm/fc_interp.csv", kProductColumns, "error", options);
}

TEST(PublishedDlrmModel, ProductsInATableOfAnH100) {
  model::ModelOptions options;
  options.params = golden_path("dlrm/fc_microbench_table_xla_h100_f32.csv");
  expect_golden("fc", "dlrm/fc_interp_xla_h100.csv", kProductColumns, "error", options);
}

// The numbers that stand printed in the notebook, with the V100's limits that it uses.
TEST(PublishedDlrmModel, WorkedExamplesOfTheNotebook) {
  const model::LookupMachine v100{.dram_gb_per_s = 809,
                                  .l2_gb_per_s = 2888,
                                  .throughput_gflops = 12200,
                                  .l2_bytes = 6 * 1024 * 1024 * 4,
                                  .sm_count = 80};
  const auto forward = model::lookup_forward({.batch = 4096,
                                              .rows = 500000,
                                              .tables = 197,
                                              .bag = 32,
                                              .dim = 32,
                                              .rows_per_block = 128,
                                              .keeps_indices_in_shared_memory = true},
                                             v100);
  ASSERT_TRUE(forward);
  EXPECT_DOUBLE_EQ(forward->dram_us, 4340.7676440049445);
  const model::LookupShape backward{.batch = 2048,
                                    .rows = 200000,
                                    .tables = 128,
                                    .bag = 128,
                                    .dim = 128,
                                    .rows_per_block = 32,
                                    .keeps_indices_in_shared_memory = false};
  EXPECT_DOUBLE_EQ(model::lookup_backward_sgd(backward, v100).memory_us, 86291.71294932015);
  EXPECT_DOUBLE_EQ(model::lookup_backward_rowwise_adagrad_us(backward, v100), 64226.252103831896);
}

}  // namespace
}  // namespace inline_prof::test
