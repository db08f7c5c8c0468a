// inline_prof_abi_v1: the table of functions that the macros look up.
#include "graphs/capture_notes.hpp"
#include "hook/export.hpp"
#include "hook/guard.hpp"
#include "labels/label_calls.hpp"
#include "labels/layer_path.hpp"
#include "session/operator_calls.hpp"
#include "session/phase.hpp"
#include "session/runtime_data.hpp"
#include "session/session.hpp"
#include "session/state.hpp"
#include "session/unit_test.hpp"

#include <inline_prof/abi.h>

#include <cstdint>

namespace inline_prof::hook {
namespace {

void abi_initialize(int, int exit_when_finished) noexcept {
  if (exit_when_finished != 0) session::exit_when_done();
}

void abi_iteration() noexcept {
  fenced("PROFILE_ITERATION", [] { session::iteration_starts(session::Mark::kCall); });
}

void abi_record(inline_prof_site* site, const char* label, void* stream, int, int,
                const char* extra_info) noexcept {
  if (!sys::is_on()) return;
  fenced("PROFILE_RECORD", [&] { record_label(site, label, stream, extra_info); });
}

int abi_record_data(const char* label, void* stream, const char* data, int device_id) noexcept {
  int wanted = 0;
  if (!sys::is_on()) return wanted;
  fenced("PROFILE_RECORD_DATA", [&] { wanted = record_data(label, stream, data, device_id); });
  return wanted;
}

void abi_scope_push(const char* label, void*) noexcept {
  // Also while profiling is off: pushes and pops must stay balanced.
  push_range(kScopeOwner, label);
}

void abi_scope_pop() noexcept {
  pop_range(kScopeOwner);
}

void abi_unit_test_start(const char* name) noexcept {
  if (!sys::is_on()) return;
  fenced("PROFILE_UNIT_TEST_START", [&] { start_unit_test(name); });
}
void abi_unit_test_stop() noexcept {
  if (!sys::is_on()) return;
  fenced("PROFILE_UNIT_TEST_STOP", [] { stop_unit_test(); });
}

void abi_op(inline_prof_site*, const char* label, const char* kind,
            const inline_prof_attribute* attributes, int attribute_count) noexcept {
  if (!sys::is_on()) return;
  fenced("PROFILE_OP", [&] { describe_label(label, kind, attributes, attribute_count); });
}

std::uint32_t abi_wants() noexcept {
  if (sys::lifecycle.load(std::memory_order_relaxed) == sys::Lifecycle::kOff) return 0;
  const State* run = state();
  const bool is_over = run != nullptr && run->phase.load(std::memory_order_relaxed) == Phase::kDone;
  if (is_over) return 0;
  operator_calls::note_asking();
  return INLINE_PROF_WANTS_LABELS | INLINE_PROF_WANTS_ITERATIONS |
         (counting.load(std::memory_order_relaxed) ||
                  open_captures.load(std::memory_order_relaxed) != 0
              ? INLINE_PROF_WANTS_LAYERS
              : 0U) |
         (run != nullptr && operator_calls::are_wanted(*run) ? INLINE_PROF_WANTS_OPERATORS : 0U);
}

void abi_layer_set(std::uint64_t id, const char* path) noexcept {
  set_range(id, path);
}

void abi_layer_end(std::uint64_t id) noexcept {
  end_set_range(id);
}

void abi_layer_follow(std::uint64_t id, const char* const* path) noexcept {
  follow_range(id, path);
}

void abi_call_open() noexcept {
  operator_calls::open();
}

int abi_call_launches() noexcept {
  return operator_calls::launches();
}

void abi_call_close(const char* name, const char* layer, const inline_prof_work* works,
                    int work_count) noexcept {
  fenced("call_close", [&] { operator_calls::close(name, layer, works, work_count); });
}

constexpr inline_prof_abi kTable{
    .size = sizeof(inline_prof_abi),
    .initialize = abi_initialize,
    .iteration = abi_iteration,
    .record = abi_record,
    .record_data = abi_record_data,
    .scope_push = abi_scope_push,
    .scope_pop = abi_scope_pop,
    .unit_test_start = abi_unit_test_start,
    .unit_test_stop = abi_unit_test_stop,
    .op = abi_op,
    .wants = abi_wants,
    .layer_set = abi_layer_set,
    .layer_end = abi_layer_end,
    .layer_follow = abi_layer_follow,
    .call_open = abi_call_open,
    .call_launches = abi_call_launches,
    .call_close = abi_call_close,
};

}  // namespace
}  // namespace inline_prof::hook

INLINE_PROF_EXPORT const inline_prof_abi* inline_prof_abi_v1() {
  return &inline_prof::hook::kTable;
}
