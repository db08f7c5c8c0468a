// One run: warm-up, plan, one armed event an iteration, output, end.
#pragma once

#include "sys/config.hpp"

#include <cuda.h>

#include <string>

namespace inline_prof::hook::session {

// Takes the configuration and finds the schedule.  False if the run cannot be profiled as
// configured; then profiling is off and the reason has been reported.
[[nodiscard]] bool begin(sys::Config config);

// Nothing is measured until the user's trigger says so; without one, at once.  Throws ConfigError.
void wait_for_trigger();

// The application has created a context, in which nothing is running yet: it is calibrated.
void context_created(CUcontext context);
void context_gone(CUcontext context);
void primary_context_released(CUdevice device);
void primary_context_reset(CUdevice device);
void stream_gone(CUstream stream);
void module_gone(const void* module);
void library_gone(CUlibrary library);

// This thread has a context, and may launch from now on.
void thread_may_launch();

// What marks the start of an iteration.
enum class Mark { kCall, kRange, kLaunch };

// Of several kinds of marks, the one that the user has chosen counts.
void iteration_starts(Mark mark);

// A warning on stderr and in prof.json.
void say(std::string warning);

// The application asks for the process to end once prof.json is written.
void exit_when_done();

// Called when the process ends: reads finished samples and writes the file.  Waits for 2 s at most.
void finish_at_exit();

// Called in a forked child, which has no run.
void forget_everything() noexcept;

}  // namespace inline_prof::hook::session
