#include "base/two_threads.hpp"

#include "join/rows/row.hpp"
#include "testing.hpp"

namespace inline_prof::join {
namespace {

TEST(TwoThreads, ResultsComeInTheirOrder) {
  std::vector<std::size_t> taken;
  base::in_two_threads(
      200,
      [](std::size_t i) {
        // The first is the last to be ready.
        if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return std::make_unique<std::size_t>(i);
      },
      [&](std::size_t i, std::unique_ptr<std::size_t> result) {
        EXPECT_EQ(*result, i);
        taken.push_back(i);
      });
  std::vector<std::size_t> expected(200);
  std::iota(expected.begin(), expected.end(), 0U);
  EXPECT_EQ(taken, expected);
}

TEST(TwoThreads, TheFirstFailureIsThrownWhicheverThreadIsQuicker) {
  for (int repetition = 0; repetition < 20; ++repetition) {
    std::string said;
    try {
      base::in_two_threads(
          100,
          [](std::size_t i) {
            if (i == 6) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (i >= 6) throw std::runtime_error(std::to_string(i));
            return i;
          },
          [](std::size_t, std::size_t) {});
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
    EXPECT_EQ(said, "6");
  }
}

TEST(TwoThreads, NothingIsNothing) {
  base::in_two_threads(
      0, [](std::size_t i) { return i; }, [](std::size_t, std::size_t) { FAIL(); });
}

TEST(SharedText, IsTheSameTextOnce) {
  const SharedText a = "fc1";
  const SharedText b = std::string("fc") + "1";
  EXPECT_EQ(&a.str(), &b.str());
  EXPECT_TRUE(a == b);
  EXPECT_TRUE(a == "fc1");
  EXPECT_FALSE(a == SharedText("fc2"));
  EXPECT_TRUE(SharedText().empty());
  EXPECT_EQ(fmt::format("{:>5}", a), "  fc1");
}

}  // namespace
}  // namespace inline_prof::join
