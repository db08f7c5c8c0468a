// prof-analyze dataset FOLDER... -o DIR: runs as tables that DuckDB, Spark and others read.
//
// The Python package writes Parquet: it starts this program again with --format stream and puts
// what it prints into files.  Without Python the tables are CSV.
#include "export/dataset.hpp"

#include "base/command_line.hpp"
#include "base/two_threads.hpp"
#include "cli/common/options.hpp"
#include "cli/common/progress.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_analyze/commands.hpp"
#include "join/diagnose/belonging.hpp"
#include "join/join.hpp"
#include "model/machines.hpp"
#include "read/input_error.hpp"
#include "read/read_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace inline_prof::cli {
namespace {

namespace fs = std::filesystem;

enum class DatasetFormat { kParquet, kCsv, kStream };

struct DatasetOptions {
  std::vector<std::string> folders;
  std::string run;  // empty: each folder is one
  std::string machine;
  std::string output;
  DatasetFormat format = DatasetFormat::kParquet;
};

struct Source {
  std::string run;
  fs::path file;
};

// Returns a name as part of a path.  Other characters are written as %XX, which readers of Hive's
// partitions undo; an empty name is their null.
std::string folder_name(const std::string& text) {
  if (text.empty()) return "__HIVE_DEFAULT_PARTITION__";
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                          (c >= 'a' && c <= 'z') || c == '-' || c == '_' ||
                          (c == '.' && !name.empty());
    name += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return name;
}

std::string part_name(const fs::path& file) {
  std::string name = file.filename().string();
  for (const std::string_view ending : {".json", ".prof"}) {
    if (name.ends_with(ending) && name.size() > ending.size())
      name.resize(name.size() - ending.size());
  }
  return folder_name(name);
}

std::vector<Source> sources_of(const DatasetOptions& options) {
  std::vector<Source> sources;
  std::set<std::string> names;
  for (const std::string& argument : options.folders) {
    std::string run = options.run;
    if (run.empty()) {
      if (!fs::exists(argument))
        throw read::InputError(fmt::format("{}: no such file or folder", argument));
      if (!fs::is_directory(argument)) {
        throw UsageError(fmt::format(
            "{}: expected the folder of a run; of a file, --run must say which it belongs to",
            argument));
      }
      fs::path folder = fs::weakly_canonical(argument);
      if (!folder.has_filename()) folder = folder.parent_path();
      run = folder.filename().string();
      if (!names.insert(run).second) {
        throw UsageError(fmt::format(
            "two folders are called {}: give each of them a name with --run, one by one", run));
      }
    }
    for (fs::path& file : read::expand_inputs({argument}))
      sources.push_back({run, std::move(file)});
  }
  return sources;
}

// The tables of one file.
struct Part {
  std::string run;
  std::string host;
  std::string name;
  std::vector<exports::Table> tables;
};

// The destination of parts.
class Sink {
 public:
  Sink() = default;
  virtual ~Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  // Returns the part as it will be written, one text for each table.  Called on any thread.
  [[nodiscard]] virtual std::vector<std::string> texts_of(const Part& part) const = 0;
  // Called in the order of the files.
  virtual void write(const Part& part, const std::vector<std::string>& texts) = 0;
  virtual void finish() {}
};

class StreamSink : public Sink {
 public:
  [[nodiscard]] std::vector<std::string> texts_of(const Part& part) const override {
    std::string text;
    for (const exports::Table& table : part.tables) {
      // Encoded names need no escapes.
      table.append_frame(
          text, fmt::format(R"("run":"{}","host":"{}","part":"{}",)", folder_name(part.run),
                            folder_name(part.host), part.name));
    }
    return {std::move(text)};
  }
  void write(const Part& /*part*/, const std::vector<std::string>& texts) override {
    for (const std::string& text : texts) {
      if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
        throw OutputError(
            fmt::format("standard output: {}", std::generic_category().message(errno)));
    }
  }
  void finish() override {
    const std::string_view end = "{\"table\":\"\"}\n";  // a reader knows that it has all
    if (std::fwrite(end.data(), 1, end.size(), stdout) != end.size() || std::fflush(stdout) != 0)
      throw OutputError(fmt::format("standard output: {}", std::generic_category().message(errno)));
  }
};

// Refuses a dataset of another kind of file or another version, because readers take all files of a
// table together.  Any file of the table `run` tells both.
void refuse_other_dataset(const fs::path& dataset) {
  std::error_code error;
  const fs::recursive_directory_iterator files(dataset / "run", error);
  if (error) return;
  for (const fs::directory_entry& entry : files) {
    if (!entry.is_regular_file()) continue;
    const std::string file = entry.path().string();
    if (entry.path().extension() != ".csv") {
      throw OutputError(
          fmt::format("{}: {} is there, and a dataset has files of one kind; expected another "
                      "folder for CSV",
                      dataset.string(), file));
    }
    std::ifstream text(entry.path());
    std::string names;
    std::string row;
    std::getline(text, names);
    std::getline(text, row);
    const std::string version = row.substr(0, row.find(','));
    if (row.empty()) continue;
    if (version == std::to_string(exports::kDatasetVersion)) return;
    throw OutputError(fmt::format(
        "{}: a dataset of version {} ({}), and this prof-analyze writes version {}; expected "
        "another folder",
        dataset.string(), version, file, exports::kDatasetVersion));
  }
}

// Writes CSV files.  They appear in a hidden folder first, so a failure leaves the dataset as it
// was.
class CsvSink : public Sink {
 public:
  explicit CsvSink(fs::path dataset)
      : dataset_(std::move(dataset)), staging_(dataset_ / fmt::format(".writing.{}", getpid())) {
    refuse_other_dataset(dataset_);
    std::error_code error;
    fs::create_directories(staging_, error);
    if (error) throw OutputError(fmt::format("{}: {}", dataset_.string(), error.message()));
  }
  ~CsvSink() override {
    std::error_code ignored;
    fs::remove_all(staging_, ignored);
  }

