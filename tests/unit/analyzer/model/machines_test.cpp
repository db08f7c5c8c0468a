#include "model/machines.hpp"

#include "testing.hpp"

namespace inline_prof::model {
namespace {

const read::Machine& builtin(const std::vector<read::Machine>& machines, const std::string& id) {
  for (const read::Machine& machine : machines)
    if (machine.id == id) return machine;
  throw std::out_of_range(id);
}

std::string complaint_about(const std::string& name) {
  return test::complaint([&] { return choose_machine(name, builtin_machines()); });
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
  EXPECT_THAT(
      ids,
      ElementsAre("a10", "a100-pcie-40gb", "a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb",
                  "a10g", "a30", "a40", "a800-sxm4-80gb", "b200-sxm-180gb", "b300-sxm-270gb",
                  "gb200", "gh200-144gb", "gh200-96gb", "h100-nvl-94gb", "h100-pcie-80gb",
                  "h100-sxm5-80gb", "h20-96gb", "h200-nvl-141gb", "h200-sxm-141gb",
                  "h800-sxm5-80gb", "l4", "l40", "l40s", "mi300x", "p100-pcie-16gb", "rtx-2080-ti",
                  "rtx-3090", "rtx-4090", "rtx-5090", "rtx-6000-ada", "rtx-a6000", "rtx-pro-6000",
                  "t4", "titan-v", "titan-xp", "v100-pcie-16gb", "v100-pcie-32gb", "v100-sxm2-16gb",
                  "v100-sxm2-32gb", "v100s-pcie-32gb"));
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
  const struct {
    const char *machine, *type;
    double sms, flop_per_clock, mhz, tolerance;
  } rows[] = {{"a100-sxm4-40gb", "f16", 108, 2048, 1410, 1},
              {"h200-sxm-141gb", "bf16", 132, 4096, 1830, 1},
              {"v100-sxm2-16gb", "f16", 80, 1024, 1530, 1},
              {"l40s", "f32", 142, 256, 2520, 1},
              {"l4", "f16", 58, 1024, 2040, 1},
              {"a10", "f16", 72, 1024, 1695, 1},
              {"a10g", "f32", 80, 256, 1710, 1},
              {"gh200-96gb", "bf16", 132, 4096, 1830, 1},
              {"t4", "f16", 40, 1024, 1590, 1},
              {"rtx-4090", "f16", 128, 512, 2520, 1},
              {"gb200", "bf16", 148, 8192, 2062, 5},
              {"mi300x", "bf16", 304, 2048, 2100, 1},
              {"v100-sxm2-32gb", "f16", 80, 1024, 1530, 1},
              {"v100-pcie-16gb", "f16", 80, 1024, 1380, 2},
              {"v100s-pcie-32gb", "f16", 80, 1024, 1597, 1},
              {"a100-pcie-40gb", "f16", 108, 2048, 1410, 1},
              {"a800-sxm4-80gb", "f16", 108, 2048, 1410, 1},
              {"a30", "f16", 56, 2048, 1440, 1},
              {"a40", "f16", 84, 1024, 1740, 1},
              {"rtx-a6000", "f16", 84, 1024, 1800, 1},
              {"rtx-3090", "f16", 82, 512, 1695, 1},
              {"rtx-2080-ti", "f16", 68, 512, 1545, 1},
              {"l40", "f16", 142, 512, 2490, 1},
              {"rtx-6000-ada", "f16", 142, 1024, 2505, 1},
              {"h100-nvl-94gb", "bf16", 132, 4096, 1545, 1},
              {"h200-nvl-141gb", "bf16", 132, 4096, 1545, 1},
              {"h800-sxm5-80gb", "bf16", 132, 4096, 1830, 1},
              {"h20-96gb", "bf16", 78, 1024, 1853, 1},
              {"gh200-144gb", "bf16", 132, 4096, 1830, 1},
              {"b300-sxm-270gb", "bf16", 148, 8192, 1856, 1},
              {"rtx-5090", "f16", 170, 512, 2407, 1},
              {"rtx-pro-6000", "f16", 188, 1024, 2617, 1},
              {"p100-pcie-16gb", "f32", 56, 128, 1303, 1}};
  for (const auto& row : rows) {
    EXPECT_NEAR(builtin(machines, row.machine).peak_tflops.at(row.type),
                row.sms * row.flop_per_clock * row.mhz * 1e-6, row.tolerance)
        << row.machine;
  }
}

TEST(ChooseMachine, TakesAnIdInAnyCase) {
  EXPECT_EQ(choose_machine("A100-SXM4-40GB", builtin_machines()).id, "a100-sxm4-40gb");
}

TEST(ChooseMachine, TakesADevicesNameAndAFamilyOfOne) {
  EXPECT_EQ(choose_machine("H200", builtin_machines()).id, "h200-sxm-141gb");
  EXPECT_EQ(choose_machine("nvidia h200 nvl", builtin_machines()).id, "h200-nvl-141gb");
  EXPECT_EQ(choose_machine("b300", builtin_machines()).id, "b300-sxm-270gb");
}

TEST(ChooseMachine, RefusesAFamilyWithTheChoices) {
  EXPECT_EQ(complaint_about("a100"),
            "machine a100 is not one GPU: choose from a100-pcie-40gb, a100-pcie-80gb, "
            "a100-sxm4-40gb, a100-sxm4-80gb");
}

TEST(ChooseMachine, RefusesAnUnknownIdWithTheChoices) {
  EXPECT_THAT(complaint_about("h300"),
              StartsWith("unknown machine h300: choose from a10, a100-pcie"));
}

TEST(ChooseMachine, TakesAFile) {
  EXPECT_THROW(static_cast<void>(choose_machine("./no-such-machine.json", {})), read::InputError);
}

TEST(MatchMachine, KnowsADeviceByNameSizeAndMemory) {
  const auto machines = builtin_machines();
  const struct {
    void (*change)(read::Device& device);
    std::string machine, reason, doubt;
  } rows[] = {
      {[](read::Device&) {}, "h200-sxm-141gb", "", ""},
      {[](read::Device& device) { device.name = "h200"; }, "h200-sxm-141gb", "", ""},
      {[](read::Device& device) {
         device.sm_count = 16;
         device.mig = true;
       },
       "", "device 0 is \"NVIDIA H200\", but it has 16 SMs, h200-sxm-141gb has 132 (a MIG slice)",
       ""},
      {[](read::Device& device) { device.memory_bytes = std::int64_t{80} << 30; }, "",
       "device 0 is \"NVIDIA H200\", but it has 80.0 GiB, h200-sxm-141gb has 141", ""},
      {[](read::Device& device) { device.sm_clock_khz = 1500000; }, "h200-sxm-141gb", "",
       "device 0 runs at up to 1500 MHz, the peaks of h200-sxm-141gb are for 1980 MHz"},
      {[](read::Device& device) {
         device.device_id = 2;
         device.name = "NVIDIA X1";
       },
       "", "device 2 is \"NVIDIA X1\", which no machine file names", ""}};
  for (const auto& [change, machine, reason, doubt] : rows) {
    read::Device device = h200();
    change(device);
    const Match match = match_machine(device, machines);
    EXPECT_EQ(match.machine == nullptr ? "" : match.machine->id, machine) << match.reason;
    EXPECT_EQ(match.reason, reason);
    EXPECT_EQ(match.doubt, doubt);
  }
}

}  // namespace
}  // namespace inline_prof::model
