// The text format of Prometheus, version 0.0.4.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace inline_prof::base {

// The labels of a value: `host="n1",rank="3"`.
class Labels {
 public:
  Labels() = default;
  Labels(std::initializer_list<std::pair<std::string_view, std::string_view>> labels);

  // Returns these labels and one more.  `name` is an identifier; `value` may be any text.
  [[nodiscard]] Labels with(std::string_view name, std::string_view value) const;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// One metric.  Its head stands once, before its values, and not at all if there are none.
class Gauge {
 public:
  Gauge(std::string& out, std::string_view name, std::string_view help)
      : out_(out), name_(name), help_(help) {}

  // Adds nothing for an empty value.
  void add(const Labels& labels, std::optional<double> value);

 private:
  std::string& out_;
  std::string_view name_;
  std::string_view help_;
  bool has_head_ = false;
};

}  // namespace inline_prof::base
