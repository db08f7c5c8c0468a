#include "host_calls.h"

#include <inline_prof/profile.h>

#include <stdbool.h>
#include <stddef.h>

void c_record(void* stream) {
  PROFILE_RECORD("c.start", stream);
}

/* Inlined twice; in each copy the compiler knows the label. */
static inline __attribute__((always_inline)) void record_name(const char* name, void* stream) {
  PROFILE_RECORD(name, stream);
}

void c_record_names_in_turn(void* stream) {
  record_name("one.start", stream);
  record_name("two.start", stream);
}

void c_record_label(const char* label, void* stream) {
  PROFILE_RECORD(label, stream);
}

void c_every_macro(void* stream) {
  INITIALIZE_PROFILER(true, 0);
  PROFILE_ITERATION();
  PROFILER_ITER_CHECK();
  PROFILER_ITER_CHECK(true);
  if (stream != NULL)
    PROFILE_RECORD("a.start", stream);
  else
    PROFILE_RECORD("b.start", stream);
  PROFILE_RECORD("a.stop", stream, 3);
  PROFILE_RECORD("null.start", NULL);
  {
    PROFILE_SCOPE("outer", stream);
    PROFILE_SCOPE("inner", NULL);
    PROFILE_ITERATION();
  }
  PROFILE_UNIT_TEST_START("a test");
  PROFILE_UNIT_TEST_STOP();
  if (PROFILE_RECORD_DATA("batch", stream)) {
    PROFILE_RECORD_DATA("batch", stream, "7");
    PROFILE_RECORD_DATA("batch", stream, "8", 2);
  }
}

void c_op(void* stream) {
  const char* const type = "f16";
  char variable_type[] = "bf16";
  const size_t bytes = (size_t)1 << 40;
  (void)stream;
  PROFILE_OP("gemm", "gemm", "m", 1, "n", -2L, "k", bytes, "flag", (_Bool)1, "letter", (char)65,
             "short", (unsigned short)7, "a_type", "f32", "b_type", type, "c_type", variable_type);
  PROFILE_OP("all", "region");
  PROFILE_OP("long", "conv", "a", 1, "b", 2, "c", 3, "d", 4, "e", 5, "f", 6, "g", 7, "h", 8, "i", 9,
             "j", 10, "k", 11, "l", 12, "m", 13, "n", 14, "o", 15, "p", 16, "q", 17, "r", 18, "s",
             19, "t", 20, "u", 21, "v", 22, "w", 23, "x", 24);
}

static int evaluations;

static void* counted(void* value) {
  ++evaluations;
  return value;
}

static const char* counted_label(const char* value) {
  ++evaluations;
  return value;
}

int c_count_evaluations(void* stream) {
  evaluations = 0;
  PROFILE_RECORD("a.start", counted(stream));
  PROFILE_RECORD(counted_label("a.start"), counted(stream));
  PROFILE_OP("a", counted_label("gemm"), counted_label("m"), counted_label("1"));
  if (PROFILE_RECORD_DATA(counted_label("batch"), counted(stream))) evaluations += 100;
  { PROFILE_SCOPE(counted_label("outer"), counted(stream)); }
  PROFILE_UNIT_TEST_START(counted_label("a test"));
  INITIALIZE_PROFILER(counted(stream) != NULL, counted(stream) != NULL);
  return evaluations;
}

int c_data_are_wanted(void* stream) {
  return PROFILE_RECORD_DATA("batch", stream);
}
