#include "read/machine.hpp"

#include "testing.hpp"

namespace inline_prof::read {
namespace {

// The example of the contract, with a hole for one member.
std::string machine_text(const std::string& member, const std::string& value) {
  const auto or_value = [&](const std::string& name, const std::string& usual) {
    return "\"" + name + "\":" + (name == member ? value : usual);
  };
  return "{" + or_value("id", "\"toy-sxm\"") + "," + or_value("names", "[\"Toy\"]") + "," +
         or_value("sm_count", "132") + "," +
         or_value("memory_gb_per_s", R"({"datasheet":4800,"measured":null})") + "," +
         or_value("peak_tflops", R"({"bf16":989.4})") + "," +
         or_value("achievable_fraction", R"({"gemm":0.78,"memory":0.92})") + "," +
         or_value("launch_floor_us", "2.0") + "}";
}

std::string complaint_about(const std::string& member, const std::string& value) {
  return test::complaint([&] { return read_machine(machine_text(member, value), "m.json"); });
}

TEST(ReadMachine, ReadsTheMembersOfTheContract) {
  const Machine machine = read_machine(machine_text("", ""), "m.json");
  EXPECT_EQ(machine.id, "toy-sxm");
  EXPECT_EQ(machine.sm_count, 132);
  EXPECT_DOUBLE_EQ(machine.memory_gb_per_s, 4800);
  EXPECT_DOUBLE_EQ(machine.peak_tflops.at("bf16"), 989.4);
  EXPECT_DOUBLE_EQ(machine.gemm_fraction, 0.78);
  EXPECT_DOUBLE_EQ(machine.memory_fraction, 0.92);
  EXPECT_DOUBLE_EQ(machine.launch_floor_us, 2.0);
}

TEST(ReadMachine, AMeasuredBandwidthReplacesTheDataSheet) {
  const auto text = machine_text("memory_gb_per_s", R"({"datasheet":4800,"measured":4400})");
  EXPECT_DOUBLE_EQ(read_machine(text, "m.json").memory_gb_per_s, 4400);
}

TEST(ReadMachine, RefusesNumbersThatNoGpuHas) {
  EXPECT_EQ(complaint_about("sm_count", "0"),
            "m.json: /sm_count: expected an integer > 0, found 0");
  EXPECT_EQ(complaint_about("peak_tflops", R"({"f16":-1})"),
            "m.json: /peak_tflops/f16: expected a number > 0, found -1");
  EXPECT_EQ(complaint_about("memory_gb_per_s", R"({"datasheet":0})"),
            "m.json: /memory_gb_per_s/datasheet: expected a number > 0, found 0");
  EXPECT_EQ(complaint_about("achievable_fraction", R"({"gemm":78,"memory":0.9})"),
            "m.json: /achievable_fraction/gemm: expected a number above 0 and at most 1, found 78");
  EXPECT_EQ(complaint_about("launch_floor_us", "-2"),
            "m.json: /launch_floor_us: expected a number >= 0, found -2");
  EXPECT_EQ(complaint_about("id", "\"H200 SXM\""),
            "m.json: /id: expected an id in lower case without blanks");
}

TEST(ReadMachine, RefusesAFileWithoutAnyOfItsNumbers) {
  for (const char* number : {"id", "sm_count", "memory_gb_per_s", "datasheet", "peak_tflops",
                             "achievable_fraction", "gemm", "memory", "launch_floor_us"}) {
    std::string text = machine_text("", "");
    const std::string key = "\"" + std::string(number) + "\"";
    text.replace(text.find(key), key.size(), "\"another\"");
    EXPECT_THAT(test::complaint([&] { return read_machine(text, "m.json"); }),
                MatchesRegex("m.json: /.*: missing " + key));
  }
}

TEST(ReadMachine, RefusesANumberThatStandsThereTwice) {
  EXPECT_EQ(complaint_about("sm_count", R"(1,"sm_count":2)"),
            "m.json: /sm_count: appears twice in its object");
}

TEST(ReadMachine, RefusesWhatIsNoNumber) {
  EXPECT_EQ(complaint_about("launch_floor_us", "\"2\""),
            "m.json: /launch_floor_us: expected a number, found \"2\"");
  EXPECT_THAT(complaint_about("launch_floor_us", "NaN"),
              MatchesRegex("m.json: byte [0-9]+: not valid JSON: found N, expected a value"));
  EXPECT_EQ(complaint_about("peak_tflops", "312"),
            "m.json: /peak_tflops: expected an object, found 312");
}

}  // namespace
}  // namespace inline_prof::read
