// Tells an application that sleeps, as it was not wanted, that its calls are wanted again, or never
// more (abi.h, `wake`).
#pragma once

namespace inline_prof::session::waking {

using Work = int (*)(void*);
using Schedule = int (*)(Work, void*);

// A null `schedule`: the application cannot be told any more.
void set(Schedule schedule, Work work) noexcept;
[[nodiscard]] bool is_possible() noexcept;

void wake() noexcept;
// Called each second: tries again if the application had no room for it.
void retry() noexcept;

}  // namespace inline_prof::session::waking
