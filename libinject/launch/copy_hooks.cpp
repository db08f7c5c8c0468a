// Copies, fills and operations of streams on memory.  One that is not measured costs the test of
// the filter; what it copies is asked of the driver only where it is counted or may be measured.
//
// Copies from or to the host in each iteration tell where iterations end.
#include "hook/driver_functions.hpp"
#include "launch/copies.hpp"
#include "launch/launch_arguments.hpp"
#include "launch/observed.hpp"
#include "launch/waits.hpp"

#include <atomic>
#include <cstdint>

namespace inline_prof::launch {
namespace {

// The filter's bits of all keys; every bit until a copy has counted them.
constexpr std::uint64_t kNotCounted = ~0ULL;
constinit std::atomic<std::uint64_t> copy_bits{kNotCounted};

void count_copy_bits() noexcept {
  if (copy_bits.load(std::memory_order_relaxed) != kNotCounted) return;
  std::uint64_t bits = 0;
  for (const CopyKey& key : copy_keys)
    bits |= std::uint64_t{1} << sys::filter_bit(&key);
  copy_bits.store(bits, std::memory_order_relaxed);
}

[[nodiscard]] bool some_may_be_armed() noexcept {
  return (sys::hot_line.filter.load(std::memory_order_relaxed) &
          copy_bits.load(std::memory_order_relaxed)) != sys::kNoLaunch;
}

// One call of the application's.  Without templates: there are some hundred wrappers.
struct CopyCall {
  const char* api;
  CUstream stream;
  Copy (*describe)(const void* call) noexcept;  // asks the driver
  const void* describe_call;
  CUresult (*forward)(const void* call);
  const void* forward_call;

  [[nodiscard]] CUresult made() const { return forward(forward_call); }
};

// Finds what is copied; true if the call only has to be made.  On a stack frame of its own, which
// is gone when the call is made.
[[gnu::noinline]] bool is_settled(const CopyCall& call, Copy& copy, timer::LaunchSlot*& counted) {
  bool settled = true;
  hook::fenced(call.api, [&] {
    if (!filter.examines_copies()) return;
    copy = call.describe(call.describe_call);
    settled = copy.bytes == 0 || filter.settle_copy(key_of(copy.kind), call.stream, counted);
  });
  return settled;
}

CUresult copied_unmarked(const CopyCall& call) {
  Copy copy;
  timer::LaunchSlot* counted = nullptr;
  if (is_settled(call, copy, counted)) {
    const CUresult result = call.made();
    if (result != CUDA_SUCCESS && counted != nullptr) timer::take_back(counted->count);
    return result;
  }
  const hook::Launch launch{
      .api = call.api, .function = key_of(copy.kind), .stream = call.stream, .copy = &copy};
  return observed(launch, [&] { return call.made(); });
}

[[gnu::noinline]] CUresult copied_slowly(const CopyCall& call) {
  hook::start_once();
  count_copy_bits();
  if (!sys::is_on() || filter.is_left_to_cupti()) return call.made();
  if (!filter.is_to_be_marked()) return copied_unmarked(call);
  const timer::LaunchScope under_way(call.stream);
  return copied_unmarked(call);
}

template <typename Describe, typename Forward>
CUresult copied(const char* api, CUstream stream, const Describe& describe,
                const Forward& forward) {
  return copied_slowly(
      {.api = api,
       .stream = stream,
       .describe =
           [](const void* call) noexcept { return (*static_cast<const Describe*>(call))(); },
       .describe_call = &describe,
       .forward = [](const void* call) { return (*static_cast<const Forward*>(call))(); },
       .forward_call = &forward});
}

void note_copy(const char* where) noexcept {
  if (!sys::is_on() || !filter.has(LaunchFilter::kSearching)) return;
  hook::report(where, [](hook::Observer& session) { session.host_copies(); });
}

// Done before a call.
HostWait note_nothing() noexcept {
  return HostWait(false);
}
HostWait note_synchronous() noexcept {
  return HostWait(true);
}
HostWait note_asynchronous_copy(const char* where) noexcept {
  note_copy(where);
  return HostWait(false);
}
HostWait note_synchronous_copy(const char* where) noexcept {
  note_copy(where);
  return HostWait(true);
}

// For unified addresses.
HostWait note_copy_between(CUdeviceptr to, CUdeviceptr from) noexcept {
  if (sys::is_on() && filter.has(LaunchFilter::kSearching)) {
    hook::report("cuMemcpyAsync", [&](hook::Observer& session) {
      const CopyKind kind = copy_between(to, from, 0).kind;
      if (kind != CopyKind::kDeviceToDevice && kind != CopyKind::kPeer) session.host_copies();
    });
  }
  return HostWait(false);
}

// The sum of a batch, of the kind of its first copy.
Copy copy_of_batch(const CUdeviceptr* to, const CUdeviceptr* from, const std::size_t* bytes,
                   std::size_t count) noexcept {
  if (to == nullptr || from == nullptr || bytes == nullptr || count == 0) return {};
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count; ++i)
    all += bytes[i];
  return copy_between(to[0], from[0], all);
}

Copy value_of(CopyKind kind, std::uint64_t bytes) noexcept {
  return {.kind = kind, .bytes = bytes};
}

Copy fill_of(std::uint64_t bytes) noexcept {
  return value_of(CopyKind::kFill, bytes);
}

}  // namespace

