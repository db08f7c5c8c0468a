// One process's run, whatever the format of the file that tells of it.  Names and units follow
// docs/prof_json.md; a value that a format does not have is empty, never invented.
#pragma once

#include "read/op.hpp"
#include "watch/history.hpp"
#include "watch/machine_reading.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inline_prof::read {

// How the values of one format are to be understood.  The defaults are those of the prof.json that
// the injected library writes.
struct Capabilities {
  std::string format = "prof.json generation 3";  // a name for messages
  // `iter_time_ms` are the times of iterations in a row, and each sample's offset lies in its own.
  bool times_whole_iterations = true;
  // A pair of events adds to the times; if not, there is nothing to correct.
  bool has_event_pair_bias = true;
};

struct Distribution {
  double median = 0.0;
  std::optional<double> p05;
  std::optional<double> p95;
  std::int64_t count = 0;
};

struct Device {
  std::int64_t device_id = 0;
  std::string name;
  std::string uuid;
  std::string compute_capability;
  std::int64_t sm_count = 0;  // 0 if unknown, as the four below
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t sm_clock_khz = 0;
  std::int64_t memory_clock_khz = 0;
  bool mig = false;
  std::optional<double> mps_percent;
  std::string driver_version;
  std::string cuda_version;
};

enum class PairState { kBusy, kIdle, kGraph };

// The measured times of an event pair around nothing and around an empty kernel, and how much
// longer it gets by each further kernel.
struct Calibration {
  std::int64_t device_id = 0;
  PairState state = PairState::kBusy;
  std::optional<Distribution> empty_pair_us;
  std::optional<Distribution> empty_kernel_pair_us;
  std::optional<Distribution> added_kernel_us;
};

// Was the GPU still behind the host when the sample was taken?
enum class Tight : std::uint8_t { kNo, kYes, kUnknown };

struct LaunchShape {
  std::array<std::int64_t, 3> grid{};  // zeros if unknown, as everything below
  std::array<std::int64_t, 3> block{};
  std::array<std::int64_t, 3> cluster{};
  std::int64_t static_shared_bytes = 0;
  std::int64_t dynamic_shared_bytes = 0;
  std::int64_t registers = 0;
  std::int64_t max_blocks_per_sm = 0;
};

// Percent of an event's time during which other streams of its device did what slows it.  Files
// have millions of events, so these are small.
struct Neighbours {
  std::uint8_t collective = 0;
  std::uint8_t host_copy = 0;  // to the host or from it
};

struct Event {
  std::string name;
  std::string layer;        // empty if unknown
  std::size_t phase = 0;    // in Profile::phases
  std::string event_class;  // events of one class are expected to behave alike; empty if unknown
  std::string kernel_name;
  std::vector<std::string> kernel_names;
  std::int64_t device_id = 0;
  std::string stream;
  std::optional<std::int64_t> stream_index;
  std::int64_t start_index = 0;
  std::int64_t end_index = 0;
  std::int64_t occurrence = 0;  // how often the name was met on this stream in the iteration before
  std::optional<std::int64_t> calls;
  bool in_cuda_graph = false;
  Neighbours neighbours;  // means of the samples; zeros if not known
  std::vector<std::string> flags;
  std::string reason;  // why it was not timed as others were; empty if it was, or not known
  LaunchShape launch;
  std::optional<Op> op;

  // One entry a sample.  `tight`, `iterations` and `offsets_ms` may be empty: not known.
  std::vector<double> measured_ms;
  std::vector<double> offsets_ms;  // start of the iteration to the start of the event; may be < 0
  std::vector<std::int64_t> iterations;
  std::vector<Tight> tight;
  std::vector<double> after_wait_us;  // since the launching thread waited; NaN: it has not
  std::vector<std::string> extra_infos_start;
  std::vector<std::string> extra_infos_stop;

  std::vector<watch::Bin> history;  // oldest first; empty if the run was not watched

  [[nodiscard]] bool has_flag(std::string_view flag) const {
    for (const std::string& own : flags) {
      if (own == flag) return true;
    }
    return false;
  }
};

struct RuntimeData {
  std::string name;
  std::int64_t device_id = 0;
  std::string stream;
  std::vector<std::string> data;
};

struct ProfilerInfo {
  std::string version;
  std::string mode;
  std::string policy;
  std::string backend;
  std::string schedule;
  std::optional<std::int64_t> warmup_iterations;
  std::optional<std::int64_t> repeat;
  std::string iteration_source;
  std::optional<double> iteration_confidence;
  std::optional<std::int64_t> iteration_launches;  // of the period that was found
  std::optional<std::int64_t> other_period;        // launches of another one that fits, too
  std::string event_list_hash;
};

// The run's own measurement of what profiling cost it.
struct Overhead {
  std::int64_t armed_iterations = 0;
  std::int64_t unarmed_iterations = 0;
  std::optional<double> slowdown_percent;  // empty: could not be resolved
  std::optional<std::pair<double, double>> slowdown_percent_ci95;
  std::optional<std::int64_t> iterations_needed;  // more, for an interval of +-0.1 %
  std::string method;
  std::int64_t launches_seen = 0;
  std::int64_t host_bytes = 0;
};

