#include "entry/hooked_functions.hpp"

#include "hook/driver_functions.hpp"
#include "sys/cuda_api.hpp"
#include "sys/hot_line.hpp"
#include "sys/large_stack.hpp"
#include "sys/original_dlsym.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <new>
#include <sched.h>

namespace inline_prof::entry {
namespace {

template <typename Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

// Built at first use without a guard: the pieces are link-time addresses, but a reinterpret_cast is
// no constant expression.  Two threads that race write the same values.
using namespace hook;    // of the list
using namespace launch;  // of the wrappers
using namespace graphs;

// clang-format takes the lists for one expression.
// clang-format off
// NOLINTBEGIN(bugprone-macro-parentheses): members of a list
#define INLINE_PROF_COUNT(...) +1
constexpr std::size_t kHookedFunctions =
    0 INLINE_PROF_HOOKED_LAUNCHES(INLINE_PROF_COUNT) INLINE_PROF_HOOKED_CALLS(INLINE_PROF_COUNT);
#undef INLINE_PROF_COUNT
struct Table {
  std::array<HookedFunction, kHookedFunctions> functions{{
#define INLINE_PROF_LAUNCH(symbol, name, version, slot, signature, originals, spare)        \
  {#symbol, name, version, (slot) == kPerThread, address(hooked_##symbol), &originals[slot], \
   (slot) == kPerThread ? nullptr : address(spare),                                          \
   (slot) == kPerThread ? nullptr : &originals[kSpare]},
#define INLINE_PROF_CALL(symbol, name, version, slot, ...)            \
  {#symbol, name, version, (slot) == kPerThread, address(hooked_##symbol), \
   &hook::call_originals[kIndexOf_##symbol], nullptr, nullptr},
      INLINE_PROF_HOOKED_LAUNCHES(INLINE_PROF_LAUNCH)
      INLINE_PROF_HOOKED_CALLS(INLINE_PROF_CALL)
#undef INLINE_PROF_LAUNCH
#undef INLINE_PROF_CALL
  }};
};
// NOLINTEND(bugprone-macro-parentheses)
// clang-format on

// How often a thread yields to the one that builds the table: more than that ever takes.
constexpr int kPatience = 10'000;

const Table& table() noexcept {
  // A function-local static would bring a guard, and a constructor call a load-time one.
  static constinit std::atomic<bool> built{false};
  static constinit std::atomic_flag building = ATOMIC_FLAG_INIT;
  alignas(Table) static constinit std::array<std::byte, sizeof(Table)> storage{};
  if (!built.load(std::memory_order_acquire)) {
    // One thread builds it, the others wait.  In a child forked meanwhile that thread is missing,
    // so the wait is bounded; building it twice writes the same values.
    if (building.test_and_set(std::memory_order_acquire)) {
      for (int i = 0; i < kPatience && !built.load(std::memory_order_acquire); ++i)
        sched_yield();
    }
    if (!built.load(std::memory_order_acquire)) {
      new (storage.data()) Table;  // in its place: it would take 3 KiB of stack
      built.store(true, std::memory_order_release);
    }
  }
  return *reinterpret_cast<const Table*>(storage.data());
}

struct DriverRange {
  const void* address;
  bool inside;
};

int look_for_driver(dl_phdr_info* library, std::size_t, void* data) {
  const char* path = library->dlpi_name;
  const char* name = path == nullptr ? nullptr : std::strrchr(path, '/');
  name = name == nullptr ? path : name + 1;
  if (name == nullptr || std::strncmp(name, "libcuda.so", 10) != 0) return 0;
  auto& range = *static_cast<DriverRange*>(data);
  const auto address = reinterpret_cast<std::uintptr_t>(range.address);
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& segment = library->dlpi_phdr[i];
    const std::uintptr_t begin = library->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= begin && address < begin + segment.p_memsz) {
      range.inside = true;
      return 1;
    }
  }
  return 0;
}

// True if the driver exports `real` as a numbered form of `name`.
bool is_unknown_form(const char* name, const void* real) noexcept {
  constexpr std::array streams{"", "_ptsz", "_ptds"};
  constexpr int most_forms = 9;  // cuCtxCreate has 4
  for (int form = 2; form <= most_forms; ++form) {
    for (const char* const stream : streams) {
      std::array<char, 96> symbol{};
      std::snprintf(symbol.data(), symbol.size(), "%s_v%d%s", name, form, stream);
      if (sys::find_loaded(sys::kDriverSoname, symbol.data()) == real) return true;
    }
  }
  return false;
}

// Never closes the driver: our wrappers, and events that are still to be read, may outlive the
// application's own handle, and a driver that is loaded again may be elsewhere.
void keep_driver_loaded() noexcept {
  static constinit std::atomic_flag is_kept = ATOMIC_FLAG_INIT;
  if (is_kept.test_and_set(std::memory_order_relaxed)) return;
  sys::on_large_stack([] {
    if (dlopen(sys::kDriverSoname, RTLD_LAZY | RTLD_NOLOAD) == nullptr)
      dlerror();  // NOLINT(concurrency-mt-unsafe): the application must not find our miss
  });
}

}  // namespace

const HookedFunction* hooked_by_symbol(const char* symbol) noexcept {
  if (symbol == nullptr || symbol[0] != 'c' || symbol[1] != 'u') return nullptr;
  for (const HookedFunction& hooked : table().functions) {
    if (std::strcmp(symbol, hooked.symbol) == 0) return &hooked;
  }
  return nullptr;
}

const HookedFunction* hooked_by_address(const HookedFunction& likely, const void* real) noexcept {
  const auto of_driver = [](const char* symbol) {
    return sys::find_loaded(sys::kDriverSoname, symbol);
  };
  if (of_driver(likely.symbol) == real) return &likely;
  const std::size_t length = std::strlen(likely.name);
  for (const HookedFunction& hooked : table().functions) {
    if (std::strncmp(hooked.symbol, likely.name, length) == 0 && of_driver(hooked.symbol) == real)
      return &hooked;
  }
  return is_unknown_form(likely.name, real) ? nullptr : &likely;
}

const HookedFunction* hooked_by_request(const char* name, int version,
                                        std::uint64_t flags) noexcept {
  if (name == nullptr || name[0] != 'c' || name[1] != 'u') return nullptr;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const HookedFunction* best = nullptr;
  bool best_fits = false;
  for (const HookedFunction& hooked : table().functions) {
    if (std::strcmp(name, hooked.name) != 0 || hooked.version > version) continue;
    // Most functions have one form for both kinds of default stream.
    const bool fits = hooked.per_thread == per_thread;
    if (hooked.per_thread && !per_thread) continue;
    if (best == nullptr || (fits && !best_fits) ||
        (fits == best_fits && hooked.version > best->version)) {
      best = &hooked;
      best_fits = fits;
    }
  }
  return best;
}

void* wrap(const HookedFunction& hooked, void* real) noexcept {
  if (real == nullptr || real == hooked.wrapper || real == hooked.spare_wrapper) return real;
  keep_driver_loaded();
  // A program that calls our export, too, still reaches a wrapper that was preloaded behind us.
  if (hooked.real->load(std::memory_order_relaxed) == nullptr) {
    void* none = nullptr;
    void* const next = hook::find_original(hooked.symbol);
    if (next != nullptr && next != real && !is_inside_driver(next))
      hooked.real->compare_exchange_strong(none, next);
  }
  void* known = nullptr;
  if (hooked.real->compare_exchange_strong(known, real) || known == real) return hooked.wrapper;
  if (hooked.spare_original != nullptr) {
    known = nullptr;
    if (hooked.spare_original->compare_exchange_strong(known, real) || known == real)
      return hooked.spare_wrapper;
  }
  hook::unwrapped_functions.fetch_add(1);
  return real;
}

bool is_inside_driver(const void* address) noexcept {
  DriverRange range{.address = address, .inside = false};
  dl_iterate_phdr(look_for_driver, &range);
  return range.inside;
}

}  // namespace inline_prof::entry
