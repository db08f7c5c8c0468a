// The assembly of both machines against made-up neighbours: every argument arrives, every result
// comes back, and the callee returns straight to the application.  Built for x86-64 and for aarch64
// (run under emulation) from this one source, without GoogleTest, which nobody has for the other
// machine.
#include "launch/launching_threads.hpp"
#include "sys/hot_line.hpp"
#include "timer/launch_table.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <unwind.h>

namespace inline_prof::sys {
constinit HotLine hot_line;
}  // namespace inline_prof::sys
namespace inline_prof::launch {
constinit CountingLine counting;
}  // namespace inline_prof::launch
constinit inline_prof::timer::LaunchTable launch_table __asm__("inline_prof_launch_table");

namespace {

using inline_prof::launch::counting;
using inline_prof::sys::hot_line;

int failures = 0;

void expect(bool holds, const char* what, const char* where) {
  if (holds) return;
  std::printf("FAILED: %s: %s\n", where, what);
  ++failures;
}

// --- launches

struct Arguments {
  void* function;
  std::array<unsigned, 7> sizes;
  void* stream;
  void** parameters;
  void** extra;

  friend bool operator==(const Arguments&, const Arguments&) = default;
};

struct Seen {
  const char* callee = "nobody";
  Arguments arguments{};
  void* return_address = nullptr;
  bool stack_is_aligned = false;
};
Seen seen;

using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       void*, void**, void**);

}  // namespace

// The first eight arguments of aarch64 and the first six of x86-64 are in registers, the others on
// the stack: all eleven differ, so that no two can be exchanged.
#define CALLEE(name, result)                                                                     \
  extern "C" [[gnu::noinline]] int name(void* f, unsigned a, unsigned b, unsigned c, unsigned d, \
                                        unsigned e, unsigned g, unsigned h, void* stream,        \
                                        void** parameters, void** extra) {                       \
    seen = {.callee = #name,                                                                     \
            .arguments = {f, {a, b, c, d, e, g, h}, stream, parameters, extra},                  \
            .return_address = __builtin_return_address(0),                                       \
            .stack_is_aligned =                                                                  \
                reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) % 16 == 0};         \
    return result;                                                                               \
  }
CALLEE(inline_prof_launch_counted_legacy, 101)
CALLEE(inline_prof_launch_counted_per_thread, 102)
CALLEE(inline_prof_launch_counted_spare, 103)
CALLEE(the_driver, -7)
CALLEE(the_willing_driver, 0)

static const void* failed_slot = nullptr;
extern "C" int inline_prof_launch_failed(void* slot, int result) {
  failed_slot = slot;
  return result;
}

extern "C" {
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void*, void**, void**);
int cuLaunchKernel_ptsz(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        void*, void**, void**);
int inline_prof_launch_kernel_spare(void*, unsigned, unsigned, unsigned, unsigned, unsigned,
                                    unsigned, unsigned, void*, void**, void**);
}

