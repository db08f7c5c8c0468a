#include "driver/timeline.hpp"

#include "driver/context.hpp"
#include "driver/graph_run.hpp"
#include "driver/host_clock.hpp"

#include <algorithm>
#include <utility>

namespace simgpu {

// cuda.h, CUstreamWaitValue_flags: "Wait until (int32_t)(*addr - value) >= 0 (or int64_t for 64 bit
// values)", "*addr == value", "(*addr & value) != 0", "~(*addr | value) != 0".
bool ValueWait::satisfied() const {
  const unsigned compare = flags & 3U;
  if (is_64_bit) {
    const std::uint64_t now =
        __atomic_load_n(reinterpret_cast<const std::uint64_t*>(address), __ATOMIC_ACQUIRE);
    if (compare == CU_STREAM_WAIT_VALUE_EQ) return now == value;
    if (compare == CU_STREAM_WAIT_VALUE_AND) return (now & value) != 0;
    if (compare == CU_STREAM_WAIT_VALUE_NOR) return ~(now | value) != 0;
    return static_cast<std::int64_t>(now - value) >= 0;
  }
  const auto expected = static_cast<std::uint32_t>(value);
  const std::uint32_t now =
      __atomic_load_n(reinterpret_cast<const std::uint32_t*>(address), __ATOMIC_ACQUIRE);
  if (compare == CU_STREAM_WAIT_VALUE_EQ) return now == expected;
  if (compare == CU_STREAM_WAIT_VALUE_AND) return (now & expected) != 0;
  if (compare == CU_STREAM_WAIT_VALUE_NOR) return ~(now | expected) != 0;
  return static_cast<std::int32_t>(now - expected) >= 0;
}

bool Operation::dependencies_known() {
  std::erase_if(after, [&](const CompletionPtr& dependency) {
    if (dependency->done) not_before = std::max(not_before, dependency->end);
    return dependency->done;
  });
  return after.empty();
}

bool Meeting::is_complete(Nanoseconds now) {
  if (!has_begun_) begun_ = now;
  has_begun_ = true;
  return contract_.meet(contract_.state, begun_, &all_there_) != 0;
}

std::shared_ptr<Meeting> MeetingSource::next() const {
  simgpu_meeting contract = contract_;
  contract.state = contract_.again(contract_.state);
  return std::make_shared<Meeting>(contract);
}

void CaptureFront::clear() {
  nodes.clear();
  data.clear();
}

void CaptureFront::set(Node& node) {
  nodes.assign(1, &node);
  data.assign(1, CUgraphEdgeData{});
}

void CaptureFront::add(Node& node, const CUgraphEdgeData& edge) {
  if (std::find(nodes.begin(), nodes.end(), &node) != nodes.end()) return;
  nodes.push_back(&node);
  data.push_back(edge);
}

void Engine::order_after(Stream& stream, Operation& operation) {
  operation.not_before = std::max(operation.not_before, stream.tail);
  if (stream.queue.empty()) return;
  Operation& last = stream.queue.back();
  if (!last.completion) last.completion = std::make_shared<Completion>();
  operation.after.push_back(last.completion);
}

void Engine::submit(Stream& stream, Operation operation) {
  operation.not_before = std::max(operation.not_before, host_now());
  Context& context = *stream.context;
  if (stream.kind == StreamKind::kLegacy) {
    context.for_each_stream([&](Stream& other) {
      if (other.is_blocking()) order_after(other, operation);
    });
  } else if (stream.is_blocking()) {
    order_after(context.legacy, operation);
  }

  const bool first = stream.queue.empty();
  stream.queue.push_back(std::move(operation));
  if (first && !run_head(stream)) waiting_.push_back(&stream);
}

void Engine::note_device_write(CUdeviceptr address, Nanoseconds at) {
  for (Stream* stream : waiting_) {
    if (stream->queue.empty()) continue;
    Operation& head = stream->queue.front();
    if (head.wait && head.wait->address == address && head.wait->satisfied()) {
      head.not_before = std::max(head.not_before, at);
      head.wait_was_unsatisfied = false;
    }
  }
}

bool Engine::run_head(Stream& stream) {
  Operation& head = stream.queue.front();
  if (!head.dependencies_known()) return false;
  Nanoseconds start = std::max(stream.tail, head.not_before);
  if (head.wait) {
    if (!head.wait->satisfied()) {
      head.wait_was_unsatisfied = true;
      return false;
    }
    // Already true when the stream came to it: no waiting.  Else the host has just stored it.
    if (head.wait_was_unsatisfied) start = std::max(start, host_now());
  }
  if (head.host_call) {
    if (!head.host_call_started) start_host_call(head.host_call, host_clock, start);
    head.host_call_started = true;
    if (!head.host_call->returned.load(std::memory_order_acquire)) return false;
    if (host_clock.is_real()) start = std::max(start, host_now());
  }
  if (head.meeting && !head.meeting->is_complete(start)) return false;
  if (head.graph && !head.graph->advance(start)) return false;
  Operation operation = std::move(head);
  stream.queue.pop_front();
  run(stream, operation, start);
  return true;
}

void Engine::run(Stream& stream, Operation& operation, Nanoseconds start) {
  stream.tail = operation.run ? operation.run(start) : start;
  if (operation.completion) {
    operation.completion->end = stream.tail;
    operation.completion->done = true;
  }
}

void Engine::pump() {
  bool progress = !waiting_.empty();
  while (progress) {
    progress = false;
    for (Stream* stream : waiting_) {
      while (!stream->queue.empty() && run_head(*stream)) {
        progress = true;
      }
    }
    std::erase_if(waiting_, [](const Stream* stream) { return stream->queue.empty(); });
  }
}

std::vector<Meeting*> Engine::open_meetings() const {
  std::vector<Meeting*> open;
  for (const Stream* stream : waiting_) {
    if (stream->queue.empty()) continue;
    const Operation& head = stream->queue.front();
    if (head.meeting) open.push_back(head.meeting.get());
    if (head.graph) head.graph->add_open_meetings(open);
  }
  return open;
}

void Engine::forget(Stream& stream) {
  stream.queue.clear();
  std::erase(waiting_, &stream);
}

}  // namespace simgpu
