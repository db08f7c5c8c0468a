/* INLINE_PROF_ATTRIBUTES(kind, name, value, name, value ...): the initialisers of a list of struct
 * inline_prof_attribute, each followed by a comma.  C has no other way to go through the arguments
 * of a macro than one macro per count.  Part of profile_c.h.
 */
#ifndef INLINE_PROF_PROFILE_ATTRIBUTES_C_H
#define INLINE_PROF_PROFILE_ATTRIBUTES_C_H

#include <inline_prof/abi.h>

#include <stddef.h>

static inline struct inline_prof_attribute inline_prof_text_attribute(const char* name,
                                                                      const char* text) {
  return (struct inline_prof_attribute){name, text, 0};
}
static inline struct inline_prof_attribute inline_prof_signed_attribute(const char* name,
                                                                        int64_t value) {
  return (struct inline_prof_attribute){name, NULL, value};
}
static inline struct inline_prof_attribute inline_prof_unsigned_attribute(const char* name,
                                                                          uint64_t value) {
  return (struct inline_prof_attribute){name, NULL, (int64_t)value};
}

/* Every integer type by name, so that a floating-point value does not compile. */
#define INLINE_PROF_ATTRIBUTE(name, value) \
  _Generic((value),                                         \
           char*: inline_prof_text_attribute,               \
           const char*: inline_prof_text_attribute,         \
           _Bool: inline_prof_unsigned_attribute,           \
           char: inline_prof_signed_attribute,              \
           signed char: inline_prof_signed_attribute,       \
           short: inline_prof_signed_attribute,             \
           int: inline_prof_signed_attribute,               \
           long: inline_prof_signed_attribute,              \
           long long: inline_prof_signed_attribute,         \
           unsigned char: inline_prof_unsigned_attribute,   \
           unsigned short: inline_prof_unsigned_attribute,  \
           unsigned: inline_prof_unsigned_attribute,        \
           unsigned long: inline_prof_unsigned_attribute,   \
           unsigned long long: inline_prof_unsigned_attribute)(name, value)

/* clang-format off */
#define INLINE_PROF_ATTRIBUTES(...) \
  INLINE_PROF_ATTRIBUTES_N(__VA_ARGS__, \
    24, ODD, 23, ODD, 22, ODD, 21, ODD, 20, ODD, 19, ODD, 18, ODD, 17, ODD, 16, ODD, 15, \
    ODD, 14, ODD, 13, ODD, 12, ODD, 11, ODD, 10, ODD, 9, ODD, 8, ODD, 7, ODD, 6, ODD, 5, \
    ODD, 4, ODD, 3, ODD, 2, ODD, 1, ODD, 0, 0) \
  (__VA_ARGS__, unused)
#define INLINE_PROF_ATTRIBUTES_N( \
    a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, \
    a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, \
    a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, pairs, ...) \
  INLINE_PROF_ATTRIBUTES_##pairs
#define INLINE_PROF_ATTRIBUTES_ODD(...) PROFILE_OP_each_name_needs_a_value,
#define INLINE_PROF_ATTRIBUTES_0(kind, ...)
#define INLINE_PROF_ATTRIBUTES_1(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_0(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_2(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_1(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_3(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_2(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_4(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_3(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_5(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_4(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_6(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_5(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_7(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_6(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_8(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_7(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_9(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_8(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_10(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_9(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_11(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_10(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_12(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_11(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_13(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_12(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_14(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_13(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_15(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_14(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_16(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_15(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_17(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_16(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_18(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_17(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_19(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_18(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_20(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_19(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_21(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_20(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_22(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_21(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_23(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_22(kind, __VA_ARGS__)
#define INLINE_PROF_ATTRIBUTES_24(kind, name, value, ...) \
  INLINE_PROF_ATTRIBUTE(name, value), INLINE_PROF_ATTRIBUTES_23(kind, __VA_ARGS__)
/* clang-format on */

#endif
