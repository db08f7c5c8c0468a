// Kernel launches, wrapped at the driver API: the runtime, cuBLAS, cuDNN and NCCL all end here.
//
// A launch that is not measured costs one cache line, a shift, two tests and a jump
// (tests/inject/link_rules checks that the path has no call and ends in a jump).  While launches
// are counted, a table look-up is added.  Everything else is out of line.
#include "hook/driver_functions.hpp"
#include "launch/launch_arguments.hpp"
#include "launch/observed.hpp"

namespace inline_prof::launch {
namespace {

struct Seen {
  CUfunction function;
  CUstream stream;
  bool is_complete = true;
};

// cuLaunchKernel and cuLaunchCooperativeKernel, whose arguments differ by `Extra`.
template <typename... Extra>
struct PlainCall {
  static Seen see(CUfunction f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  unsigned, CUstream stream, void**, Extra...) noexcept {
    return {.function = f, .stream = stream};
  }
  static hook::Launch describe(const char* api, CUstream on, CUfunction f, unsigned grid_x,
                               unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                               unsigned block_z, unsigned shared_bytes, CUstream, void**,
                               Extra...) noexcept {
    return {.api = api,
            .function = f,
            .stream = on,
            .grid = {grid_x, grid_y, grid_z},
            .block = {block_x, block_y, block_z},
            .cluster = {1, 1, 1},
            .dynamic_shared_bytes = shared_bytes};
  }
};

struct KernelCall : PlainCall<void**> {
  static constexpr const char* kApi = "cuLaunchKernel";
  static constexpr const char* kPerThreadApi = "cuLaunchKernel_ptsz";
  static std::atomic<void*>& original(std::size_t slot) { return sys::hot_line.kernel[slot]; }
};

struct CooperativeCall : PlainCall<> {
  static constexpr const char* kApi = "cuLaunchCooperativeKernel";
  static constexpr const char* kPerThreadApi = "cuLaunchCooperativeKernel_ptsz";
  static std::atomic<void*>& original(std::size_t slot) {
    return hook::launch_originals.cooperative[slot];
  }
};

struct KernelExCall {
  static constexpr const char* kApi = "cuLaunchKernelEx";
  static constexpr const char* kPerThreadApi = "cuLaunchKernelEx_ptsz";
  static std::atomic<void*>& original(std::size_t slot) { return sys::hot_line.kernel_ex[slot]; }
  static Seen see(const CUlaunchConfig* config, CUfunction f, void**, void**) noexcept {
    if (config == nullptr) return {.function = f, .stream = nullptr, .is_complete = false};
    return {.function = f, .stream = config->hStream};
  }
  static hook::Launch describe(const char* api, CUstream on, const CUlaunchConfig* config,
                               CUfunction f, void**, void**) noexcept {
    return launch_of(api, on, *config, f);
  }
};

// The wrapper of one launch function, for one kind of default stream.
template <typename Call, std::size_t kSlot, typename Signature>
struct Wrapper;
template <typename Call, std::size_t kSlot, typename... A>
struct Wrapper<Call, kSlot, CUresult(A...)> {
  using Function = CUresult (*)(A...);

  // For the exported function.  cuLaunchKernel's is in assembly (launch_x86_64.S), and jumps to
  // counted().
  [[gnu::always_inline]] static CUresult launch(A... arguments) {
    const auto target = original();
    if (sys::may_be_armed(Call::see(arguments...).function) || target == nullptr) [[unlikely]]
      return counted_apart(arguments...);
    return target(arguments...);
  }

  // The filter has let the launch through, or the driver's function is not known yet.
  [[gnu::always_inline]] static CUresult counted(A... arguments) {
    if (filter.is_to_be_marked()) [[unlikely]]
      return marked(arguments...);
    return unmarked(arguments...);
  }

 private:
  static Function original() noexcept {
    return reinterpret_cast<Function>(Call::original(kSlot).load(std::memory_order_relaxed));
  }
  static CUstream stream_of(A... arguments) noexcept {
    return explicit_stream(Call::see(arguments...).stream, kSlot == hook::kPerThread);
  }

