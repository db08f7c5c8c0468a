// Work on streams: how long it takes, what it does, and how the host waits for it.
#include "driver/noise.hpp"
#include "driver/observed.hpp"
#include "driver/simulator.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <type_traits>

namespace inline_prof::simgpu {
namespace {

constexpr std::uint64_t kKernelNoise = 1;
constexpr std::uint64_t kRecordNoise = 2;

// A query does not wait longer: the rank that is missed may be driven by the thread that asks.
constexpr std::chrono::seconds kQueryPatience{2};

void move_bytes(const CopyWork& work) {
  for (std::size_t row = 0; row < work.rows; ++row) {
    std::memmove(static_cast<char*>(work.destination) + row * work.destination_pitch,
                 static_cast<const char*>(work.source) + row * work.source_pitch, work.width);
  }
}

void fill_bytes(const FillWork& work) {
  for (std::size_t row = 0; row < work.rows; ++row) {
    char* begin = static_cast<char*>(work.destination) + row * work.pitch;
    if (work.element_bytes == 1) {
      std::memset(begin, static_cast<int>(work.value & 0xffU), work.width);
      continue;
    }
    for (std::size_t i = 0; i < work.width; ++i) {  // little endian: the low bytes come first
      std::memcpy(begin + i * work.element_bytes, &work.value, work.element_bytes);
    }
  }
}

}  // namespace

Nanoseconds Simulator::run_kernel(Stream& stream, const KernelWork& work, Nanoseconds begin,
                                  Nanoseconds ready, bool in_graph) {
  const int device = work.context->device->index;
  const LaunchShape shape{
      .grid = work.grid, .device = device, .flops = work.work.flops, .bytes = work.work.bytes};
  const Rule& rule = work.kernel->rule_for(shape);
  const double nominal_us = rule.nominal_us(shape);
  const double noise = rule.noise.value_or(model.noise);
  double us = nominal_us;
  const auto ordinal = stream.launch_ordinal++;
  if (noise > 0) {
    us *= 1.0 + noise * gaussian({.seed = settings.seed,
                                  .device = device,
                                  .stream = stream.ordinal,
                                  .ordinal = ordinal,
                                  .purpose = kKernelNoise});
  }
  const auto end = std::max(begin, ready) + std::max<Nanoseconds>(1, from_microseconds(us));
  if (!settings.truth_file.empty()) {
    truth.add({.mangled = work.kernel->mangled,
               .demangled = work.kernel->demangled,
               .grid = work.grid,
               .device = device,
               .stream = stream.ordinal,
               .in_graph = in_graph,
               .nominal_us = nominal_us,
               .duration = end - begin},
              settings.truth_durations);
  }
  tell_of_kernel(stream, work, rule, {.begin = begin, .end = end, .in_graph = in_graph});
  return end;
}

Nanoseconds Simulator::record_duration(Stream& stream, double bias_us, bool after_kernel) {
  double us = bias_us + (after_kernel ? model.events.kernel_pair_bias_us : 0.0);
  const auto ordinal = stream.record_ordinal++;
  if (model.events.pair_jitter_us > 0) {
    us += model.events.pair_jitter_us * gaussian({.seed = settings.seed,
                                                  .device = stream.context->device->index,
                                                  .stream = stream.ordinal,
                                                  .ordinal = ordinal,
                                                  .purpose = kRecordNoise});
  }
  return std::max<Nanoseconds>(0, from_microseconds(us));
}

Nanoseconds Simulator::transfer_duration(const void* destination, const void* source,
                                         std::size_t bytes) {
  const bool on_device =
      memory.is_device(destination) && (source == nullptr || memory.is_device(source));
  const double rate = on_device ? model.copies.device_gb_per_s : model.copies.host_gb_per_s;
  return from_microseconds(model.copies.base_us + static_cast<double>(bytes) / (rate * 1e3));
}

void Simulator::wait_in_real_time(const std::function<bool()>& done) {
  using Clock = std::chrono::steady_clock;
  const auto limit = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(settings.hang_limit_s));
  while (!done()) {
    if (Clock::now() > limit) {
      std::fprintf(
          stderr,
          "simgpu: a stream has waited %g s for a value that the host never stored, or for "
          "a rank that never came; on a GPU this call would hang\n",
          settings.hang_limit_s);
      throw Failure{CUDA_ERROR_LAUNCH_TIMEOUT};
    }
    mutex.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    mutex.lock();
    engine.pump();
  }
}

void Simulator::wait_for_other_ranks(const std::function<bool()>& done) {
  using Clock = std::chrono::steady_clock;
  const auto limit = Clock::now() + kQueryPatience;
  while (!done()) {
    auto open = engine.open_meetings();
    std::erase_if(open, [](const Meeting* meeting) { return meeting->is_given_up; });
    if (open.empty()) return;
    if (Clock::now() > limit) {
      for (Meeting* meeting : open)
        meeting->is_given_up = true;
      return;
    }
    mutex.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    mutex.lock();
    engine.pump();
  }
}

