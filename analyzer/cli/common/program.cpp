#include "cli/common/program.hpp"

#include "base/text.hpp"
#include "cli/common/result_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace inline_prof::cli {
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
