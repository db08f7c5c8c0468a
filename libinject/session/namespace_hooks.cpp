// unshare() and setns() as the application calls them.  Linux refuses some namespaces to a process
// with several threads, and ours must not be what makes it one.
#include "hook/export.hpp"
#include "session/session.hpp"
#include "sys/original_dlsym.hpp"

#include <cerrno>
#include <dlfcn.h>

namespace {

// A call that is refused is made once more without the writer's thread.
int without_our_thread(const char* name, int first, int second) noexcept {
  using namespace inline_prof;
  const auto next = reinterpret_cast<int (*)(int, int)>(sys::glibc_dlsym()(RTLD_NEXT, name));
  if (next == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  int result = next(first, second);  // unshare() has one argument, and ignores the other
  session::Session* const session = session::the_session();
  if (result == 0 || (errno != EINVAL && errno != EUSERS) || session == nullptr ||
      !session->is_of_this_process())
    return result;
  int error = errno;
  if (session->writer->leave()) {
    result = next(first, second);
    error = errno;
    session->writer->start();
  }
  errno = error;
  return result;
}

}  // namespace

INLINE_PROF_EXPORT int unshare(int flags) noexcept {
  return without_our_thread("unshare", flags, 0);
}

INLINE_PROF_EXPORT int setns(int file, int type) noexcept {
  return without_our_thread("setns", file, type);
}
