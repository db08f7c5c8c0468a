// Readings of a GPU's state: kept for months, and what they say of a change.
#include "watch/machine_reading.hpp"

#include "testing.hpp"

namespace inline_prof::watch {
namespace {

constexpr double kEvery = 10;

MachineReading healthy(double time_s) {
  return {.time_s = time_s,
          .sm_clock_mhz = 1980,
          .memory_clock_mhz = 2619,
          .power_w = 500,
          .temperature_c = 61,
          .throttle_reasons = 0,
          .ecc_errors = 3,
          .nvlink_errors = 0};
}

// Healthy for ten minutes, then as `change` makes it.
template <typename Change>
std::string reason(double ratio, const Change& change) {
  MachineReadings readings;
  for (double time = 0; time < 900; time += kEvery) {
    MachineReading reading = healthy(time);
    if (time > 600) change(reading);
    readings.add(reading);
  }
  return reason_of_change(readings.readings(), 601, 890, ratio);
}

TEST(MachineReading, NamesTheClockAndWhyItFell) {
  EXPECT_EQ(reason(1.3,
                   [](MachineReading& each) {
                     each.sm_clock_mhz = 1410;
                     each.throttle_reasons = 0x4;
                   }),
            "SM clock 1980 -> 1410 MHz: power cap");
  EXPECT_EQ(reason(1.3,
                   [](MachineReading& each) {
                     each.sm_clock_mhz = 1200;
                     each.temperature_c = 88;
                     each.throttle_reasons = 0x48;
                   }),
            "SM clock 1980 -> 1200 MHz: hardware slowdown and thermal slowdown by the hardware, "
            "temperature 61 -> 88 C");
}

TEST(MachineReading, CountsNewErrors) {
  EXPECT_EQ(reason(1.1,
                   [](MachineReading& each) {
                     each.ecc_errors = 15;
                     each.nvlink_errors = 340;
                   }),
            "ECC errors +12, NVLink errors +340");
}

TEST(MachineReading, SaysNothingWithoutEvidence) {
  EXPECT_EQ(reason(1.3, [](MachineReading&) {}), "");
  // A clock that rose, or an idle GPU, does not explain a slower kernel.
  EXPECT_EQ(reason(1.3, [](MachineReading& each) { each.sm_clock_mhz = 2100; }), "");
  EXPECT_EQ(reason(1.3, [](MachineReading& each) { each.throttle_reasons = 0x1; }), "");
  EXPECT_EQ(reason(0.7, [](MachineReading& each) { each.sm_clock_mhz = 2100; }),
            "SM clock 1980 -> 2100 MHz");
  EXPECT_EQ(reason_of_change({}, 1, 2, 1.3), "");
  MachineReadings only_later;
  only_later.add(healthy(700));
  EXPECT_EQ(reason_of_change(only_later.readings(), 600, 800, 1.3), "");
}

TEST(MachineReading, UnknownValuesAreLeftOut) {
  EXPECT_EQ(reason(1.3,
                   [](MachineReading& each) {
                     each = {.time_s = each.time_s, .throttle_reasons = 0x80};
                   }),
            "power brake");
}

TEST(MachineReading, AMonthStaysBoundedAndKeepsItsSums) {
  MachineReadings readings;
  constexpr double month = 30 * 86400.0;
  std::uint32_t added = 0;
  for (double time = kEvery; time <= month; time += kEvery) {
    MachineReading reading = healthy(time);
    const bool is_hot_hour = time > 20 * 86400.0 && time <= 20 * 86400.0 + 3600;
    if (is_hot_hour) reading.throttle_reasons = 0x40;
    reading.sm_clock_mhz = time <= month / 2 ? 1000 : 2000;
    reading.ecc_errors = ++added;
    readings.add(reading);
    ASSERT_LE(readings.readings().size(), MachineReadings::kMost);
  }
  const auto kept = readings.readings();
  double clock_seconds = 0;
  double before = 0;
  bool hour_is_seen = false;
  for (const MachineReading& each : kept) {
    const double width = each.time_s - before;
    clock_seconds += each.sm_clock_mhz * width;
    hour_is_seen = hour_is_seen || each.throttle_reasons == 0x40;
    EXPECT_LE(width, std::max(3 * kEvery, 0.1 * (month - before))) << each.time_s;
    before = each.time_s;
  }
  EXPECT_NEAR(clock_seconds / month, 1500, 1);
  EXPECT_TRUE(hour_is_seen);
  EXPECT_EQ(kept.back().time_s, month);
  EXPECT_EQ(kept.back().ecc_errors, added);
}

TEST(MachineReading, AClockThatGoesBackAddsNothing) {
  MachineReadings readings;
  readings.add(healthy(20));
  readings.add(healthy(10));
  readings.add(healthy(kUnknown));
  EXPECT_EQ(readings.readings().size(), 1U);
}

}  // namespace
}  // namespace inline_prof::watch
