/* The macros of profile.h in C, with profiling on.  Include profile.h instead. */
#ifndef INLINE_PROF_PROFILE_C_H
#define INLINE_PROF_PROFILE_C_H

#include <inline_prof/profile_attributes_c.h>
#include <inline_prof/profile_lookup.h>

#define INITIALIZE_PROFILER(use_cuda_graph, exit_when_finished) \
  INLINE_PROF_CALL((void)0, initialize, (use_cuda_graph) != 0, (exit_when_finished) != 0)

#define PROFILE_ITERATION() inline_prof_iteration()
#define PROFILER_ITER_CHECK(...) inline_prof_iteration()

#define PROFILE_UNIT_TEST_START(test_name) INLINE_PROF_CALL((void)0, unit_test_start, test_name)
#define PROFILE_UNIT_TEST_STOP() inline_prof_unit_test_stop()

/* PROFILE_RECORD(label, stream) and PROFILE_RECORD(label, stream, device_id). */
#define PROFILE_RECORD(...)                                                                       \
  INLINE_PROF_FOURTH(__VA_ARGS__, INLINE_PROF_RECORD_ON, INLINE_PROF_RECORD, one_argument_is_few) \
  (__VA_ARGS__)
#define INLINE_PROF_FOURTH(a, b, c, d, ...) d
#define INLINE_PROF_RECORD(label, stream) \
  INLINE_PROF_RECORD_ON(label, stream, INLINE_PROF_DEVICE_UNKNOWN)
#define INLINE_PROF_RECORD_ON(label, stream, device_id)                                         \
  INLINE_PROF_AT_SITE(inline_prof_table_here->record(INLINE_PROF_SITE_OF(label), label, stream, \
                                                     device_id, 1, NULL))

/* PROFILE_RECORD_DATA(label, stream), (label, stream, data) and (label, stream, data, device_id).
 */
#define PROFILE_RECORD_DATA(...)                                                                 \
  INLINE_PROF_FIFTH(__VA_ARGS__, INLINE_PROF_DATA_ON, INLINE_PROF_DATA, INLINE_PROF_DATA_WANTED, \
                    one_argument_is_few)                                                         \
  (__VA_ARGS__)
#define INLINE_PROF_FIFTH(a, b, c, d, e, ...) e
#define INLINE_PROF_DATA_WANTED(label, stream) INLINE_PROF_DATA(label, stream, NULL)
#define INLINE_PROF_DATA(label, stream, data) \
  INLINE_PROF_DATA_ON(label, stream, data, INLINE_PROF_DEVICE_UNKNOWN)
#define INLINE_PROF_DATA_ON(label, stream, data, device_id) \
  INLINE_PROF_CALL(0, record_data, label, stream, data, device_id)

/* A variable whose clean-up leaves the scope. */
#define PROFILE_SCOPE(label, stream)                                                           \
  const struct inline_prof_abi* INLINE_PROF_JOIN(inline_prof_scope_, __COUNTER__)              \
      __attribute__((cleanup(inline_prof_leave_scope), unused)) = __extension__({              \
        const struct inline_prof_abi* const inline_prof_table_here = inline_prof_table();      \
        if (inline_prof_table_here != NULL) inline_prof_table_here->scope_push(label, stream); \
        inline_prof_table_here;                                                                \
      })
#define INLINE_PROF_JOIN(a, b) INLINE_PROF_JOIN_EXPANDED(a, b)
#define INLINE_PROF_JOIN_EXPANDED(a, b) a##b

/* PROFILE_OP(label, kind), then up to 24 pairs of name and value. */
#define PROFILE_OP(label, ...)                                                        \
  INLINE_PROF_AT_SITE(__extension__({                                                 \
    const struct inline_prof_attribute inline_prof_attributes[] = {                   \
        INLINE_PROF_ATTRIBUTES(__VA_ARGS__){NULL, NULL, 0}};                          \
    inline_prof_table_here->op(                                                       \
        INLINE_PROF_SITE_OF(label), label, INLINE_PROF_FIRST(__VA_ARGS__, unused),    \
        inline_prof_attributes,                                                       \
        (int)(sizeof inline_prof_attributes / sizeof inline_prof_attributes[0]) - 1); \
  }))
#define INLINE_PROF_FIRST(a, ...) a

/* A member of the table; where there is no library, `otherwise`, and nothing else is evaluated. */
#define INLINE_PROF_CALL(otherwise, member, ...)                                              \
  __extension__({                                                                             \
    const struct inline_prof_abi* const inline_prof_table_here = inline_prof_table();         \
    inline_prof_table_here != NULL ? inline_prof_table_here->member(__VA_ARGS__) : otherwise; \
  })

/* `call`, unless there is no library or the library has closed this call site. */
#define INLINE_PROF_AT_SITE(call)                                                              \
  __extension__({                                                                              \
    static struct inline_prof_site inline_prof_site_here;                                      \
    const struct inline_prof_abi* const inline_prof_table_here = inline_prof_table();          \
    if (inline_prof_table_here != NULL && !inline_prof_gate_is_closed(&inline_prof_site_here)) \
        call;                                                                                  \
  })

/* The site where `label` is a string literal, else null: other labels can change between calls.
 * __builtin_choose_expr needs the answer before any optimisation.  So a parameter is never taken
 * for the literal that it is in one inlined copy of its function, and is not in the next. */
#define INLINE_PROF_SITE_OF(label) \
  __builtin_choose_expr(__builtin_constant_p(label), &inline_prof_site_here, NULL)

static inline void inline_prof_leave_scope(const struct inline_prof_abi** table) {
  if (*table != NULL) (*table)->scope_pop();
}

#endif
