#include "libraries/library_calls.hpp"

#include <algorithm>
#include <cstring>

namespace inline_prof::libraries {

// Defined by INLINE_PROF_DEFINE_CALL, in the file of each library.
#define INLINE_PROF_DECLARE(name, ...) void* wrapper_of_##name(std::size_t which) noexcept;
INLINE_PROF_CALLS(INLINE_PROF_DECLARE)
#undef INLINE_PROF_DECLARE

// In the order of call_names.hpp, which uses the same lists.
constinit std::array<LibraryCall, kCallNames.size()> library_calls{{
#define INLINE_PROF_LIBRARY_CALL(name, ...) \
  {.symbol = #name, .library = kCallNames[kPlaceOf_##name].library, .wrapper = wrapper_of_##name},
    INLINE_PROF_CALLS(INLINE_PROF_LIBRARY_CALL)
#undef INLINE_PROF_LIBRARY_CALL
}};

namespace {

constexpr auto kBySymbol = [](std::size_t a, std::size_t b) {
  return std::string_view(kCallNames[a].symbol) < kCallNames[b].symbol;
};

// Indices into `library_calls`, sorted by name.
constexpr auto kSorted = [] {
  std::array<std::size_t, kCallNames.size()> places{};
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] = i;
  std::sort(places.begin(), places.end(), kBySymbol);
  return places;
}();

// A quick check, since most look-ups are for other functions.
bool may_be_library_call(const char* symbol) noexcept {
  if (symbol[0] == 'c' && symbol[1] == 'u') return symbol[2] == 'b' || symbol[2] == 'd';
  return symbol[0] == 'n' && symbol[1] == 'c' && symbol[2] == 'c' && symbol[3] == 'l';
}

}  // namespace

LibraryCall* call_by_symbol(const char* symbol) noexcept {
  if (symbol == nullptr || !may_be_library_call(symbol)) return nullptr;
  std::size_t begin = 0;
  std::size_t end = kSorted.size();
  while (begin < end) {
    const std::size_t middle = (begin + end) / 2;
    LibraryCall& call = library_calls[kSorted[middle]];
    const int order = std::strcmp(symbol, call.symbol);
    if (order == 0) return &call;
    if (order < 0) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return nullptr;
}

void* wrap_call(LibraryCall& call, void* real) noexcept {
  if (real == nullptr) return nullptr;
  for (std::size_t i = 0; i < kCallLookups; ++i) {
    if (real == call.wrapper(i)) return real;
  }
  for (std::size_t i = 0; i < kCallLookups; ++i) {
    void* known = nullptr;
    if (call.looked_up[i].compare_exchange_strong(known, real) || known == real)
      return call.wrapper(i);
  }
  return real;
}

}  // namespace inline_prof::libraries
