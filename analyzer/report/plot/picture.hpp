// A picture as lines, dots, boxes and words: what the writers of svg and png share.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace inline_prof::report {

// Pixels from the upper left corner.
struct Point {
  double x = 0.0;
  double y = 0.0;
};

struct Color {
  int red = 0;  // each 0 to 255
  int green = 0;
  int blue = 0;
  double opacity = 1.0;
};

struct Polyline {
  std::vector<Point> points;
  Color color;
  double width = 1.0;
  std::vector<double> dash;  // lengths drawn and left out in turn; empty: drawn throughout
};

struct Dot {
  Point centre;
  double radius = 2.0;
  Color color;
};

struct Box {
  Point corner;
  double width = 0.0;
  double height = 0.0;
  Color fill;
};

enum class Anchor { kStart, kMiddle, kEnd };

struct Label {
  Point at;  // on the base line
  std::string text;
  double size = 11.0;
  Anchor anchor = Anchor::kStart;
  Color color;
  bool is_upward = false;  // reads from bottom to top
  bool is_bold = false;
};

using Shape = std::variant<Polyline, Dot, Box, Label>;

struct Picture {
  double width = 0.0;
  double height = 0.0;
  std::vector<Shape> shapes;  // later ones cover earlier ones
};

// The whole picture as an SVG 1.1 document on a white ground.
[[nodiscard]] std::string svg_text(const Picture& picture);

// The bytes of a PNG of twice as many pixels.  Throws std::runtime_error if this machine has no
// Cairo (png_is_available()), or if Cairo fails.
[[nodiscard]] std::string png_bytes(const Picture& picture);
[[nodiscard]] bool png_is_available();

// A page that holds the picture and needs nothing else; `words` stand below it, one a line.
[[nodiscard]] std::string html_text(const Picture& picture, std::string_view title,
                                    const std::vector<std::string>& words);

}  // namespace inline_prof::report
