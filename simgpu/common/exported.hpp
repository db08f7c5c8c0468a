// Exported functions that are made from a body which is written once.
//
// The exported function has the body's parameters under names of its own: a macro that defines it
// passes SIMGPU_ARGUMENTS on, whatever their names are where the body stands.
#pragma once

#include <cstddef>
#include <tuple>

namespace simgpu {

// Without the first one where that is a reference, which no vendor's function has: it is what the
// macro gives the body besides.
template <typename Signature>
struct ParametersOf;
template <typename Result, typename... Own>
struct ParametersOf<Result(Own...)> {
  using Types = std::tuple<Own...>;
};
template <typename Result, typename Given, typename... Own>
struct ParametersOf<Result(Given&, Own...)> {
  using Types = std::tuple<Own...>;
};
template <typename Body, std::size_t kIndex>
using Parameter = std::tuple_element_t<kIndex, typename ParametersOf<Body>::Types>;

}  // namespace simgpu

#define SIMGPU_PARAMETER(body, index) simgpu::Parameter<decltype(body), index>
// clang-format off
#define SIMGPU_PARAMETERS_0(body)
#define SIMGPU_PARAMETERS_1(body) SIMGPU_PARAMETER(body, 0) p0
#define SIMGPU_PARAMETERS_2(body) SIMGPU_PARAMETERS_1(body), SIMGPU_PARAMETER(body, 1) p1
#define SIMGPU_PARAMETERS_3(body) SIMGPU_PARAMETERS_2(body), SIMGPU_PARAMETER(body, 2) p2
#define SIMGPU_PARAMETERS_4(body) SIMGPU_PARAMETERS_3(body), SIMGPU_PARAMETER(body, 3) p3
#define SIMGPU_PARAMETERS_5(body) SIMGPU_PARAMETERS_4(body), SIMGPU_PARAMETER(body, 4) p4
#define SIMGPU_PARAMETERS_6(body) SIMGPU_PARAMETERS_5(body), SIMGPU_PARAMETER(body, 5) p5
#define SIMGPU_PARAMETERS_7(body) SIMGPU_PARAMETERS_6(body), SIMGPU_PARAMETER(body, 6) p6
#define SIMGPU_PARAMETERS_8(body) SIMGPU_PARAMETERS_7(body), SIMGPU_PARAMETER(body, 7) p7
#define SIMGPU_PARAMETERS_9(body) SIMGPU_PARAMETERS_8(body), SIMGPU_PARAMETER(body, 8) p8
#define SIMGPU_PARAMETERS_10(body) SIMGPU_PARAMETERS_9(body), SIMGPU_PARAMETER(body, 9) p9
#define SIMGPU_PARAMETERS_11(body) SIMGPU_PARAMETERS_10(body), SIMGPU_PARAMETER(body, 10) p10
#define SIMGPU_PARAMETERS_12(body) SIMGPU_PARAMETERS_11(body), SIMGPU_PARAMETER(body, 11) p11
#define SIMGPU_PARAMETERS_13(body) SIMGPU_PARAMETERS_12(body), SIMGPU_PARAMETER(body, 12) p12
#define SIMGPU_PARAMETERS_14(body) SIMGPU_PARAMETERS_13(body), SIMGPU_PARAMETER(body, 13) p13
#define SIMGPU_PARAMETERS_15(body) SIMGPU_PARAMETERS_14(body), SIMGPU_PARAMETER(body, 14) p14
#define SIMGPU_PARAMETERS_16(body) SIMGPU_PARAMETERS_15(body), SIMGPU_PARAMETER(body, 15) p15
#define SIMGPU_PARAMETERS_17(body) SIMGPU_PARAMETERS_16(body), SIMGPU_PARAMETER(body, 16) p16
#define SIMGPU_PARAMETERS_18(body) SIMGPU_PARAMETERS_17(body), SIMGPU_PARAMETER(body, 17) p17
#define SIMGPU_PARAMETERS_19(body) SIMGPU_PARAMETERS_18(body), SIMGPU_PARAMETER(body, 18) p18
#define SIMGPU_PARAMETERS_20(body) SIMGPU_PARAMETERS_19(body), SIMGPU_PARAMETER(body, 19) p19
#define SIMGPU_PARAMETERS_21(body) SIMGPU_PARAMETERS_20(body), SIMGPU_PARAMETER(body, 20) p20
#define SIMGPU_PARAMETERS_22(body) SIMGPU_PARAMETERS_21(body), SIMGPU_PARAMETER(body, 21) p21
#define SIMGPU_PARAMETERS_23(body) SIMGPU_PARAMETERS_22(body), SIMGPU_PARAMETER(body, 22) p22
#define SIMGPU_PARAMETERS_24(body) SIMGPU_PARAMETERS_23(body), SIMGPU_PARAMETER(body, 23) p23
#define SIMGPU_PARAMETERS_25(body) SIMGPU_PARAMETERS_24(body), SIMGPU_PARAMETER(body, 24) p24
#define SIMGPU_PARAMETERS_26(body) SIMGPU_PARAMETERS_25(body), SIMGPU_PARAMETER(body, 25) p25
#define SIMGPU_PARAMETERS_27(body) SIMGPU_PARAMETERS_26(body), SIMGPU_PARAMETER(body, 26) p26
#define SIMGPU_PARAMETERS_28(body) SIMGPU_PARAMETERS_27(body), SIMGPU_PARAMETER(body, 27) p27
#define SIMGPU_PARAMETERS_29(body) SIMGPU_PARAMETERS_28(body), SIMGPU_PARAMETER(body, 28) p28
#define SIMGPU_PARAMETERS_30(body) SIMGPU_PARAMETERS_29(body), SIMGPU_PARAMETER(body, 29) p29
#define SIMGPU_ARGUMENTS_0
#define SIMGPU_ARGUMENTS_1 p0
#define SIMGPU_ARGUMENTS_2 SIMGPU_ARGUMENTS_1, p1
#define SIMGPU_ARGUMENTS_3 SIMGPU_ARGUMENTS_2, p2
#define SIMGPU_ARGUMENTS_4 SIMGPU_ARGUMENTS_3, p3
#define SIMGPU_ARGUMENTS_5 SIMGPU_ARGUMENTS_4, p4
#define SIMGPU_ARGUMENTS_6 SIMGPU_ARGUMENTS_5, p5
#define SIMGPU_ARGUMENTS_7 SIMGPU_ARGUMENTS_6, p6
#define SIMGPU_ARGUMENTS_8 SIMGPU_ARGUMENTS_7, p7
#define SIMGPU_ARGUMENTS_9 SIMGPU_ARGUMENTS_8, p8
#define SIMGPU_ARGUMENTS_10 SIMGPU_ARGUMENTS_9, p9
#define SIMGPU_ARGUMENTS_11 SIMGPU_ARGUMENTS_10, p10
#define SIMGPU_ARGUMENTS_12 SIMGPU_ARGUMENTS_11, p11
#define SIMGPU_ARGUMENTS_13 SIMGPU_ARGUMENTS_12, p12
#define SIMGPU_ARGUMENTS_14 SIMGPU_ARGUMENTS_13, p13
#define SIMGPU_ARGUMENTS_15 SIMGPU_ARGUMENTS_14, p14
#define SIMGPU_ARGUMENTS_16 SIMGPU_ARGUMENTS_15, p15
#define SIMGPU_ARGUMENTS_17 SIMGPU_ARGUMENTS_16, p16
#define SIMGPU_ARGUMENTS_18 SIMGPU_ARGUMENTS_17, p17
#define SIMGPU_ARGUMENTS_19 SIMGPU_ARGUMENTS_18, p18
#define SIMGPU_ARGUMENTS_20 SIMGPU_ARGUMENTS_19, p19
#define SIMGPU_ARGUMENTS_21 SIMGPU_ARGUMENTS_20, p20
#define SIMGPU_ARGUMENTS_22 SIMGPU_ARGUMENTS_21, p21
#define SIMGPU_ARGUMENTS_23 SIMGPU_ARGUMENTS_22, p22
#define SIMGPU_ARGUMENTS_24 SIMGPU_ARGUMENTS_23, p23
#define SIMGPU_ARGUMENTS_25 SIMGPU_ARGUMENTS_24, p24
#define SIMGPU_ARGUMENTS_26 SIMGPU_ARGUMENTS_25, p25
#define SIMGPU_ARGUMENTS_27 SIMGPU_ARGUMENTS_26, p26
#define SIMGPU_ARGUMENTS_28 SIMGPU_ARGUMENTS_27, p27
#define SIMGPU_ARGUMENTS_29 SIMGPU_ARGUMENTS_28, p28
#define SIMGPU_ARGUMENTS_30 SIMGPU_ARGUMENTS_29, p29