  [[nodiscard]] std::vector<std::string> texts_of(const Part& part) const override {
    std::vector<std::string> texts;
    for (const exports::Table& table : part.tables)
      table.append_csv(texts.emplace_back());
    return texts;
  }

  void write(const Part& part, const std::vector<std::string>& texts) override {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const fs::path place = fs::path(part.tables[i].facts().name) /
                             ("run=" + folder_name(part.run)) / ("host=" + folder_name(part.host)) /
                             (part.name + ".csv");
      std::error_code error;
      for (const fs::path& root : {dataset_, staging_}) {
        if (!fs::exists(root / place, error)) continue;
        const fs::path table = *place.begin();
        const bool is_finished = table == "run" || table == "finding" || root == staging_ ||
                                 fs::exists(dataset_ / "run" / place.lexically_relative(table));
        throw OutputError(fmt::format(
            "{}: stands already, {}", (dataset_ / place).string(),
            is_finished
                ? "and what stands is never rewritten; expected another --run"
                : "without a row in the table run: the writing of it was cut off; remove it"));
      }
      fs::create_directories((staging_ / place).parent_path(), error);
      std::FILE* file = error ? nullptr : std::fopen((staging_ / place).c_str(), "wbx");
      bool is_written = file != nullptr;
      if (file != nullptr) {
        is_written = std::fwrite(texts[i].data(), 1, texts[i].size(), file) == texts[i].size();
        is_written = std::fclose(file) == 0 && is_written;
      }
      if (!is_written) {
        throw OutputError(
            fmt::format("{}: {}", (dataset_ / place).string(),
                        error ? error.message() : std::generic_category().message(errno)));
      }
      places_.push_back(place);
    }
  }

  // Moves the table `run` last: a file without a row there is not finished.
  void finish() override {
    for (const bool is_run : {false, true}) {
      for (const fs::path& place : places_) {
        if ((*place.begin() == "run") != is_run) continue;
        std::error_code error;
        fs::create_directories((dataset_ / place).parent_path(), error);
        if (!error) fs::rename(staging_ / place, dataset_ / place, error);
        if (error)
          throw OutputError(fmt::format("{}: {}", (dataset_ / place).string(), error.message()));
      }
    }
  }

