#include "cli/common/picture_output.hpp"

#include "base/command_line.hpp"
#include "cli/common/result_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

namespace inline_prof::cli {
namespace {

std::string ending_of(const std::string& output) {
  return std::filesystem::path(output).extension().string();
}

}  // namespace

void check_picture_name(const std::string& output) {
  const std::string ending = ending_of(output);
  if (ending != ".svg" && ending != ".png" && ending != ".html") {
    throw UsageError(
        fmt::format("-o {}: expected a name that ends in .svg, .png or .html", output));
  }
  if (ending == ".png" && !report::png_is_available()) {
    throw std::runtime_error(
        fmt::format("{}: a png needs Cairo, and this machine has no libcairo.so.2 (Debian: "
                    "libcairo2); .svg and .html go without it",
                    output));
  }
}

void write_picture(const std::string& output, const report::Picture& picture,
                   const std::string& title, const std::vector<std::string>& words, bool force) {
  const std::string ending = ending_of(output);
  const std::string text = ending == ".svg"   ? report::svg_text(picture)
                           : ending == ".png" ? report::png_bytes(picture)
                                              : report::html_text(picture, title, words);
  write_result(output, text, force);
}

}  // namespace inline_prof::cli
