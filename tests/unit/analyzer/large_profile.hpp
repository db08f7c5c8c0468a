// The text of large profiles, for what has to stay small and fast on them.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <string>

namespace inline_prof::test {

// A file of the third generation with `samples` samples an event and at least `bytes` bytes.  Its
// numbers are as short as an injected library writes them, which is the most places and values for
// its size.
inline std::string large_third_generation(std::size_t bytes, std::size_t samples) {
  std::string text =
      R"({"schema":"inline_prof/1","host_name":"n046","iter_time_ms":[4.1,4.2],"events":[)";
  for (std::size_t event = 0; text.size() < bytes; ++event) {
    if (event > 0) text += ",\n";
    fmt::format_to(
        std::back_inserter(text),
        R"({{"event_name":"fprop.gemm","layer_name":"TopMLP.fc5","class":"TopMLP.fc*.fprop.gemm",)"
        R"("kernel_name":"sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x64x64","device_id":0,)"
        R"("stream":"0x7f7cf66c3d20","stream_index":0,"start_index":{},"end_index":{},)"
        R"("met_times_within_this_stream":{},"calls":1,"grid":[108,1,1],"block":[128,1,1],)"
        R"("cluster":[1,1,1],"static_shared_bytes":0,"dynamic_shared_bytes":98304,"registers":128,)"
        R"("max_blocks_per_sm":2,"in_cuda_graph":false,"flags":[],"op":{{"kind":"gemm","m":6912,)"
        R"("n":1024,"k":1024,"batch":1,"a_type":"f16","b_type":"f16","c_type":"f16",)"
        R"("compute_type":"f32","source":"cublasGemmEx"}},)",
        2 * event, 2 * event + 1, event);
    std::string times;
    std::string offsets;
    std::string iterations;
    std::string tight;
    for (std::size_t i = 0; i < samples; ++i) {
      const char* comma = i == 0 ? "" : ",";
      fmt::format_to(std::back_inserter(times), "{}0.0{}", comma, 100 + (event + i) % 900);
      fmt::format_to(std::back_inserter(offsets), "{}1.{}", comma, 10 + i % 90);
      fmt::format_to(std::back_inserter(iterations), "{}{}", comma, 11 + i);
      fmt::format_to(std::back_inserter(tight), "{}true", comma);
    }
    fmt::format_to(std::back_inserter(text),
                   R"("measured_times_ms":[{}],"iter_start_to_event_start_times_ms":[{}],)"
                   R"("iterations":[{}],"tight":[{}]}})",
                   times, offsets, iterations, tight);
  }
  return text + R"(],"complete":true})";
}

}  // namespace inline_prof::test
