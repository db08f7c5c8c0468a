// The histories of a run that was watched, as prof.json has them.
#include "read/read_profile.hpp"
#include "testing.hpp"

namespace inline_prof::read {
namespace {

constexpr const char* kBins =
    R"({"start_s":[0,60],"end_s":[59,3600],"first_iteration":[0,240],"last_iteration":[239,14000],)"
    R"("first_bucket":[600,601],"counts":[[1,2],[40]]})";

std::string watched_file(const std::string& bins, const std::string& more = "") {
  return R"({"schema":"inline_prof/1","iter_time_ms":[1],"events":[{"event_name":"a","device_id":0,)"
         R"("stream":"0x1","start_index":0,"end_index":1,"met_times_within_this_stream":0,)"
         R"("measured_times_ms":[0.5],"history":)" +
         bins + R"(}],"history":{"budget":0.0002,"started_s":0,"until_s":3600)" + more + "}}";
}

std::string complaint_about_bins(const std::string& from, const std::string& to) {
  std::string bins = kBins;
  bins.replace(bins.find(from), from.size(), to);
  return test::complaint([&] { return read_profile(watched_file(bins), "p.json"); });
}

std::string complaint_about_history(const std::string& more) {
  return test::complaint([&] { return read_profile(watched_file(kBins, more), "p.json"); });
}

TEST(Histories, AreReadWithReadingsAndChanges) {
  const Profile p = read_profile(
      watched_file(
          kBins,
          std::string(R"(,"pairs":77,"pair_cost_us":7.1,"cost_share":null,"iteration":)") + kBins +
              R"(,"machine":[{"device_id":0,"time_s":[10,20],"sm_clock_mhz":[1980,null],)"
              R"("throttle_reasons":[0,4]}],"changes":[{"of":"event","event":0,"layer_name":"l",)"
              R"("device_id":0,"began_s":60,"detected_s":90,"began_iteration":240,"before_us":1,)"
              R"("after_us":1.03,"ratio":1.03,"ratio_ci95":[1.02,1.04],"reason":"power cap"}])"),
      "p.json");
  ASSERT_TRUE(p.watched);
  EXPECT_EQ(p.watched->pairs, 77);
  EXPECT_EQ(p.watched->pair_cost_us, 7.1);
  EXPECT_FALSE(p.watched->cost_share);
  ASSERT_EQ(p.events[0].history.size(), 2U);
  EXPECT_EQ(p.watched->iteration.size(), 2U);
  const watch::Bin& bin = p.events[0].history[1];
  EXPECT_EQ(bin.end_s, 3600);
  EXPECT_EQ(bin.last_iteration, 14000);
  EXPECT_EQ(bin.sketch.first_bucket(), 601);
  EXPECT_THAT(bin.sketch.counts(), ElementsAre(40U));
  const auto& readings = p.watched->machine.at(0).readings;
  ASSERT_EQ(readings.size(), 2U);
  EXPECT_EQ(readings[0].sm_clock_mhz, 1980);
  EXPECT_TRUE(std::isnan(readings[1].sm_clock_mhz));
  EXPECT_TRUE(std::isnan(readings[0].power_w)) << "the driver does not have it";
  EXPECT_EQ(readings[1].throttle_reasons, 4);
  const FoundChange& change = p.watched->changes.at(0);
  EXPECT_EQ(change.event, 0U);
  EXPECT_EQ(change.ratio_ci95, (std::pair<double, double>{1.02, 1.04}));
  EXPECT_EQ(change.reason, "power cap");
}

TEST(Histories, AreRefusedWithTheirPlace) {
  EXPECT_EQ(complaint_about_bins("[59,3600]", "[59]"),
            "p.json: /events/0/history: expected 2 values in \"end_s\", one for each of "
            "\"start_s\", found 1");
  EXPECT_THAT(complaint_about_bins("[0,60]", "[60,0]"),
              HasSubstr("p.json: /events/0/history: expected value 1 of \"start_s\" to be 60"));
  EXPECT_THAT(complaint_about_bins("[59,3600]", "[59,30]"), HasSubstr("bin 1 ends before"));
  EXPECT_THAT(complaint_about_bins("[600,601]", "[600,2074]"),
              HasSubstr("bin 1: expected buckets from -345 to 2073"));
  EXPECT_THAT(complaint_about_bins("[40]", "[4294967296]"), HasSubstr("a count below 2^32"));
  EXPECT_THAT(complaint_about_bins("[40]", "40"),
              HasSubstr("/events/0/history/counts/1: expected an array"));
  EXPECT_THAT(complaint_about_history(R"(,"machine":[{"device_id":0,"time_s":[1],"power_w":[]},)"
                                      R"({"device_id":0,"time_s":[1],"power_w":[1,2]}])"),
              HasSubstr("/history/machine/1: expected 1 values in \"power_w\""));
  const std::string change =
      R"(,"changes":[{"of":"event","event":EVENT,"ratio":RATIO,"ratio_ci95":[1,2]}])";
  const auto with = [&](const std::string& event, const std::string& ratio) {
    std::string text = change;
    text.replace(text.find("EVENT"), 5, event);
    return text.replace(text.find("RATIO"), 5, ratio);
  };
  EXPECT_EQ(complaint_about_history(with("0", "1.5")), "");
  EXPECT_EQ(complaint_about_history(with("1", "1.5")),
            "p.json: /history/changes/0/event: expected one of 1 events, found 1");
  EXPECT_THAT(complaint_about_history(with("0", "0")), HasSubstr("expected a ratio above 0"));
}

TEST(Histories, ChangesFollowTheEventsOfThePhase) {
  const std::string event =
      R"("device_id":0,"stream":"0x1","start_index":0,"end_index":1,"met_times_within_this_stream":0,)"
      R"("measured_times_ms":[0.5]})";
  const Profile p =
      read_profile(R"({"schema":"inline_prof/1","iter_time_ms":[1],"phases":[)"
                   R"({"stretches":[[1,9]],"iterations":9,"measured":true,"iter_time_ms":[1]},)"
                   R"({"stretches":[[10,99]],"iterations":90,"measured":true,"iter_time_ms":[1]}],)"
                   R"("events":[{"event_name":"a","phase":0,)" +
                       event + R"(,{"event_name":"b","phase":1,)" + event +
                       R"(],"history":{"budget":0.1,"started_s":0,"until_s":9,"changes":[)"
                       R"({"of":"event","event":0,"ratio":2},{"of":"event","event":1,"ratio":3},)"
                       R"({"of":"iteration","ratio":4}]}})",
                   "p.json");
  ASSERT_EQ(p.events.size(), 1U);
  ASSERT_EQ(p.watched->changes.size(), 2U);
  EXPECT_EQ(p.watched->changes[0].event, 0U);
  EXPECT_EQ(p.watched->changes[0].ratio, 3);
  EXPECT_FALSE(p.watched->changes[1].event);
}

}  // namespace
}  // namespace inline_prof::read
