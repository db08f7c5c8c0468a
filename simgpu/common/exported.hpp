// Exported functions are written once, with the names of their parameters.  The types are those of
// the vendor's declaration.
#pragma once

#include <cstddef>
#include <tuple>

namespace simgpu {

template <typename Function>
struct ParametersOf;
template <typename Result, typename... Types>
struct ParametersOf<Result(Types...)> {
  // The one behind which `kOthers` others follow.
  template <std::size_t kOthers>
  using Type = std::tuple_element_t<sizeof...(Types) - 1 - kOthers, std::tuple<Types...>>;
};

}  // namespace simgpu

// clang-format off
// How many names there are, 0 to 30.
#define SIMGPU_COUNT(...)                                                                         \
  SIMGPU_LAST(__VA_ARGS__ __VA_OPT__(, ) 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17,  \
              16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define SIMGPU_LAST(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16,    \
                    p17, p18, p19, p20, p21, p22, p23, p24, p25, p26, p27, p28, p29, number, ...) \
  number
// clang-format on

// The parameters of a function of the vendor's, or its last ones, with these names.  The
// preprocessor does not expand a macro inside itself, but on each further pass once more:
// SIMGPU_EXPAND makes 32.
#define SIMGPU_PARAMETERS(function, ...) \
  __VA_OPT__(SIMGPU_EXPAND(SIMGPU_PARAMETER(function, __VA_ARGS__)))
#define SIMGPU_PARAMETER(function, name, ...)                                                     \
  [[maybe_unused]] simgpu::ParametersOf<decltype(function)>::Type<SIMGPU_COUNT(__VA_ARGS__)> name \
  __VA_OPT__(, SIMGPU_NEXT_PARAMETER SIMGPU_EMPTY()()(function, __VA_ARGS__))
#define SIMGPU_NEXT_PARAMETER() SIMGPU_PARAMETER
#define SIMGPU_EMPTY()
#define SIMGPU_EXPAND(...) SIMGPU_EXPAND_16(SIMGPU_EXPAND_16(__VA_ARGS__))
#define SIMGPU_EXPAND_16(...) \
  SIMGPU_EXPAND_4(SIMGPU_EXPAND_4(SIMGPU_EXPAND_4(SIMGPU_EXPAND_4(__VA_ARGS__))))
#define SIMGPU_EXPAND_4(...) \
  SIMGPU_EXPAND_1(SIMGPU_EXPAND_1(SIMGPU_EXPAND_1(SIMGPU_EXPAND_1(__VA_ARGS__))))
#define SIMGPU_EXPAND_1(...) __VA_ARGS__

// Defines `symbol`: `door` logs the call and lets it fail if SIMGPU_FAIL says so, else calls the
// body that follows, which returns a `Result`.
#define SIMGPU_EXPORTED(Status, Result, OwnEntry, door, symbol, ...)   \
  static Result body_##symbol(SIMGPU_PARAMETERS(symbol, __VA_ARGS__)); \
  Status symbol(SIMGPU_PARAMETERS(symbol, __VA_ARGS__)) {              \
    static const OwnEntry entry{__func__};                             \
    return door(entry, [&] { return body_##symbol(__VA_ARGS__); });    \
  }                                                                    \
  static Result body_##symbol(SIMGPU_PARAMETERS(symbol, __VA_ARGS__))

// The same with what the door gives the body: `Given& given`, found by the first parameter.
#define SIMGPU_EXPORTED_WITH(Given, given, Status, OwnEntry, door, symbol, ...)                 \
  static Status body_##symbol([[maybe_unused]] Given& given __VA_OPT__(, )                      \
                                  SIMGPU_PARAMETERS(symbol, __VA_ARGS__));                      \
  Status symbol(SIMGPU_PARAMETERS(symbol, owner __VA_OPT__(, ) __VA_ARGS__)) {                  \
    static const OwnEntry entry{__func__};                                                      \
    return door(entry, owner,                                                                   \
                [&](Given& given) { return body_##symbol(given __VA_OPT__(, ) __VA_ARGS__); }); \
  }                                                                                             \
  static Status body_##symbol([[maybe_unused]] Given& given __VA_OPT__(, )                      \
                                  SIMGPU_PARAMETERS(symbol, __VA_ARGS__))