 private:
  fs::path dataset_;
  fs::path staging_;
  std::vector<fs::path> places_;
};

struct ReadPart {
  Part part;
  join::FileFacts facts;
  std::vector<std::string> texts;
};

exports::DatasetPhase read_phase(read::Profile profile, std::size_t number,
                                 const join::JoinOptions& options,
                                 const std::vector<read::Machine>& known) {
  exports::DatasetPhase phase;
  for (std::size_t place = 0; place < profile.events.size(); ++place) {
    if (profile.phases.size() < 2 || profile.events[place].phase == number)
      phase.places.push_back(place);
  }
  read::show_phase(profile, {.number = number + 1});
  std::vector<read::Profile> profiles;
  profiles.push_back(std::move(profile));
  phase.analysis = join::join_profiles(std::move(profiles), known, options);
  return phase;
}

ReadPart read_part(const Source& source, const join::JoinOptions& options,
                   const std::vector<read::Machine>& known, const Sink& sink) {
  read::Profile whole =
      read::read_profile(source.file, read::Wanted::kAll, read::PhaseChoice{.all = true});
  ReadPart result;
  result.facts = join::file_facts(whole);
  result.part = {source.run, whole.host_name, part_name(source.file), {}};
  std::vector<exports::DatasetPhase> phases;
  if (whole.phases.size() < 2) {
    phases.push_back(read_phase(std::move(whole), 0, options, known));
  } else {
    for (std::size_t i = 0; i < whole.phases.size(); ++i) {
      if (i == read::main_phase(whole) || whole.phases[i].measured)
        phases.push_back(read_phase(whole, i, options, known));
    }
  }
  result.part.tables = exports::dataset_of(phases);
  result.texts = sink.texts_of(result.part);
  return result;
}

void write_tables(const std::vector<Source>& sources, const DatasetOptions& options, Sink& sink) {
  const std::vector<read::Machine> known = model::builtin_machines();
  join::JoinOptions join_options;
  join_options.machine = parse_machine(options.machine);
  join_options.keep_events = true;
  // State of the run that is being written.
  std::vector<join::FileFacts> facts;
  std::set<std::string_view> tables;
  const auto write_texts = [&](const Part& part, const std::vector<std::string>& texts) {
    for (const exports::Table& table : part.tables)
      tables.insert(table.facts().name);
    sink.write(part, texts);
  };
  const auto write = [&](const Part& part) { write_texts(part, sink.texts_of(part)); };
  // A node that names its own files does not have the other nodes'.
  const bool has_folders = std::ranges::all_of(
      options.folders, [](const std::string& folder) { return fs::is_directory(folder); });
  const join::FilesOfRun which = has_folders ? join::FilesOfRun::kAll : join::FilesOfRun::kSome;
  const auto end_run = [&](const Source& last) {
    std::size_t number = 0;
    for (const std::string& warning : join::belonging_warnings(facts, which)) {
      write({last.run,
             "",
             fmt::format("{}.run{}", part_name(last.file), number++),
             {exports::dataset_finding("run", "", warning)}});
    }
    // A reader finds every table, and what its columns are.
    for (const exports::TableFacts* table : exports::dataset_tables()) {
      if (!tables.contains(table->name))
        write({last.run, "", part_name(last.file) + ".none", {exports::Table(*table)}});
    }
    facts.clear();
    tables.clear();
  };
  std::string first_complaint;
  std::size_t readable = 0;
  Progress progress("reading");
  base::in_two_threads(
      sources.size(),
      [&](std::size_t i) {
        return join::or_complaint([&] { return read_part(sources[i], join_options, known, sink); });
      },
      [&](std::size_t i, join::Readable<ReadPart> read) {
        progress.say(fmt::format("{} of {} files", i + 1, sources.size()));
        if (read.value) {
          ++readable;
          facts.push_back(std::move(read.value->facts));
          write_texts(read.value->part, read.value->texts);
        } else {
          if (first_complaint.empty()) first_complaint = read.complaint;
          write({sources[i].run,
                 "",
                 part_name(sources[i].file),
                 {exports::dataset_finding("left out", sources[i].file.string(), read.complaint)}});
        }
        if (i + 1 == sources.size() || sources[i + 1].run != sources[i].run) end_run(sources[i]);
      });
  if (readable == 0) throw read::InputError(first_complaint);
  sink.finish();
}

