// prof-analyze dataset FOLDER... -o DIR: runs as tables that DuckDB, Spark and others read.
//
// The Python package writes the files: it starts this program again with --format stream, or
// csv_stream where it can write no Parquet, and puts what that prints into them.
#include "export/dataset.hpp"

#include "base/command_line.hpp"
#include "base/two_threads.hpp"
#include "cli/common/options.hpp"
#include "cli/common/program.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_analyze/commands.hpp"
#include "join/diagnose/belonging.hpp"
#include "join/join.hpp"
#include "model/machines.hpp"
#include "read/input_error.hpp"
#include "read/read_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace inline_prof::cli {
namespace {

namespace fs = std::filesystem;

enum class DatasetFormat { kParquet, kCsv, kStream, kCsvStream };

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
      if (!fs::is_directory(argument))
        throw UsageError(fmt::format(
            "{}: expected the folder of a run; of a file, --run must say which it belongs to",
            argument));
      fs::path folder = fs::weakly_canonical(argument);
      if (!folder.has_filename()) folder = folder.parent_path();
      run = folder.filename().string();
      if (!names.insert(run).second)
        throw UsageError(fmt::format(
            "two folders are called {}: give each of them a name with --run, one by one", run));
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

// Returns the part as the Python package reads it.
std::string text_of(const Part& part, exports::Layout layout) {
  std::string text;
  for (const exports::Table& table : part.tables) {
    // Encoded names need no escapes.
    table.append_frame(text,
                       fmt::format(R"("run":"{}","host":"{}","part":"{}",)", folder_name(part.run),
                                   folder_name(part.host), part.name),
                       layout);
  }
  return text;
}

struct ReadPart {
  Part part;
  join::FileFacts facts;
  std::string text;
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
                   const std::vector<read::Machine>& known, exports::Layout layout) {
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
  result.text = text_of(result.part, layout);
  return result;
}

// Prints the tables of all files, in their order.
void print_tables(const std::vector<Source>& sources, const DatasetOptions& options,
                  exports::Layout layout) {
  const std::vector<read::Machine> known = model::builtin_machines();
  join::JoinOptions join_options;
  join_options.machine = parse_machine(options.machine);
  join_options.keep_events = true;
  // State of the run that is being written.
  std::vector<join::FileFacts> facts;
  std::set<std::string_view> tables;
  const auto print_part = [&](const Part& part, const std::string& text) {
    for (const exports::Table& table : part.tables)
      tables.insert(table.facts().name);
    write_result("-", text, false);
  };
  const auto write = [&](const Part& part) { print_part(part, text_of(part, layout)); };
  // A node that names its own files does not have the other nodes'.
  const bool has_folders = std::ranges::all_of(
      options.folders, [](const std::string& folder) { return fs::is_directory(folder); });
  const join::FilesOfRun which = has_folders ? join::FilesOfRun::kAll : join::FilesOfRun::kSome;
  const auto end_run = [&](const Source& last) {
    std::size_t number = 0;
    for (const std::string& warning : join::belonging_warnings(facts, which))
      write({last.run,
             "",
             fmt::format("{}.run{}", part_name(last.file), number++),
             {exports::dataset_finding("run", "", warning)}});
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
        return join::or_complaint(
            [&] { return read_part(sources[i], join_options, known, layout); });
      },
      [&](std::size_t i, join::Readable<ReadPart> read) {
        progress.say(fmt::format("{} of {} files", i + 1, sources.size()));
        if (read.value) {
          ++readable;
          facts.push_back(std::move(read.value->facts));
          print_part(read.value->part, read.value->text);
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
  write_result("-", "{\"table\":\"\"}\n", false);  // a reader knows that it has all
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

// Becomes the Python package, which writes the files.
[[noreturn]] void write_files(const DatasetOptions& options) {
  std::error_code error;
  find_python_package();
  std::vector<std::string> words{find_python(),
                                 "-m",
                                 "inline_prof.dataset",
                                 "--analyzer",
                                 fs::read_symlink("/proc/self/exe", error).string(),
                                 "-o",
                                 options.output};
  if (options.format == DatasetFormat::kCsv) words.insert(words.end(), {"--engine", "csv"});
  if (!options.run.empty()) words.insert(words.end(), {"--run", options.run});
  if (!options.machine.empty()) words.insert(words.end(), {"--machine", options.machine});
  words.emplace_back("--");
  words.insert(words.end(), options.folders.begin(), options.folders.end());
  become(std::move(words));
}

void run_dataset(const DatasetOptions& options) {
  const std::vector<Source> sources = sources_of(options);
  if (options.format == DatasetFormat::kStream)
    return print_tables(sources, options, exports::Layout::kArrow);
  if (options.format == DatasetFormat::kCsvStream)
    return print_tables(sources, options, exports::Layout::kCsv);
  if (options.output.empty()) throw UsageError("-o: expected the folder of the dataset");
  write_files(options);
}

}  // namespace

void declare_dataset(Command& command, int& /*status*/) {
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
                                           {"stream", DatasetFormat::kStream},
                                           {"csv_stream", DatasetFormat::kCsvStream}};
  command.add_option("--format", options->format,
                     "parquet needs pyarrow or duckdb, and is csv without; stream and csv_stream "
                     "are what the Python package reads, on standard output",
                     formats);
  command.on_run([options] { run_dataset(*options); });
}

}  // namespace inline_prof::cli
