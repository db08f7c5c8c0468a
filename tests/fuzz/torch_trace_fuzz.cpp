// Traces of torch.profiler: what is accepted gives events whose samples are numbers, and places of
// its works that lie in the text.
#include "property.hpp"
#include "read/torch_trace/torch_trace.hpp"

#include <cmath>
#include <string>

namespace {

using namespace inline_prof;

void require_numbers(const read::Profile& profile) {
  for (const double ms : profile.iter_time_ms)
    fuzz::require(std::isfinite(ms) && ms >= 0, "an iteration takes a finite time");
  for (const read::Event& event : profile.events) {
    fuzz::require(event.measured_ms.size() == event.iterations.size() &&
                      event.measured_ms.size() == event.offsets_ms.size(),
                  "each sample has its iteration");
    for (const double ms : event.measured_ms)
      fuzz::require(std::isfinite(ms) && ms >= 0, "a sample is a finite time");
    fuzz::require(event.neighbours.collective <= 100 && event.neighbours.host_copy <= 100,
                  "neighbours cover no more than the time itself");
  }
}

}  // namespace

void fuzz::check(const std::string& text) {
  require_numbers(read::torch_trace::read(text, "fuzz", {}));
  const read::torch_trace::TracedWorks found = read::torch_trace::find_works(text, "fuzz");
  for (const auto& work : found.works)
    fuzz::require(work.args_end < found.text.size(), "a work's args lie in the text");
}