  [[gnu::noinline]] static CUresult counted_apart(A... arguments) { return counted(arguments...); }

  [[gnu::noinline]] static CUresult marked(A... arguments) {
    if (!Call::see(arguments...).is_complete) return unmarked(arguments...);
    const timer::LaunchScope under_way(stream_of(arguments...));
    return unmarked(arguments...);
  }

  [[gnu::always_inline]] static CUresult unmarked(A... arguments) {
    const Function target = original();
    timer::LaunchSlot* counted = nullptr;
    const Seen seen = Call::see(arguments...);
    if (target == nullptr || !seen.is_complete ||
        !filter.settle_wrapped(seen.function, stream_of(arguments...), counted)) [[unlikely]]
      return slowly(arguments...);
    if (counted == nullptr) return target(arguments...);
    const CUresult result = target(arguments...);
    if (result != CUDA_SUCCESS) [[unlikely]]
      timer::take_back(counted->count);
    return result;
  }

  [[gnu::noinline]] static CUresult slowly(A... arguments) {
    const auto real = reinterpret_cast<Function>(hook::resolved(
        Call::original(kSlot), kSlot == hook::kPerThread ? Call::kPerThreadApi : Call::kApi));
    if (real == nullptr) return CUDA_ERROR_NOT_INITIALIZED;  // libcuda is not loaded
    if (!Call::see(arguments...).is_complete) return real(arguments...);
    return observed(Call::describe(Call::kApi, stream_of(arguments...), arguments...),
                    [&] { return real(arguments...); });
  }
};

}  // namespace

// The assembly of cuLaunchKernel has counted a launch that failed.
extern "C" [[gnu::used]] CUresult inline_prof_launch_failed(timer::LaunchSlot* counted,
                                                            CUresult result) noexcept {
  timer::take_back(counted->count);
  return result;
}

#define INLINE_PROF_COUNTED(wrapper, slot)                                \
  CUresult CUDAAPI wrapper(INLINE_PROF_LAUNCH_PARAMETERS, void** extra) { \
    return Wrapper<KernelCall, slot, Signature_cuLaunchKernel>::counted(  \
        INLINE_PROF_LAUNCH_ARGUMENTS, extra);                             \
  }
INLINE_PROF_COUNTED(launch_counted_legacy, hook::kLegacy)
INLINE_PROF_COUNTED(launch_counted_per_thread, hook::kPerThread)
INLINE_PROF_COUNTED(launch_counted_spare, hook::kSpare)

#define INLINE_PROF_LAUNCH_KERNEL_EX(wrapper, slot)                                               \
  CUresult CUDAAPI wrapper(const CUlaunchConfig* config, CUfunction f, void** parameters,         \
                           void** extra) {                                                        \
    return Wrapper<KernelExCall, slot, Signature_cuLaunchKernelEx>::launch(config, f, parameters, \
                                                                           extra);                \
  }
INLINE_PROF_LAUNCH_KERNEL_EX(hooked_cuLaunchKernelEx, hook::kLegacy)
INLINE_PROF_LAUNCH_KERNEL_EX(hooked_cuLaunchKernelEx_ptsz, hook::kPerThread)
INLINE_PROF_LAUNCH_KERNEL_EX(hooked_cuLaunchKernelEx_spare, hook::kSpare)

#define INLINE_PROF_LAUNCH_COOPERATIVE(wrapper, slot)                                   \
  CUresult CUDAAPI wrapper(INLINE_PROF_LAUNCH_PARAMETERS) {                             \
    return Wrapper<CooperativeCall, slot, Signature_cuLaunchCooperativeKernel>::launch( \
        INLINE_PROF_LAUNCH_ARGUMENTS);                                                  \
  }
INLINE_PROF_LAUNCH_COOPERATIVE(hooked_cuLaunchCooperativeKernel, hook::kLegacy)
INLINE_PROF_LAUNCH_COOPERATIVE(hooked_cuLaunchCooperativeKernel_ptsz, hook::kPerThread)
INLINE_PROF_LAUNCH_COOPERATIVE(hooked_cuLaunchCooperativeKernel_spare, hook::kSpare)

}  // namespace inline_prof::launch