// How many parameters there are, 0 to 30.
#define SIMGPU_NUMBER(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16,  \
                      p17, p18, p19, p20, p21, p22, p23, p24, p25, p26, p27, p28, p29, number, ...) \
  number
#define SIMGPU_COUNT(...)                                                                         \
  SIMGPU_NUMBER(__VA_ARGS__ __VA_OPT__(, ) 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18,    \
                17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
// clang-format on

#define SIMGPU_PASTE_EXPANDED(a, b) a##b
#define SIMGPU_PASTE(a, b) SIMGPU_PASTE_EXPANDED(a, b)

// The parameters of the function exported for `body`, and the arguments that pass them on.
#define SIMGPU_PARAMETERS(body, ...) \
  SIMGPU_PASTE(SIMGPU_PARAMETERS_, SIMGPU_COUNT(__VA_ARGS__))(body)
#define SIMGPU_ARGUMENTS(...) SIMGPU_PASTE(SIMGPU_ARGUMENTS_, SIMGPU_COUNT(__VA_ARGS__))

// Defines `symbol`: `door` logs the call and lets it fail if SIMGPU_FAIL says so, else calls the
// body that follows.
#define SIMGPU_EXPORTED(Status, OwnEntry, door, symbol, ...)                          \
  static Status body_##symbol(__VA_ARGS__);                                           \
  Status symbol(SIMGPU_PARAMETERS(body_##symbol, __VA_ARGS__)) {                      \
    static const OwnEntry entry{__func__};                                            \
    return door(entry, [&] { return body_##symbol(SIMGPU_ARGUMENTS(__VA_ARGS__)); }); \
  }                                                                                   \
  static Status body_##symbol(__VA_ARGS__)

// The same with what the door gives the body: `Given& given`, found by the first parameter.
#define SIMGPU_EXPORTED_WITH(Given, given, Handle, Status, OwnEntry, door, symbol, ...)       \
  static Status body_##symbol(Given& given __VA_OPT__(, ) __VA_ARGS__);                       \
  Status symbol(Handle handle __VA_OPT__(, ) SIMGPU_PARAMETERS(body_##symbol, __VA_ARGS__)) { \
    static const OwnEntry entry{__func__};                                                    \
    return door(entry, handle, [&](Given& given) {                                            \
      return body_##symbol(given __VA_OPT__(, ) SIMGPU_ARGUMENTS(__VA_ARGS__));               \
    });                                                                                       \
  }                                                                                           \
  static Status body_##symbol([[maybe_unused]] Given& given __VA_OPT__(, ) __VA_ARGS__)
