// inline_prof_abi_v1: the table of functions that the macros look up.
#include "hook/export.hpp"
#include "hook/guard.hpp"
#include "labels/layer_path.hpp"
#include "launch/launch_filter.hpp"
#include "session/label_events.hpp"
#include "session/session.hpp"
#include "session/trigger.hpp"

#include <inline_prof/abi.h>

#include <cstdint>

namespace inline_prof::entry {
namespace {

// Does nothing while profiling is off, or before the first GPU call.
template <typename Work>
void with_session(const char* where, const Work& work) noexcept {
  session::Session* session = session::the_session();
  if (sys::is_on() && session != nullptr) hook::fenced(where, [&] { work(*session); });
}

void abi_initialize(int, int exit_when_finished) noexcept {
  if (exit_when_finished != 0) session::exit_when_done();
}

void abi_iteration() noexcept {
  hook::fenced("PROFILE_ITERATION", [] { session::iteration_starts(); });
}

void abi_record(inline_prof_site* site, const char* label, void* stream, int, int,
                const char* extra_info) noexcept {
  with_session("PROFILE_RECORD", [&](session::Session& session) {
    session.label_events.record(site, label, stream, extra_info);
  });
}

int abi_record_data(const char* label, void* stream, const char* data, int device_id) noexcept {
  int wanted = 0;
  with_session("PROFILE_RECORD_DATA", [&](session::Session& session) {
    wanted = session::record_data(session, label, stream, data, device_id);
  });
  return wanted;
}

void abi_scope_push(const char* label, void*) noexcept {
  // Also while profiling is off: pushes and pops must stay balanced.
  labels::push_range(labels::kScopeOwner, label);
}

void abi_scope_pop() noexcept {
  labels::pop_range(labels::kScopeOwner);
}

void abi_unit_test_start(const char* name) noexcept {
  with_session("PROFILE_UNIT_TEST_START",
               [&](session::Session& session) { session.unit_tests.start(name); });
}
void abi_unit_test_stop() noexcept {
  with_session("PROFILE_UNIT_TEST_STOP",
               [](session::Session& session) { session.unit_tests.stop(); });
}

void abi_op(inline_prof_site*, const char* label, const char* kind,
            const inline_prof_attribute* attributes, int attribute_count) noexcept {
  with_session("PROFILE_OP", [&](session::Session& session) {
    session.label_events.describe(label, kind, attributes, attribute_count);
  });
}

std::uint32_t abi_wants() noexcept {
  if (sys::lifecycle.load(std::memory_order_relaxed) == sys::Lifecycle::kOff) return 0;
  const session::Session* session = session::the_session();
  if (session != nullptr && session->state() == session::RunState::kDone) return 0;
  using launch::LaunchFilter;
  session::OperatorLearning::note_asking();
  std::uint32_t wanted = 0;
  const bool are_names_known = session != nullptr && !session->discovery.are_names_wanted() &&
                               launch::filter.has(LaunchFilter::kCounting) &&
                               !launch::filter.has(LaunchFilter::kCapturing);
  if (are_names_known) return INLINE_PROF_WANTS_ITERATIONS | INLINE_PROF_WANTS_LAYERS_LATER;
  const bool is_discovering =
      launch::filter.has(LaunchFilter::kCounting | LaunchFilter::kCapturing);
  if (is_discovering) wanted |= INLINE_PROF_WANTS_LAYERS;
  // In a watched run calls in every iteration would cost more than what is measured.
  const bool are_labels_needed = session == nullptr || (session->label_events.are_calls_needed() &&
                                                        !session->watching.is_on());
  if (is_discovering || are_labels_needed) wanted |= INLINE_PROF_WANTS_LABELS;
  if (session != nullptr && session->operators.are_wanted()) wanted |= INLINE_PROF_WANTS_OPERATORS;
  const bool may_sleep = wanted == 0 && session != nullptr && session->source.is_told_by_launches();
  wanted |= may_sleep ? INLINE_PROF_WANTS_TO_WAKE : INLINE_PROF_WANTS_ITERATIONS;
  return wanted;
}

void abi_call_close(const char* name, const char* layer, const inline_prof_work* works,
                    int work_count) noexcept {
  hook::fenced("call_close",
               [&] { session::OperatorLearning::close_call(name, layer, works, work_count); });
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
    .layer_set = labels::set_range,
    .layer_end = labels::end_set_range,
    .layer_follow = labels::follow_range,
    .call_open = session::OperatorLearning::open_call,
    .call_launches = session::OperatorLearning::launches_in_call,
    .call_close = abi_call_close,
    .wake = session::trigger::let_wake,
};

}  // namespace
}  // namespace inline_prof::entry

INLINE_PROF_EXPORT const inline_prof_abi* inline_prof_abi_v1() {
  return &inline_prof::entry::kTable;
}
