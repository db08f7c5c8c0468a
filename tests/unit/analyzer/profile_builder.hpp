// Fabricated profiles with readable arguments.
#pragma once

#include "model/machines.hpp"
#include "read/machine.hpp"
#include "read/profile.hpp"

#include <inline_prof/prof_format.hpp>

#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::test {

inline read::Op gemm_op(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& type) {
  return {.kind = "gemm",
          .source = "test",
          .attributes = {
              {"m", m}, {"n", n}, {"k", k}, {"a_type", type}, {"b_type", type}, {"c_type", type}}};
}

inline read::Op memory_op(std::int64_t read_bytes, std::int64_t write_bytes) {
  return {.kind = "memory",
          .source = "test",
          .attributes = {{"read_bytes", read_bytes}, {"write_bytes", write_bytes}}};
}

inline read::Op op_of_kind(const std::string& kind) {
  return {.kind = kind, .source = "test", .attributes = {}};
}

// Reads "gemm m=1 type=f16 stride=2,2": sizes, lists of them, or words.
inline read::Op op_of(const std::string& text) {
  std::istringstream words(text);
  std::string word;
  words >> word;
  read::Op op = op_of_kind(word);
  while (words >> word) {
    const std::string name = word.substr(0, word.find('='));
    const std::string value = word.substr(name.size() + 1);
    if (value.find_first_not_of("0123456789,") != std::string::npos) {
      op.attributes.emplace_back(name, value);
    } else if (value.find(',') == std::string::npos) {
      op.attributes.emplace_back(name, std::stoll(value));
    } else {
      std::vector<std::int64_t> sizes;
      std::istringstream list(value);
      for (std::string size; std::getline(list, size, ',');)
        sizes.push_back(std::stoll(size));
      op.attributes.emplace_back(name, sizes);
    }
  }
  return op;
}

class EventBuilder {
 public:
  EventBuilder(const std::string& name, std::int64_t start_index, std::int64_t end_index) {
    event_.name = name;
    event_.stream = "0x1";
    event_.stream_index = 0;
    event_.start_index = start_index;
    event_.end_index = end_index;
  }
  EventBuilder& layer(const std::string& name) { return with(event_.layer, name); }
  EventBuilder& device(std::int64_t device_id) { return with(event_.device_id, device_id); }
  EventBuilder& stream(std::int64_t stream_index) {
    event_.stream = std::to_string(stream_index);
    return with(event_.stream_index, stream_index);
  }
  EventBuilder& occurrence(std::int64_t occurrence) { return with(event_.occurrence, occurrence); }
  EventBuilder& kernel(const std::string& name) { return with(event_.kernel_name, name); }
  EventBuilder& calls(std::int64_t calls) { return with(event_.calls, calls); }
  EventBuilder& flag(const std::string& name) {
    event_.flags.push_back(name);
    return *this;
  }
  EventBuilder& in_graph() { return with(event_.in_cuda_graph, true); }
  EventBuilder& op(read::Op op) { return with(event_.op, std::move(op)); }
  EventBuilder& tight(std::vector<read::Tight> tight) {
    return with(event_.tight, std::move(tight));
  }
  EventBuilder& samples_us(const std::vector<double>& times_us) {
    for (const double time_us : times_us)
      event_.measured_ms.push_back(time_us * 1e-3);
    return *this;
  }
  EventBuilder& offset_us(double offset_us) {
    event_.offsets_ms.assign(event_.measured_ms.size(), offset_us * 1e-3);
    return *this;
  }
  // NOLINTNEXTLINE(google-explicit-constructor): a builder stands where its event is wanted
  operator read::Event() const { return event_; }

 private:
  template <typename Member, typename Value>
  EventBuilder& with(Member& member, Value&& value) {
    member = std::forward<Value>(value);
    return *this;
  }

  read::Event event_;
};

inline read::Profile profile_of(std::vector<read::Event> events, double iteration_us) {
  read::Profile profile;
  profile.file = "p.json";
  profile.iter_time_ms = {iteration_us * 1e-3};
  profile.events = std::move(events);
  return profile;
}

inline read::Calibration calibration(std::int64_t device_id, read::PairState state,
                                     double empty_pair_us) {
  read::Calibration result;
  result.device_id = device_id;
  result.state = state;
  result.empty_pair_us =
      read::Distribution{.median = empty_pair_us, .p05 = {}, .p95 = {}, .count = 64};
  return result;
}

inline read::Machine builtin_machine(const std::string& id) {
  return model::choose_machine(id, model::builtin_machines());
}

// Round numbers, so that expected values can be checked by hand: 1 TFLOP/s and 100 GB/s reachable.
inline read::Machine toy_machine() {
  read::Machine machine;
  machine.id = "toy";
  machine.names = {"Toy GPU"};
  machine.sm_count = 10;
  machine.memory_gb_per_s = 200;
  machine.peak_tflops = {{"f16", 2.0}, {"f32", 0.5}, {"tf32", 1.0}, {"f8", 4.0}};
  machine.gemm_fraction = 0.5;
  machine.memory_fraction = 0.5;
  machine.launch_floor_us = 5;
  return machine;
}

}  // namespace inline_prof::test

// Short in the namespaces of all rooms.
namespace inline_prof {
using test::builtin_machine;
using test::EventBuilder;
using test::memory_op;
using test::op_of;
using test::profile_of;
using test::toy_machine;
}  // namespace inline_prof
