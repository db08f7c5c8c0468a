#include "record/event_record.hpp"

#include "record/run_record.hpp"
#include "testing.hpp"

namespace inline_prof::record {
namespace {

Sample measured_sample(float measured_ms, std::int64_t iteration = 0, std::string extra = "") {
  Sample result;
  result.measured_ms = measured_ms;
  result.iteration = iteration;
  if (!extra.empty())
    result.extra = std::make_unique<ExtraInfos>(ExtraInfos{.start = std::move(extra), .stop = ""});
  return result;
}

std::unique_ptr<EventRecord> event_named(const char* name) {
  auto event = std::make_unique<EventRecord>();
  event->event_name = name;
  return event;
}

TEST(EventRecord, HasNoRoomBeforeItIsReserved) {
  EventRecord event;
  EXPECT_FALSE(event.add(measured_sample(1)));
  EXPECT_EQ(event.sample_count(), 0U);
}

TEST(EventRecord, TakesAsManySamplesAsWereReservedAndNoMore) {
  EventRecord event;
  event.reserve(2);
  EXPECT_TRUE(event.add(measured_sample(1, 11)));
  EXPECT_TRUE(event.add(measured_sample(2, 12)));
  EXPECT_FALSE(event.add(measured_sample(3, 13)));
  ASSERT_EQ(event.sample_count(), 2U);
  EXPECT_EQ(event.samples()[1].iteration, 12);
}

TEST(EventRecord, KeepsItsRoomWhenItIsReservedAgain) {
  EventRecord event;
  event.reserve(2);
  EXPECT_TRUE(event.add(measured_sample(1)));
  event.reserve(100);
  EXPECT_EQ(event.capacity(), 2U);
  EXPECT_EQ(event.samples()[0].measured_ms, 1);
}

// Under the thread sanitizer this also shows that no lock is needed.
TEST(EventRecord, ShowsAReaderOnlyWholeSamples) {
  constexpr std::uint32_t sample_count = 2000;
  EventRecord event;
  event.reserve(sample_count);
  std::atomic<bool> torn{false};
  std::thread reader([&] {
    std::uint32_t seen = 0;
    while (seen < sample_count) {
      seen = event.sample_count();
      if (seen == 0) continue;
      const Sample& last = event.samples()[seen - 1];
      if (last.iteration != seen || last.extra->start != std::to_string(seen)) torn = true;
    }
  });
  for (std::uint32_t i = 1; i <= sample_count; ++i)
    ASSERT_TRUE(event.add(measured_sample(1, i, std::to_string(i))));
  reader.join();
  EXPECT_FALSE(torn.load());
}

TEST(EventList, NeverMovesAnEvent) {
  EventList events;
  EventRecord* first = events.add(event_named("first"));
  for (int i = 0; i < 1000; ++i)
    ASSERT_NE(events.add(event_named("other")), nullptr);
  EXPECT_EQ(events.size(), 1001U);
  EXPECT_EQ(&events[0], first);
  EXPECT_EQ(first->event_name, "first");
}

TEST(EventList, RefusesWhatDoesNotFit) {
  EventList events;
  for (std::size_t i = 0; i < EventList::kCapacity; ++i)
    ASSERT_NE(events.add(std::make_unique<EventRecord>()), nullptr);
  EXPECT_EQ(events.add(event_named("too much")), nullptr);
  EXPECT_EQ(events.size(), EventList::kCapacity);
}

TEST(EventList, HidesWhatItHasAndShowsWhatComes) {
  EventList events;
  EventRecord* hidden = events.add(event_named("hidden"));
  hidden->reserve(1);
  events.remove_if([](const EventRecord&) { return true; });
  EXPECT_EQ(events.size(), 0U);
  events.add(event_named("shown"));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].event_name, "shown");
  EXPECT_TRUE(hidden->add(measured_sample(1))) << "a sample on its way must find its event";
}

TEST(IterationTimes, HaveRoomForWhatWasAskedForLast) {
  IterationTimes times;
  times.add(11, 1.0F);
  EXPECT_EQ(times.size(), 0U);
  // A run is first taken for one without iterations, and then they begin.
  times.restart(1);
  times.set_only(7.5F);
  ASSERT_EQ(times.size(), 1U);
  times.restart(1000);
  EXPECT_EQ(times.size(), 0U);
  for (int i = 0; i < 1001; ++i)
    times.add(i + 11, static_cast<float>(i));
  ASSERT_EQ(times.size(), 1000U);
  EXPECT_EQ(times[0], 0.0F);
  EXPECT_EQ(times[999], 999.0F);
  EXPECT_EQ(times.iteration(999), 1010);
}

}  // namespace
}  // namespace inline_prof::record
