#include "model/machines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

namespace inline_prof::model {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const read::Machine& builtin(const std::vector<read::Machine>& machines, const std::string& id) {
  for (const read::Machine& machine : machines) {
    if (machine.id == id) return machine;
  }
  throw std::out_of_range(id);
}

std::string complaint_about(const std::string& name) {
  try {
    static_cast<void>(choose_machine(name, builtin_machines()));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no complaint";
}

read::Device h200() {
  read::Device device;
  device.name = "NVIDIA H200";
  device.sm_count = 132;
  device.memory_bytes = 150754820096;
  device.sm_clock_khz = 1980000;
  return device;
}

TEST(BuiltinMachines, HaveTheirFileNameAndASourceBesideEveryNumber) {
  for (const MachineText& file : machine_texts()) {
    const read::Machine machine = read::read_machine(file.text, std::string(file.file_name));
    EXPECT_EQ(machine.id + ".json", file.file_name);
    EXPECT_FALSE(machine.names.empty()) << machine.id;
    EXPECT_TRUE(machine.memory_gib && machine.l2_mb && machine.boost_clock_mhz) << machine.id;
    for (const char* number :
         {"sm_count", "memory_gib", "memory_gb_per_s", "host_link_gb_per_s", "l2_mb", "peak_tflops",
          "boost_clock_mhz", "achievable_fraction", "launch_floor_us"}) {
      const auto source = machine.sources.find(number);
      ASSERT_NE(source, machine.sources.end()) << machine.id << " " << number;
      EXPECT_GT(source->second.size(), 10U) << machine.id << " " << number;
    }
  }
}

TEST(BuiltinMachines, AreTheOnesOfTheContract) {
  std::set<std::string> ids;
  for (const read::Machine& machine : builtin_machines())
    ids.insert(machine.id);
  EXPECT_THAT(ids,
              testing::ElementsAre("a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb",
                                   "b200-sxm-180gb", "gb200", "h100-pcie-80gb", "h100-sxm5-80gb",
                                   "h200-sxm-141gb", "l40s", "mi300x", "rtx-4090", "t4", "titan-v",
                                   "titan-xp", "v100-pcie-32gb", "v100-sxm2-16gb"));
}

TEST(BuiltinMachines, NoNameBelongsToTwo) {
  std::set<std::string> names;
  for (const read::Machine& machine : builtin_machines()) {
    for (const std::string& name : machine.names)
      EXPECT_TRUE(names.insert(name).second) << name;
  }
}

// A slip of a digit in a file shows here: tensor peaks are SMs x FLOP per clock x clock.
TEST(BuiltinMachines, PeaksFollowFromSmCountAndClock) {
  const auto machines = builtin_machines();
  const auto implied = [](double sms, double flop_per_clock, double mhz) {
    return sms * flop_per_clock * mhz * 1e-6;
  };
  EXPECT_NEAR(builtin(machines, "a100-sxm4-40gb").peak_tflops.at("f16"), implied(108, 2048, 1410),
              1);
  EXPECT_NEAR(builtin(machines, "h200-sxm-141gb").peak_tflops.at("bf16"), implied(132, 4096, 1830),
              1);
  EXPECT_NEAR(builtin(machines, "v100-sxm2-16gb").peak_tflops.at("f16"), implied(80, 1024, 1530),
              1);
  EXPECT_NEAR(builtin(machines, "l40s").peak_tflops.at("f32"), implied(142, 256, 2520), 1);
  EXPECT_NEAR(builtin(machines, "t4").peak_tflops.at("f16"), implied(40, 1024, 1590), 1);
  EXPECT_NEAR(builtin(machines, "rtx-4090").peak_tflops.at("f16"), implied(128, 512, 2520), 1);
  EXPECT_NEAR(builtin(machines, "gb200").peak_tflops.at("bf16"), implied(148, 8192, 2062), 5);
  EXPECT_NEAR(builtin(machines, "mi300x").peak_tflops.at("bf16"), implied(304, 2048, 2100), 1);
}

TEST(ChooseMachine, TakesAnIdInAnyCase) {
  EXPECT_EQ(choose_machine("A100-SXM4-40GB", builtin_machines()).id, "a100-sxm4-40gb");
}

TEST(ChooseMachine, RefusesAFamilyWithTheChoices) {
  EXPECT_EQ(complaint_about("a100"),
            "machine a100 is not one GPU: choose from a100-pcie-80gb, a100-sxm4-40gb, "
            "a100-sxm4-80gb");
}

TEST(ChooseMachine, RefusesAnUnknownIdWithTheChoices) {
  EXPECT_THAT(complaint_about("h300"), StartsWith("unknown machine h300: choose from a100-pcie"));
}

TEST(ChooseMachine, TakesAFile) {
  EXPECT_THROW(static_cast<void>(choose_machine("./no-such-machine.json", {})), read::InputError);
}

TEST(MatchMachine, KnowsADeviceByNameSizeAndMemory) {
  const auto machines = builtin_machines();
  const Match match = match_machine(h200(), machines);
  ASSERT_NE(match.machine, nullptr) << match.reason;
  EXPECT_EQ(match.machine->id, "h200-sxm-141gb");
  EXPECT_EQ(match.doubt, "");
}

TEST(MatchMachine, APartOfAGpuIsNotTheGpu) {
  const auto machines = builtin_machines();
  read::Device slice = h200();
  slice.sm_count = 16;
  slice.mig = true;
  const Match match = match_machine(slice, machines);
  EXPECT_EQ(match.machine, nullptr);
  EXPECT_EQ(match.reason,
            "device 0 is \"NVIDIA H200\", but it has 16 SMs, h200-sxm-141gb has 132 (a MIG slice)");
}

TEST(MatchMachine, AnotherMemorySizeIsAnotherVariant) {
  const auto machines = builtin_machines();
  read::Device device = h200();
  device.memory_bytes = std::int64_t{80} << 30;
  EXPECT_THAT(match_machine(device, machines).reason,
              HasSubstr("it has 80.0 GiB, h200-sxm-141gb has 141"));
}

TEST(MatchMachine, AnotherClockRaisesADoubt) {
  const auto machines = builtin_machines();
  read::Device device = h200();
  device.sm_clock_khz = 1500000;
  const Match match = match_machine(device, machines);
  ASSERT_NE(match.machine, nullptr);
  EXPECT_EQ(match.doubt,
            "device 0 runs at up to 1500 MHz, the peaks of h200-sxm-141gb are for 1980 MHz");
}

TEST(MatchMachine, AnUnknownGpuIsNamed) {
  const auto machines = builtin_machines();
  read::Device device;
  device.device_id = 2;
  device.name = "NVIDIA X1";
  EXPECT_EQ(match_machine(device, machines).reason,
            "device 2 is \"NVIDIA X1\", which no machine file names");
}

}  // namespace
}  // namespace inline_prof::model
