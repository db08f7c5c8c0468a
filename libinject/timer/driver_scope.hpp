// Guards around our own driver calls on an application's thread.
#pragma once

#include "sys/cuda_api.hpp"

namespace inline_prof::timer {

// Returns true if an event recorded on `stream` would become part of the application's graph. For
// the legacy stream the query itself fails while another stream is capturing; that counts as
// capturing.
[[nodiscard]] inline bool is_capturing(CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return sys::cuda().cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// Makes `context` current, and restores the thread's context at the end.
class ContextScope {
 public:
  explicit ContextScope(CUcontext context) noexcept {
    CUcontext current = nullptr;
    if (sys::cuda().cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context) {
      ok_ = true;
      return;
    }
    pushed_ = sys::cuda().cuCtxPushCurrent(context) == CUDA_SUCCESS;
    ok_ = pushed_;
  }
  ~ContextScope() {
    CUcontext ours = nullptr;
    if (pushed_) sys::cuda().cuCtxPopCurrent(&ours);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  explicit operator bool() const noexcept { return ok_; }

 private:
  bool pushed_ = false;
  bool ok_ = false;
};

// While any thread captures in global mode, calls that could interfere are refused and invalidate
// the capture (cuda.h, cuThreadExchangeStreamCaptureMode).  Ours never touch a captured stream, so
// this thread switches to relaxed mode and back.
class CaptureModeScope {
 public:
  CaptureModeScope() noexcept {
    const auto exchange = sys::cuda().cuThreadExchangeStreamCaptureMode;
    exchanged_ = exchange != nullptr && exchange(&mode_) == CUDA_SUCCESS;
  }
  ~CaptureModeScope() {
    if (exchanged_) sys::cuda().cuThreadExchangeStreamCaptureMode(&mode_);
  }
  CaptureModeScope(const CaptureModeScope&) = delete;
  CaptureModeScope& operator=(const CaptureModeScope&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool exchanged_ = false;
};

}  // namespace inline_prof::timer
