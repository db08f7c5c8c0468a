#include "schedule/read_request.hpp"

#include "schedule/error.hpp"
#include "schedule/schedule_json.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <limits>
#include <optional>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace inline_prof::schedule {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  ~FileDescriptor() {
    if (number_ > STDERR_FILENO) close(number_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

std::string error_text(int error) {
  return std::generic_category().message(error);
}

// O_NONBLOCK: opening a pipe without a writer, or some devices, would wait otherwise.
int open_for_reading(const std::string& path, Accept accept) {
  if (accept == Accept::kAnyStream) {
    return path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  }
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISBLK(mode)) return "a block device";
  return "a file of an unknown kind";
}

[[noreturn]] void fail_too_large(const std::string& path, const std::string& size,
                                 std::size_t max_bytes) {
  throw ScheduleError(path, "size",
                      size + " bytes, expected at most " + std::to_string(max_bytes) +
                          ": larger than any file of this kind");
}

}  // namespace

std::string read_text(const std::string& path, Accept accept, std::size_t max_bytes) {
  if (path.find('\0') != std::string::npos) {
    throw ScheduleError(in_quotes(path), "open", "a zero byte in the name, expected a path");
  }
  const FileDescriptor file(open_for_reading(path, accept));
  struct stat status {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) {
    throw ScheduleError(path, "open", error_text(errno) + ", expected a readable file");
  }
  const bool is_accepted =
      S_ISREG(status.st_mode) || (accept == Accept::kAnyStream && !S_ISDIR(status.st_mode));
  if (!is_accepted) {
    throw ScheduleError(path, "type",
                        std::string(kind_of(status.st_mode)) + ", expected a regular file");
  }
  if (S_ISREG(status.st_mode) && std::cmp_greater(status.st_size, max_bytes)) {
    fail_too_large(path, std::to_string(status.st_size), max_bytes);
  }

  std::string text;
  std::vector<char> block(65536);  // not on the stack: the reader may be a thread with a small one
  for (;;) {
    const ssize_t count = ::read(file.get(), block.data(), block.size());
    if (count == 0) return text;
    if (count < 0) {
      if (errno == EINTR) continue;
      throw ScheduleError(path, "read", error_text(errno) + ", expected text");
    }
    // The size may be wrong: a file can grow, and a stream has none.
    if (static_cast<std::size_t>(count) > max_bytes - text.size()) {
      fail_too_large(path, "more than " + std::to_string(max_bytes), max_bytes);
    }
    text.append(block.data(), static_cast<std::size_t>(count));
  }
}

Request parse_request(std::string_view text, const std::string& file) {
  if (text.empty()) throw ScheduleError(file, "size", "0 bytes, expected a schedule");
  if (file.ends_with(".json")) return parse_schedule_json(text, file);
  if (file.ends_with(".schedule")) return parse_prof_schedule(text, file);
  if (file.ends_with(".events")) return parse_prof_events(text, file);

  constexpr std::string_view skipped = "\xEF\xBB\xBF \t\r\n";
  const std::size_t first = text.find_first_not_of(skipped);
  const std::string_view start = text.substr(std::min(first, text.size()));
  if (start.starts_with('{') || start.starts_with("//") || start.starts_with("/*")) {
    return parse_schedule_json(text, file);
  }
  if (starts_with_an_integer_line(text)) return parse_prof_schedule(text, file);
  return parse_prof_events(text, file);
}

Request read_request(const std::string& path, Accept accept) {
  return parse_request(read_text(path, accept), path);
}

FoundRequest find_request(const std::string& named, const std::string& profiling_directory) {
  if (!named.empty()) return {.path = named, .request = read_request(named)};
  for (const std::string& directory : {profiling_directory, std::string(".")}) {
    if (directory.empty()) continue;
    for (const char* name : {"schedule.json", "prof.schedule", "prof.events"}) {
      const std::string path = directory == "." ? name : directory + "/" + name;
      // Only a missing file leads to the next one.
      if (access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) continue;
      return {.path = path, .request = read_request(path)};
    }
  }
  return {};
}

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kNoLayer = "-";
// Two names and two numbers fit in a line.
constexpr std::size_t kMaxNameBytes = (kMaxLineBytes - 64) / 2;
constexpr std::string_view kSampleFields =
    "EVENT ITERATION LAYER OCCURRENCE, with one blank between two";

bool is_control(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return code < 0x20 || code == 0x7F;
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, is_control);
}

