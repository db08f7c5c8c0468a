// A part of an application that is opened at run time, with its own symbols hidden.
#include "host_calls.h"

#include <inline_prof/profile.h>

__attribute__((visibility("default"))) void plugin_record(void* stream) {
  PROFILE_RECORD("plugin.start", stream);
}
