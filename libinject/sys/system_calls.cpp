// Defines system calls under the names of glibc's functions, for this library alone.
//
// A program may define functions of its own named `link`, `open` or `access`: ISO C leaves these
// names to it. Our calls would then reach the application's functions. So each gets a hidden
// definition here that asks the kernel itself, for the static C++ library's calls, too. The test
// inject.LinkRules reads which of glibc's functions are left.
//
// Left out of sanitizer builds: there the run-time library must see these calls itself.
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <type_traits>
#include <unistd.h>

#define INLINE_PROF_HIDDEN_AS(symbol) __asm__(symbol) __attribute__((visibility("hidden")))

namespace inline_prof::sys {
namespace {

// One instruction for all of them, which tests find by its address.
#if defined(__x86_64__)
[[gnu::noinline]] long ask_kernel(long number, long a, long b, long c, long d, long e,
                                  long f) noexcept {
  long result = number;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
[[gnu::noinline]] long ask_kernel(long number, long a, long b, long c, long d, long e,
                                  long f) noexcept {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8)
                   : "memory");
  return x0;
}
#endif

template <typename Argument>
long word(Argument argument) noexcept {
  if constexpr (std::is_null_pointer_v<Argument>) {
    return 0;
  } else if constexpr (std::is_pointer_v<Argument>) {
    return reinterpret_cast<long>(argument);
  } else {
    return static_cast<long>(argument);
  }
}

// The kernel gives -errno; glibc's functions give -1 and set errno.
template <typename Result = int, typename... Arguments>
Result call(long number, Arguments... arguments) noexcept {
  long words[6] = {word(arguments)...};
  const long result =
      ask_kernel(number, words[0], words[1], words[2], words[3], words[4], words[5]);
  constexpr long highest_error = 4095;
  if (result < 0 && result >= -highest_error) {
    errno = static_cast<int>(-result);
    return static_cast<Result>(-1);
  }
  return static_cast<Result>(result);
}

constexpr std::size_t kKernelSetBytes = 8;  // 64 signals; glibc's set has room for more

std::uint64_t bit_of(int signal) noexcept {
  return std::uint64_t{1} << (static_cast<unsigned>(signal) - 1U);
}
std::uint64_t& bits_of(sigset_t* set) noexcept {
  return *reinterpret_cast<std::uint64_t*>(set);
}

}  // namespace

#define INLINE_PROF_DEFINE(result, name, parameters)         \
  result own_##name parameters INLINE_PROF_HIDDEN_AS(#name); \
  result own_##name parameters
#define INLINE_PROF_CALL(result, name, parameters, ...) \
  INLINE_PROF_DEFINE(result, name, parameters) {        \
    return call<result>(__VA_ARGS__);                   \
  }

// --- files

INLINE_PROF_CALL(int, access, (const char* path, int mode), SYS_faccessat, AT_FDCWD, path, mode)
INLINE_PROF_CALL(int, close, (int file), SYS_close, file)
INLINE_PROF_CALL(int, flock, (int file, int operation), SYS_flock, file, operation)
INLINE_PROF_CALL(int, ioctl, (int file, unsigned long request, void* argument), SYS_ioctl, file,
                 request, argument)
INLINE_PROF_CALL(int, link, (const char* from, const char* to), SYS_linkat, AT_FDCWD, from,
                 AT_FDCWD, to, 0)
INLINE_PROF_CALL(int, mkdir, (const char* path, mode_t mode), SYS_mkdirat, AT_FDCWD, path, mode)
INLINE_PROF_CALL(ssize_t, pread, (int file, void* to, std::size_t size, off_t at), SYS_pread64,
                 file, to, size, at)
INLINE_PROF_CALL(ssize_t, read, (int file, void* to, std::size_t size), SYS_read, file, to, size)
INLINE_PROF_CALL(ssize_t, readlink, (const char* path, char* to, std::size_t size), SYS_readlinkat,
                 AT_FDCWD, path, to, size)
INLINE_PROF_CALL(int, rename, (const char* from, const char* to), SYS_renameat, AT_FDCWD, from,
                 AT_FDCWD, to)
INLINE_PROF_CALL(int, stat, (const char* path, struct stat* facts), SYS_newfstatat, AT_FDCWD, path,
                 facts, 0)
INLINE_PROF_CALL(int, fstat, (int file, struct stat* facts), SYS_fstat, file, facts)
INLINE_PROF_CALL(int, unlink, (const char* path), SYS_unlinkat, AT_FDCWD, path, 0)
INLINE_PROF_CALL(ssize_t, write, (int file, const void* from, std::size_t size), SYS_write, file,
                 from, size)

