// NVML is asked on a thread of ours: here the simulated one, and none.
#include "record/machine_reader.hpp"

#include "temporary_folder.hpp"
#include "testing.hpp"

#include <dlfcn.h>
#include <unistd.h>

namespace inline_prof::record {
namespace {

// Each test runs in a process of its own: the simulated GPU reads its variables once.
#define EXPECT_IN_A_PROCESS(...) EXPECT_EXIT(__VA_ARGS__, ExitedWithCode(0), "")

void end_if(bool is_good, const char* what) {
  if (!is_good) std::fprintf(stderr, "%s\n", what);
  if (!is_good) _exit(1);
}

// Loads the simulated library, so that its soname is found, and returns the device's name.
std::string simulated_uuid() {
  void* library = dlopen(INLINE_PROF_TEST_SIMULATED_NVML, RTLD_NOW);
  end_if(library != nullptr, "no simulated NVML");
  const auto call = [&](const char* name, auto... arguments) {
    reinterpret_cast<int (*)(decltype(arguments)...)>(dlsym(library, name))(arguments...);
  };
  void* device = nullptr;
  char uuid[96] = "";
  call("nvmlInit_v2");
  call("nvmlDeviceGetHandleByIndex_v2", 0U, &device);
  call("nvmlDeviceGetUUID", device, &uuid[0], 96U);
  return uuid;
}

std::unique_ptr<MachineAnswer> answer_within(MachineReader& reader, int milliseconds) {
  for (int waited = 0; waited < milliseconds; ++waited) {
    if (auto answer = reader.take()) return answer;
    usleep(1000);
  }
  return nullptr;
}

class TheMachineReader : public test::TemporaryFolder {};

TEST_F(TheMachineReader, TellsWhatNvmlReads) {
  file("readings",
       R"({"sm_clock_mhz": 1410, "memory_clock_mhz": 2619, "power_w": 650, "temperature_c": 71,
           "throttle_reasons": 4, "ecc_errors": 12, "nvlink_errors": 340})");
  EXPECT_IN_A_PROCESS({
    setenv("SIMGPU_READINGS", path("readings").c_str(), 1);
    const std::string uuid = simulated_uuid();
    auto& reader = *new MachineReader;
    for (int round = 0; round < 3; ++round) {
      reader.ask({{.device_id = 3, .uuid = uuid}});
      const auto answer = answer_within(reader, 10'000);
      end_if(answer != nullptr && answer->problem.empty(), "no answer");
      end_if(answer->devices.size() == 1 && answer->devices[0].device_id == 3, "not one device");
      const watch::MachineReading& read = answer->devices[0].reading;
      end_if(read.sm_clock_mhz == 1410 && read.memory_clock_mhz == 2619, "clocks");
      end_if(read.power_w == 650 && read.temperature_c == 71, "power, temperature");
      end_if(read.throttle_reasons == 4, "reasons");
      end_if(read.ecc_errors == 12 && read.nvlink_errors == 340, "errors");
      end_if(read.time_s > 0, "time");
    }
    end_if(reader.stop(1000), "not stopped");
    _exit(0);
  });
}

TEST_F(TheMachineReader, SaysThatThereIsNoNvml) {
  if (void* found = dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
    dlclose(found);
    GTEST_SKIP() << "this machine has one";
  }
  static auto& reader = *new MachineReader;  // its thread is never joined
  reader.ask({{.device_id = 0, .uuid = "GPU-0"}});
  const auto answer = answer_within(reader, 10'000);
  ASSERT_NE(answer, nullptr);
  EXPECT_TRUE(answer->is_missing);
  EXPECT_EQ(answer->problem,
            "no libnvidia-ml.so.1 can be loaded: clocks, power and errors of the GPU are not "
            "recorded");
  reader.ask({{.device_id = 0, .uuid = "GPU-0"}});
  EXPECT_EQ(answer_within(reader, 20), nullptr);
  EXPECT_TRUE(reader.stop(1000));
}

TEST_F(TheMachineReader, SaysWhatFails) {
  struct Failure {
    const char* rule;
    const char* uuid;  // empty: the device's own
    const char* problem;
  };
  for (const Failure& each :
       {Failure{"nvmlInit_v2:9:after=1", "", "nvmlInit_v2 failed (nvmlReturn 9)"},
        Failure{"nvmlDeviceGetHandleByUUID:15", "", "NVML does not know device 0"},
        Failure{"", "GPU-none", "NVML does not know device 0, GPU-none"},
        Failure{"nvmlDeviceGetClockInfo,nvmlDeviceGetPowerUsage,nvmlDeviceGetTemperature,"
                "nvmlDeviceGetCurrentClocksEventReasons,nvmlDeviceGetTotalEccErrors,"
                "nvmlDeviceGetFieldValues",
                "", "NVML tells nothing about device 0"}}) {
    SCOPED_TRACE(each.rule);
    EXPECT_IN_A_PROCESS({
      setenv("SIMGPU_FAIL", each.rule, 1);
      const std::string uuid = simulated_uuid();
      auto& reader = *new MachineReader;
      reader.ask({{.device_id = 0, .uuid = *each.uuid == '\0' ? uuid : each.uuid}});
      const auto answer = answer_within(reader, 10'000);
      end_if(answer != nullptr && answer->devices.empty() && !answer->is_missing, "answer");
      end_if(answer->problem.starts_with(each.problem), answer->problem.c_str());
      _exit(0);
    });
  }
}

TEST_F(TheMachineReader, AValueThatFailsIsUnknown) {
  EXPECT_IN_A_PROCESS({
    setenv("SIMGPU_FAIL", "nvmlDeviceGetPowerUsage,nvmlDeviceGetTotalEccErrors:after=1", 1);
    const std::string uuid = simulated_uuid();
    auto& reader = *new MachineReader;
    reader.ask({{.device_id = 0, .uuid = uuid}});
    const auto answer = answer_within(reader, 10'000);
    end_if(answer != nullptr && answer->devices.size() == 1, "answer");
    const watch::MachineReading& read = answer->devices[0].reading;
    end_if(read.power_w != read.power_w && read.ecc_errors != read.ecc_errors, "not unknown");
    end_if(read.sm_clock_mhz == 1980, "clock");
    _exit(0);
  });
}

// Nobody waits for a call that never returns: not who asks, and not the end of the process.
TEST_F(TheMachineReader, ACallThatNeverReturnsIsLeftAlone) {
  EXPECT_IN_A_PROCESS({
    setenv("SIMGPU_FAIL", "nvmlDeviceGetPowerUsage:hang", 1);
    const std::string uuid = simulated_uuid();
    auto& reader = *new MachineReader;
    reader.ask({{.device_id = 0, .uuid = uuid}});
    end_if(answer_within(reader, 200) == nullptr, "an answer");
    for (int i = 0; i < 1000; ++i)
      reader.ask({{.device_id = 0, .uuid = uuid}});
    end_if(!reader.stop(50), "stopped");
    std::exit(0);
  });
}

}  // namespace
}  // namespace inline_prof::record
