// Chooses the path of prof.json and writes the file without ever losing or overwriting another one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace inline_prof::record {

struct OutputNaming {
  std::string output_template{};  // INLINE_PROF_OUT or _METRICS; empty: by directory, host and rank
  std::string directory = ".";
  bool directory_is_set = false;
  std::optional<std::int64_t> rank{};
};

// Returns prof.json, DIR/HOST.prof.json, DIR/HOST.rankN.prof.json, or the template with %h %p %r
// %q{VAR} replaced (docs/configuration.md). The path is absolute, since the application may change
// its directory later. Throws ConfigError for a wrong template.
[[nodiscard]] std::string output_path(const OutputNaming& naming, const std::string& host_name,
                                      int process_id);

// Returns INLINE_PROF_METRICS with the same replaced. A rank's file gets .rankN before its ending
// if neither %r nor %p is in the template, so that ranks do not overwrite each other's.
[[nodiscard]] std::string metrics_path(const OutputNaming& naming, const std::string& host_name,
                                       int process_id);

// Creates the directory of `path` if it is missing. Returns an empty string if a file can be
// created there, or is a stream that can be written to; else a sentence that names the directory
// and the reason. Only the profile may be a stream; a file that replaces others would replace it.
enum class Existing : std::uint8_t { kStays, kIsReplaced };
[[nodiscard]] std::string prepare_directory(const std::string& path,
                                            Existing existing = Existing::kStays);

// A pipe, a device such as a terminal, or a descriptor as /dev/stdout names it: what is written
// stays written, and nothing stands beside it.
[[nodiscard]] bool is_stream(const std::string& path);

// One run's file. The first write takes an unused name (PATH, else with .1, .2 ... before
// .prof.json or .json); later writes replace this run's own file.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  // A file that replaces any file of its name, also one of an earlier run.
  [[nodiscard]] static OutputFile that_replaces(std::string path) {
    OutputFile file(std::move(path));
    file.is_stream_ = false;
    file.taken_ = file.wanted_;
    return file;
  }

  // To be written to once.
  [[nodiscard]] bool is_a_stream() const { return is_stream_; }

  // Writes to a temporary name in the same folder, then renames it. Returns an empty string, or a
  // sentence that names the file and the reason; then an earlier file is unchanged. The first write
  // removes temporary files that killed processes have left for the same name.
  [[nodiscard]] [[gnu::cold]] std::string write(const std::string& text);

  // Empty before the first successful write.
  [[nodiscard]] const std::string& path() const { return taken_; }

 private:
  std::string wanted_;
  std::string taken_;
  bool is_stream_;
  std::uint64_t inode_ = 0;  // of a descriptor, whose number may be another file's later
  bool has_cleaned_ = false;
};

}  // namespace inline_prof::record