// Returns `text` as a decimal integer; nothing for anything else, also if it does not fit.
template <typename Integer>
std::optional<Integer> whole_integer(std::string_view text) {
  Integer value = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

// Iterates over the lines of a text that are not empty, without their ends.
class Lines {
 public:
  Lines(std::string_view text, const std::string& file) : rest_(text), file_(file) {
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  }

  [[nodiscard]] std::optional<std::string_view> next() {
    while (!rest_.empty()) {
      const std::size_t end = rest_.find('\n');
      std::string_view line = rest_.substr(0, end);
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      ++number_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty()) continue;
      check(line);
      return line;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t number() const { return number_; }

  [[noreturn]] void fail(const std::string& what) const {
    throw ScheduleError(file_, "line " + std::to_string(number_), what);
  }

 private:
  void check(std::string_view line) const {
    if (line.size() > kMaxLineBytes) {
      fail(std::to_string(line.size()) + " bytes, expected at most " +
           std::to_string(kMaxLineBytes));
    }
    if (line.find('\t') != std::string_view::npos) fail("a tab, expected blanks only");
    const auto control = std::ranges::find_if(line, is_control);
    if (control != line.end()) {
      fail("the control character " + in_quotes({&*control, 1}) + ", expected text");
    }
  }

  std::string_view rest_;
  const std::string& file_;
  std::int64_t number_ = 0;
};

using SampleFields = std::array<std::string_view, 4>;

// Returns nothing if there are not exactly four fields; a field may be empty.
std::optional<SampleFields> split_sample(std::string_view line) {
  SampleFields fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::size_t blank = line.find(' ');
    const bool is_last = i + 1 == fields.size();
    if ((blank == std::string_view::npos) != is_last) return std::nullopt;
    fields[i] = line.substr(0, blank);
    if (!is_last) line.remove_prefix(blank + 1);
  }
  return fields;
}

Sample parse_sample(std::string_view line, const Lines& lines, std::int64_t warmup) {
  if (line.starts_with(' ') || line.ends_with(' ') || line.find("  ") != std::string_view::npos) {
    lines.fail("a blank too many, expected " + std::string(kSampleFields));
  }
  const auto fields = split_sample(line);
  if (!fields) {
    lines.fail(std::to_string(std::ranges::count(line, ' ') + 1) +
               " fields, expected 4: " + std::string(kSampleFields));
  }
  const auto& [event, iteration_text, layer, occurrence_text] = *fields;

  const auto iteration = whole_integer<std::int64_t>(iteration_text);
  if (!iteration || *iteration <= warmup || *iteration > kMaxIteration) {
    lines.fail("iteration " + in_quotes(iteration_text) + ", expected an integer from " +
               std::to_string(warmup + 1) + " (the first after the warm-up) to " +
               std::to_string(kMaxIteration));
  }
  const auto occurrence = whole_integer<int>(occurrence_text);
  if (!occurrence || *occurrence < 0) {
    lines.fail("occurrence " + in_quotes(occurrence_text) + ", expected an integer from 0 to " +
               std::to_string(std::numeric_limits<int>::max()));
  }
  return {.iteration = *iteration,
          .key = {.event = std::string(event),
                  .layer = layer == kNoLayer ? std::string() : std::string(layer),
                  .occurrence = *occurrence}};
}

[[noreturn]] void fail_order(const Lines& lines, std::int64_t iteration, std::int64_t last,
                             std::int64_t last_line) {
  std::string what = "iteration " + std::to_string(iteration);
  if (iteration == last) {
    what += " again after line " + std::to_string(last_line);
    what += ", expected one event an iteration";
  } else {
    what += " after iteration " + std::to_string(last);
    what += " of line " + std::to_string(last_line);
    what += ", expected ascending iterations";
  }
  lines.fail(what);
}

bool is_sample_line(std::string_view line) {
  const auto fields = split_sample(line);
  return fields && whole_integer<std::int64_t>((*fields)[1]) && whole_integer<int>((*fields)[3]);
}

void require_word(const std::string& name, const char* what) {
  if (name.empty() || name.size() > kMaxNameBytes || name.find(' ') != std::string::npos ||
      has_control(name)) {
    throw ScheduleError(std::string(what) + " " + in_quotes(name) +
                        " cannot stand in a prof.schedule, where a name is a word without blanks; "
                        "a schedule.json can carry it");
  }
}

}  // namespace

