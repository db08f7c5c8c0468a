// The wrapper of one vendor function, which makes the real call once, unchanged.
#pragma once

#include "hook/guard.hpp"
#include "libraries/library_calls.hpp"
#include "libraries/op_frame.hpp"
#include "sys/lifecycle.hpp"

#include <cstddef>
#include <tuple>
#include <type_traits>

namespace inline_prof::libraries {

// Exceptions of the library, and the unwinding of a cancelled thread, pass through the wrapper's
// frame.  The compiler's own clean-up would call the unwinder that is linked statically into this
// library, while the application's is the one that runs.  So the real function is declared
// noexcept, and a personality routine of ours, which calls no unwinder, closes the frame
// (op_frame.cpp).
template <typename Function>
struct Quiet;
template <typename R, typename... A>
struct Quiet<R(A...)> {
  using Pointer = R (*)(A...) noexcept;
};

// Goes into the function whose frame holds the OpScope, which must not be inlined. 0x1b: the
// encoding of the address, relative and signed, in four bytes (DWARF, Linux Standard Base 5.0,
// 10.5.1).
#define INLINE_PROF_CLOSE_WHERE_UNWOUND() \
  __asm__ volatile(".cfi_personality 0x1b, inline_prof_close_unwound")

// Does what fenced() does, in a frame of its own, for the same reason.
template <typename Work>
[[gnu::noinline]] void fenced_apart(const char* where, const Work& work) noexcept {
  hook::fenced(where, work);
}

// The wrapper's entry points: one behind our export, one for each pointer that dlsym hands out.
// `Body` has
//   static constexpr R kNotThere;  // the result where the library is not loaded
//   static constexpr bool kOpensFrame;
//   static R call(LibraryCall&, R (*real)(A...) noexcept, A...);  // unless profiling is off
template <std::size_t kCall, typename Body, typename Signature>
struct CallEntryPoints;

template <std::size_t kCall, typename Body, typename R, typename... A>
struct CallEntryPoints<kCall, Body, R(A...)> {
  [[gnu::noinline]] static R called(A... arguments) {
    if constexpr (Body::kOpensFrame) INLINE_PROF_CLOSE_WHERE_UNWOUND();
    return forward(original_call(library_calls[kCall], __builtin_return_address(0)), arguments...);
  }

  template <std::size_t kWhich>
  [[gnu::noinline]] static R looked_up(A... arguments) {
    if constexpr (Body::kOpensFrame) INLINE_PROF_CLOSE_WHERE_UNWOUND();
    return forward(library_calls[kCall].looked_up[kWhich].load(std::memory_order_relaxed),
                   arguments...);
  }

  static void* address(std::size_t which) noexcept {
    static_assert(kCallLookups == 2);
    return which == 0 ? reinterpret_cast<void*>(&looked_up<0>)
                      : reinterpret_cast<void*>(&looked_up<1>);
  }

 private:
  [[gnu::always_inline]] static R forward(void* real, A... arguments) {
    const auto function = reinterpret_cast<typename Quiet<R(A...)>::Pointer>(real);
    if (function == nullptr) return static_cast<R>(Body::kNotThere);
    if (sys::lifecycle.load(std::memory_order_relaxed) == sys::Lifecycle::kOff)
      return function(arguments...);
    return Body::call(library_calls[kCall], function, arguments...);
  }
};

// Opens a frame around the call; `Says` describes the launches inside:
//   static constexpr const char* kEventName;
//   static constexpr R kNotThere;
//   static record::Op describe(const LibraryCall&, void* real, arguments...);
template <typename Says>
struct DescribedCall {
  static constexpr auto kNotThere = Says::kNotThere;
  static constexpr bool kOpensFrame = true;

  template <typename R, typename... A>
  [[gnu::always_inline]] static R call(LibraryCall& call, R (*real)(A...) noexcept,
                                       A... arguments) {
    const OpScope scope(Says::kEventName, describe<A...>,
                        Made<A...>{&call, reinterpret_cast<void*>(real), {arguments...}});
    return real(arguments...);
  }

 private:
  template <typename... A>
  struct Made {
    const LibraryCall* call;
    void* real;
    std::tuple<A...> arguments;
  };

  template <typename... A>
  static record::Op describe(const void* call, const void*) {
    const auto& made = *static_cast<const Made<A...>*>(call);
    return std::apply(
        [&](const A&... arguments) { return Says::describe(*made.call, made.real, arguments...); },
        made.arguments);
  }
};

// Defines what library_calls.cpp and call_exports.S refer to.  The signature is the vendor's, with
// plain types instead of handles and enumerations: the ABI passes both alike.
#define INLINE_PROF_DEFINE_CALL(name, Body, ...)                                \
  void* wrapper_of_##name(std::size_t which) noexcept;                          \
  void* wrapper_of_##name(std::size_t which) noexcept {                         \
    return CallEntryPoints<kPlaceOf_##name, Body, __VA_ARGS__>::address(which); \
  }                                                                             \
  extern std::add_pointer_t<__VA_ARGS__> const export_of_##name __asm__(        \
      "inline_prof_export_of_" #name) __attribute__((visibility("hidden")));    \
  constinit std::add_pointer_t<__VA_ARGS__> const export_of_##name =            \
      &CallEntryPoints<kPlaceOf_##name, Body, __VA_ARGS__>::called;

// Compares the calling conventions of two function types. The wrappers have plain types where the
// vendor has handles and enumerations; where a vendor's header is installed, it must agree.
enum class PassedAs { kInteger, kFloat, kPointer, kMemory };

template <typename T>
[[nodiscard]] constexpr PassedAs passed_as() {
  if (std::is_class_v<T>) return PassedAs::kMemory;
  if (std::is_floating_point_v<T>) return PassedAs::kFloat;
  return std::is_pointer_v<T> ? PassedAs::kPointer : PassedAs::kInteger;
}

template <typename A, typename B>
inline constexpr bool kPassedAlike = sizeof(A) == sizeof(B) && passed_as<A>() == passed_as<B>();

// Function types as `R(A...)`.
template <typename R, typename... A, typename S, typename... B>
constexpr bool are_called_alike(R (*)(A...), S (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B)) {
    return false;
  } else {
    return kPassedAlike<R, S> && (kPassedAlike<A, B> && ...);
  }
}

template <typename F, typename G>
inline constexpr bool kSameAbi = are_called_alike(static_cast<F*>(nullptr),
                                                  static_cast<G*>(nullptr));

}  // namespace inline_prof::libraries
