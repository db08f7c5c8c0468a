// The macros of profile.h in C++, with profiling on.  Including profile.h is enough.
#pragma once

#ifndef ENABLE_PROFILING

#include <inline_prof/profile.h>

#else

#include <inline_prof/profile_lookup.h>

#include <cstdint>
#include <string>
#include <type_traits>

// Each PROFILE_ macro calls the function of inline_prof::macros that stands here, with the
// arguments of that function, except for the table.
#define INITIALIZE_PROFILER(...) INLINE_PROF_CALL(void, initialize, __VA_ARGS__)
#define PROFILE_ITERATION() ::inline_prof_iteration()
#define PROFILER_ITER_CHECK(...) ::inline_prof_iteration()
#define PROFILE_RECORD(...) INLINE_PROF_CALL_AT_SITE(record, __VA_ARGS__)
#define PROFILE_RECORD_DATA(...) INLINE_PROF_CALL(bool, record_data, __VA_ARGS__)
#define PROFILE_OP(...) INLINE_PROF_CALL_AT_SITE(op, __VA_ARGS__)
#define PROFILE_UNIT_TEST_START(...) INLINE_PROF_CALL(void, unit_test_start, __VA_ARGS__)
#define PROFILE_UNIT_TEST_STOP() ::inline_prof_unit_test_stop()
#define PROFILE_SCOPE(...)                                                              \
  const ::inline_prof::macros::Scope INLINE_PROF_JOIN(inline_prof_scope_, __COUNTER__)( \
      INLINE_PROF_CALL(::inline_prof::macros::TablePointer, enter_scope, __VA_ARGS__))

#define INLINE_PROF_JOIN(a, b) INLINE_PROF_JOIN_EXPANDED(a, b)
#define INLINE_PROF_JOIN_EXPANDED(a, b) a##b

// Returns the function's result; without a library, `result()`, and nothing is evaluated.
#define INLINE_PROF_CALL(result, function, ...)                                    \
  __extension__({                                                                  \
    const ::inline_prof_abi* const inline_prof_table_here = ::inline_prof_table(); \
    inline_prof_table_here != nullptr                                              \
        ? ::inline_prof::macros::function(*inline_prof_table_here, __VA_ARGS__)    \
        : result();                                                                \
  })

// Does the same for functions without a result that have a label: nothing is evaluated either if
// the library has closed this call site.
//
// The arguments are expanded on the way here, so `#label` starts with a quote if the label is
// spelled as a string literal, also through a macro of the application.
#define INLINE_PROF_CALL_AT_SITE(function, label, ...)                                          \
  __extension__({                                                                               \
    static ::inline_prof_site inline_prof_site_here;                                            \
    const ::inline_prof_abi* const inline_prof_table_here = ::inline_prof_table();              \
    if (inline_prof_table_here != nullptr &&                                                    \
        ::inline_prof_gate_is_closed(&inline_prof_site_here) == 0) {                            \
      ::inline_prof::macros::function(                                                          \
          *inline_prof_table_here,                                                              \
          ::inline_prof::macros::label_at(::std::integral_constant<bool, (#label)[0] == '"'>(), \
                                          &inline_prof_site_here, label),                       \
          __VA_ARGS__);                                                                         \
    }                                                                                           \
  })

namespace inline_prof {
namespace macros {

using TablePointer = const inline_prof_abi*;

// A C string or std::string, for the length of one call.
struct Text {
  Text(const char* text) : c_str(text) {}
  Text(const std::string& text) : c_str(text.c_str()) {}
  const char* c_str;
};

// A label and the memory of its call site; null where the label can change between calls.
struct Label {
  inline_prof_site* site;
  const char* text;
};

// Labels that are not spelled as a literal.  A char array is one of them: its content can change.
inline Label label_at(std::false_type, inline_prof_site*, Text label) {
  return {nullptr, label.c_str};
}
// An expression that starts with a literal need not be one: `"layer" + offset`, `"layer"s +
// suffix`.
template <typename Spelled>
Label label_at(std::true_type, inline_prof_site* site, const Spelled& label) {
  return {std::is_array<Spelled>::value ? site : nullptr, Text(label).c_str};
}

inline void initialize(const inline_prof_abi& table, bool use_cuda_graph, bool exit_when_finished) {
  table.initialize(use_cuda_graph ? 1 : 0, exit_when_finished ? 1 : 0);
}

inline void unit_test_start(const inline_prof_abi& table, Text test_name) {
  table.unit_test_start(test_name.c_str);
}

// `stream`: a cudaStream_t, a CUstream, or what converts to one; null is the legacy stream.
// `extra_info` may be null.
inline void record(const inline_prof_abi& table, Label label, void* stream,
                   bool could_be_in_cuda_graph = true, int device_id = INLINE_PROF_DEVICE_UNKNOWN,
                   Text extra_info = nullptr) {
  table.record(label.site, label.text, stream, device_id, could_be_in_cuda_graph ? 1 : 0,
               extra_info.c_str);
}
template <typename Integer>
typename std::enable_if<std::is_integral<Integer>::value &&
                        !std::is_same<Integer, bool>::value>::type
record(const inline_prof_abi& table, Label label, void* stream, Integer device_id) {
  record(table, label, stream, true, static_cast<int>(device_id));
}

// Returns true if data are wanted in this iteration.
inline bool record_data(const inline_prof_abi& table, Text label, void* stream, Text data = nullptr,
                        int device_id = INLINE_PROF_DEVICE_UNKNOWN) {
  return table.record_data(label.c_str, stream, data.c_str, device_id) != 0;
}

inline void set_value(inline_prof_attribute& attribute, Text text) {
  attribute.text = text.c_str;
}
template <typename Integer>
typename std::enable_if<std::is_integral<Integer>::value>::type set_value(
    inline_prof_attribute& attribute, Integer value) {
  attribute.value = static_cast<std::int64_t>(value);
}

inline void set_attributes(inline_prof_attribute*) {}
template <typename Value, typename... Rest>
void set_attributes(inline_prof_attribute* attribute, const char* name, const Value& value,
                    const Rest&... rest) {
  attribute->name = name;
  set_value(*attribute, value);
  set_attributes(attribute + 1, rest...);
}

// By value: an argument may be a static member that has no definition to refer to.
template <typename... NamesAndValues>
void op(const inline_prof_abi& table, Label label, const char* kind, NamesAndValues... rest) {
  static_assert(sizeof...(rest) % 2 == 0, "PROFILE_OP: after the kind, each name needs a value");
  inline_prof_attribute attributes[sizeof...(rest) / 2 + 1] = {};
  set_attributes(attributes, rest...);
  table.op(label.site, label.text, kind, attributes, static_cast<int>(sizeof...(rest) / 2));
}

inline TablePointer enter_scope(const inline_prof_abi& table, Text label, void* stream) {
  table.scope_push(label.c_str, stream);
  return &table;
}

// Leaves the scope that was entered through this table; null: none was.
class Scope {
 public:
  explicit Scope(TablePointer entered) : entered_(entered) {}
  ~Scope() {
    if (entered_ != nullptr) entered_->scope_pop();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  TablePointer entered_;
};

}  // namespace macros
}  // namespace inline_prof

#endif
