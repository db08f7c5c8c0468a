// The command lines of the programs. CLI11 does the work, behind this header, so that it is
// compiled once.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
class Option;
}  // namespace CLI

namespace inline_prof::cli {

// A wrong command line; the program ends with status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The values that an option takes: shown in the help, and in the message about a wrong value.
struct Check {
  std::function<std::string(const std::string& found)> complaint;  // empty text: it fits
  std::string description;
};

[[nodiscard]] Check one_of(const std::vector<std::string>& words);

// A number between these limits, both included.
template <typename Number>
[[nodiscard]] Check between(Number least, Number most);
[[nodiscard]] Check positive_number();
[[nodiscard]] Check not_negative();

template <typename Value>
using NamedValues = std::vector<std::pair<std::string, Value>>;

// An option that has just been added.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  Option& check(const Check& check);
  Option& shows_default();                          // in the help: the value that it has by now
  Option& shows_default(const std::string& value);  // in the help
  Option& separates(char separator);                // VALUE,VALUE is two values
  Option& takes_one_value();  // each time; else an option of a list takes all words behind it

 private:
  CLI::Option* option_;
};

// A program, or one of its subcommands. `names`: "-o,--output", or "FILE" for a positional
// argument. The variables that options are read into must outlive the parsing.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  // Texts, numbers, lists of texts and optional numbers: the types that command_line.cpp names.
  template <typename Value>
  Option add_option(const std::string& names, Value& value, const std::string& help);
  void add_flag(const std::string& names, bool& value, const std::string& help);

  // `take` gets the text; it may throw UsageError.
  Option add_text(const std::string& names, const std::function<void(const std::string&)>& take,
                  const std::string& help);

  // An enumeration, by the names of its values.
  template <typename Value>
  Option add_option(const std::string& names, Value& value, const std::string& help,
                    const NamedValues<Value>& values) {
    Option option = add_choice(names, value, help, values);
    for (const auto& [name, known] : values) {
      if (known == value) option.shows_default(name);
    }
    return option;
  }
  template <typename Value>
  Option add_option(const std::string& names, std::optional<Value>& value, const std::string& help,
                    const NamedValues<Value>& values) {
    return add_choice(names, value, help, values);
  }

  // -o and --force.
  void add_output(std::string& file, bool& force);
  // Adds the first word that is no option, or "--", and all behind it.
  void add_rest(std::vector<std::string>& words);

  Command add_subcommand(const std::string& name, const std::string& help);
  // Makes a subcommand hand all words behind it, --help too, to `run`.
  void forwards(std::function<void(const std::vector<std::string>&)> run);
  void footer(const std::string& text);
  void require_subcommand(std::size_t least, std::size_t most);
  [[nodiscard]] bool has_subcommand() const;  // on the command line

  void on_parsed(std::function<void()> check);  // before anything runs
  void on_run(std::function<void()> run);       // of a subcommand
  void on_end(std::function<void()> run);       // after subcommands have run

 private:
  template <typename Target, typename Value>
  Option add_choice(const std::string& names, Target& target, const std::string& help,
                    const NamedValues<Value>& values) {
    std::vector<std::string> words;
    for (const auto& [name, value] : values)
      words.push_back(name);
    return add_text(
               names,
               [&target, values](const std::string& word) {
                 for (const auto& [name, value] : values) {
                   if (name == word) target = value;
                 }
               },
               help)
        .check(one_of(words));
  }

  CLI::App* app_;
};

struct Program {
  std::string name;
  std::string description;
  std::string footer = {};
  std::string version = {};  // what --version prints; empty: there is no such option
};

// Reads a command line with the options that `declare` adds, and runs the subcommand that it names.
// Returns the exit status if the program is to end now: 0 after --help and --version, 2 if the
// command line is wrong, 1 if anything else was thrown.
[[nodiscard]] std::optional<int> parse(const Program& program, int argc, const char* const* argv,
                                       const std::function<void(Command&)>& declare) noexcept;

}  // namespace inline_prof::cli