INLINE_PROF_DEFINE(int, open, (const char* path, int flags, ...)) {
  std::va_list more;
  va_start(more, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : mode_t{0};
  va_end(more);
  return call(SYS_openat, AT_FDCWD, path, flags, mode);
}

INLINE_PROF_DEFINE(int, poll, (pollfd * files, nfds_t count, int milliseconds)) {
  timespec left{.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1'000'000L};
  return call(SYS_ppoll, files, count, milliseconds < 0 ? nullptr : &left, nullptr,
              kKernelSetBytes);
}

// --- memory

INLINE_PROF_DEFINE(void*, mmap,
                   (void* at, std::size_t size, int protection, int flags, int file,
                    off_t offset)) {
  const long result = call<long>(SYS_mmap, at, size, protection, flags, file, offset);
  return reinterpret_cast<void*>(result);  // NOLINT(performance-no-int-to-ptr): MAP_FAILED is -1
}
INLINE_PROF_CALL(int, mprotect, (void* at, std::size_t size, int protection), SYS_mprotect, at,
                 size, protection)
INLINE_PROF_CALL(int, munmap, (void* at, std::size_t size), SYS_munmap, at, size)

// --- this process

INLINE_PROF_CALL(pid_t, getpid, (), SYS_getpid)
INLINE_PROF_CALL(uid_t, geteuid, (), SYS_geteuid)
INLINE_PROF_CALL(int, kill, (pid_t process, int signal), SYS_kill, process, signal)

INLINE_PROF_DEFINE(int, raise, (int signal)) {
  return call(SYS_tgkill, call(SYS_getpid), call(SYS_gettid), signal);
}

INLINE_PROF_CALL(int, sched_yield, (), SYS_sched_yield)

INLINE_PROF_DEFINE(int, usleep, (useconds_t microseconds)) {
  const timespec time{.tv_sec = microseconds / 1'000'000,
                      .tv_nsec = static_cast<long>(microseconds % 1'000'000) * 1000};
  return call(SYS_nanosleep, &time, nullptr);
}

INLINE_PROF_DEFINE(int, gethostname, (char* to, std::size_t size)) {
  utsname names{};
  if (call(SYS_uname, &names) != 0) return -1;
  const std::size_t length = __builtin_strlen(names.nodename) + 1;
  if (length > size) {
    errno = ENAMETOOLONG;
    return -1;
  }
  __builtin_memcpy(to, names.nodename, length);
  return 0;
}

// Lacks glibc's extension: a buffer must be given.
INLINE_PROF_DEFINE(char*, getcwd, (char* to, std::size_t size)) {
  const int length = call(SYS_getcwd, to, size);
  if (length > 0 && to[0] != '/') errno = ENOENT;  // "(unreachable)..."
  return length > 0 && to[0] == '/' ? to : nullptr;
}

INLINE_PROF_DEFINE(long, syscall, (long number, long a, long b, long c, long d, long e)) {
  return call<long>(number, a, b, c, d, e);
}

// --- signals

INLINE_PROF_DEFINE(int, sigemptyset, (sigset_t * set)) {
  *set = {};
  return 0;
}

INLINE_PROF_DEFINE(int, sigfillset, (sigset_t * set)) {
  __builtin_memset(set, 0xFF, sizeof *set);
  // glibc's own (nptl: SIGCANCEL, SIGSETXID) stay free, as with its function of this name.
  bits_of(set) &= ~(bit_of(32) | bit_of(33));
  return 0;
}

INLINE_PROF_DEFINE(int, sigaddset, (sigset_t * set, int signal)) {
  bits_of(set) |= bit_of(signal);
  return 0;
}

INLINE_PROF_DEFINE(int, sigdelset, (sigset_t * set, int signal)) {
  bits_of(set) &= ~bit_of(signal);
  return 0;
}

INLINE_PROF_DEFINE(int, sigismember, (const sigset_t* set, int signal)) {
  return (bits_of(const_cast<sigset_t*>(set)) & bit_of(signal)) != 0 ? 1 : 0;
}

INLINE_PROF_CALL(int, sigpending, (sigset_t * set), SYS_rt_sigpending, set, kKernelSetBytes)

INLINE_PROF_DEFINE(int, pthread_sigmask, (int how, const sigset_t* set, sigset_t* before)) {
  const int saved_errno = errno;
  const bool failed = call(SYS_rt_sigprocmask, how, set, before, kKernelSetBytes) != 0;
  const int error = failed ? errno : 0;
  errno = saved_errno;
  return error;
}

INLINE_PROF_DEFINE(int, sigtimedwait,
                   (const sigset_t* set, siginfo_t* info, const timespec* time)) {
  return call(SYS_rt_sigtimedwait, set, info, time, kKernelSetBytes);
}

}  // namespace inline_prof::sys