// A wrapper, and that of the form for the per-thread default stream, by its suffix.  `note`: what
// is done before the call in any case; `what`: the copy.
#define INLINE_PROF_COPY(symbol, suffix, on, parameters, arguments, note, what) \
  CUresult CUDAAPI hooked_##symbol parameters {                                 \
    const HostWait noted = note;                                                \
    if (!some_may_be_armed()) return original_##symbol arguments;               \
    return copied(                                                              \
        #symbol, explicit_stream(on, false), [&] { return what; },              \
        [&] { return original_##symbol arguments; });                           \
  }                                                                             \
  CUresult CUDAAPI hooked_##symbol##suffix parameters {                         \
    const HostWait noted = note;                                                \
    if (!some_may_be_armed()) return original_##symbol##suffix arguments;       \
    return copied(                                                              \
        #symbol, explicit_stream(on, true), [&] { return what; },               \
        [&] { return original_##symbol##suffix arguments; });                   \
  }

// A function and its asynchronous form, which has a stream as well.
#define INLINE_PROF_LIST(...) __VA_ARGS__
#define INLINE_PROF_COPIES(symbol, form, async, parameters, arguments, note, async_note, what)   \
  INLINE_PROF_COPY(symbol##form, _ptds, nullptr, parameters, arguments, note, what)              \
  INLINE_PROF_COPY(symbol##async, _ptsz, stream, (INLINE_PROF_LIST parameters, CUstream stream), \
                   (INLINE_PROF_LIST arguments, stream), async_note, what)
INLINE_PROF_COPIES(cuMemcpy, , Async, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes),
                   (to, from, bytes), note_synchronous(), note_copy_between(to, from),
                   copy_between(to, from, bytes))
INLINE_PROF_COPIES(cuMemcpyHtoD, _v2, Async_v2,
                   (CUdeviceptr to, const void* from, std::size_t bytes), (to, from, bytes),
                   note_synchronous_copy("cuMemcpyHtoD"),
                   note_asynchronous_copy("cuMemcpyHtoDAsync"), copy_to_device(from, bytes))
INLINE_PROF_COPIES(cuMemcpyDtoH, _v2, Async_v2, (void* to, CUdeviceptr from, std::size_t bytes),
                   (to, from, bytes), note_wait("cuMemcpyDtoH"),
                   note_asynchronous_copy("cuMemcpyDtoHAsync"), copy_from_device(to, bytes))
INLINE_PROF_COPIES(cuMemcpyDtoD, _v2, Async_v2,
                   (CUdeviceptr to, CUdeviceptr from, std::size_t bytes), (to, from, bytes),
                   note_synchronous(), note_nothing(), copy_between(to, from, bytes))
INLINE_PROF_COPIES(cuMemcpyPeer, , Async,
                   (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                    std::size_t bytes),
                   (to, to_context, from, from_context, bytes), note_nothing(), note_nothing(),
                   copy_between(to, from, bytes))
INLINE_PROF_COPIES(cuMemcpy2D, _v2, Async_v2, (const CUDA_MEMCPY2D* copy), (copy),
                   note_synchronous(), note_nothing(), copy_of(copy))
INLINE_PROF_COPY(cuMemcpy2DUnaligned_v2, _ptds, nullptr, (const CUDA_MEMCPY2D* copy), (copy),
                 note_synchronous(), copy_of(copy))
INLINE_PROF_COPIES(cuMemcpy3D, _v2, Async_v2, (const CUDA_MEMCPY3D* copy), (copy),
                   note_synchronous(), note_nothing(), copy_of(copy))
INLINE_PROF_COPIES(cuMemcpy3DPeer, , Async, (const CUDA_MEMCPY3D_PEER* copy), (copy),
                   note_nothing(), note_nothing(), copy_of(copy))
INLINE_PROF_COPY(cuMemcpyBatchAsync, _ptsz, stream,
                 (CUdeviceptr * to, CUdeviceptr* from, std::size_t* bytes, std::size_t count,
                  void* attributes, std::size_t* places, std::size_t attribute_count,
                  std::size_t* failed, CUstream stream),
                 (to, from, bytes, count, attributes, places, attribute_count, failed, stream),
                 note_nothing(), copy_of_batch(to, from, bytes, count))
INLINE_PROF_COPY(cuMemcpyBatchAsync_v2, _ptsz, stream,
                 (CUdeviceptr * to, CUdeviceptr* from, std::size_t* bytes, std::size_t count,
                  void* attributes, std::size_t* places, std::size_t attribute_count,
                  CUstream stream),
                 (to, from, bytes, count, attributes, places, attribute_count, stream),
                 note_nothing(), copy_of_batch(to, from, bytes, count))
INLINE_PROF_COPY(cuMemcpy3DBatchAsync, _ptsz, stream,
                 (std::size_t count, void* boxes, std::size_t* failed, unsigned long long flags,
                  CUstream stream),
                 (count, boxes, failed, flags, stream), note_nothing(), copy_of_boxes(boxes, count))
INLINE_PROF_COPY(cuMemcpy3DBatchAsync_v2, _ptsz, stream,
                 (std::size_t count, void* boxes, unsigned long long flags, CUstream stream),
                 (count, boxes, flags, stream), note_nothing(), copy_of_boxes(boxes, count))
// Fills of values with so many bits.
#define INLINE_PROF_FILL(bits, Value)                                                              \
  INLINE_PROF_COPIES(cuMemsetD##bits, _v2, Async,                                                  \
                     (CUdeviceptr to, Value value, std::size_t count), (to, value, count),         \
                     note_nothing(), note_nothing(), fill_of(std::uint64_t{count} * sizeof value)) \
  INLINE_PROF_COPIES(                                                                              \
      cuMemsetD2D##bits, _v2, Async,                                                               \
      (CUdeviceptr to, std::size_t pitch, Value value, std::size_t width, std::size_t height),     \
      (to, pitch, value, width, height), note_nothing(), note_nothing(),                           \
      fill_of(std::uint64_t{width} * height * sizeof value))
INLINE_PROF_FILL(8, unsigned char)
INLINE_PROF_FILL(16, unsigned short)
INLINE_PROF_FILL(32, unsigned)

#define INLINE_PROF_STREAM_VALUE(symbol, Value, kind)                              \
  INLINE_PROF_COPY(symbol, _ptsz, stream,                                          \
                   (CUstream stream, CUdeviceptr at, Value value, unsigned flags), \
                   (stream, at, value, flags), note_nothing(), value_of(kind, sizeof value))
INLINE_PROF_STREAM_VALUE(cuStreamWaitValue32_v2, cuuint32_t, CopyKind::kWaitValue)
INLINE_PROF_STREAM_VALUE(cuStreamWaitValue64_v2, cuuint64_t, CopyKind::kWaitValue)
INLINE_PROF_STREAM_VALUE(cuStreamWriteValue32_v2, cuuint32_t, CopyKind::kWriteValue)
INLINE_PROF_STREAM_VALUE(cuStreamWriteValue64_v2, cuuint64_t, CopyKind::kWriteValue)
INLINE_PROF_COPY(cuStreamBatchMemOp_v2, _ptsz, stream,
                 (CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations,
                  unsigned flags),
                 (stream, count, operations, flags), note_nothing(), copy_of(operations, count))

#undef INLINE_PROF_COPY

}  // namespace inline_prof::launch
