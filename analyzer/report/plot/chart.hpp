// Charts: axes, lines, dots and bars inside a frame.
#pragma once

#include "report/plot/picture.hpp"

#include <optional>
#include <string>
#include <vector>

namespace inline_prof::report {

enum class Scale {
  kLinear,
  kLog10,  // ticks at powers of ten
  kBytes,  // logarithmic, ticks at powers of two: 4 KiB
};

struct Axis {
  std::string title;
  Scale scale = Scale::kLinear;
};

enum class Mark { kLine, kDots };

struct Series {
  std::string name;  // in the legend; "" stays out of it
  Mark mark = Mark::kLine;
  Color color;
  std::vector<Point> values;  // in the units of the axes; those that a scale has no place for are
                              // left out: zero and less on a logarithmic one
  bool is_dashed = false;
};

struct Bar {
  double from = 0.0;
  double to = 0.0;
  double height = 0.0;
};

// A line across the chart at one x.
struct Border {
  double x = 0.0;
  std::string text;
};

struct Chart {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Series> series;
  std::vector<Bar> bars;
  Color bar_color;
  std::vector<Border> borders;
  bool is_square = false;  // both axes span the same values
};

// Colours that colour-blind people can tell apart: M. Okabe, K. Ito, "Color Universal Design",
// 2008.
inline constexpr Color kBlue{0, 114, 178};
inline constexpr Color kOrange{213, 94, 0};
inline constexpr Color kGreen{0, 158, 115};
inline constexpr Color kGrey{110, 110, 110};
inline constexpr Color kBlack{20, 20, 20};

// Charts in rows of `columns`, each in a field of its own.
[[nodiscard]] Picture draw(const std::vector<Chart>& charts, std::size_t columns);

}  // namespace inline_prof::report
