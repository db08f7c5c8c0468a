// Where prof.json goes, and how it gets there without ever losing or overwriting anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace inline_prof::record {

struct OutputNaming {
  std::string output_template;  // INLINE_PROF_OUT or _METRICS; empty: by directory, host and rank
  std::string directory = ".";
  bool directory_is_set = false;
  std::optional<std::int64_t> rank;
};

// prof.json | DIR/HOST.prof.json | DIR/HOST.rankN.prof.json | the template with %h %p %r %q{VAR}
// replaced (docs/configuration.md).  Absolute, since the application may change its directory
// later. Throws ConfigError for a template it cannot follow.
[[nodiscard]] std::string output_path(const OutputNaming& naming, const std::string& host_name,
                                      int process_id);

// INLINE_PROF_METRICS with the same replaced; .rankN stands before the ending of a rank's file if
// neither %r nor %p is in the template, so that ranks do not overwrite each other's.
[[nodiscard]] std::string metrics_path(const OutputNaming& naming, const std::string& host_name,
                                       int process_id);

// Makes the directory of `path` if it is missing.  Returns an empty string if a file can be created
// there, else a sentence that names the directory and the reason.  A device, pipe or socket of that
// name is such a reason: a file would only get a number, beside it.
[[nodiscard]] std::string prepare_directory(const std::string& path);

// One run's file.  The first write takes a name that nobody has (PATH, else with .1, .2 ... before
// .prof.json or .json); later writes replace this run's own file.
class OutputFile {
 public:
  explicit OutputFile(std::string path) : wanted_(std::move(path)) {}
  // A file that takes the place of whatever has its name, a run before's included.
  [[nodiscard]] static OutputFile that_replaces(std::string path) {
    OutputFile file(std::move(path));
    file.taken_ = file.wanted_;
    return file;
  }

  // Writes to a temporary name in the same folder, then moves it into place.  Returns an empty
  // string, or a sentence that names the file and the reason; then whatever stood there still does.
  // The first write takes away temporary files that killed processes have left for the same name.
  [[nodiscard]] std::string write(const std::string& text);

  // Empty before the first successful write.
  [[nodiscard]] const std::string& path() const { return taken_; }

 private:
  std::string wanted_;
  std::string taken_;
  bool has_cleaned_ = false;
};

}  // namespace inline_prof::record
