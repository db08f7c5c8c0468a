// Files of the original profiler, which had no schema.
#include "read/read_profile.hpp"
#include "testing.hpp"

namespace inline_prof::read {
namespace {

constexpr const char* kFirst =
    R"({"host_name":"n1","iter_time_ms":[4.1,4.2],"events":[{"name":"fprop","layer_name":"fc1",)"
    R"("device_id":0,"stream":"0x1","start_index":0,"end_index":1,)"
    R"("same_name_events_occured_order_in_code":3,"measured_times_ms":[0.04,0.041],)"
    R"("iter_start_to_event_start_times_ms":[0.5,0.51]}]})";

constexpr const char* kSecond =
    R"({"host_name":"n1","iter_time_ms":[4.1,4.2],"runtime_data":[{"data_name":"batch",)"
    R"("device_id":0,"stream":"0x1","data":["6912"]}],"events":[{"event_name":"fc.fprop",)"
    R"("device_id":0,"stream":"0x1","start_index":0,"end_index":1,)"
    R"("met_times_within_this_stream":2,"measured_times_ms":[0.04,0.041],)"
    R"("iter_start_to_event_start_times_ms":[0.5,0.51],"extra_infos_start":[],)"
    R"("extra_infos_stop":[]}]})";

constexpr const char* kOneShot =
    R"({"host_name":"n1","events":[)"
    R"({"event_name":"iteration","device_id":0,"stream":"0x1","start_index":0,"end_index":3,)"
    R"("met_times_within_this_stream":0,"measured_times_ms":[4,5],)"
    R"("iter_start_to_event_start_times_ms":[0,0]},)"
    R"({"event_name":"fc.fprop","device_id":0,"stream":"0x1","start_index":1,"end_index":2,)"
    R"("met_times_within_this_stream":0,"measured_times_ms":[1,1],)"
    R"("iter_start_to_event_start_times_ms":[0.5,0.5]}]})";

std::string complaint_about_text(const std::string& text) {
  return test::complaint([&] { return read_profile(text, "p.json"); });
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

TEST(FirstGeneration, HasLayersAndItsOwnWordForTheOccurrence) {
  const Profile profile = read_profile(kFirst, "p.json");
  EXPECT_EQ(profile.capabilities.format, "prof.json generation 1");
  ASSERT_EQ(profile.events.size(), 1U);
  EXPECT_EQ(profile.events[0].name, "fprop");
  EXPECT_EQ(profile.events[0].layer, "fc1");
  EXPECT_EQ(profile.events[0].occurrence, 3);
  EXPECT_FALSE(profile.overhead);
}

TEST(FirstGeneration, NeedsThatWord) {
  EXPECT_EQ(
      complaint_about_text(replaced(kFirst, "same_name_events_occured_order_in_code", "order")),
      R"(p.json: /events/0: missing "same_name_events_occured_order_in_code")");
}

TEST(FirstGeneration, TheRealFileIsReadWhole) {
  const Profile profile = read_profile(
      std::filesystem::path(INLINE_PROF_TEST_DATA "/hugectr/dlrm_a100_8gpu.prof.json"));
  EXPECT_EQ(profile.capabilities.format, "prof.json generation 1");
  EXPECT_EQ(profile.host_name, "luna-0173");
  EXPECT_EQ(profile.events.size(), 512U);
  EXPECT_EQ(profile.iter_time_ms.size(), 3200U);
  for (const Event& event : profile.events)
    EXPECT_EQ(event.measured_ms.size(), 50U);
}

TEST(SecondGeneration, HasNoLayersButRuntimeData) {
  const Profile profile = read_profile(kSecond, "p.json");
  EXPECT_EQ(profile.capabilities.format, "prof.json generation 2");
  EXPECT_EQ(profile.events.at(0).name, "fc.fprop");
  EXPECT_EQ(profile.events[0].layer, "");
  EXPECT_EQ(profile.events[0].occurrence, 2);
  ASSERT_EQ(profile.runtime_data.size(), 1U);
  EXPECT_THAT(profile.runtime_data[0].data, ElementsAre("6912"));
}

TEST(SecondGeneration, NeedsItsNames) {
  EXPECT_EQ(complaint_about_text(replaced(kSecond, "\"event_name\"", "\"label\"")),
            R"(p.json: /events/0: missing "event_name")");
}

TEST(OneShot, TakesIterationTimesFromItsIterationEvents) {
  const Profile profile = read_profile(kOneShot, "p.json");
  EXPECT_EQ(profile.capabilities.format, "prof.json generation 2 (one-shot)");
  EXPECT_THAT(profile.iter_time_ms, ElementsAre(4, 5));
  ASSERT_EQ(profile.events.size(), 1U) << "the iteration is no work of its own";
  EXPECT_EQ(profile.events[0].name, "fc.fprop");
}

TEST(OneShot, NeedsAnIterationEvent) {
  EXPECT_EQ(complaint_about_text(replaced(kOneShot, "\"iteration\"", "\"epoch\"")),
            R"(p.json: /: missing "iter_time_ms", and no event "iteration" stands in for it)");
}

TEST(OlderGenerations, NegativeTimesAreLeftOutAndCounted) {
  const Profile profile = read_profile(
      replaced(replaced(kFirst, "[0.04,0.041]", "[-0.04,0.041]"), "[4.1,4.2]", "[-4.1,4.2]"),
      "p.json");
  EXPECT_EQ(profile.negative_times, 2);
  EXPECT_THAT(profile.iter_time_ms, ElementsAre(4.2));
  EXPECT_THAT(profile.events.at(0).measured_ms, ElementsAre(0.041));
  EXPECT_THAT(profile.events[0].offsets_ms, ElementsAre(0.51)) << "the sample goes as a whole";
}

}  // namespace
}  // namespace inline_prof::read