// The host may be at most queue_depth launches ahead of a stream.
void Simulator::wait_for_queue_space(Stream& stream) {
  auto& ahead = stream.launches_ahead;
  const auto full = [&] {
    while (!ahead.empty() && ahead.front() <= engine.host_now())
      ahead.pop_front();
    return ahead.size() + stream.queue.size() >= static_cast<std::size_t>(model.queue_depth);
  };
  if (!full()) return;
  if (ahead.empty()) {
    wait_in_real_time([&] { return !full() || !ahead.empty(); });
    if (ahead.empty()) return;
  }
  engine.move_host_to(ahead.front());
}

void Simulator::launch(Stream& stream, KernelWork work, std::shared_ptr<Meeting> meeting) {
  if (capturing(stream)) {
    if (meeting) throw Failure{CUDA_ERROR_NOT_SUPPORTED};  // each replay would need one of its own
    capture_node(stream, work);
    return;
  }
  wait_for_queue_space(stream);
  ++launches;
  work.correlation_id = correlation_of_this_call();
  engine.submit(stream,
                {.meeting = meeting, .run = [this, &stream, work, meeting](Nanoseconds start) {
                   const auto begin = meeting ? meeting->begun() : start;
                   const auto ready = meeting ? meeting->all_there() : start;
                   const auto end = run_kernel(stream, work, begin, ready, false);
                   stream.kernel_since_record = true;
                   stream.launches_ahead.push_back(end);
                   return end;
                 }});
}

void Simulator::copy(Stream& stream, const CopyWork& work) {
  if (capturing(stream)) {
    capture_node(stream, work);
    return;
  }
  CopyWork staged = work;
  std::shared_ptr<std::vector<char>> staging;
  // cuda.h, API synchronisation behaviour: pageable sources are staged before the call returns.
  // A copy that cannot run yet must not read them later.
  const bool pageable_source =
      memory.find(reinterpret_cast<std::uintptr_t>(work.source)) == nullptr;
  if (pageable_source && !Engine::has_run(stream)) {
    staging = std::make_shared<std::vector<char>>(work.width * work.rows);
    staged.destination = staging->data();
    staged.destination_pitch = work.width;
    move_bytes(staged);
    staged = work;
    staged.source = staging->data();
    staged.source_pitch = work.width;
  }
  const auto duration = transfer_duration(work.destination, work.source, work.width * work.rows);
  engine.submit(stream, {.run = [staged, staging, duration](Nanoseconds start) {
                  move_bytes(staged);
                  return start + duration;
                }});
}

void Simulator::fill(Stream& stream, const FillWork& work) {
  if (capturing(stream)) {
    capture_node(stream, work);
    return;
  }
  const auto duration =
      transfer_duration(work.destination, nullptr, work.width * work.rows * work.element_bytes);
  engine.submit(stream, {.run = [work, duration](Nanoseconds start) {
                  fill_bytes(work);
                  return start + duration;
                }});
}

void Simulator::record(Stream& stream, const std::shared_ptr<Event>& event) {
  event->record = std::make_shared<Completion>();
  event->capture = nullptr;
  event->captured.clear();
  engine.submit(stream, {.run =
                             [this, &stream](Nanoseconds start) {
                               const auto end =
                                   start + record_duration(stream, model.events.pair_bias_us,
                                                           stream.kernel_since_record);
                               stream.kernel_since_record = false;
                               return end;
                             },
                         .completion = event->record});
}

void Simulator::wait_for(Stream& stream, const Event& event) {
  Operation operation;
  if (event.record) operation.after.push_back(event.record);
  operation.dependencies_known();
  engine.submit(stream, std::move(operation));
}

void Simulator::call_host(Stream& stream, CUhostFn callee, void* data) {
  if (capturing(stream)) throw Failure{CUDA_ERROR_NOT_SUPPORTED};
  auto call = std::make_shared<HostCall>();
  call->function = callee;
  call->data = data;
  engine.submit(stream, {.host_call = std::move(call)});
}

void Simulator::wait_value(Stream& stream, const ValueWait& wait) {
  if (capturing(stream)) throw Failure{CUDA_ERROR_NOT_SUPPORTED};
  engine.submit(stream, {.wait = wait});
}

void Simulator::write_value(Stream& stream, CUdeviceptr address, std::uint64_t value,
                            bool is_64_bit) {
  if (capturing(stream)) throw Failure{CUDA_ERROR_NOT_SUPPORTED};
  engine.submit(stream, {.run = [this, address, value, is_64_bit](Nanoseconds start) {
                  if (is_64_bit) {
                    __atomic_store_n(reinterpret_cast<std::uint64_t*>(address), value,
                                     __ATOMIC_RELEASE);
                  } else {
                    __atomic_store_n(reinterpret_cast<std::uint32_t*>(address),
                                     static_cast<std::uint32_t>(value), __ATOMIC_RELEASE);
                  }
                  engine.note_device_write(address, start);
                  return start;
                }});
}

