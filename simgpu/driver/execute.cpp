// Work on streams: how long it takes, what it does, and how the host waits for it.
#include "driver/ipc.hpp"
#include "driver/launch_request.hpp"
#include "driver/observed.hpp"
#include "driver/simulator.hpp"
#include "driver/transfers.hpp"
#include "driver/truth.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numbers>
#include <thread>

namespace simgpu {
namespace {

// The finaliser of splitmix64.  Source: S. Vigna, "splitmix64.c", 2015, public domain,
// https://prng.di.unimi.it/splitmix64.c
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// Noise does not depend on the order in which threads happen to run: a value is a function of this,
// not the next number of a shared generator.
struct NoiseKey {
  std::uint64_t seed;
  int device;
  int stream;
  std::uint64_t ordinal;
  std::uint64_t purpose;  // kernels and event records draw from different sequences
};

// Standard normal by Box and Muller (Annals of Mathematical Statistics 29(2), 1958,
// doi:10.1214/aoms/1177706645).
double gaussian(const NoiseKey& key) {
  const std::uint64_t where =
      mix(key.seed) ^
      mix((static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.device)) << 32) |
          static_cast<std::uint32_t>(key.stream));
  const std::uint64_t first = mix(where ^ mix(key.ordinal * 2 + 1) ^ (key.purpose << 56));
  const std::uint64_t second = mix(first);
  constexpr double scale = 0x1.0p-53;
  const double u1 = (static_cast<double>(first >> 11) + 1.0) * scale;  // (0, 1]: no log of 0
  const double u2 = static_cast<double>(second >> 11) * scale;
  return std::sqrt(-2.0 * std::log(u1)) * std::cos(2.0 * std::numbers::pi * u2);
}

constexpr std::uint64_t kKernelNoise = 1;
constexpr std::uint64_t kRecordNoise = 2;

// A query does not wait longer: the rank that is missed may be driven by the thread that asks.
constexpr std::chrono::seconds kQueryPatience{2};

}  // namespace

Nanoseconds Simulator::programmatic_begin(Nanoseconds begin, Nanoseconds end) const {
  return std::max(begin, end - from_microseconds(model.programmatic_overlap_us));
}

