#include "base/prometheus.hpp"

#include "base/text.hpp"

#include <array>
#include <charconv>

namespace inline_prof::base {

Labels::Labels(std::initializer_list<std::pair<std::string_view, std::string_view>> labels) {
  for (const auto& [name, value] : labels)
    *this = with(name, value);
}

Labels Labels::with(std::string_view name, std::string_view value) const {
  Labels more = *this;
  more.text_.append(text_.empty() ? "" : ",").append(name).append("=\"");
  for (const char c : printable(value)) {
    if (c == '\\' || c == '"') more.text_ += '\\';
    more.text_ += c;
  }
  more.text_ += '"';
  return more;
}

void Gauge::add(const Labels& labels, std::optional<double> value) {
  if (!value) return;
  if (!has_head_) {
    out_.append("# HELP ").append(name_).append(" ").append(help_).append("\n");
    out_.append("# TYPE ").append(name_).append(" gauge\n");
    has_head_ = true;
  }
  out_.append(name_);
  if (!labels.text().empty()) out_.append("{").append(labels.text()).append("}");
  // Independent of the locale, whose decimal point may be a comma.
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *value,
                                 std::chars_format::general, 9);
  out_.append(" ").append(digits.data(), end.ptr).append("\n");
}

}  // namespace inline_prof::base
