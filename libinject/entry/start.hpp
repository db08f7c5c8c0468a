#pragma once

namespace inline_prof::hook {

// Called on the application's first context or launch, whichever comes first; later calls return at
// once. Reads the configuration, finds the driver, and ends in `on` or in `off`.
void start_once() noexcept;

}  // namespace inline_prof::hook
