#include "model/published/collective/curve.hpp"
#include "model/registry.hpp"
#include "model/row_reader.hpp"
#include "read/table.hpp"
#include "testing.hpp"

namespace inline_prof::model::collective {
namespace {

TEST(BusFactor, IsMissingWhereTheOriginalHasNone) {
  EXPECT_FALSE(bus_factor("broadcast", 8));
  EXPECT_FALSE(bus_factor("gather", 8));
  EXPECT_DOUBLE_EQ(bus_factor("reduce", 8).value(), 1.0);
}

TEST(ExchangeSize, RefusesWhatIsNoExchange) {
  for (const char* text :
       {"", "16", "16,4", "16,3-,4", "16,3--1,4", "x,3-1,4", "16,3-1,0", "16,3-1,4.5", "0,3-1,4"}) {
    EXPECT_THROW(static_cast<void>(exchange_bytes(text, 4)), std::invalid_argument) << text;
  }
}

RowPrediction predict_row(const std::string& text, const ModelOptions& options = {}) {
  const read::Table table(text, "t.csv");
  const auto model = find_model("collective").make(options);
  RowReader reader(table, model->inputs());
  return model->predict(reader.read(0));
}

TEST(CollectiveModel, KnowsThePublishedCurvesByName) {
  const RowPrediction prediction = predict_row("curve,size_bytes\nv100_all_reduce_8,100\n");
  EXPECT_EQ(prediction.time_us, 43.4);
  EXPECT_EQ(prediction.bound, "latency");
}

TEST(CollectiveModel, FindsACurveByCollectiveAndRanks) {
  const RowPrediction prediction = predict_row("op,num_gpus,bytes\nall_to_allv,4,16\n");
  EXPECT_EQ(prediction.time_us, 85.6);
}

TEST(CollectiveModel, TakesAnUnevenExchangeForASize) {
  ModelOptions options;
  options.settings = {{"exchange", "sum"}};
  const RowPrediction prediction =
      predict_row("op,num_gpus,btd\nall_to_allv,4,\"1000,11-19-15-20,32\"\n", options);
  EXPECT_EQ(std::get<double>(prediction.parts.at(3)), 2080000);
}

struct NoCurve {
  const char* table;
  const char* error;
  const char* reason;
};

TEST(CollectiveModelHasNoAnswer, AndSaysWhy) {
  const NoCurve rows[] = {
      {"curve,size_bytes\nh100,100\n", "KeyError", "no curve h100"},
      {"op,num_gpus,bytes\nall_reduce,16,100\n", "KeyError", "no curve for all_reduce on 16 GPUs"},
      {"op,bytes\nall_reduce,100\n", "", "neither curve, nor collective (or op) and num_gpus"},
      {"op,num_gpus\nall_reduce,8\n", "", "neither size_bytes, bytes nor btd"},
      {"op,num_gpus,btd\nall_to_allv,4,7\n", "",
       "btd: expected BATCH,TABLES-TABLES-...,DIM, found \"7\""}};
  for (const NoCurve& row : rows) {
    SCOPED_TRACE(row.table);
    const RowPrediction prediction = predict_row(row.table);
    EXPECT_FALSE(prediction.time_us);
    EXPECT_EQ(prediction.error, row.error);
    EXPECT_EQ(prediction.reason, row.reason);
  }
}

}  // namespace
}  // namespace inline_prof::model::collective
