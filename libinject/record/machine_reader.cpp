#include "record/machine_reader.hpp"

#include "sys/clock.hpp"
#include "sys/original_dlsym.hpp"
#include "sys/quiet_thread.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <dlfcn.h>
#include <exception>
#include <unistd.h>

namespace inline_prof::record {
namespace {

using watch::kUnknown;
using watch::MachineReading;

// --- the part of nvml.h that is used; no toolkit carries it. Names and numbers are those of the
// NVML API Reference Guide, release 580.

using Device = struct OpaqueDevice*;

struct FieldValue {
  unsigned field_id;
  unsigned scope_id;
  long long timestamp;
  long long latency_us;
  int value_type;
  int status;
  unsigned long long value;  // a union: of 32 bits where value_type says so
};

// Functions that an older driver may lack stay null; their values are unknown then.
struct Nvml {
  int (*nvmlInit_v2)();
  int (*nvmlDeviceGetHandleByUUID)(const char*, Device*);
  int (*nvmlDeviceGetDeviceHandleFromMigDeviceHandle)(Device, Device*);
  int (*nvmlDeviceGetClockInfo)(Device, int type, unsigned* mhz);
  int (*nvmlDeviceGetPowerUsage)(Device, unsigned* milliwatts);
  int (*nvmlDeviceGetTemperature)(Device, int sensor, unsigned* celsius);
  int (*nvmlDeviceGetCurrentClocksEventReasons)(Device, unsigned long long*);
  int (*nvmlDeviceGetCurrentClocksThrottleReasons)(Device, unsigned long long*);  // before 535
  int (*nvmlDeviceGetTotalEccErrors)(Device, int type, int counter, unsigned long long*);
  int (*nvmlDeviceGetFieldValues)(Device, int count, FieldValue*);
};

constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;
constexpr int kVolatileEcc = 0;
constexpr int kUnsignedInt = 1;

// Errors of NVLink: until version 4 sums over the links (CRC of flits, CRC of data, replays,
// recoveries), since version 5 received errors and recoveries, summed if the scope is UINT_MAX.
constexpr std::array<std::pair<unsigned, unsigned>, 6> kNvlinkFields{
    {{38, 0}, {45, 0}, {52, 0}, {59, 0}, {208, ~0U}, {215, ~0U}}};

template <typename Function>
void find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(sys::glibc_dlsym()(library, name));
  if (function == nullptr) dlerror();  // NOLINT(concurrency-mt-unsafe): thread-local in glibc
}

// Returns a sentence if NVML cannot be used.
MachineAnswer load(Nvml& nvml) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return {.problem =
                "no libnvidia-ml.so.1 can be loaded: clocks, power and errors of the GPU "
                "are not recorded",
            .is_missing = true};
  }
#define INLINE_PROF_FIND(function) find(library, nvml.function, #function)
  INLINE_PROF_FIND(nvmlInit_v2);
  INLINE_PROF_FIND(nvmlDeviceGetHandleByUUID);
  INLINE_PROF_FIND(nvmlDeviceGetDeviceHandleFromMigDeviceHandle);
  INLINE_PROF_FIND(nvmlDeviceGetClockInfo);
  INLINE_PROF_FIND(nvmlDeviceGetPowerUsage);
  INLINE_PROF_FIND(nvmlDeviceGetTemperature);
  INLINE_PROF_FIND(nvmlDeviceGetCurrentClocksEventReasons);
  INLINE_PROF_FIND(nvmlDeviceGetCurrentClocksThrottleReasons);
  INLINE_PROF_FIND(nvmlDeviceGetTotalEccErrors);
  INLINE_PROF_FIND(nvmlDeviceGetFieldValues);
#undef INLINE_PROF_FIND
  if (nvml.nvmlInit_v2 == nullptr || nvml.nvmlDeviceGetHandleByUUID == nullptr)
    return {.problem = "libnvidia-ml.so.1 lacks nvmlInit_v2 or nvmlDeviceGetHandleByUUID"};
  // Never undone: the application may use NVML, too, and both are counted.
  if (const int error = nvml.nvmlInit_v2(); error != 0) {
    return {.problem = "nvmlInit_v2 failed (nvmlReturn " + std::to_string(error) +
                       "): clocks, power and errors of the GPU are not recorded"};
  }
  return {};
}

// Null if NVML does not know the device. Of a MIG device the whole GPU is read.
Device find_device(const Nvml& nvml, const std::string& uuid) {
  Device device = nullptr;
  if (nvml.nvmlDeviceGetHandleByUUID(uuid.c_str(), &device) == 0) return device;
  const auto whole_gpu = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle;
  const std::string mig = "MIG-" + uuid.substr(std::min<std::size_t>(uuid.size(), 4));
  if (whole_gpu == nullptr || nvml.nvmlDeviceGetHandleByUUID(mig.c_str(), &device) != 0 ||
      whole_gpu(device, &device) != 0) {
    return nullptr;
  }
  return device;
}

// Returns what `function` puts behind its last argument, NaN if it fails.
template <typename Value, typename... Parameters, typename... Arguments>
double ask_for(int (*function)(Device, Parameters...), Device device, Arguments... arguments) {
  Value value = 0;
  if (function == nullptr || function(device, arguments..., &value) != 0) return kUnknown;
  return static_cast<double>(value);
}

