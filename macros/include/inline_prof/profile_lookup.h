/* How the macros find the preloaded library: once, at their first use, with nothing to link.
 *
 * Not for direct use: profile.h and profile.hpp include it.  C11 and C++11, GCC and Clang.
 */
#ifndef INLINE_PROF_PROFILE_LOOKUP_H
#define INLINE_PROF_PROFILE_LOOKUP_H

#include <inline_prof/abi.h>

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
#define INLINE_PROF_INLINE inline
extern "C" {
#else
#define INLINE_PROF_INLINE static inline
#endif

/* The library's table; null: there is no library; its own address: nobody has asked yet.
 *
 * Weak, so that all translation units share it, C and C++ alike.  Visible, so that a shared library
 * built with -fvisibility=hidden shares it with the program that links it.  A library that was
 * opened with RTLD_LOCAL has a copy of its own, and asks once more. */
extern __attribute__((weak, visibility("default"))) const void* inline_prof_table_v1;
/* NOLINTNEXTLINE(misc-definitions-in-headers): weak, hence one object in the end */
const void* inline_prof_table_v1 = &inline_prof_table_v1;

/* Asks the dynamic linker, keeps the answer in inline_prof_table_v1 and returns it.
 *
 * Not a weak reference to the function: the linker binds that to 0 in programs that are not
 * position independent.  Threads that race here all get, and store, the same answer. */
__attribute__((cold)) INLINE_PROF_INLINE const void* inline_prof_find_table(void) {
  const int errno_before = errno;
  const struct inline_prof_abi* table = NULL;
  /* The null handle is RTLD_DEFAULT, a name that strict C11 does not see. */
  void* symbol = dlsym(NULL, INLINE_PROF_ABI_SYMBOL);
  if (symbol == NULL) {
    /* Python and others load libraries with RTLD_LOCAL, out of sight of RTLD_DEFAULT.  The handle
     * is kept: the table must stay where it is. */
    void* library = dlopen("libinline_prof.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) symbol = dlsym(library, INLINE_PROF_ABI_SYMBOL);
  }
  if (symbol == NULL) {
    /* Our miss is not the application's error.  glibc keeps the message per thread. */
    dlerror(); /* NOLINT(concurrency-mt-unsafe) */
  } else {
    inline_prof_abi_v1_function get = NULL;
    memcpy(&get, &symbol, sizeof get); /* ISO C has no cast from void* to a function pointer */
    table = get();
  }
  /* A shorter table than version 1 ever had cannot be used. */
  if (table != NULL && table->size < offsetof(struct inline_prof_abi, op) + sizeof table->op) {
    table = NULL;
  }
  __atomic_store_n(&inline_prof_table_v1, table, __ATOMIC_RELEASE);
  errno = errno_before;
  return table;
}

/* The library's table, or null where no library is loaded: then one load and a branch. */
INLINE_PROF_INLINE const struct inline_prof_abi* inline_prof_table(void) {
  const void* table = __atomic_load_n(&inline_prof_table_v1, __ATOMIC_ACQUIRE);
  if (table == NULL) return NULL;
  if (table == &inline_prof_table_v1) table = inline_prof_find_table();
#ifdef __cplusplus
  return static_cast<const struct inline_prof_abi*>(table);
#else
  return table;
#endif
}

/* 1 where the library has said that this call site may be skipped now. */
INLINE_PROF_INLINE int inline_prof_gate_is_closed(const struct inline_prof_site* site) {
  const uint32_t* gate = __atomic_load_n(&site->gate, __ATOMIC_ACQUIRE);
  return gate != NULL && __atomic_load_n(gate, __ATOMIC_RELAXED) == 0;
}

INLINE_PROF_INLINE void inline_prof_iteration(void) {
  const struct inline_prof_abi* table = inline_prof_table();
  if (table != NULL) table->iteration();
}

INLINE_PROF_INLINE void inline_prof_unit_test_stop(void) {
  const struct inline_prof_abi* table = inline_prof_table();
  if (table != NULL) table->unit_test_stop();
}

#ifdef __cplusplus
}
#endif

#endif
