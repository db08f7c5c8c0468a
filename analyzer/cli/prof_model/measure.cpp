// prof-model measure: starts prof-measure, a program of its own because it links CUDA.  With
// --suggest it says which shapes to measure, which needs no GPU.
#include "base/command_line.hpp"
#include "cli/common/options.hpp"
#include "cli/common/result_file.hpp"
#include "cli/prof_model/commands.hpp"
#include "fit/suggest.hpp"
#include "model/shipped_parameters.hpp"
#include "read/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace inline_prof::cli {
namespace {

namespace fs = std::filesystem;

fs::path find_program() {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  // Beside us, where we are installed, and where both are built.
  const std::array places{folder / "prof-measure",
                          folder / INLINE_PROF_LIBEXEC_FROM_BIN / "inline_prof" / "prof-measure",
                          folder / "../measure/prof-measure"};
  for (const fs::path& place : places) {
    if (access(place.c_str(), X_OK) == 0) return place;
  }
  throw std::runtime_error(fmt::format(
      "{}: not found: it is in no wheel, and is built and installed with a CUDA toolkit "
      "(cmake --install BUILD --component measure)",
      places[1].lexically_normal().string()));
}

void run_measure(const std::vector<std::string>& words) {
  const std::string program = find_program().string();
  std::vector<std::string> arguments{program};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments)
    pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  throw std::runtime_error(fmt::format("{}: {}", program, std::generic_category().message(errno)));
}

// Sides of common layers, which are worth a measurement.
constexpr std::array kSides{64., 256., 1024., 2048., 4096., 8192., 16384.};
constexpr std::array kRows{1., 16., 128., 129., 1024., 4096., 16384.};
constexpr double kMostOperations = 1e14;  // a tenth of a second on a large GPU

struct Suggest {
  std::string parameters, machine, output = "-";
  std::size_t points = 40;
  bool force = false;
};

void run_suggest(const Suggest& options) {
  const read::Parameters parameters = model::choose_parameters(options.parameters, "gemm");
  const auto machine =
      parse_machine(options.machine.empty() ? parameters.machine : options.machine);
  std::vector<model::GemmShape> candidates;
  for (const double m : kRows) {
    for (const double n : kSides) {
      for (const double k : kSides) {
        if (2 * m * n * k <= kMostOperations) candidates.push_back({m, n, k, 1});
      }
    }
  }
  const auto products = fit::suggest_products(parameters, *machine, candidates, options.points);
  // Parameters without a type have been refused above.
  std::string type = parameters.key.at("a_type");
  if (type == "bf16" && !machine->peak_tflops.contains(type)) type = "f16";  // at the same rate
  const std::string types =
      fmt::format("{0},{0},{1},f32", type, type.starts_with("f8") ? "bf16" : type);
  std::string table = "m,n,k,a_type,b_type,c_type,compute_type\n";
  for (const model::GemmShape& shape : products)
    table += fmt::format("{},{},{},{}\n", shape.m, shape.n, shape.k, types);
  write_result(options.output, table, options.force);
}

void declare_suggest(Command& program) {
  const auto options = std::make_shared<Suggest>();
  program
      .add_option("--suggest", options->parameters,
                  "The parameters that are there: a file or a shipped set")
      .required();
  program.add_option("--machine", options->machine,
                     "The GPU that will be measured; default: that of the parameters");
  program.add_option("--points", options->points, "How many products")
      .check(positive_number())
      .shows_default();
  program.add_output(options->output, options->force);
  program.on_end([options] { run_suggest(*options); });
}

// Does not return, like the other program.
[[noreturn]] void suggest(std::vector<std::string> words) {
  words.insert(words.begin(), "prof-model measure");
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const auto status =
      parse({.name = "prof-model measure",
             .description = "Which products to measure for a better fit, as a grid"},
            static_cast<int>(words.size()), pointers.data(), declare_suggest);
  std::exit(status.value_or(0));  // NOLINT(concurrency-mt-unsafe)
}

void run(const std::vector<std::string>& words) {
  const bool asks_what = std::ranges::any_of(words, [](const std::string& word) {
    return word == "--suggest" || word.starts_with("--suggest=");
  });
  if (asks_what) suggest(words);
  run_measure(words);
}

}  // namespace

void declare_measure(Command& command, int& /*status*/) {
  command.forwards(run);
}

}  // namespace inline_prof::cli
