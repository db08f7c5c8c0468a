// Files that are parsed in many windows: what they cost, and that no window changes what is read.
#include "large_profile.hpp"
#include "read/prof_json/prof_json.hpp"
#include "read/prof_json/prof_members.hpp"
#include "read/read_profile.hpp"
#include "testing.hpp"

#include <fmt/format.h>

#include <iostream>
#include <malloc.h>

namespace inline_prof::read {
namespace {

// Resident bytes of this process, now or at their highest since the last reset.
double resident_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == key && status >> kib) return kib * 1024;
  }
  return 0;
}

// The highest resident size while a file is read, its text included, less what stood there before
// the text, by the size of the file.
double peak_per_byte(std::size_t bytes, std::size_t samples) {
  std::string text = test::large_third_generation(bytes, samples);
  const auto size = static_cast<double>(text.size());
  malloc_trim(0);  // what is free already must neither count nor serve
  const double before = resident_bytes("VmRSS:") - size;
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak of making it does not count
  const Profile profile = read_profile(std::move(text), "large.json");
  EXPECT_GT(profile.events.size(), 100U);
  return (resident_bytes("VmHWM:") - before) / size;
}

TEST(LargeFiles, TakeAtMostThreeTimesTheirSize) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have memory of their own";
#endif
  for (const std::size_t samples : {10U, 50U, 1000U}) {
    const double per_byte = peak_per_byte(std::size_t{32} << 20, samples);
    std::cout << samples << " samples an event: " << per_byte << " times the file\n";
    EXPECT_LT(per_byte, 3.0) << samples;
    EXPECT_GT(per_byte, 1.0) << "the text alone: nothing was measured";
  }
}

// Sums up the facts that windows could lose or mix up.
std::string summary(const std::optional<FoundProfile>& found) {
  if (!found) return "refused";
  std::string text = found->profile.host_name;
  for (const Event& event : found->profile.events) {
    text += fmt::format(" {}@{}", event.name, event.start_index);
    for (const double time_ms : event.measured_ms)
      text += fmt::format(",{}", time_ms);
  }
  return text + fmt::format(" {} {}", found->profile.warnings.size(), found->facts.size());
}

std::string event_text(const std::string& name, int start, const std::string& more = "") {
  return fmt::format(
      R"({{"event_name":"{}","device_id":0,"stream":"s","start_index":{},"end_index":{},)"
      R"("met_times_within_this_stream":0,"measured_times_ms":[1,2]{}}})",
      name, start, start + 1, more);
}

std::string padded(std::string text) {
  text.reserve(text.size() + 64);
  return text;
}

constexpr std::size_t kOneWindow = std::size_t{1} << 40;

void expect_no_window_matters(const std::string& text) {
  const std::string expected = summary(read_stream(padded(text), kOneWindow));
  for (const std::size_t window : {std::size_t{1}, std::size_t{100}, std::size_t{333}})
    EXPECT_EQ(summary(read_stream(padded(text), window)), expected) << window << ": " << text;
}

// With lists of objects inside an event and behind the events, and labels that look like the end of
// one: what a window may be cut at by mistake.
std::string deceptive() {
  return R"({"schema":"inline_prof/1","new":{"events":[1]},"events":[)" + event_text("a", 0) +
         ", " + event_text(R"(b},{\")", 2) + "\n,\n" +
         event_text("c]}", 4, R"(,"new":[{"x":1},{"y":2}])") + "," + event_text("d},{", 6) +
         R"(],"devices":[{"device_id":0},{"device_id":1}],)" +
         R"("host_name":"n },{","warnings":["},{\"","]"],"iter_time_ms":[1]})";
}

TEST(WithoutOffsets, EverythingElseIsThere) {
  std::string text = test::large_third_generation(std::size_t{1} << 20, 50);
  const Profile all = read_profile(text, "p.json");
  const Profile some = read_profile(std::move(text), "p.json", Wanted::kWithoutOffsets);
  ASSERT_EQ(some.events.size(), all.events.size());
  for (std::size_t i = 0; i < all.events.size(); ++i) {
    EXPECT_FALSE(all.events[i].offsets_ms.empty());
    EXPECT_TRUE(some.events[i].offsets_ms.empty());
    EXPECT_EQ(some.events[i].name, all.events[i].name);
    EXPECT_EQ(some.events[i].measured_ms, all.events[i].measured_ms);
    EXPECT_EQ(some.events[i].iterations, all.events[i].iterations);
  }
}

TEST(Windows, DoNotChangeWhatIsRead) {
  const auto found = read_stream(padded(deceptive()), 1);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->profile.events.size(), 4U);
  EXPECT_EQ(found->profile.events[1].name, "b},{\"");
  EXPECT_EQ(found->profile.devices.size(), 2U);
  expect_no_window_matters(deceptive());
}

TEST(Windows, DoNotChangeWhatIsRefused) {
  const std::string text = deceptive();
  for (std::size_t length = 0; length < text.size(); ++length)
    expect_no_window_matters(text.substr(0, length));
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'"', ',', '[', ']', '{', '}', '\\', '\xff'}) {
      std::string changed = text;
      changed[i] = c;
      expect_no_window_matters(changed);
    }
  }
}

TEST(Windows, ASecondListOfEventsIsRefused) {
  EXPECT_FALSE(read_stream(padded(R"({"events":[],"events":[]})"), 1));
  EXPECT_FALSE(read_stream(padded(R"({"events":[)" + event_text("a", 0) + "," + event_text("b", 2) +
                                  R"(],"events":[]})"),
                           1));
}

}  // namespace
}  // namespace inline_prof::read
