#include "join/predict/predicted_file.hpp"
#include "join/rows/row.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

TEST(PredictionErrors, AreRelativeToTheMeasuredTime) {
  // e = -0.5 and +0.125: MAPE 0.3125, GMAE sqrt(0.0625) = 0.25, bias -0.1875.
  const std::vector<PredictedAndMeasured> pairs{{.predicted = 50, .measured = 100},
                                                {.predicted = 9, .measured = 8}};
  const auto errors = prediction_errors(pairs);
  ASSERT_TRUE(errors);
  EXPECT_EQ(errors->rows, 2U);
  EXPECT_DOUBLE_EQ(errors->mape, 0.3125);
  EXPECT_DOUBLE_EQ(errors->gmae, 0.25);
  EXPECT_DOUBLE_EQ(errors->bias, -0.1875);
}

TEST(PredictionErrors, APerfectPredictionDoesNotHideTheOthers) {
  // |e| = 0 counts as 1e-6: the geometric mean of 1e-6 and 1 is 1e-3, not 0.
  const std::vector<PredictedAndMeasured> pairs{{.predicted = 1, .measured = 1},
                                                {.predicted = 2, .measured = 1}};
  EXPECT_NEAR(prediction_errors(pairs).value().gmae, 1e-3, 1e-12);
}

TEST(PredictionErrors, NothingMeasuredMeansNoErrors) {
  const std::vector<PredictedAndMeasured> pairs{{.predicted = 1, .measured = 0}};
  EXPECT_FALSE(prediction_errors(pairs));
}

TEST(Discoveries, CountTheTestsThatWereMade) {
  // Alone, 0.04 is below 0.05; as one of three it would have to be below 0.0167.
  EXPECT_EQ(discoveries({0.04}, 0.05), (std::vector<bool>{true}));
  EXPECT_EQ(discoveries({0.04, 0.5, 0.9}, 0.05), (std::vector<bool>{false, false, false}));
}

TEST(Discoveries, ManyTogetherCarryEachOther) {
  // The largest i with p_(i) <= i / 4 * 0.05 is 3: 0.03 <= 0.0375.
  EXPECT_EQ(discoveries({0.03, 0.02, 0.9, 0.02}, 0.05),
            (std::vector<bool>{true, true, false, true}));
  EXPECT_TRUE(discoveries({}, 0.05).empty());
}

}  // namespace
}  // namespace inline_prof::join
