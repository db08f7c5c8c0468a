// The calls of abi.h that concern labels, without the fence that abi_entry.cpp puts around them.
#pragma once

#include <inline_prof/abi.h>

namespace inline_prof::hook {

void record_label(inline_prof_site* site, const char* text, void* stream, const char* extra_info);
void describe_label(const char* text, const char* kind, const inline_prof_attribute* attributes,
                    int attribute_count);

}  // namespace inline_prof::hook