Nanoseconds Simulator::run_graph(Stream& stream, const ExecBody& body,
                                 const std::vector<CompletionPtr>& event_states, Nanoseconds start,
                                 std::uint32_t correlation_id) {
  std::vector<Nanoseconds> ends(body.size());
  Nanoseconds last = start;
  for (std::size_t i = 0; i < body.size(); ++i) {
    Nanoseconds begin = start;
    bool after_kernel = false;
    for (const auto dependency : body[i].dependencies) {
      begin = std::max(begin, ends[dependency]);
      after_kernel |= std::holds_alternative<KernelWork>(body[dependency].work);
    }
    ends[i] = std::visit(
        [&](const auto& work) -> Nanoseconds {
          using Kind = std::decay_t<decltype(work)>;
          if constexpr (std::is_same_v<Kind, KernelWork>) {
            ++graph_kernels;
            KernelWork launched = work;
            launched.correlation_id = correlation_id;
            return run_kernel(stream, launched, begin, begin, true);
          } else if constexpr (std::is_same_v<Kind, CopyWork>) {
            move_bytes(work);
            return begin + transfer_duration(work.destination, work.source, work.width * work.rows);
          } else if constexpr (std::is_same_v<Kind, FillWork>) {
            fill_bytes(work);
            return begin + transfer_duration(work.destination, nullptr,
                                             work.width * work.rows * work.element_bytes);
          } else if constexpr (std::is_same_v<Kind, RecordWork>) {
            const auto end =
                begin + record_duration(stream, model.events.graph_pair_bias_us, after_kernel);
            event_states[i]->end = end;
            event_states[i]->done = true;
            return end;
          } else if constexpr (std::is_same_v<Kind, WaitWork>) {
            return event_states[i] ? std::max(begin, event_states[i]->end) : begin;
          } else {
            return begin;
          }
        },
        body[i].work);
    last = std::max(last, ends[i]);
  }
  stream.launches_ahead.push_back(last);
  return last;
}

void Simulator::launch_graph(Stream& stream, const GraphExec& exec) {
  if (capturing(stream)) throw Failure{CUDA_ERROR_NOT_SUPPORTED};  // would be a child graph node
  wait_for_queue_space(stream);
  ++graph_launches;
  Operation operation;
  // Per node: what a wait node waits for (the state before this launch), what a record node fills.
  // External waits hold back the whole launch: simpler than hardware, and never earlier.
  std::vector<CompletionPtr> event_states(exec.body->size());
  for (std::size_t i = 0; i < exec.body->size(); ++i) {
    if (const auto* wait = std::get_if<WaitWork>(&(*exec.body)[i].work); wait != nullptr) {
      event_states[i] = wait->event->record;
      if (wait->event->record) operation.after.push_back(wait->event->record);
    }
  }
  for (std::size_t i = 0; i < exec.body->size(); ++i) {
    if (const auto* record = std::get_if<RecordWork>(&(*exec.body)[i].work); record != nullptr) {
      event_states[i] = std::make_shared<Completion>();
      record->event->record = event_states[i];
      record->event->capture = nullptr;
      record->event->captured.clear();
    }
  }
  operation.run = [this, &stream, body = exec.body, event_states,
                   correlation_id = correlation_of_this_call()](Nanoseconds start) {
    return run_graph(stream, *body, event_states, start, correlation_id);
  };
  engine.submit(stream, std::move(operation));
}

// ---- the host waits

void Simulator::finish(Operation& operation) {
  if (!operation.dependencies_known()) {
    wait_in_real_time([&] { return operation.dependencies_known(); });
  }
  engine.move_host_to(operation.not_before);
}

namespace {

// What "all work in this stream" means for a host that waits: the legacy stream stands for the
// blocking streams too.
Operation contents(Stream& stream) {
  Operation operation;
  Engine::order_after(stream, operation);
  if (stream.kind == StreamKind::kLegacy) {
    stream.context->for_each_stream([&](Stream& other) {
      if (other.is_blocking()) Engine::order_after(other, operation);
    });
  }
  return operation;
}

}  // namespace

void Simulator::synchronize(Stream& stream) {
  Operation all = contents(stream);
  finish(all);
}

void Simulator::synchronize(Context& context) {
  Operation all;
  context.for_each_stream([&](Stream& stream) { Engine::order_after(stream, all); });
  finish(all);
}

void Simulator::synchronize(const Event& event) {
  if (!event.record) return;
  Operation all{.after = {event.record}};
  finish(all);
}

bool Simulator::finished(Stream& stream) {
  Operation all = contents(stream);
  wait_for_other_ranks([&] { return all.dependencies_known(); });
  return all.dependencies_known() && all.not_before <= engine.host_now();
}

bool Simulator::finished(const Event& event) {
  const CompletionPtr record = event.record;
  if (!record) return true;
  wait_for_other_ranks([&] { return record->done; });
  return record->done && record->end <= engine.host_now();
}

}  // namespace inline_prof::simgpu
