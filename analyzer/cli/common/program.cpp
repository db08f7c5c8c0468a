#include "cli/common/program.hpp"

#include "base/text.hpp"
#include "cli/common/result_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace inline_prof::cli {
namespace {

constexpr std::chrono::milliseconds kQuietStart{1000};
constexpr std::chrono::milliseconds kInterval{200};
constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

Progress::Progress(std::string what)
    : what_(std::move(what)),
      is_terminal_(isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now() + kQuietStart) {}

Progress::~Progress() {
  if (has_written_) std::fputs(kEraseLine, stderr);
}

bool Progress::is_due() {
  if (!is_terminal_) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return false;
  next_ = now + kInterval;
  return true;
}

void Progress::show(std::size_t done, std::size_t all) {
  if (!is_due()) return;
  has_written_ = true;
  std::fprintf(stderr, "%s%s: %zu of %zu", kEraseLine, what_.c_str(), done, all);
}

void Progress::say(std::string_view state) {
  if (!is_due()) return;
  has_written_ = true;
  std::fprintf(stderr, "%s%s: %.*s", kEraseLine, what_.c_str(), static_cast<int>(state.size()),
               state.data());
}

namespace {

// `lines`, each two blanks from the margin.
std::string indented(std::string_view lines) {
  std::string text = lines.empty() ? "" : "\n  ";
  for (const char c : lines) {
    text += c;
    if (c == '\n') text += "  ";
  }
  return text;
}

// Throws UsageError where the first word is a subcommand but for a slip of the fingers: as a file
// it would only be missed.
void refuse_misspelt(std::span<const Subcommand> subcommands, std::string_view word) {
  std::vector<std::string_view> names;
  names.reserve(subcommands.size());
  for (const Subcommand& subcommand : subcommands)
    names.push_back(subcommand.name);
  const std::string_view near = base::near_word(word, names);
  std::error_code unreadable;
  if (near.empty() || near == word || std::filesystem::exists(word, unreadable)) return;
  throw UsageError(
      fmt::format("{}: neither a subcommand nor a file; did you mean {}?", word, near));
}

}  // namespace

int run_program(const ProgramTexts& texts, std::span<const Subcommand> subcommands, int argc,
                const char* const* argv, const std::function<void(Command&)>& declare) {
  std::string footer = "Examples:" + indented(texts.examples);
  for (const Subcommand& subcommand : subcommands)
    footer += indented(subcommand.examples);
  const std::string end = "\n\n" + std::string(texts.end);
  int status = 0;
  return parse({.name = std::string(texts.name),
                .description = std::string(texts.description),
                .footer = footer + end,
                .version = std::string(texts.name) + " " INLINE_PROF_VERSION},
               argc, argv,
               [&](Command& program) {
                 set_arguments(argc, argv);
                 if (argc > 1) refuse_misspelt(subcommands, argv[1]);
                 for (const Subcommand& subcommand : subcommands) {
                   Command command = program.add_subcommand(std::string(subcommand.name),
                                                            std::string(subcommand.summary));
                   command.footer("Examples:" + indented(subcommand.examples) + end);
                   subcommand.declare(command, status);
                 }
                 declare(program);
               })
      .value_or(status);
}

void become(std::vector<std::string> command) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (std::string& word : command)
    words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  throw std::runtime_error(
      fmt::format("{}: {}", command[0], std::generic_category().message(errno)));
}

}  // namespace inline_prof::cli