// Iterations that launch the same.
struct Phase {
  std::vector<std::pair<std::int64_t, std::int64_t>> stretches{};  // first and last iteration
  std::int64_t iterations = 0;
  std::string iteration_source{};
  std::optional<double> iteration_confidence{};
  std::string reason{};              // why it was looked for
  std::int64_t kernel_launches = 0;  // in an iteration
  std::int64_t graph_launches = 0;
  std::int64_t graph_kernels = 0;
  bool measured = true;
  std::vector<double> iter_time_ms{};
  std::optional<double> share{};  // of the time of all phases
};

struct DeviceReadings {
  std::int64_t device_id = 0;
  std::vector<watch::MachineReading> readings;
};

// A change that the library found while the program ran.
struct FoundChange {
  std::string of;                    // "event", "layer" or "iteration"
  std::optional<std::size_t> event;  // in Profile::events
  std::string layer;
  std::optional<std::int64_t> device_id;
  double began_s = 0.0;
  double detected_s = 0.0;
  std::int64_t began_iteration = 0;
  double before_us = 0.0;
  double after_us = 0.0;
  double ratio = 1.0;
  std::pair<double, double> ratio_ci95{1.0, 1.0};
  std::string reason;  // empty if the machine's readings tell none
};

// Measuring that went on after the characterisation.  Times count from Profile::started_at.
struct Watched {
  double budget = 0.0;
  double false_alarms_per_month = 1.0;
  double started_s = 0.0;
  double until_s = 0.0;
  std::int64_t pairs = 0;
  std::optional<double> pair_cost_us;
  std::optional<double> cost_share;
  std::vector<watch::Bin> iteration;
  std::vector<DeviceReadings> machine;
  std::vector<FoundChange> changes;
};

struct Profile {
  std::string file;  // what messages call it
  Capabilities capabilities;
  std::string host_name;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
  std::optional<std::int64_t> local_rank;
  std::optional<std::int64_t> process_id;
  std::string command;
  std::string started_at;
  bool complete = true;
  bool simulated = false;  // the GPU was the simulated one
  ProfilerInfo profiler;
  std::vector<Device> devices;
  std::vector<std::pair<std::string, std::string>> libraries;
  std::vector<Calibration> calibration;
  std::vector<double> iter_time_ms;
  std::vector<Phase> phases;  // of a run that has several: events and times are those of one
  std::size_t phase = 0;      // that one
  std::vector<Event> events;
  std::vector<RuntimeData> runtime_data;
  std::optional<Overhead> overhead;
  std::vector<std::pair<std::string, std::int64_t>> dropped;
  std::vector<std::string> not_seen;
  std::vector<std::string> warnings;
  std::optional<Watched> watched;

  // Records that the reader left out because no clock can give them; counted, and shown in reports.
  std::int64_t negative_times = 0;
};

// The seam between the formats that a run is written in and everything that looks at a run.  A
// format is a folder beside this file and an entry in read_profile.cpp.

// How much of a file the reader takes.  Half of a large prof.json's numbers are offsets, the starts
// of events within their iteration, and not everybody has a use for them.
enum class Wanted { kAll, kWithoutOffsets };

struct ProfileFormat {
  // Globs of the names that its files have where a folder is searched for them.
  std::span<const std::string_view> file_names;
  // Returns true if a file that begins with these bytes (kBeginning, or all it has) is of this
  // format.
  bool (*recognises)(std::string_view beginning);
  // Returns the run with all its phases.  `text` is the whole file, `label` what messages call it.
  // Throws InputError.
  Profile (*read)(std::string text, const std::string& label, Wanted wanted);
};

inline constexpr std::size_t kBeginning = std::size_t{1} << 16;

// The first one also reads what none recognises, to say what is wrong with it.
[[nodiscard]] std::span<const ProfileFormat> profile_formats();

// Which phase of a run with several is shown: a profile's events and times are those of one.

// The launches of an iteration, as sorted hashes: equal in all files of a program, in this process.
struct Launched {
  std::vector<std::uint64_t> kernels;  // event, occurrence, and whether a graph launches it
  std::vector<std::uint64_t> grids;    // the same, with the grid
};
[[nodiscard]] Launched launched_in(const Profile& profile, std::size_t phase);

// The phase that took most of the time, where nothing else is said.
struct PhaseChoice {
  std::optional<std::size_t> number{};  // from 1, in order of appearance
  std::optional<Launched> like{};       // the one that launches most of this
  bool all = false;  // all stay: events of several phases are those of no iteration
};

// The one that took most of the time, of those that were measured; their shares are set.
[[nodiscard]] std::size_t main_phase(const Profile& profile);

// Sets the phases' shares of the time, and leaves the events and times of the phase that is chosen.
// Throws InputError where there is no phase of this number.
void show_phase(Profile& profile, const PhaseChoice& choice);

// "phase 2 of 3"; empty for a run with one.
[[nodiscard]] std::string phase_name(const Profile& profile);
// The same with the words of the one that is shown: "phase 2 of 3: 381 iterations ...".
[[nodiscard]] std::string shown_phase(const Profile& profile);

// "381 iterations from 20 on, each a graph of 97 kernels; 93.0 % of the time; ..."
[[nodiscard]] std::string phase_words(const Phase& phase);

}  // namespace inline_prof::read