namespace {

void* address(std::uintptr_t value) {
  return reinterpret_cast<void*>(value);  // NOLINT(performance-no-int-to-ptr): made up
}

Arguments arguments_with(void* function) {
  static std::array<void*, 2> parameters{};
  return {function, {11, 12, 13, 14, 15, 16, 17}, address(0x1800), &parameters[0], &parameters[1]};
}

// The one call site, so that a callee's return address tells whether it was called from here.
[[gnu::noinline]] int launch(Launch callee, const Arguments& with) {
  const auto& s = with.sizes;
  const int result = callee(with.function, s[0], s[1], s[2], s[3], s[4], s[5], s[6], with.stream,
                            with.parameters, with.extra);
  asm volatile("" ::: "memory");  // no tail call
  return result;
}

struct Wrapper {
  const char* name;
  Launch function;
  std::size_t slot;
  const char* counted;
  int counted_result;
};

void expect_launch(const Wrapper& wrapper, void* function, const char* callee, int result) {
  const Arguments with = arguments_with(function);
  launch(the_driver, with);
  const void* here = seen.return_address;
  seen = {};
  expect(launch(wrapper.function, with) == result, "the result comes back", wrapper.name);
  expect(std::strcmp(seen.callee, callee) == 0, callee, wrapper.name);
  expect(seen.arguments == with, "all eleven arguments arrive", wrapper.name);
  expect(seen.return_address == here, "the callee returns to the application", wrapper.name);
  expect(seen.stack_is_aligned, "the stack is aligned", wrapper.name);
}

void check_launch(const Wrapper& wrapper) {
  auto& real = hot_line.kernel[wrapper.slot];
  // A stride of 16 bytes and a half page, so that both shifts of the filter's bit number matter.
  for (std::uintptr_t i = 0; i < 256; ++i) {
    void* function = address(0x7fab'cd00'0000 + 0x810 * i);
    const std::uint64_t bit = std::uint64_t{1} << inline_prof::sys::filter_bit(function);

    real = reinterpret_cast<void*>(&the_driver);
    hot_line.filter = ~bit;
    expect_launch(wrapper, function, "the_driver", -7);
    hot_line.filter = bit;
    expect_launch(wrapper, function, wrapper.counted, wrapper.counted_result);

    real = nullptr;
    hot_line.filter = inline_prof::sys::kNoLaunch;
    expect_launch(wrapper, function, wrapper.counted, wrapper.counted_result);
  }
}

#if defined(__x86_64__)
// The launch is counted as `count` in `slot`, and calls `callee`; it failed if `result` is not 0.
void expect_counted(const Wrapper& wrapper, const Arguments& with, const char* callee, int result,
                    const inline_prof::timer::LaunchSlot& slot, std::uint32_t count) {
  seen = {};
  failed_slot = nullptr;
  expect(launch(wrapper.function, with) == result, "the result comes back", wrapper.name);
  expect(std::strcmp(seen.callee, callee) == 0, callee, wrapper.name);
  expect(seen.arguments == with, "all eleven arguments arrive", wrapper.name);
  expect(seen.stack_is_aligned, "the stack is aligned", wrapper.name);
  expect(slot.count == count, "the launch is counted once", wrapper.name);
  expect(failed_slot == (result == -7 ? &slot : nullptr), "failures are told", wrapper.name);
  expect(!counting.first_thread_counts, "nothing stays under way", wrapper.name);
}

void check_counted(const Wrapper& wrapper, void* default_stream) {
  auto& real = hot_line.kernel[wrapper.slot];
  hot_line.filter = inline_prof::sys::kEveryLaunch;
  for (std::uintptr_t i = 0; i < 256; ++i) {
    launch_table.clear();
    Arguments with = arguments_with(address(0x7fab'cd00'0000 + 0x810 * i));
    void* stream = with.stream;
    if (i % 2 != 0) {
      with.stream = nullptr;
      stream = default_stream;
    }
    auto& slot = *launch_table.insert(with.function, stream);
    slot.limit = 2;
    real = reinterpret_cast<void*>(&the_driver);
    expect_counted(wrapper, with, wrapper.counted, wrapper.counted_result, slot, 0);
    counting.thread = __builtin_thread_pointer();
    expect_counted(wrapper, with, "the_driver", -7, slot, 1);
    for (auto& boundary : counting.boundaries) {
      boundary = with.function;
      expect_counted(wrapper, with, wrapper.counted, wrapper.counted_result, slot, 1);
      boundary = nullptr;
    }
    real = nullptr;
    expect_counted(wrapper, with, wrapper.counted, wrapper.counted_result, slot, 1);
    real = reinterpret_cast<void*>(&the_willing_driver);
    expect_counted(wrapper, with, "the_willing_driver", 0, slot, 2);
    expect_counted(wrapper, with, wrapper.counted, wrapper.counted_result, slot, 2);
    launch_table.vacate(slot);
    expect_counted(wrapper, with, wrapper.counted, wrapper.counted_result, slot, 2);
    counting.thread = nullptr;
  }
}
#endif

// --- dlsym

struct FilterAnswer {
  void* result;
  void* jump;
};
using Dlsym = void* (*)(void* handle, const char* name);

struct SeenLookUp {
  void* filter_handle = nullptr;
  const char* filter_name = nullptr;
  bool unwinds_to_the_host = false;
  void* handle = nullptr;
  const char* name = nullptr;
  void* return_address = nullptr;
};
SeenLookUp seen_look_up;
void* host_address = nullptr;  // where look_up continues

int ours = 0;
int theirs = 0;
constexpr const char* kOurs = "cuLaunchKernel";

_Unwind_Reason_Code look_for_host(_Unwind_Context* frame, void*) {
  if (address(_Unwind_GetIP(frame)) == host_address) seen_look_up.unwinds_to_the_host = true;
  return _URC_NO_REASON;
}

}  // namespace

