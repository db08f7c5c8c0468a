// The subcommands of prof-model, one file each: each function adds one to the program, with its
// options and with what it does.  Results go to standard output, words to standard error.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace inline_prof::cli {

void declare_list(CLI::App& program);
void declare_predict(CLI::App& program);
void declare_fit(CLI::App& program);
void declare_evaluate(CLI::App& program);
void declare_iteration(CLI::App& program);
void declare_plot(CLI::App& program);
void declare_convert(CLI::App& program);
void declare_measure(CLI::App& program);

}  // namespace inline_prof::cli
