#pragma once

#include "read/profile.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace inline_prof::join {

// The facts that a file gives about its run.
struct FileFacts {
  std::string file;
  std::string format;  // what the file is
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
  std::string event_list;           // event_list_of()
  std::set<std::string> exchanges;  // the communicators of its sends and receives
  std::set<std::string> gpus;       // names of its devices
  std::set<std::string> kernels;    // names; of a file without an event list's hash
  std::string host;
  std::vector<std::int64_t> device_ids;  // empty if the file does not list them
  std::string started_at;
  // The median, if iterations were looked for in the launches; empty for others.
  std::optional<double> iteration_ms = std::nullopt;
  std::int64_t iteration_launches = 0;
  bool is_whole_run = false;  // none were found
  bool is_watched = false;    // has histories, which join those of a rank that was started again
};

// True if the file was written when the program ended by itself: one of its warnings says how.
// False for a checkpoint, and for a run that a signal ended.
[[nodiscard]] bool has_ended(const read::Profile& profile);

// Says why a file is not complete, in its own words if it has any.
[[nodiscard]] std::string why_incomplete(const read::Profile& profile);

[[nodiscard]] FileFacts file_facts(const read::Profile& profile);

// The beginning of the sentence about ranks of which there is no file.
inline constexpr std::string_view kMissingRanks = "no file of rank ";

// Returns what speaks against the files being the ranks of one run: formats, GPUs or programs that
// differ, a rank (or, if ranks are not known, a host's devices) that is there twice, one that is
// missing; iterations that take another time than most ranks' do.  A report is made of them all the
// same, since somebody may want to see two runs side by side; each sentence names files or ranks.
// If they are some files of a run, none is missing.
enum class FilesOfRun { kAll, kSome };
[[nodiscard]] std::vector<std::string> belonging_warnings(const std::vector<FileFacts>& files,
                                                          FilesOfRun which = FilesOfRun::kAll);

}  // namespace inline_prof::join
