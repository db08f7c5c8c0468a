#include "report/plot/picture.hpp"

#include <fmt/format.h>

#include <iterator>

namespace inline_prof::report {
namespace {

// Words with what XML reserves written as XML wants it; control characters are none of XML's.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

std::string color_text(const Color& color) {
  return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue);
}

// " fill-opacity=..." where it is not 1.
std::string opacity(std::string_view what, const Color& color) {
  return color.opacity >= 1.0 ? "" : fmt::format(" {}-opacity=\"{:.3g}\"", what, color.opacity);
}

class SvgWriter {
 public:
  explicit SvgWriter(std::string& text) : text_(text) {}

  void operator()(const Polyline& line) const {
    text_ += "<polyline fill=\"none\" points=\"";
    for (const Point& point : line.points)
      add("{:.2f},{:.2f} ", point.x, point.y);
    if (!line.points.empty()) text_.pop_back();
    add("\" stroke=\"{}\" stroke-width=\"{:g}\"{}", color_text(line.color), line.width,
        opacity("stroke", line.color));
    if (!line.dash.empty()) add(" stroke-dasharray=\"{}\"", fmt::join(line.dash, " "));
    text_ += "/>\n";
  }

  void operator()(const Dot& dot) const {
    add("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:g}\" fill=\"{}\"{}/>\n", dot.centre.x,
        dot.centre.y, dot.radius, color_text(dot.color), opacity("fill", dot.color));
  }

  void operator()(const Box& box) const {
    add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"{}/>\n",
        box.corner.x, box.corner.y, box.width, box.height, color_text(box.fill),
        opacity("fill", box.fill));
  }

  void operator()(const Label& label) const {
    constexpr std::string_view anchors[] = {"start", "middle", "end"};
    const std::string turn =
        label.is_upward
            ? fmt::format(" transform=\"rotate(-90 {:.2f} {:.2f})\"", label.at.x, label.at.y)
            : "";
    add("<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{:g}\" text-anchor=\"{}\" fill=\"{}\"{}{}>{}"
        "</text>\n",
        label.at.x, label.at.y, label.size, anchors[static_cast<std::size_t>(label.anchor)],
        color_text(label.color), label.is_bold ? " font-weight=\"bold\"" : "", turn,
        escaped(label.text));
  }

 private:
  template <typename... Values>
  void add(fmt::format_string<Values...> pattern, Values&&... values) const {
    fmt::format_to(std::back_inserter(text_), pattern, std::forward<Values>(values)...);
  }

  std::string& text_;
};

std::string svg_element(const Picture& picture) {
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" "
      "viewBox=\"0 0 {0:g} {1:g}\" font-family=\"DejaVu Sans, Arial, sans-serif\">\n"
      "<rect width=\"{0:g}\" height=\"{1:g}\" fill=\"#ffffff\"/>\n",
      picture.width, picture.height);
  for (const Shape& shape : picture.shapes)
    std::visit(SvgWriter(text), shape);
  return text + "</svg>\n";
}

}  // namespace

std::string svg_text(const Picture& picture) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + svg_element(picture);
}

std::string html_text(const Picture& picture, std::string_view title,
                      const std::vector<std::string>& words) {
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{0}</title>\n"
      "<style>body {{ font-family: sans-serif; margin: 2em; }} svg {{ max-width: 100%; height: "
      "auto; "
      "}}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      escaped(title));
  text += svg_element(picture);
  for (const std::string& line : words)
    text += fmt::format("<p>{}</p>\n", escaped(line));
  return text + "</body>\n</html>\n";
}

}  // namespace inline_prof::report