// Adds the Python package to PYTHONPATH, from its place in an installation or in the build tree.
void find_python_package() {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::string path;
  for (const char* place : {INLINE_PROF_BIN_TO_LIB "/inline_prof/python", "../../python"}) {
    const fs::path folder = fs::weakly_canonical(own / place, error);
    if (path.empty() && !error && fs::is_regular_file(folder / "inline_prof/dataset.py", error))
      path = folder;
  }
  if (path.empty()) return;
  const char* before = std::getenv("PYTHONPATH");  // NOLINT(concurrency-mt-unsafe)
  if (before != nullptr && *before != '\0') path.append(":").append(before);
  setenv("PYTHONPATH", path.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
}

// Returns the Python of the environment that this program is installed in, else the user's.
std::string find_python() {
  std::error_code error;
  const fs::path beside = fs::read_symlink("/proc/self/exe", error).parent_path() / "python3";
  return access(beside.c_str(), X_OK) == 0 ? beside.string() : "python3";
}

// Returns the exit status, nothing if there is no Python with our package.
std::optional<int> run_python(std::vector<std::string> words) {
  find_python_package();
  const std::string python = find_python();
  const auto run = [](std::vector<std::string>& command) -> std::optional<int> {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (std::string& word : command)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    int status = 0;
    if (posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0)
      return std::nullopt;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  };
  std::vector<std::string> probe{python, "-c",
                                 "import importlib.util as u, sys; "
                                 "sys.exit(not (u.find_spec('inline_prof') and "
                                 "u.find_spec('inline_prof.dataset')))"};
  if (run(probe) != 0) return std::nullopt;
  words.insert(words.begin(), {python, "-m", "inline_prof.dataset"});
  return run(words);
}

std::optional<int> write_parquet(const DatasetOptions& options) {
  std::error_code error;
  std::vector<std::string> words{"--analyzer", fs::read_symlink("/proc/self/exe", error).string(),
                                 "-o", options.output};
  if (!options.run.empty()) words.insert(words.end(), {"--run", options.run});
  if (!options.machine.empty()) words.insert(words.end(), {"--machine", options.machine});
  words.emplace_back("--");
  words.insert(words.end(), options.folders.begin(), options.folders.end());
  return run_python(std::move(words));
}

void run_dataset(const DatasetOptions& options, int& status) {
  const std::vector<Source> sources = sources_of(options);
  if (options.format == DatasetFormat::kStream) {
    StreamSink sink;
    return write_tables(sources, options, sink);
  }
  if (options.output.empty()) throw UsageError("-o: expected the folder of the dataset");
  if (options.format == DatasetFormat::kParquet) {
    if (const auto of_python = write_parquet(options)) {
      status = *of_python;
      return;
    }
    fmt::print(stderr,
               "prof-analyze: no python3 with the package inline_prof here: CSV instead of "
               "Parquet\n");
  }
  CsvSink sink(options.output);
  write_tables(sources, options, sink);
}

}  // namespace

void declare_dataset(Command& command, int& status) {
  const auto options = std::make_shared<DatasetOptions>();
  command.add_option("FOLDER", options->folders, "Folders of runs, or with --run the files of one")
      .required();
  command.add_option("-o,--output", options->output,
                     "Folder of the dataset; what stands there is never rewritten");
  command.add_option("--run", options->run, "Name of the run; default: that of its folder");
  command.add_option("--machine", options->machine,
                     "Machine to predict for, an id or a file; default: what each file says");
  const NamedValues<DatasetFormat> formats{{"parquet", DatasetFormat::kParquet},
                                           {"csv", DatasetFormat::kCsv},
                                           {"stream", DatasetFormat::kStream}};
  command.add_option("--format", options->format,
                     "parquet needs the Python package with pyarrow or duckdb; stream is what it "
                     "reads, on standard output",
                     formats);
  command.on_run([options, &status] { run_dataset(*options, status); });
}

}  // namespace inline_prof::cli
