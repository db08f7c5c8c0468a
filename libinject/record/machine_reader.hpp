// Reads clocks, power, temperature and error counters of the GPUs through NVML, the driver's
// library for administrators, if the system has it.
#pragma once

#include "watch/machine_reading.hpp"

#include <atomic>
#include <memory>
#include <semaphore.h>
#include <string>
#include <vector>

namespace inline_prof::record {

struct MonitoredDevice {
  int device_id = 0;  // CUDA's number, which is not NVML's
  std::string uuid;   // GPU-...; of a MIG device its own, with the same prefix
};

struct MachineAnswer {
  struct Of {
    int device_id = 0;
    watch::MachineReading reading{};  // at CLOCK_MONOTONIC's time
  };
  std::vector<Of> devices{};
  std::string problem{};    // a sentence; empty: none
  bool is_missing = false;  // the problem is that there is no NVML
};

// A thread of its own calls NVML, because such a call may take long, or never return. Nobody waits
// for it, and it holds no lock while it calls. Never destroyed once it has been asked.
class MachineReader {
 public:
  MachineReader() { sem_init(&wake_, 0, 0); }
  MachineReader(const MachineReader&) = delete;
  MachineReader& operator=(const MachineReader&) = delete;

  // Asks for a reading. Returns false if none will come: the last one is not there yet, or NVML
  // cannot be used. Starts the thread at the first call.
  bool ask(const std::vector<MonitoredDevice>& devices);

  // Returns the answer, once; null: none has come.
  [[nodiscard]] std::unique_ptr<MachineAnswer> take();

  // Ends the thread. Waits for a call of NVML's that is under way, `milliseconds` at most: the
  // process must not unload NVML meanwhile. Returns false if it goes on.
  bool stop(int milliseconds) noexcept;

 private:
  static void* main(void* self);
  void loop();
  void answer(MachineAnswer answer);

  std::atomic<std::vector<MonitoredDevice>*> request_{nullptr};
  std::atomic<MachineAnswer*> answer_{nullptr};
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> is_busy_{false};     // from a request to its answer
  std::atomic<bool> is_calling_{false};  // NVML may be
  bool has_started_ = false;             // the asking thread's
  sem_t wake_{};
};

}  // namespace inline_prof::record
