/* A stand-in for the preloaded library: it has the table of abi.h and writes down every call.
 *
 * A call becomes a line of text, for example
 *
 *     record x.start site 1 stream 0x10 device -1 graph 1 extra -
 *
 * Sites are numbered in the order in which they first appear, 0 is the null site; a null string is
 * "-".
 */
#pragma once

#include <inline_prof/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

struct inline_prof_fake {
  int (*call_count)(void);
  /* Valid until clear(). */
  const char* (*call)(int index);
  /* Forgets the calls and the numbers of the sites, opens all gates, takes back set_size(). */
  void (*clear)(void);
  /* 0 closes every site that was seen since the last clear(), 1 opens it. */
  void (*set_gate)(uint32_t open);
  /* Sets the member `size` that the next reader of the table finds. */
  void (*set_size)(uint64_t size);
  /* How often inline_prof_abi_v1() was called since the process started. */
  int (*lookup_count)(void);
};

const struct inline_prof_fake* fake_library_control(void);

#ifdef __cplusplus
}
#endif
