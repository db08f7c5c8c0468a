#include "sys/large_stack.hpp"

#include "sys/quiet_thread.hpp"

#include <cstddef>
#include <sys/mman.h>

// A sanitizer knows the thread's own stack only.
#ifndef INLINE_PROF_OWN_STACKS
#define INLINE_PROF_OWN_STACKS 1
#endif

#if INLINE_PROF_OWN_STACKS
extern "C" [[gnu::visibility("hidden")]] void inline_prof_call_on(void (*work)(void*) noexcept,
                                                                  void* argument, void* top);
// The frame register keeps the thread's own stack, and tells unwinders where the frame is.
#if defined(__x86_64__)
__asm__(
    ".text\n.p2align 4\n.hidden inline_prof_call_on\n.globl inline_prof_call_on\n"
    ".type inline_prof_call_on, %function\ninline_prof_call_on:\n"
    "  .cfi_startproc\n"
    "  pushq %rbp\n  .cfi_def_cfa_offset 16\n  .cfi_offset %rbp, -16\n"
    "  movq %rsp, %rbp\n  .cfi_def_cfa_register %rbp\n"
    "  movq %rdx, %rsp\n"
    "  movq %rdi, %rax\n  movq %rsi, %rdi\n  call *%rax\n"
    "  movq %rbp, %rsp\n  popq %rbp\n  .cfi_def_cfa %rsp, 8\n  ret\n"
    "  .cfi_endproc\n.size inline_prof_call_on, .-inline_prof_call_on\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n.p2align 4\n.hidden inline_prof_call_on\n.globl inline_prof_call_on\n"
    ".type inline_prof_call_on, %function\ninline_prof_call_on:\n"
    "  .cfi_startproc\n"
    "  stp x29, x30, [sp, #-16]!\n  .cfi_def_cfa_offset 16\n"
    "  .cfi_offset x29, -16\n  .cfi_offset x30, -8\n"
    "  mov x29, sp\n  .cfi_def_cfa_register x29\n"
    "  mov sp, x2\n"
    "  mov x9, x0\n  mov x0, x1\n  blr x9\n"
    "  mov sp, x29\n  ldp x29, x30, [sp], #16\n  .cfi_def_cfa sp, 0\n"
    "  .cfi_restore x29\n  .cfi_restore x30\n  ret\n"
    "  .cfi_endproc\n.size inline_prof_call_on, .-inline_prof_call_on\n");
#endif
#endif

namespace inline_prof::sys {
namespace {

constexpr std::size_t kStackBytes = std::size_t{1} << 20U;
constexpr std::size_t kGuardBytes = std::size_t{64} << 10U;  // a page, on every machine

}  // namespace

void call_on_large_stack(void (*work)(void*) noexcept, void* argument) noexcept {
#if INLINE_PROF_OWN_STACKS
  void* const memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return work(argument);
  auto* const bottom = static_cast<char*>(memory) + kGuardBytes;
  if (mprotect(bottom, kStackBytes, PROT_READ | PROT_WRITE) == 0) {
    const HeldSignals held;
    inline_prof_call_on(work, argument, bottom + kStackBytes);
  } else {
    work(argument);
  }
  munmap(memory, kGuardBytes + kStackBytes);
#else
  work(argument);
#endif
}

}  // namespace inline_prof::sys
