#include "join/predict/predicted_file.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

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
