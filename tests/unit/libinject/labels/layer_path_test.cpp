#include "labels/layer_path.hpp"

#include "testing.hpp"

namespace inline_prof::labels {
namespace {

// Each test on a thread of its own: a path belongs to a thread.
template <typename Work>
void on_a_thread(Work work) {
  std::thread(work).join();
}

TEST(SetRange, TextIsReplacedAndTakenAway) {
  on_a_thread([] {
    set_range(1, "Net.fc1");
    EXPECT_EQ(current_layer(), "Net.fc1");
    set_range(1, "Net");
    EXPECT_EQ(current_layer(), "Net");
    set_range(1, nullptr);
    EXPECT_EQ(current_layer(), "");
    set_range(1, "");
    EXPECT_EQ(current_layer(), "");
  });
}

TEST(SetRange, KeepsItsPlaceAmongOtherRanges) {
  on_a_thread([] {
    push_range(kDefaultRangeOwner, "step");
    set_range(2, "Net");
    push_range(kDefaultRangeOwner, "mine");
    set_range(2, "Net.blocks.0.attention");
    EXPECT_EQ(current_layer(), "step.Net.blocks.0.attention.mine");
    set_range(2, "N");
    EXPECT_EQ(current_layer(), "step.N.mine");
    pop_range(kDefaultRangeOwner);
    EXPECT_EQ(current_layer(), "step.N");
    set_range(2, nullptr);
    pop_range(kDefaultRangeOwner);
    EXPECT_EQ(current_layer(), "");
  });
}

TEST(SetRange, TakenAwayAndSetAgainStandsInnermost) {
  on_a_thread([] {
    set_range(3, "Net");
    set_range(3, nullptr);
    push_range(kDefaultRangeOwner, "step");
    set_range(3, "Net");
    EXPECT_EQ(current_layer(), "step.Net");
  });
}

TEST(SetRange, AnotherThreadEndsIt) {
  on_a_thread([] {
    set_range(4, "backward");
    on_a_thread([] { end_set_range(4); });
    EXPECT_EQ(current_layer(), "");
    set_range(4, "again");
    EXPECT_EQ(current_layer(), "again");
    on_a_thread([] { end_set_range(4); });
    set_range(4, "and again");
    EXPECT_EQ(current_layer(), "and again");
    set_range(4, nullptr);
  });
}

TEST(SetRange, IsApartFromAStartedRangeOfTheSameNumber) {
  on_a_thread([] {
    start_range(5, "started");
    set_range(5, "set");
    end_set_range(5);
    EXPECT_EQ(current_layer(), "started");
    end_range(5);
    EXPECT_EQ(current_layer(), "");
  });
}

TEST(SetRange, TextThatHasNoRoomIsCut) {
  on_a_thread([] {
    push_range(kDefaultRangeOwner, std::string(200, 'a').c_str());
    set_range(6, "x");
    set_range(6, std::string(100, 'b').c_str());
    EXPECT_EQ(current_layer(), std::string(200, 'a') + "." + std::string(56, 'b'));
    push_range(kDefaultRangeOwner, "c");
    set_range(6, "x");
    EXPECT_EQ(current_layer(), std::string(200, 'a') + ".x");
    set_range(6, nullptr);
    pop_range(kDefaultRangeOwner);
    pop_range(kDefaultRangeOwner);
    EXPECT_EQ(current_layer(), "");
  });
}

TEST(FollowRange, TextIsWhatThePointerPointsToNow) {
  on_a_thread([] {
    const char* path = "Net";
    push_range(kDefaultRangeOwner, "step");
    follow_range(7, &path);
    EXPECT_EQ(current_layer(), "step.Net");
    push_range(kDefaultRangeOwner, "mine");
    path = "Net.blocks.0";
    EXPECT_EQ(current_layer(), "step.Net.blocks.0") << "the range was opened around the block";
    push_range(kDefaultRangeOwner, "inner");
    EXPECT_EQ(current_layer(), "step.Net.blocks.0.inner");
    pop_range(kDefaultRangeOwner);
    path = nullptr;
    EXPECT_EQ(current_layer(), "step.mine");
    follow_range(7, &path);
    path = "Net";
    EXPECT_EQ(current_layer(), "step.Net.mine") << "the same again changes nothing";
    pop_range(kDefaultRangeOwner);
    pop_range(kDefaultRangeOwner);
    EXPECT_EQ(current_layer(), "Net");
    path = nullptr;
    push_range(kDefaultRangeOwner, "next step");
    path = "Net";
    EXPECT_EQ(current_layer(), "next step.Net") << "it encloses all modules";
    pop_range(kDefaultRangeOwner);
    set_range(7, nullptr);
    EXPECT_EQ(current_layer(), "");
  });
}

TEST(FollowRange, IsReplacedByASetOneAndByAnother) {
  on_a_thread([] {
    const char* first = "first";
    const char* second = "second";
    follow_range(8, &first);
    follow_range(8, &second);
    EXPECT_EQ(current_layer(), "second");
    set_range(8, "set");
    second = "other";
    EXPECT_EQ(current_layer(), "set");
    follow_range(8, &second);
    EXPECT_EQ(current_layer(), "other");
    follow_range(8, nullptr);
    EXPECT_EQ(current_layer(), "");
  });
}

TEST(FollowRange, AnotherThreadEndsIt) {
  on_a_thread([] {
    const char* path = "backward";
    follow_range(9, &path);
    on_a_thread([] { end_set_range(9); });
    EXPECT_EQ(current_layer(), "");
    follow_range(9, &path);
    EXPECT_EQ(current_layer(), "backward");
    set_range(9, nullptr);
  });
}

TEST(FollowRange, ALongPathIsCutAndOneWithoutRoomIsNone) {
  on_a_thread([] {
    const std::string longer(300, 'a');
    const char* path = longer.c_str();
    follow_range(10, &path);
    EXPECT_EQ(current_layer(), std::string(256, 'a'));
    set_range(10, nullptr);
    push_range(kDefaultRangeOwner, std::string(250, 'b').c_str());
    follow_range(10, &path);
    EXPECT_EQ(current_layer(), std::string(250, 'b')) << "not even the pointer has room";
    pop_range(kDefaultRangeOwner);
    EXPECT_EQ(current_layer(), "");
    follow_range(10, &path);
    EXPECT_EQ(current_layer(), std::string(256, 'a')) << "the id was not used up";
    set_range(10, nullptr);
  });
}

}  // namespace
}  // namespace inline_prof::labels
