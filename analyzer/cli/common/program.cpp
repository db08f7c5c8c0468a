#include "cli/common/program.hpp"

#include "cli/common/result_file.hpp"

#include <string>

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

}  // namespace

int run_program(const ProgramTexts& texts, std::span<const Subcommand> subcommands, int argc,
                const char* const* argv, const std::function<void(Command&)>& declare) {
  std::string footer = "Examples:" + indented(texts.examples);
  for (const Subcommand& subcommand : subcommands)
    footer += indented(subcommand.examples);
  int status = 0;
  return parse({.name = std::string(texts.name),
                .description = std::string(texts.description),
                .footer = footer + "\n\n" + std::string(texts.end),
                .version = std::string(texts.name) + " " INLINE_PROF_VERSION},
               argc, argv,
               [&](Command& program) {
                 set_arguments(argc, argv);
                 for (const Subcommand& subcommand : subcommands) {
                   Command command = program.add_subcommand(std::string(subcommand.name),
                                                            std::string(subcommand.summary));
                   subcommand.declare(command, status);
                 }
                 declare(program);
               })
      .value_or(status);
}

}  // namespace inline_prof::cli
