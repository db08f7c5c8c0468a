// Compares the calling conventions of two function types. The wrappers have plain types where the
// vendor has handles and enumerations; where a vendor's header is installed, it must agree.
#pragma once

#include <type_traits>

namespace inline_prof::libraries {

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
