#include "report/plot/chart.hpp"

#include "report/plot/ticks.hpp"

#include <algorithm>
#include <cmath>

namespace inline_prof::report {
namespace {

constexpr Color kGrid{225, 225, 225};

// A chart's field, in pixels.
constexpr double kFieldWidth = 470.0;
constexpr double kFieldHeight = 350.0;
constexpr double kLeft = 70.0;  // for the numbers and the title of the y axis
constexpr double kRight = 20.0;
constexpr double kTop = 54.0;  // for the title and the legend
constexpr double kBottom = 52.0;
constexpr int kMostTicks = 7;

class ChartPainter {
 public:
  ChartPainter(const Chart& chart, Point corner, std::vector<Shape>& shapes)
      : chart_(chart), shapes_(shapes) {
    left_ = corner.x + kLeft;
    top_ = corner.y + kTop;
    right_ = corner.x + kFieldWidth - kRight;
    bottom_ = corner.y + kFieldHeight - kBottom;
    choose_spans();
  }

  void paint() {
    paint_axes();
    paint_bars();
    paint_borders();
    for (const Series& series : chart_.series)
      paint_series(series);
    paint_frame();
    paint_words();
  }

 private:
  void choose_spans() {
    std::vector<double> x, y;
    for (const Series& series : chart_.series) {
      for (const Point& value : series.values) {
        x.push_back(value.x);
        y.push_back(value.y);
      }
    }
    for (const Bar& bar : chart_.bars) {
      x.insert(x.end(), {bar.from, bar.to});
      y.push_back(bar.height);
    }
    for (const Border& border : chart_.borders)
      x.push_back(border.x);
    if (chart_.is_square) {
      x.insert(x.end(), y.begin(), y.end());
      y = x;
    }
    x_ = span_of(chart_.x.scale, x, false);
    y_ = span_of(chart_.y.scale, y, !chart_.bars.empty());
  }

  [[nodiscard]] double to_x(double value) const {
    return left_ + place(chart_.x.scale, x_, value) * (right_ - left_);
  }
  [[nodiscard]] double to_y(double value) const {
    return bottom_ - place(chart_.y.scale, y_, value) * (bottom_ - top_);
  }

  void line(Point from, Point to, const Color& color, double width, std::vector<double> dash = {}) {
    shapes_.push_back(Polyline{{from, to}, color, width, std::move(dash)});
  }

  void words(Point at, const std::string& text, double size, Anchor anchor, const Color& color,
             bool is_upward = false, bool is_bold = false) {
    shapes_.push_back(Label{at, text, size, anchor, color, is_upward, is_bold});
  }

  void paint_axes() {
    constexpr double text_size = 10.0;
    for (const Tick& tick : ticks(chart_.x.scale, x_, kMostTicks)) {
      const double x = to_x(tick.value);
      line({x, top_}, {x, bottom_}, kGrid, 1.0);
      words({x, bottom_ + 15}, tick.text, text_size, Anchor::kMiddle, kBlack);
    }
    for (const Tick& tick : ticks(chart_.y.scale, y_, kMostTicks)) {
      const double y = to_y(tick.value);
      line({left_, y}, {right_, y}, kGrid, 1.0);
      words({left_ - 6, y + 3.5}, tick.text, text_size, Anchor::kEnd, kBlack);
    }
  }

  void paint_bars() {
    for (const Bar& bar : chart_.bars) {
      const double left = to_x(bar.from);
      const double top = to_y(bar.height);
      const double gap = 1.0;
      shapes_.push_back(Box{{left + gap / 2, top},
                            std::max(0.5, to_x(bar.to) - left - gap),
                            bottom_ - top,
                            chart_.bar_color});
    }
  }

  void paint_borders() {
    for (const Border& border : chart_.borders) {
      const double x = to_x(border.x);
      line({x, top_}, {x, bottom_}, kGrey, 1.2, {5, 4});
      words({x - 4, bottom_ - 6}, border.text, 9.5, Anchor::kStart, kGrey, true);
    }
  }

  void paint_series(const Series& series) {
    const auto is_shown = [&](const Point& value) {
      return has_place(chart_.x.scale, value.x) && has_place(chart_.y.scale, value.y);
    };
    if (series.mark == Mark::kDots) {
      const double radius = series.values.size() > 300 ? 1.8 : 2.8;
      for (const Point& value : series.values) {
        if (is_shown(value)) {
          shapes_.push_back(Dot{{to_x(value.x), to_y(value.y)}, radius, series.color});
        }
      }
      return;
    }
    Polyline path{{}, series.color, 1.6, {}};
    if (series.is_dashed) path.dash = {6, 4};
    for (const Point& value : series.values) {
      if (is_shown(value)) path.points.push_back({to_x(value.x), to_y(value.y)});
    }
    shapes_.push_back(std::move(path));
  }

  void paint_frame() {
    shapes_.push_back(Polyline{
        {{left_, top_}, {right_, top_}, {right_, bottom_}, {left_, bottom_}, {left_, top_}},
        kBlack,
        1.0,
        {}});
  }

  void paint_words() {
    const double middle = (left_ + right_) / 2;
    words({middle, top_ - 34}, chart_.title, 13.0, Anchor::kMiddle, kBlack, false, true);
    words({middle, bottom_ + 36}, chart_.x.title, 11.0, Anchor::kMiddle, kBlack);
    words({left_ - 52, (top_ + bottom_) / 2}, chart_.y.title, 11.0, Anchor::kMiddle, kBlack, true);
    double x = left_ + 4;
    for (const Series& series : chart_.series) {
      if (series.name.empty()) continue;
      const double y = top_ - 11;
      if (series.mark == Mark::kDots) {
        shapes_.push_back(Dot{{x + 8, y - 3.5}, 3.0, series.color});
      } else {
        line({x, y - 3.5}, {x + 16, y - 3.5}, series.color, 1.8,
             series.is_dashed ? std::vector<double>{6, 4} : std::vector<double>{});
      }
      words({x + 21, y}, series.name, 10.0, Anchor::kStart, kBlack);
      // About 6 pixels for a letter of this size: names are short, and a gap more or less is no
      // harm.
      x += 21 + 6.2 * static_cast<double>(series.name.size()) + 14;
    }
  }

  const Chart& chart_;
  std::vector<Shape>& shapes_;
  double left_ = 0.0;
  double top_ = 0.0;
  double right_ = 0.0;
  double bottom_ = 0.0;
  Span x_;
  Span y_;
};

}  // namespace

Picture draw(const std::vector<Chart>& charts, std::size_t columns) {
  const std::size_t across = std::min(columns, std::max<std::size_t>(charts.size(), 1));
  const std::size_t rows = (charts.size() + across - 1) / across;
  Picture picture{.width = kFieldWidth * static_cast<double>(across),
                  .height = kFieldHeight * static_cast<double>(rows),
                  .shapes = {}};
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const std::size_t row = i / across;
    const Point corner{kFieldWidth * static_cast<double>(i % across),
                       kFieldHeight * static_cast<double>(row)};
    ChartPainter(charts[i], corner, picture.shapes).paint();
  }
  return picture;
}

}  // namespace inline_prof::report
