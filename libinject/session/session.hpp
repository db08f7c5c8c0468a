// The course of one run: warm-up, plan, one armed event an iteration, file, end.
#pragma once

#include "sys/config.hpp"

#include <cuda.h>

#include <string>

namespace inline_prof::hook::session {

// Takes the configuration and finds the schedule.  False where the run cannot be profiled as asked;
// then profiling is off and the reason has been said.
[[nodiscard]] bool begin(sys::Config config);

// Nothing is measured until the user's trigger says so; without one, at once.  Throws ConfigError.
void wait_for_trigger();

// A context of the application's is there, with nothing in flight: the moment of calibration.
void context_created(CUcontext context);
void context_gone(CUcontext context);
void primary_context_released(CUdevice device);
void primary_context_reset(CUdevice device);
void stream_gone(CUstream stream);
void module_gone(const void* module);
void library_gone(CUlibrary library);

// Who says that an iteration starts.
enum class Mark { kCall, kRange, kLaunch };

// Of several kinds of marks the one that the user asked for counts.
void iteration_starts(Mark mark);

// A warning on stderr and in prof.json.
void say(std::string warning);

// The application asks for the process to end once prof.json is written.
void exit_when_done();

// The process ends: reads what is ready, writes the file.  Waits for 2 s at most.
void finish_at_exit();

// In a forked child: this process has no run.
void forget_everything() noexcept;

}  // namespace inline_prof::hook::session
