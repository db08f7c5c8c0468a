#include "sys/detached_command.hpp"

#include "sys/log.hpp"
#include "sys/process.hpp"
#include "sys/quiet_thread.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <sched.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace inline_prof::sys {
namespace {

// System calls that come later than glibc 2.17's headers.
#ifdef SYS_close_range
constexpr long kCloseRange = SYS_close_range;
#else
constexpr long kCloseRange = 436;
#endif

constexpr std::size_t kShellStackBytes = std::size_t{16} << 10U;
constexpr unsigned kMostFiles = 65536;  // closed one by one by kernels before 5.9
constexpr int kLastSignal = 64;

// Everything below runs in processes that share the application's memory, while the thread that
// started them waits: only system calls, no lock, no allocation.
struct CommandStart {
  char* const* arguments;
  char* const* environment;
  void* inner_stack;
  long process = 0;  // of the shell
  int error = 0;     // errno, if it was not started
};

// Like vfork(), but on a stack of its own and with `exit_signal` 0, so that its end raises no
// SIGCHLD and only a wait() for __WALL or __WCLONE sees it. Returns the process, or -errno.
long clone_for_now(void (*work)(CommandStart*), CommandStart* start, void* stack_end) {
  constexpr long flags = CLONE_VM | CLONE_VFORK;
#if defined(__x86_64__)
  long result = SYS_clone;
  register long r10 __asm__("r10") = 0;
  register long r8 __asm__("r8") = 0;
  register void (*child)(CommandStart*) __asm__("r12") = work;
  register CommandStart* argument __asm__("r13") = start;
  __asm__ volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"  // the outermost frame
      "mov %%r13, %%rdi\n\t"
      "call *%%r12\n\t"
      "hlt\n"
      "1:"
      : "+a"(result)
      : "D"(flags), "S"(stack_end), "d"(0L), "r"(r10), "r"(r8), "r"(child), "r"(argument)
      : "rcx", "r11", "memory", "cc");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = SYS_clone;
  register long x0 __asm__("x0") = flags;
  register void* x1 __asm__("x1") = stack_end;
  register long x2 __asm__("x2") = 0;
  register long x3 __asm__("x3") = 0;
  register long x4 __asm__("x4") = 0;
  register void (*child)(CommandStart*) __asm__("x9") = work;
  register CommandStart* argument __asm__("x10") = start;
  __asm__ volatile(
      "svc 0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x30, xzr\n\t"
      "mov x0, x10\n\t"
      "blr x9\n\t"
      "brk 0\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(child), "r"(argument)
      : "memory", "cc");
  return x0;
#endif
}

[[noreturn]] void leave(int status) {
  while (true)
    syscall(SYS_exit_group, status, 0, 0, 0, 0);
}

void close_all_but_the_first_three() {
  if (syscall(kCloseRange, 3, ~0U, 0, 0, 0) == 0) return;
  rlimit limit{};
  syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, reinterpret_cast<long>(&limit), 0);
  for (unsigned file = 3; file < std::min<rlim_t>(limit.rlim_cur, kMostFiles); ++file)
    syscall(SYS_close, file, 0, 0, 0, 0);
}

// The process that becomes the shell.
void become_shell(CommandStart* start) {
  syscall(SYS_setsid, 0, 0, 0, 0, 0);
  const long null =
      syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/dev/null"), O_RDWR, 0, 0);
  for (const int file : {0, 1, 2}) {
    if (null < 0) syscall(SYS_close, file, 0, 0, 0, 0);
    if (null >= 0 && null != file) syscall(SYS_dup3, null, file, 0, 0, 0);
  }
  close_all_but_the_first_three();
  // A shell keeps ignoring what was ignored before.
  const std::array<long, 4> by_default{};  // the kernel's sigaction, with handler, flags, mask
  for (long signal = 1; signal <= kLastSignal; ++signal)
    syscall(SYS_rt_sigaction, signal, reinterpret_cast<long>(by_default.data()), 0, 8, 0);
  const long nothing = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&nothing), 0, 8, 0);
  syscall(SYS_execve, reinterpret_cast<long>("/bin/sh"), reinterpret_cast<long>(start->arguments),
          reinterpret_cast<long>(start->environment), 0, 0);
  start->error = errno;
  leave(127);
}

// The process between: the shell's parent, which ends once the shell has begun.
void start_shell(CommandStart* start) {
  start->process = clone_for_now(become_shell, start, start->inner_stack);
  if (start->process < 0) start->error = static_cast<int>(-start->process);
  leave(0);
}

// True if orphans of this process's descendants become its children, as PID 1 of a container does
// without --init.
bool adopts_orphans() {
  int is_subreaper = 0;
  syscall(SYS_prctl, PR_GET_CHILD_SUBREAPER, reinterpret_cast<long>(&is_subreaper), 0, 0, 0);
  return getpid() == 1 || is_subreaper != 0;
}

bool is_passed_on(std::string_view entry) {
  for (const std::string_view left_out :
       {"LD_PRELOAD=", "INLINE_PROF_", "NVTX_INJECTION64_PATH=", "CUDA_INJECTION64_PATH="}) {
    if (entry.starts_with(left_out)) return false;
  }
  return true;
}

}  // namespace

DetachedCommand::DetachedCommand(std::string command) : command_(std::move(command)) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (is_passed_on(*entry)) environment_.emplace_back(*entry);
  }
}

std::string DetachedCommand::start(Variables variables) {
  if (adopts_orphans()) {
    return "this process adopts orphans (PID 1 of a container, or a subreaper) and would get the "
           "command as its child; expected a container with an init process (docker run --init)";
  }
  std::vector<std::string> texts = environment_;
  texts.reserve(texts.size() + variables.size());
  for (const auto& [name, value] : variables)
    texts.emplace_back(name).append("=").append(value);
  std::vector<char*> environment;
  environment.reserve(texts.size() + 1);
  for (std::string& text : texts)
    environment.push_back(text.data());
  environment.push_back(nullptr);
  std::string shell = "sh";
  std::string option = "-c";
  const std::array<char*, 4> arguments{shell.data(), option.data(), command_.data(), nullptr};

  // operator new aligns as the machines ask of a stack.
  const auto stacks = std::make_unique<std::array<char, 2 * kShellStackBytes>>();
  char* const middle = stacks->data() + kShellStackBytes;
  CommandStart start{.arguments = arguments.data(),
                     .environment = environment.data(),
                     .inner_stack = middle + kShellStackBytes};
  const HeldSignals held;
  const long between = clone_for_now(start_shell, &start, middle);
  if (between < 0) return std::string("clone: ") + error_text(static_cast<int>(-between));
  int status = 0;
  while (syscall(SYS_wait4, between, reinterpret_cast<long>(&status), __WALL, 0, 0) < 0 &&
         errno == EINTR) {
  }
  if (start.error != 0) return std::string("/bin/sh: ") + error_text(start.error);
  process_group_ = static_cast<int>(start.process);
  return "";
}

// A shell that nobody waits for counts as ended: in a container PID 1 may wait for no orphans.
bool DetachedCommand::is_running() const {
  if (process_group_ == 0 || (kill(-process_group_, 0) != 0 && errno != EPERM)) return false;
  const std::string path = "/proc/" + std::to_string(process_group_) + "/stat";
  std::array<char, 256> text{};
  return beginning_of(path.c_str(), text).find(") Z ") == std::string_view::npos;
}

}  // namespace inline_prof::sys