extern "C" [[gnu::noinline]] void* the_original_dlsym(void* handle, const char* name) {
  seen_look_up.handle = handle;
  seen_look_up.name = name;
  seen_look_up.return_address = __builtin_return_address(0);
  return &theirs;
}

extern "C" FilterAnswer inline_prof_dlsym_filter(void* handle, const char* name) {
  seen_look_up.filter_handle = handle;
  seen_look_up.filter_name = name;
  _Unwind_Backtrace(look_for_host, nullptr);
  if (name == nullptr) return {.result = nullptr, .jump = nullptr};
  if (std::strcmp(name, kOurs) == 0) return {.result = &ours, .jump = nullptr};
  return {.result = &ours, .jump = reinterpret_cast<void*>(&the_original_dlsym)};
}

extern "C" void* dlsym(void* handle, const char* name) noexcept;

namespace {

[[gnu::noinline]] void* look_up(Dlsym callee, void* handle, const char* name) {
  void* result = callee(handle, name);
  asm volatile("" ::: "memory");  // no tail call
  return result;
}

void check_dlsym() {
  const char* const others = "malloc";
  void* const next = address(~std::uintptr_t{0});  // RTLD_NEXT
  look_up(the_original_dlsym, nullptr, others);
  host_address = seen_look_up.return_address;

  seen_look_up = {};
  expect(look_up(dlsym, next, others) == &theirs, "glibc's answer comes back", "dlsym");
  expect(seen_look_up.filter_handle == next && seen_look_up.filter_name == others,
         "the filter sees both arguments", "dlsym");
  expect(seen_look_up.handle == next && seen_look_up.name == others, "glibc sees both arguments",
         "dlsym");
  // RTLD_NEXT means "after the caller", and the caller is who the return address says it is.
  expect(seen_look_up.return_address == host_address, "glibc sees the application as its caller",
         "dlsym");
  expect(seen_look_up.unwinds_to_the_host, "the unwinder finds its way out", "dlsym");

  seen_look_up = {};
  expect(look_up(dlsym, address(0x10), kOurs) == &ours, "the filter's answer comes back", "dlsym");
  expect(seen_look_up.name == nullptr, "glibc is not asked", "dlsym");

  expect(look_up(dlsym, address(0x10), nullptr) == nullptr, "null is an answer, too", "dlsym");
}

}  // namespace

int main() {
  const Wrapper legacy = {"cuLaunchKernel", cuLaunchKernel, 0, "inline_prof_launch_counted_legacy",
                          101};
  const Wrapper per_thread = {"cuLaunchKernel_ptsz", cuLaunchKernel_ptsz, 1,
                              "inline_prof_launch_counted_per_thread", 102};
  const Wrapper spare = {"the spare wrapper", inline_prof_launch_kernel_spare, 2,
                         "inline_prof_launch_counted_spare", 103};
  check_launch(legacy);
  check_launch(per_thread);
  check_launch(spare);
#if defined(__x86_64__)
  check_counted(legacy, address(1));
  check_counted(per_thread, address(2));
  check_counted(spare, address(1));
#endif
  check_dlsym();
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
