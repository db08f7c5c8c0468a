#include "session/contexts.hpp"

#include "session/session.hpp"
#include "sys/cuda_api.hpp"
#include "sys/large_stack.hpp"
#include "timer/calibration.hpp"
#include "timer/device_facts.hpp"
#include "timer/driver_scope.hpp"

#include <algorithm>

namespace inline_prof::session {

void Contexts::created(CUcontext context) {
  timer::ContextTimer* timer = nullptr;
  {
    const std::lock_guard lock(session_.mutex);
    for (const timer::ContextTimer& known : timers_) {
      if (known.context() == context && known.is_alive()) return;
    }
    timer = timer_of(context);
    if (timer == nullptr) return;
    // One set per device: the first context's.
    if (!calibrated_devices_.insert(timer->device_id()).second) return;
    calibrating_.fetch_add(1);
  }
  timer::CalibrationResult result = timer::calibrate(context, timer->device_id());
  const std::lock_guard lock(session_.run.mutex);
  calibrating_.fetch_sub(1);
  if (!result.note.empty()) session_.run.warnings.push_back(std::move(result.note));
  if (!result.graph_note.empty()) graph_note_ = std::move(result.graph_note);
  for (record::Calibration& each : result.states)
    session_.run.calibrations.push_back(std::move(each));
}

timer::ContextTimer* Contexts::timer_of(CUcontext context) {
  for (timer::ContextTimer& timer : timers_) {
    if (timer.context() == context && timer.is_alive()) return &timer;
  }
  CUdevice device = 0;
  {
    const timer::ContextScope scope(context);
    if (!scope || sys::cuda().cuCtxGetDevice(&device) != CUDA_SUCCESS) return nullptr;
  }
  // It reads files and formats what it finds.
  sys::on_large_stack([&] { timer::add_device_facts(session_.run, device); });
  // A context that was destroyed or reset, and is there again.
  for (timer::ContextTimer& timer : timers_) {
    if (!timer.is_alive() && timer.device_id() == device && timer.revive(context)) return &timer;
  }
  return &timers_.emplace_back(context, device);
}

timer::ContextTimer* Contexts::timer_of_stream(CUstream stream) {
  CUcontext context = nullptr;
  const bool is_handle = stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
  const auto get_context = sys::cuda().cuStreamGetCtx;
  if (!is_handle || get_context == nullptr || get_context(stream, &context) != CUDA_SUCCESS) {
    if (sys::cuda().cuCtxGetCurrent(&context) != CUDA_SUCCESS) return nullptr;
  }
  return context == nullptr ? nullptr : timer_of(context);
}

StreamInfo* Contexts::stream_of(CUstream stream) {
  timer::ContextTimer* timer = timer_of_stream(stream);
  if (timer == nullptr) return nullptr;
  for (StreamInfo& known : streams_) {
    if (known.handle == stream && known.timer == timer) {
      known.is_alive = true;  // a new stream may stand at the address of a destroyed one
      return &known;
    }
  }
  return &streams_.emplace_back(
      StreamInfo{.handle = stream, .timer = timer, .index = static_cast<int>(streams_.size())});
}

timer::ContextTimer* Contexts::first_timer() {
  timer::ContextTimer* first = nullptr;
  for (timer::ContextTimer& timer : timers_) {
    // A stream that was destroyed, and not created again yet, counts.
    const bool has_streams =
        std::any_of(streams_.begin(), streams_.end(),
                    [&](const StreamInfo& stream) { return stream.timer == &timer; });
    if (timer.is_alive() && has_streams &&
        (first == nullptr || timer.device_id() < first->device_id()))
      first = &timer;
  }
  return first;
}

StreamInfo* Contexts::busiest_stream(const timer::ContextTimer& timer) {
  StreamInfo* best = nullptr;
  for (StreamInfo& stream : streams_) {
    if (stream.timer != &timer || !stream.is_alive) continue;
    if (best == nullptr || stream.launches > best->launches) best = &stream;
  }
  return best;
}

void Contexts::record_origins(std::int64_t iteration) {
  for (timer::ContextTimer& timer : timers_) {
    if (const StreamInfo* stream = busiest_stream(timer))
      timer.record_origin(stream->handle, iteration);
  }
}

bool Contexts::leave_out(std::int64_t iteration) {
  timer::ContextTimer* first = first_timer();
  return first != nullptr && first->leave_out(iteration);
}

bool Contexts::poll_all() {
  const timer::ContextTimer* first = first_timer();
  bool all_read = true;
  for (timer::ContextTimer& timer : timers_) {
    timer.poll(&timer == first ? &session_.run.iteration_times : nullptr,
               session_.watching.inbox());
    all_read =
        all_read && (!timer.is_alive() || (timer.pending() == 0 && !timer.origins_pending()));
  }
  return all_read;
}

void Contexts::count_pending() {
  for (const timer::ContextTimer& timer : timers_)
    session_.run.dropped.not_ready_at_exit.fetch_add(timer.pending());
}

}  // namespace inline_prof::session
