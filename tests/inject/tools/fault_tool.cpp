// A kernel and an allocator that fail the library beside us, and nobody else.
//
// System calls: a filter (seccomp(2)) traps those whose instruction stands in libinline_prof.so,
// and the handler lets them fail, lets them take long, or makes them.  Memory: malloc and its like
// look at their return address.
//
//   FAULT_LIST=FILE        counts, while it runs: 513 numbers of 8 bytes, one for each number of a
//                          call and the last one for allocations
//   FAULT_CALL=NUMBER:NTH:ERRNO        that call fails; NTH 0: all do
//   FAULT_SLOW=NUMBER:NTH:MILLISECONDS
//   FAULT_MEMORY=NTH[:on]  that allocation fails; "on": all from there on
#include "inject/tools/library_code.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

LibraryCode library;

constexpr std::size_t kMostNumbers = 512;
using Counts = std::array<std::atomic<long>, kMostNumbers + 1>;
Counts own_counts{};
Counts* counts = &own_counts;

struct Rule {
  long number = -1;
  long nth = 0;
  long value = 0;
};
Rule failing;
Rule slow;
long failing_allocation = -1;
bool all_from_there = false;

bool matches(const Rule& rule, long number, long nth) {
  return rule.number == number && (rule.nth == 0 || rule.nth == nth);
}

// The mask of the interrupted code comes back from its frame when the handler returns.
long change_mask(ucontext_t& context, long how, const std::uint64_t* set, std::uint64_t* before) {
  auto& mask = *reinterpret_cast<std::uint64_t*>(&context.uc_sigmask);
  const std::uint64_t old = mask;
  if (set != nullptr) {
    if (how == SIG_BLOCK) mask |= *set;
    if (how == SIG_UNBLOCK) mask &= ~*set;
    if (how == SIG_SETMASK) mask = *set;
  }
  if (before != nullptr) *before = old;
  return 0;
}

#if defined(__x86_64__)
void on_trap(int, siginfo_t* info, void* data) {
  const int error = errno;
  auto& context = *static_cast<ucontext_t*>(data);
  auto* const registers = context.uc_mcontext.gregs;
  const long number = info->si_syscall;
  const long nth = (*counts)[static_cast<std::size_t>(number) % kMostNumbers].fetch_add(1) + 1;
  long result = 0;
  if (matches(slow, number, nth)) {
    const timespec time{.tv_sec = slow.value / 1000, .tv_nsec = slow.value % 1000 * 1'000'000};
    syscall(SYS_nanosleep, &time, nullptr);
  }
  if (matches(failing, number, nth)) {
    result = -failing.value;
  } else if (number == SYS_rt_sigprocmask) {
    result = change_mask(context, registers[REG_RDI],
                         reinterpret_cast<const std::uint64_t*>(registers[REG_RSI]),
                         reinterpret_cast<std::uint64_t*>(registers[REG_RDX]));
  } else {
    result = syscall(number, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                     registers[REG_R10], registers[REG_R8], registers[REG_R9]);
    if (result == -1) result = -errno;
  }
  registers[REG_RAX] = result;
  errno = error;
}

bool trap_calls() {
  struct sigaction action {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
  if (sigaction(SIGSYS, &action, nullptr) != 0) return false;
  const auto high = [](std::uintptr_t address) {
    return static_cast<std::uint32_t>(address >> 32U);
  };
  const auto low = [](std::uintptr_t address) { return static_cast<std::uint32_t>(address); };
  constexpr std::uint32_t at = offsetof(seccomp_data, instruction_pointer);
  // The filter computes with 32 bits, and the library may lie across a multiple of 4 GiB.
  std::array<sock_filter, 8> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, high(library.begin), 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, high(library.end), 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at),
      BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, low(library.begin)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, low(library.end - library.begin), 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{.len = filter.size(), .filter = filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#else
bool trap_calls() {
  return false;  // the registers have other names
}
#endif

Rule rule_in(const char* name) {
  Rule rule;
  const char* const text = std::getenv(name);
  if (text != nullptr) std::sscanf(text, "%ld:%ld:%ld", &rule.number, &rule.nth, &rule.value);
  return rule;
}

bool must_fail(const void* caller) {
  if (!library.contains(caller)) return false;
  const long nth = (*counts)[kMostNumbers].fetch_add(1) + 1;
  return all_from_there ? failing_allocation > 0 && nth >= failing_allocation
                        : nth == failing_allocation;
}

// A file in memory: what ends by a signal has counted, too.
void count_in(const char* path) {
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0 || ftruncate(file, sizeof(Counts)) != 0) return;
  void* const memory = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED) counts = static_cast<Counts*>(memory);
  close(file);
}

[[gnu::constructor]] void begin() {
  library = code_of_library();
  if (library.end == 0) return;
  if (const char* list = std::getenv("FAULT_LIST")) count_in(list);
  failing = rule_in("FAULT_CALL");
  slow = rule_in("FAULT_SLOW");
  if (const char* text = std::getenv("FAULT_MEMORY")) {
    failing_allocation = std::atol(text);
    all_from_there = std::strstr(text, ":on") != nullptr;
  }
  const bool wants_calls =
      std::getenv("FAULT_LIST") != nullptr || failing.number >= 0 || slow.number >= 0;
  if (wants_calls && !trap_calls()) {
    std::fputs("fault_tool: no filter for system calls\n", stderr);
    _exit(77);
  }
}

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

// Must be part of its caller: the return address tells who allocates.
#define INLINE_PROF_OR_FAIL(allocation) \
  must_fail(__builtin_return_address(0)) ? (errno = ENOMEM, nullptr) : (allocation)

void* malloc(std::size_t size) {
  return INLINE_PROF_OR_FAIL(__libc_malloc(size));
}
void* calloc(std::size_t count, std::size_t size) {
  return INLINE_PROF_OR_FAIL(__libc_calloc(count, size));
}
void* realloc(void* memory, std::size_t size) {
  return INLINE_PROF_OR_FAIL(__libc_realloc(memory, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return INLINE_PROF_OR_FAIL(__libc_memalign(alignment, size));
}
}