Nanoseconds Simulator::run_kernel(Stream& stream, const KernelWork& work, Nanoseconds begin,
                                  Nanoseconds ready, const NodePlace* place) {
  const int device = work.context->device->index;
  const LaunchShape shape{
      .grid = work.grid, .device = device, .flops = work.work.flops, .bytes = work.work.bytes};
  const Rule& rule = work.kernel->rule_for(shape);
  const double nominal_us = rule.nominal_us(shape);
  const double noise = rule.noise.value_or(model.noise);
  double us = nominal_us * stream.row.droop(rule, begin);
  const auto ordinal = stream.launch_ordinal++;
  if (noise > 0) {
    us *= 1.0 + noise * gaussian({.seed = settings.seed,
                                  .device = device,
                                  .stream = stream.ordinal,
                                  .ordinal = ordinal,
                                  .purpose = kKernelNoise});
  }
  const auto end = std::max(begin, ready) + std::max<Nanoseconds>(1, from_microseconds(us));
  stream.row.end = end;
  if (!settings.truth_file.empty()) {
    truth.add({.mangled = work.kernel->mangled,
               .demangled = work.kernel->demangled,
               .grid = work.grid,
               .device = device,
               .stream = stream.ordinal,
               .place = place,
               .nominal_us = nominal_us,
               .duration = end - begin},
              settings.truth_durations);
  }
  log_timeline(stream, "kernel", work.kernel->mangled, work.origin, place, begin, end);
  tell_of_kernel(stream, work, {.begin = begin, .end = end, .in_graph = place != nullptr});
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

void Simulator::host_waits_until(Nanoseconds at) {
  if (!engine.host_clock.is_real()) {
    engine.host_clock.move_to(at);
    return;
  }
  HostClock clock = engine.host_clock;
  mutex.unlock();
  clock.wait_until(at);
  mutex.lock();
  engine.pump();
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
  // Waiting would be time that the host does not spend.
  if (engine.host_clock.is_real()) return;
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
  host_waits_until(ahead.front());
}

void Simulator::launch(Stream& stream, KernelWork work, const LaunchRequest& request) {
  if (capturing(stream)) {
    keep_arguments(work, request);
    keep_attributes(work, request, stream);
    capture_node(stream, std::move(work));
    return;
  }
  wait_for_queue_space(stream);
  work.origin = origin_of_this_call();
  ++launches;
  work.correlation_id = correlation_of_this_call();
  std::shared_ptr<Meeting> meeting;
  if (const auto contract = meeting_of(*work.kernel, request)) {
    meeting = std::make_shared<Meeting>(*contract);
  }
  const bool may_overlap = overlaps(request);
  const auto submitted = engine.host_now();
  engine.submit(stream,
                {.meeting = meeting,
                 .run = [this, &stream, work, meeting, may_overlap, submitted](Nanoseconds start) {
                   // A record in between, or idle time, leaves nothing to overlap with.
                   if (may_overlap && stream.kernel_since_record && start == stream.kernel_end) {
                     start = std::max(submitted,
                                      programmatic_begin(stream.kernel_begin, stream.kernel_end));
                   }
                   const auto begin = meeting ? meeting->begun() : start;
                   const auto ready = meeting ? meeting->all_there() : start;
                   const auto end = run_kernel(stream, work, begin, ready, nullptr);
                   stream.kernel_since_record = true;
                   stream.kernel_begin = begin;
                   stream.kernel_end = end;
                   stream.launches_ahead.push_back(end);
                   return end;
                 }});
}

namespace {

// Zeroes a single number that no kernel has computed: a loss that is read back is then finite.
void settle_value(Memory& memory, const CopyWork& work) {
  const std::size_t bytes = work.bytes();
  if (!work.is_flat()) return;
  const bool is_number = bytes == 2 || bytes == 4 || bytes == 8;
  if (is_number && memory.is_device(work.source) && memory.holds_part_of_copy(work.source, bytes))
    std::memset(work.destination, 0, bytes);
  if (memory.is_device(work.destination)) memory.note_copy(work.destination, bytes);
}

}  // namespace

void Simulator::copy(Stream& stream, const CopyWork& work) {
  if (capturing(stream)) {
    CopyWork node = work;
    node.context = stream.context;
    capture_node(stream, node);
    return;
  }
  CopyWork staged = work;
  std::shared_ptr<std::vector<char>> staging;
  // cuda.h, API synchronisation behaviour: pageable sources are staged before the call returns.
  // A copy that cannot run yet must not read them later.
  const bool pageable_source =
      memory.find(reinterpret_cast<std::uintptr_t>(work.source)) == nullptr;
  if (pageable_source && !Engine::has_run(stream)) {
    staging = std::make_shared<std::vector<char>>(work.bytes());
    staged.destination = staging->data();
    staged.destination_pitch = work.width;
    staged.destination_slice = work.width * work.rows;
    move_bytes(staged);
    staged = work;
    staged.source = staging->data();
    staged.source_pitch = work.width;
    staged.source_slice = work.width * work.rows;
  }
  const auto duration = transfer_duration(work.destination, work.source, work.bytes());
  engine.submit(stream, {.run = [this, &stream, staged, staging, duration,
                                 origin = origin_of_this_call()](Nanoseconds start) {
                  move_bytes(staged);
                  settle_value(memory, staged);
                  log_timeline(stream, "copy", "", origin, nullptr, start, start + duration);
                  return start + duration;
                }});
}

void Simulator::fill(Stream& stream, const FillWork& work) {
  if (capturing(stream)) {
    FillWork node = work;
    node.context = stream.context;
    capture_node(stream, node);
    return;
  }
  const auto duration =
      transfer_duration(work.destination, nullptr, work.width * work.rows * work.element_bytes);
  engine.submit(
      stream, {.run = [&stream, work, duration, origin = origin_of_this_call()](Nanoseconds start) {
        fill_bytes(work);
        log_timeline(stream, "fill", "", origin, nullptr, start, start + duration);
        return start + duration;
      }});
}

void Simulator::record(Stream& stream, const std::shared_ptr<Event>& event) {
  event->record = std::make_shared<Completion>();
  event->record_number = event->shared ? event->shared->begin_record() : event->record_number + 1;
  event->capture = nullptr;
  event->captured.clear();
  engine.submit(stream,
                {.run =
                     [this, &stream, event, number = event->record_number](Nanoseconds start) {
                       const auto end = start + record_duration(stream, model.events.pair_bias_us,
                                                                stream.kernel_since_record);
                       stream.kernel_since_record = false;
                       if (event->shared) event->shared->end_record(number, end);
                       return end;
                     },
                 .completion = event->record});
}

namespace {

// The number of the event's last record, if another process made it; else 0.
std::uint64_t foreign_record(const Event& event) {
  const auto last = event.shared ? event.shared->last_begun() : 0;
  return last == event.record_number ? 0 : last;
}

}  // namespace

void Simulator::wait_for(Stream& stream, const Event& event) {
  Operation operation;
  if (const auto number = foreign_record(event)) {
    operation.wait = ValueWait{.address = event.shared->ended_word(),
                               .value = number,
                               .is_64_bit = true,
                               .flags = CU_STREAM_WAIT_VALUE_GEQ};
    operation.run = [shared = event.shared](Nanoseconds start) {
      return std::max(start, shared->end());
    };
  } else if (event.record) {
    operation.after.push_back(event.record);
  }
  operation.dependencies_known();
  engine.submit(stream, std::move(operation));
}

void Simulator::call_host(Stream& stream, CUhostFn callee, void* data) {
  if (capturing(stream)) {
    capture_node(stream, HostWork{callee, data});
    return;
  }
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

// ---- the host waits

void Simulator::finish(Operation& operation) {
  const Nanoseconds called = engine.host_now();
  if (!operation.dependencies_known()) {
    wait_in_real_time([&] { return operation.dependencies_known(); });
  }
  host_waits_until(operation.not_before);
  if (operation.not_before > called) wait_ended = engine.host_now();
}

namespace {

// Returns the operation that ends with "all work in this stream": the legacy stream includes the
// blocking streams.
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
  if (const auto number = foreign_record(event)) {
    const std::shared_ptr<SharedEvent> shared = event.shared;
    wait_in_real_time([&] { return shared->has_ended(number); });
    host_waits_until(shared->end());
    return;
  }
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
  if (const auto number = foreign_record(event)) {
    return event.shared->has_ended(number) && event.shared->end() <= engine.host_now();
  }
  const CompletionPtr record = event.record;
  if (!record) return true;
  wait_for_other_ranks([&] { return record->done; });
  return record->done && record->end <= engine.host_now();
}

}  // namespace simgpu
