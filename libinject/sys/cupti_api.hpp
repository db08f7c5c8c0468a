// The functions of CUPTI that we call, found at run time: CUPTI is never linked.
#pragma once

#include <cupti.h>

#include <string>

namespace inline_prof::sys {

#define INLINE_PROF_CUPTI_FUNCTIONS(X) \
  X(cuptiSubscribe)                    \
  X(cuptiUnsubscribe)                  \
  X(cuptiEnableCallback)               \
  X(cuptiGetVersion)                   \
  X(cuptiGetResultString)              \
  X(cuptiActivityRegisterCallbacks)    \
  X(cuptiActivityEnable)               \
  X(cuptiActivityDisable)              \
  X(cuptiActivityFlushAll)             \
  X(cuptiActivityGetNextRecord)        \
  X(cuptiActivityGetNumDroppedRecords)

struct CuptiApi {
#define INLINE_PROF_MEMBER(function) \
  decltype(&::function) function = nullptr;  // NOLINT(bugprone-macro-parentheses): a name
  INLINE_PROF_CUPTI_FUNCTIONS(INLINE_PROF_MEMBER)
#undef INLINE_PROF_MEMBER
#if CUPTI_API_VERSION >= 130000
  decltype(&::cuptiSubscribe_v2) cuptiSubscribe_v2 = nullptr;  // may be absent
#endif
};

// Uses the CUPTI that the application has loaded, else loads one by its soname.  Returns an empty
// string, or the reason of failure.
[[nodiscard]] std::string load_cupti();

// Called after load_cupti() has returned an empty string.
[[nodiscard]] const CuptiApi& cupti() noexcept;

}  // namespace inline_prof::sys
