#pragma once

#include "join/analysis.hpp"

#include <string>

namespace inline_prof::exports {

// A mean iteration as perfetto_report() has it, in Perfetto's own format: what was measured are
// stages of a GPU, one queue for each lane of a stream and beside it one with what was predicted;
// GpuInfo names the GPUs.
//
// Source of the format: protos/perfetto/trace/gpu/gpu_render_stage_event.proto and
// trace_packet.proto of Perfetto 0.59, https://perfetto.dev/docs/reference/trace-packet-proto;
// Protocol Buffers' encoding.
[[nodiscard]] std::string perfetto_gpu_report(const join::Analysis& analysis);

}  // namespace inline_prof::exports
