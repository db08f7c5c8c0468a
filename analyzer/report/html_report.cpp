#include "report/html_report.hpp"

#include "report/html_texts.hpp"
#include "report/page_data.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <string_view>

namespace inline_prof::report {
namespace {

// `page` with every {{name}} replaced; what is put in is not looked at again.
std::string filled(std::string_view page,
                   const std::map<std::string_view, std::string_view>& parts) {
  std::string text;
  while (true) {
    const std::size_t open = page.find("{{");
    const std::size_t close = page.find("}}", open);
    text += page.substr(0, open);
    if (open == std::string_view::npos || close == std::string_view::npos) return text;
    text += parts.at(page.substr(open + 2, close - open - 2));
    page.remove_prefix(close + 2);
  }
}

std::string script(std::string_view id, std::size_t phase, std::string_view json) {
  return fmt::format("<script type=\"application/json\" id=\"{}-phase-{}\">{}</script>\n", id,
                     phase, json);
}

}  // namespace

std::string html_report(const join::Analysis& analysis, std::span<const read::Machine> machines,
                        std::span<const join::Analysis> other_phases) {
  const HtmlTexts texts = html_texts();
  const PageData data = page_data(analysis, machines);
  std::string others;
  for (const join::Analysis& phase : other_phases) {
    const PageData other = page_data(phase, machines);
    const std::size_t number = phase.runs.front().profile.phase + 1;
    others += script("report-data", number, other.report);
    others += script("sample-data", number, other.samples);
  }
  return filled(texts.page, {{"style", texts.style},
                             {"charts_license", texts.charts_license},
                             {"charts", texts.charts},
                             {"data", data.report},
                             {"samples", data.samples},
                             {"other_phases", others},
                             {"program", texts.program}});
}

bool html_has_charts() {
  return !html_texts().charts.empty();
}

}  // namespace inline_prof::report
