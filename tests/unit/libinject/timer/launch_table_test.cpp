#include "timer/launch_table.hpp"

#include "testing.hpp"

namespace inline_prof::timer {
namespace {

const void* handle(std::uintptr_t value) {
  return reinterpret_cast<const void*>(value);  // NOLINT(performance-no-int-to-ptr): made up
}

// As the driver's handles are: 16 bytes apart, in a heap.
const void* function(std::uintptr_t i) {
  return handle(0x5555'0000'0000 + 16 * i);
}

class LaunchTableTest : public Test {
 protected:
  std::unique_ptr<LaunchTable> table_ = std::make_unique<LaunchTable>();
};

TEST_F(LaunchTableTest, HoldsAFullLoadOfPairsThatCollide) {
  // Half of the table, so that many pairs stand beside their home slot.
  constexpr std::uintptr_t function_count = 1024;
  std::set<std::size_t> indices;
  for (std::uintptr_t f = 0; f < function_count; ++f) {
    for (std::uintptr_t s = 1; s <= 4; ++s) {
      LaunchSlot* slot = table_->insert(function(f), handle(s));
      ASSERT_NE(slot, nullptr) << f << ' ' << s;
      indices.insert(table_->index_of(*slot));
    }
  }
  EXPECT_EQ(indices.size(), 4 * function_count);
  EXPECT_LT(*indices.rbegin(), LaunchTable::kSize);
  for (std::uintptr_t f = 0; f < function_count; ++f) {
    for (std::uintptr_t s = 1; s <= 4; ++s) {
      const LaunchSlot* slot = table_->find(function(f), handle(s));
      ASSERT_NE(slot, nullptr);
      EXPECT_EQ(slot->function.load(), function(f));
      EXPECT_EQ(slot->stream.load(), handle(s));
    }
  }
}

TEST_F(LaunchTableTest, RefusesWhatDoesNotFitAndKeepsWhatDoes) {
  std::uintptr_t inserted = 0;
  std::vector<std::uintptr_t> refused;
  for (std::uintptr_t f = 0; f < 3 * LaunchTable::kSize; ++f) {
    if (table_->insert(function(f), handle(1)) != nullptr) {
      ++inserted;
    } else {
      refused.push_back(f);
    }
  }
  EXPECT_GT(inserted, LaunchTable::kSize / 2);
  EXPECT_LE(inserted, LaunchTable::kSize);
  ASSERT_FALSE(refused.empty());
  EXPECT_EQ(table_->find(function(refused.front()), handle(1)), nullptr);
  EXPECT_NE(table_->find(function(0), handle(1)), nullptr);
}

TEST(LaunchSlot, CountsUpToItsLimitAndThenAsksForAttention) {
  LaunchSlot slot;
  EXPECT_FALSE(slot.count_quietly(false)) << "a new slot wants to be looked at";
  slot.limit = 2;
  EXPECT_TRUE(slot.count_quietly(false));
  EXPECT_TRUE(slot.count_quietly(false));
  EXPECT_FALSE(slot.count_quietly(false));
  EXPECT_EQ(slot.count.load(), 2U);
}

// Readers need no lock: what they find is whole.  Under the thread sanitizer also free of races.
TEST_F(LaunchTableTest, IsReadWhileSomebodyInserts) {
  constexpr std::uintptr_t pair_count = 3000;
  std::atomic<bool> wrong{false};
  std::atomic<bool> done{false};
  const auto read = [&] {
    while (!done.load(std::memory_order_relaxed)) {
      for (std::uintptr_t f = 0; f < pair_count; f += 7) {
        LaunchSlot* slot = table_->find(function(f), handle(f % 5));
        if (slot == nullptr) continue;
        if (slot->function.load() != function(f) || slot->stream.load() != handle(f % 5))
          wrong = true;
        static_cast<void>(slot->count_quietly(false));
      }
    }
  };
  std::thread first(read);
  std::thread second(read);
  for (std::uintptr_t f = 0; f < pair_count; ++f) {
    LaunchSlot* slot = table_->insert(function(f), handle(f % 5));
    ASSERT_NE(slot, nullptr);
    slot->limit.store(1000, std::memory_order_relaxed);
  }
  done = true;
  first.join();
  second.join();
  EXPECT_FALSE(wrong.load());
  for (std::uintptr_t f = 0; f < pair_count; ++f)
    EXPECT_NE(table_->find(function(f), handle(f % 5)), nullptr) << f;
}

}  // namespace
}  // namespace inline_prof::timer