double nvlink_errors(const Nvml& nvml, Device device) {
  std::array<FieldValue, kNvlinkFields.size()> fields{};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    fields[i].field_id = kNvlinkFields[i].first;
    fields[i].scope_id = kNvlinkFields[i].second;
  }
  const auto get = nvml.nvmlDeviceGetFieldValues;
  if (get == nullptr || get(device, static_cast<int>(fields.size()), fields.data()) != 0)
    return kUnknown;
  double sum = kUnknown;
  for (const FieldValue& field : fields) {
    if (field.status != 0) continue;
    const auto count = field.value_type == kUnsignedInt ? field.value & 0xffffffffU : field.value;
    sum = (std::isnan(sum) ? 0 : sum) + static_cast<double>(count);
  }
  return sum;
}

double ecc_errors(const Nvml& nvml, Device device) {
  double sum = 0;
  for (const int type : {0, 1}) {  // corrected, uncorrected
    sum +=
        ask_for<unsigned long long>(nvml.nvmlDeviceGetTotalEccErrors, device, type, kVolatileEcc);
  }
  return sum;
}

MachineReading read(const Nvml& nvml, Device device) {
  const auto reasons = nvml.nvmlDeviceGetCurrentClocksEventReasons != nullptr
                           ? nvml.nvmlDeviceGetCurrentClocksEventReasons
                           : nvml.nvmlDeviceGetCurrentClocksThrottleReasons;
  return {.time_s = sys::monotonic_seconds(),
          .sm_clock_mhz = ask_for<unsigned>(nvml.nvmlDeviceGetClockInfo, device, kSmClock),
          .memory_clock_mhz = ask_for<unsigned>(nvml.nvmlDeviceGetClockInfo, device, kMemoryClock),
          .power_w = 1e-3 * ask_for<unsigned>(nvml.nvmlDeviceGetPowerUsage, device),
          .temperature_c = ask_for<unsigned>(nvml.nvmlDeviceGetTemperature, device, 0),
          .throttle_reasons = ask_for<unsigned long long>(reasons, device),
          .ecc_errors = ecc_errors(nvml, device),
          .nvlink_errors = nvlink_errors(nvml, device)};
}

MachineAnswer read_all(const Nvml& nvml, const std::vector<MonitoredDevice>& devices) {
  MachineAnswer answer;
  for (const MonitoredDevice& each : devices) {
    const Device device = find_device(nvml, each.uuid);
    if (device == nullptr) {
      answer.problem = "NVML does not know device " + std::to_string(each.device_id) + ", " +
                       each.uuid + ": its clocks, power and errors are not recorded";
      continue;
    }
    const MachineReading reading = read(nvml, device);
    const bool has_value = std::any_of(
        watch::kMachineColumns.begin(), watch::kMachineColumns.end(),
        [&](const watch::MachineColumn& column) { return !std::isnan(reading.*column.value); });
    if (has_value) {
      answer.devices.push_back({.device_id = each.device_id, .reading = reading});
    } else {
      answer.problem = "NVML tells nothing about device " + std::to_string(each.device_id) +
                       ": every call fails";
    }
  }
  return answer;
}

}  // namespace

bool MachineReader::ask(const std::vector<MonitoredDevice>& devices) {
  if (devices.empty() || is_stopping_.load() || is_busy_.exchange(true)) return false;
  delete request_.exchange(new std::vector<MonitoredDevice>(devices));
  if (!has_started_) {
    has_started_ = true;
    const int error = sys::start_quiet_detached_thread(&MachineReader::main, this);
    if (error == 0) return true;
    is_stopping_.store(true);
    answer({.problem = "no thread for NVML (error " + std::to_string(error) + ")"});
    return true;
  }
  sem_post(&wake_);
  return true;
}

std::unique_ptr<MachineAnswer> MachineReader::take() {
  return std::unique_ptr<MachineAnswer>(answer_.exchange(nullptr));
}

bool MachineReader::stop(int milliseconds) noexcept {
  is_stopping_.store(true);
  sem_post(&wake_);
  for (int waited = 0; is_calling_.load() && waited < milliseconds; ++waited)
    usleep(1000);
  return !is_calling_.load();
}

void* MachineReader::main(void* self) {
  auto* const reader = static_cast<MachineReader*>(self);
  try {
    reader->loop();
  } catch (const std::exception& error) {
    reader->is_calling_.store(false);
    reader->is_stopping_.store(true);
  }
  return nullptr;
}

void MachineReader::loop() {
  Nvml nvml{};
  bool is_loaded = false;
  while (true) {
    is_calling_.store(true);
    if (is_stopping_.load()) break;
    const std::unique_ptr<std::vector<MonitoredDevice>> devices(request_.exchange(nullptr));
    MachineAnswer found;
    if (devices != nullptr) {
      if (!is_loaded) found = load(nvml);
      is_loaded = found.problem.empty();
      if (is_loaded) found = read_all(nvml, *devices);
    }
    is_calling_.store(false);
    if (!is_loaded) is_stopping_.store(true);
    if (devices != nullptr) answer(std::move(found));
    if (!is_loaded) return;
    while (sem_wait(&wake_) != 0) {
    }
  }
  is_calling_.store(false);
}

void MachineReader::answer(MachineAnswer answer) {
  delete answer_.exchange(new MachineAnswer(std::move(answer)));
  is_busy_.store(false);
}

}  // namespace inline_prof::record
