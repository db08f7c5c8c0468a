// prof-analyze count FILE: an example of the page on adding a subcommand.
#include "cli/prof_analyze/commands.hpp"
#include "read/read_profile.hpp"

#include <iostream>
#include <memory>
#include <string>

namespace inline_prof::cli {

void declare_count(Command& command, int& /*status*/) {
  const auto file = std::make_shared<std::string>();
  command.add_option("FILE", *file, "A prof.json file").required();
  command.on_run([file] { std::cout << read::read_profile(*file).events.size() << '\n'; });
}

}  // namespace inline_prof::cli
