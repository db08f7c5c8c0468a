// The parts of the html report's page, made of report/html/ when the program is built.
#pragma once

#include <string_view>

namespace inline_prof::report {

struct HtmlTexts {
  std::string_view page;  // holds a mark such as {{style}} for each of the others, and for {{data}}
  std::string_view style;
  std::string_view common;  // functions of both programs
  std::string_view program;
  std::string_view history_page;  // as `page`
  std::string_view history_program;
  std::string_view charts;          // D3; empty if it was not found
  std::string_view charts_license;  // of D3
};

[[nodiscard]] HtmlTexts html_texts();

}  // namespace inline_prof::report
