// Keeps the library loadable on glibc 2.17 although it is built on a newer one.
//
// Static libstdc++ and libgcc call functions that are newer than 2.17, or that moved from
// libpthread and libdl into libc under a new version in 2.32 to 2.34. Each gets a hidden definition
// here that forwards to the old version, or does the same by older means. Being hidden, they are
// used by this library alone. The test inject.symbol_versions reads the result.
//
// Left out of sanitizer builds: there the run-time library must see these calls itself.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define INLINE_PROF_BASE_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define INLINE_PROF_BASE_VERSION "GLIBC_2.17"
#endif

// The C++ names are ours, the symbols are glibc's: the headers' own declarations stay out of it.
#define INLINE_PROF_HIDDEN_AS(symbol) __asm__(symbol) __attribute__((visibility("hidden")))

// Defines `symbol` as a jump to the oldest version of itself. Attributes and argument types do not
// matter: the argument registers are passed on unchanged.
#define INLINE_PROF_FORWARD(symbol)                                                            \
  __asm__(".symver inline_prof_old_" symbol ", " symbol "@" INLINE_PROF_BASE_VERSION);         \
  __asm__(".text\n.hidden " symbol "\n.globl " symbol "\n.type " symbol ", %function\n" symbol \
          ":\n" INLINE_PROF_JUMP("inline_prof_old_" symbol) ".size " symbol ", .-" symbol "\n")
#if defined(__x86_64__)
#define INLINE_PROF_JUMP(target) "  jmp *" target "@GOTPCREL(%rip)\n"
#else
#define INLINE_PROF_JUMP(target) \
  "  adrp x16, :got:" target "\n  ldr x16, [x16, :got_lo12:" target "]\n  br x16\n"
#endif

INLINE_PROF_FORWARD("dlopen");
INLINE_PROF_FORWARD("dlclose");
INLINE_PROF_FORWARD("dlerror");
INLINE_PROF_FORWARD("dladdr");
INLINE_PROF_FORWARD("exp");
INLINE_PROF_FORWARD("exp2");
INLINE_PROF_FORWARD("log");
INLINE_PROF_FORWARD("log2");
INLINE_PROF_FORWARD("sem_destroy");
INLINE_PROF_FORWARD("sem_init");
INLINE_PROF_FORWARD("sem_post");
INLINE_PROF_FORWARD("sem_timedwait");
INLINE_PROF_FORWARD("sem_wait");
INLINE_PROF_FORWARD("pthread_create");
INLINE_PROF_FORWARD("pthread_detach");
INLINE_PROF_FORWARD("pthread_join");
INLINE_PROF_FORWARD("pthread_once");
INLINE_PROF_FORWARD("pthread_key_create");
INLINE_PROF_FORWARD("pthread_key_delete");
INLINE_PROF_FORWARD("__pthread_key_create");
INLINE_PROF_FORWARD("pthread_getspecific");
INLINE_PROF_FORWARD("pthread_setspecific");
INLINE_PROF_FORWARD("pthread_rwlock_rdlock");
INLINE_PROF_FORWARD("pthread_rwlock_wrlock");
INLINE_PROF_FORWARD("pthread_rwlock_unlock");

namespace inline_prof::sys {

// Since 2.25 and 2.36. std::random_device needs them; we do not use it, but the linker cannot leave
// it out.
int entropy_by_system_call(void* buffer, std::size_t length) INLINE_PROF_HIDDEN_AS("getentropy");
int entropy_by_system_call(void* buffer, std::size_t length) {
  if (length > 256) {
    errno = EIO;
    return -1;
  }
  auto* bytes = static_cast<char*>(buffer);
  while (length > 0) {
    const long got = syscall(SYS_getrandom, bytes, length, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    bytes += got;
    length -= static_cast<std::size_t>(got);
  }
  return 0;
}

unsigned random_by_system_call() INLINE_PROF_HIDDEN_AS("arc4random");
unsigned random_by_system_call() {
  unsigned value = 0;
  if (entropy_by_system_call(&value, sizeof value) != 0) value = static_cast<unsigned>(getpid());
  return value;
}

// Since 2.32. False: libstdc++ then counts references with atomic instructions, which is always
// right.
extern char process_has_one_thread INLINE_PROF_HIDDEN_AS("__libc_single_threaded");
char process_has_one_thread = 0;

#if defined(DLFO_STRUCT_HAS_EH_DBASE)
namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* result;
};

void* pointer_to(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): from the loader
}

int look(dl_phdr_info* library, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const ElfW(Phdr)* unwind = nullptr;
  bool inside = false;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& segment = library->dlpi_phdr[i];
    const std::uintptr_t begin = library->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) unwind = &segment;
    if (segment.p_type != PT_LOAD || search.address < begin ||
        search.address >= begin + segment.p_memsz)
      continue;
    inside = true;
    search.result->dlfo_map_start = pointer_to(begin);
    search.result->dlfo_map_end = pointer_to(begin + segment.p_memsz);
  }
  if (!inside || unwind == nullptr) return 0;
  search.result->dlfo_eh_frame = pointer_to(library->dlpi_addr + unwind->p_vaddr);
  return 1;
}

}  // namespace

// Since 2.35. libgcc's unwinder of GCC 12 finds a function's unwind table by it (libgcc,
// unwind-dw2-fde-dip.c, uses dlfo_eh_frame alone). Rebuilt on dl_iterate_phdr, which it used
// before.
int find_object(void* address, dl_find_object* result) INLINE_PROF_HIDDEN_AS("_dl_find_object");
int find_object(void* address, dl_find_object* result) {
  *result = {};
  Search search{.address = reinterpret_cast<std::uintptr_t>(address), .result = result};
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
#endif

}  // namespace inline_prof::sys
