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
// created there, else a sentence that names the directory and the reason. A device of that name is
// such a reason: a file would only get a number, beside it. So is a pipe or socket that the file
// would replace.
enum class Existing : std::uint8_t { kStays, kIsReplaced };
[[nodiscard]] std::string prepare_directory(const std::string& path,
                                            Existing existing = Existing::kStays);

// One run's file. The first write takes an unused name (PATH, else with .1, .2 ... before
// .prof.json or .json); later writes replace this run's own file.
class OutputFile {
 public:
  explicit OutputFile(std::string path) : wanted_(std::move(path)) {}
  // A file that replaces any file of its name, also one of an earlier run.
  [[nodiscard]] static OutputFile that_replaces(std::string path) {
    OutputFile file(std::move(path));
    file.taken_ = file.wanted_;
    return file;
  }

  // Writes to a temporary name in the same folder, then renames it. Returns an empty string, or a
  // sentence that names the file and the reason; then an earlier file is unchanged. The first write
  // removes temporary files that killed processes have left for the same name.
  [[nodiscard]] std::string write(const std::string& text);

  // Empty before the first successful write.
  [[nodiscard]] const std::string& path() const { return taken_; }

 private:
  std::string wanted_;
  std::string taken_;
  bool has_cleaned_ = false;
};

}  // namespace inline_prof::record
