#include "base/command_line.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <system_error>
#include <type_traits>

namespace inline_prof::cli {
namespace {

Check by(const CLI::Validator& validator, const char* expected) {
  return {[&validator, expected](const std::string& text) {
            return validator(text).empty()
                       ? std::string()
                       : fmt::format("expected a number {}, found {}", expected, text);
          },
          validator.get_description()};
}

// Says what went wrong; std::fprintf, because nothing may be thrown from here.
int fail(const Program& program, int status, const char* what) noexcept {
  std::fprintf(stderr, "%s: %s\n", program.name.c_str(), what);
  if (status == 2) std::fprintf(stderr, "Try %s --help.\n", program.name.c_str());
  return status;
}

}  // namespace

Check one_of(const std::vector<std::string>& words) {
  return {[words](const std::string& found) {
            if (std::ranges::find(words, found) != words.end()) return std::string();
            return fmt::format("expected one of {}, found {}", fmt::join(words, ", "), found);
          },
          fmt::format("{{{}}}", fmt::join(words, ","))};
}

template <typename Number>
Check between(Number least, Number most) {
  return {[least, most](const std::string& text) {
            Number number = {};
            const char* const end = text.data() + text.size();
            const auto [rest, error] = std::from_chars(text.data(), end, number);
            if (error == std::errc{} && rest == end && number >= least && number <= most)
              return std::string();
            return fmt::format("expected {} from {} to {}, found {}",
                               std::is_integral_v<Number> ? "an integer" : "a number", least, most,
                               text);
          },
          fmt::format("{} to {}", least, most)};
}

template Check between(int, int);
template Check between(std::size_t, std::size_t);
template Check between(std::int64_t, std::int64_t);
template Check between(double, double);

Check positive_number() {
  return by(CLI::PositiveNumber, "above 0");
}

Check not_negative() {
  return by(CLI::NonNegativeNumber, "of at least 0");
}

Option& Option::required() {
  option_->required();
  return *this;
}
Option& Option::check(const Check& check) {
  option_->check(CLI::Validator(check.complaint, check.description));
  return *this;
}
Option& Option::shows_default() {
  option_->capture_default_str();
  return *this;
}
Option& Option::shows_default(const std::string& value) {
  option_->default_str(value);
  return *this;
}
Option& Option::separates(char separator) {
  option_->delimiter(separator);
  return *this;
}
Option& Option::takes_one_value() {
  option_->allow_extra_args(false);
  return *this;
}

template <typename Value>
Option Command::add_option(const std::string& names, Value& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
template Option Command::add_option(const std::string&, std::string&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<std::string>&,
                                    const std::string&);
template Option Command::add_option(const std::string&, int&, const std::string&);
template Option Command::add_option(const std::string&, float&, const std::string&);
template Option Command::add_option(const std::string&, double&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<double>&, const std::string&);
template Option Command::add_option(const std::string&, std::size_t&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::size_t>&,
                                    const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::int64_t>&,
                                    const std::string&);

void Command::add_flag(const std::string& names, bool& value, const std::string& help) {
  app_->add_flag(names, value, help);
}

Option Command::add_text(const std::string& names,
                         const std::function<void(const std::string&)>& take,
                         const std::string& help) {
  return Option(app_->add_option_function<std::string>(names, take, help));
}

void Command::add_output(std::string& file, bool& force) {
  add_option("-o,--output", file, "File to write; - is standard output").shows_default();
  add_flag("--force", force, "Replace the output file if it exists");
}

void Command::add_rest(std::vector<std::string>& words) {
  app_->prefix_command();
  app_->callback([app = app_, &words] { words = app->remaining(); });
}

Command Command::add_subcommand(const std::string& name, const std::string& help) {
  return Command(*app_->add_subcommand(name, help));
}

void Command::forwards(std::function<void(const std::vector<std::string>&)> run) {
  app_->set_help_flag();
  app_->prefix_command();
  app_->callback([app = app_, run = std::move(run)] { run(app->remaining()); });
}

void Command::footer(const std::string& text) {
  app_->footer(text);
}
void Command::require_subcommand(std::size_t least, std::size_t most) {
  app_->require_subcommand(least, most);
}
bool Command::has_subcommand() const {
  return !app_->get_subcommands().empty();
}
void Command::on_parsed(std::function<void()> check) {
  app_->parse_complete_callback(std::move(check));
}
void Command::on_run(std::function<void()> run) {
  app_->callback(std::move(run));
}
void Command::on_end(std::function<void()> run) {
  app_->final_callback(std::move(run));
}

std::optional<int> parse(const Program& program, int argc, const char* const* argv,
                         const std::function<void(Command&)>& declare) noexcept {
  try {
    CLI::App app(program.description, program.name);
    app.footer(program.footer);
    if (!program.version.empty()) app.set_version_flag("--version", program.version);
    Command top(app);
    declare(top);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& request) {  // --help and --version
      return app.exit(request);
    }
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return fail(program, 2, error.what());
  } catch (const UsageError& error) {
    return fail(program, 2, error.what());
  } catch (const std::exception& error) {
    return fail(program, 1, error.what());
  }
}

}  // namespace inline_prof::cli