SampleList parse_prof_schedule(std::string_view text, const std::string& file) {
  Lines lines(text, file);
  const auto head = lines.next();
  if (!head) {
    throw ScheduleError(file, "line 1", "no text, expected the number of warm-up iterations");
  }
  const auto warmup = whole_integer<std::int64_t>(*head);
  if (!warmup || *warmup < 0 || *warmup > kMaxWarmup) {
    lines.fail(in_quotes(*head) +
               ", expected the number of warm-up iterations, an integer from 0 to " +
               std::to_string(kMaxWarmup));
  }

  SampleList list{.warmup = *warmup};
  std::int64_t last_line = 0;
  while (const auto line = lines.next()) {
    Sample sample = parse_sample(*line, lines, *warmup);
    if (!list.samples.empty() && sample.iteration <= list.samples.back().iteration) {
      fail_order(lines, sample.iteration, list.samples.back().iteration, last_line);
    }
    if (std::cmp_equal(list.samples.size(), kMaxSamples)) {
      lines.fail("one more sample, expected at most " + std::to_string(kMaxSamples));
    }
    list.samples.push_back(std::move(sample));
    last_line = lines.number();
  }
  if (list.samples.empty()) {
    lines.fail("the last line, expected a line for each sample after it: " +
               std::string(kSampleFields));
  }
  return list;
}

EventNames parse_prof_events(std::string_view text, const std::string& file) {
  Lines lines(text, file);
  EventNames events;
  while (const auto line = lines.next()) {
    if (line->starts_with(' ') || line->ends_with(' ')) {
      lines.fail("a blank at the start or the end, expected an event name");
    }
    if (line->starts_with('#')) {
      lines.fail("a '#', expected an event name: only a schedule.json can hold comments (// ...)");
    }
    if (is_sample_line(*line)) {
      lines.fail(
          "a sample, as in a prof.schedule, expected an event name; the first line of a "
          "prof.schedule is the number of warm-up iterations");
    }
    if (events.names.size() == kMaxNames) {
      lines.fail("one more name, expected at most " + std::to_string(kMaxNames));
    }
    events.names.emplace_back(*line);
  }
  if (events.names.empty()) {
    throw ScheduleError(file, "line 1", "no text, expected an event name on each line");
  }
  return events;
}

bool starts_with_an_integer_line(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return whole_integer<std::int64_t>(line).has_value();
}

std::string write_prof_schedule(const SampleList& list) {
  if (list.warmup < 0 || list.warmup > kMaxWarmup || list.samples.empty()) {
    throw ScheduleError("a prof.schedule needs a warm-up of 0 to " + std::to_string(kMaxWarmup) +
                        " and at least one sample");
  }
  std::string text = std::to_string(list.warmup) + "\n";
  std::int64_t last = list.warmup;
  for (const Sample& sample : list.samples) {
    const EventKey& key = sample.key;
    require_word(key.event, "the event");
    if (!key.layer.empty()) require_word(key.layer, "the layer");
    if (key.layer == kNoLayer) {
      throw ScheduleError(
          "the layer \"-\" cannot stand in a prof.schedule, where it means no layer");
    }
    if (sample.iteration <= last || sample.iteration > kMaxIteration || key.occurrence < 0) {
      throw ScheduleError("the sample of " + describe(key) + " in iteration " +
                          std::to_string(sample.iteration) + " does not come after iteration " +
                          std::to_string(last));
    }
    last = sample.iteration;
    text += key.event;
    text += ' ';
    text += std::to_string(sample.iteration);
    text += ' ';
    text += key.layer.empty() ? kNoLayer : std::string_view(key.layer);
    text += ' ';
    text += std::to_string(key.occurrence);
    text += '\n';
  }
  return text;
}

std::string write_prof_events(const EventNames& events) {
  if (events.names.empty()) throw ScheduleError("a prof.events needs at least one event");
  std::string text;
  // At the very start the mark would be taken for the file's own; an empty line is skipped.
  if (events.names.front().starts_with(kByteOrderMark)) text += '\n';
  for (const std::string& name : events.names) {
    if (name.empty() || name.size() > kMaxNameBytes || has_control(name) || name.starts_with(' ') ||
        name.ends_with(' ') || name.starts_with('#') || is_sample_line(name)) {
      throw ScheduleError("the event " + in_quotes(name) +
                          " cannot stand in a prof.events; a schedule.json can carry it");
    }
    text += name;
    text += '\n';
  }
  return text;
}

}  // namespace inline_prof::schedule
