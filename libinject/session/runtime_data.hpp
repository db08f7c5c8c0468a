#pragma once

namespace inline_prof::session {

class Session;

// PROFILE_RECORD_DATA: 1 where data are wanted in this iteration; with `data` not null they are
// kept.
[[nodiscard]] int record_data(Session& session, const char* label, void* stream, const char* data,
                              int device_id);

}  // namespace inline_prof::session
