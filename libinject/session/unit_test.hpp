// Mode unit_test.  Both take the state's mutex.
#pragma once

namespace inline_prof::hook {

void start_unit_test(const char* name);
void stop_unit_test();

}  // namespace inline_prof::hook
