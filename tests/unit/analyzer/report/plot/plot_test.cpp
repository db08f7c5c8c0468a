#include "report/plot/model_charts.hpp"
#include "report/plot/picture.hpp"
#include "report/plot/ticks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace inline_prof::report {
namespace {

std::vector<std::string> texts(const std::vector<Tick>& ticks) {
  std::vector<std::string> found;
  for (const Tick& tick : ticks)
    found.push_back(tick.text);
  return found;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(Ticks, StandAtRoundNumbers) {
  EXPECT_EQ(texts(ticks(Scale::kLinear, {-5, 11}, 7)),
            (std::vector<std::string>{"-5", "0", "5", "10"}));
  EXPECT_EQ(texts(ticks(Scale::kLog10, {0.5, 2000}, 7)),
            (std::vector<std::string>{"1", "10", "100", "1000"}));
  EXPECT_EQ(texts(ticks(Scale::kLog10, {150, 600}, 7)), (std::vector<std::string>{"200", "500"}));
  EXPECT_EQ(texts(ticks(Scale::kBytes, {1024, 8192}, 7)),
            (std::vector<std::string>{"1 KiB", "2 KiB", "4 KiB", "8 KiB"}));
}

TEST(Ticks, AreNeverMoreThanAsked) {
  for (double top = 2; top < 1e12; top *= 7) {
    EXPECT_LE(ticks(Scale::kLinear, {0, top}, 7).size(), 8U) << top;
    EXPECT_LE(ticks(Scale::kBytes, {1, top}, 7).size(), 8U) << top;
    EXPECT_LE(ticks(Scale::kLog10, {1, top}, 7).size(), 8U) << top;
  }
}

TEST(Axis, PlacesValuesBetweenItsEnds) {
  EXPECT_DOUBLE_EQ(place(Scale::kLinear, {0, 10}, 2.5), 0.25);
  EXPECT_DOUBLE_EQ(place(Scale::kLog10, {1, 10000}, 10), 0.25);
}

TEST(Axis, HasNoPlaceForZeroOnALogarithmicScale) {
  EXPECT_FALSE(has_place(Scale::kLog10, 0.0));
  EXPECT_FALSE(has_place(Scale::kLinear, NAN));
  EXPECT_TRUE(has_place(Scale::kLinear, -1.0));
}

TEST(Axis, SpansSomethingForOneValueAndForNone) {
  for (const Scale scale : {Scale::kLinear, Scale::kLog10, Scale::kBytes}) {
    for (const auto& values : {std::vector<double>{}, std::vector<double>{5.0}}) {
      const Span span = span_of(scale, values, false);
      EXPECT_LT(span.from, span.to);
    }
  }
}

TEST(Svg, WritesWordsAsXmlWantsThem) {
  const Picture picture{100, 50, {Label{{1, 2}, "a<b> & \"c\"", 11, Anchor::kMiddle, kBlack}}};
  const std::string text = svg_text(picture);
  EXPECT_NE(text.find(">a&lt;b&gt; &amp; &quot;c&quot;</text>"), std::string::npos) << text;
  EXPECT_NE(text.find("width=\"100\" height=\"50\""), std::string::npos);
  EXPECT_TRUE(text.ends_with("</svg>\n"));
}

TEST(Html, HoldsPictureAndWords) {
  const std::string text = html_text({10, 10, {Dot{{5, 5}, 2, kBlue}}}, "A & B", {"x < y"});
  EXPECT_NE(text.find("<h1>A &amp; B</h1>"), std::string::npos);
  EXPECT_NE(text.find("<circle "), std::string::npos);
  EXPECT_NE(text.find("<p>x &lt; y</p>"), std::string::npos);
  EXPECT_EQ(text.find("<?xml"), std::string::npos);
}

TEST(Png, IsAPngOfTwiceAsManyPixels) {
  if (!png_is_available()) GTEST_SKIP() << "no libcairo.so.2";
  const std::string bytes =
      png_bytes({100,
                 50,
                 {Polyline{{{0, 0}, {9, 9}}, kBlue, 1.0, {4, 2}}, Box{{1, 1}, 5, 5, kGreen},
                  Label{{1, 20}, "words", 11, Anchor::kEnd, kBlack, true, true}}});
  ASSERT_GT(bytes.size(), 24U);
  EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1a\n");
  // Width and height, each in four bytes, the largest first, begin at byte 16.
  EXPECT_EQ(bytes.substr(16, 8), std::string("\0\0\0\xc8\0\0\0\x64", 8));
}

const std::vector<base::Judged> kRows{{110, 100, {}, {}}, {95, 100, {}, {}}, {500, 100, {}, {}}};

TEST(ScatterChart, HasADotForEachRow) {
  const std::string text = svg_text(draw({scatter_chart(kRows, "t")}, 1));
  EXPECT_EQ(count_of(text, "<circle "), kRows.size() + 1);  // and one in the legend
  EXPECT_NE(text.find(">3 rows<"), std::string::npos);
}

TEST(ErrorChart, CountsEveryRowOnce) {
  const Chart chart = error_chart(kRows, "t");
  double rows = 0;
  for (const Bar& bar : chart.bars)
    rows += bar.height;
  EXPECT_EQ(rows, 3);
  EXPECT_EQ(chart.bars.back().height, 1);  // +400 % stands in the outermost bar
}

TEST(ErrorChart, AndTheOthersBearNoRowsAtAll) {
  EXPECT_FALSE(svg_text(draw({error_chart({}, "t"), scatter_chart({}, "t")}, 2)).empty());
}

TEST(CurveCharts, ShowTurningPointsAndBothBandwidths) {
  const SizeCurve curve{.name = "all_reduce_8",
                        .bus_factor = 1.75,
                        .measured = {{1024, 10}, {2048, 10}},
                        .predicted = {{1024, 10}, {2048, 10}},
                        .lower = {{1024, 9}, {2048, 9}},
                        .upper = {{1024, 11}, {2048, 11}},
                        .linear_until = 1024,
                        .saturated_from = 2048};
  const auto charts = curve_charts(curve);
  ASSERT_EQ(charts.size(), 2U);
  EXPECT_EQ(charts[0].borders.size(), 2U);
  EXPECT_EQ(charts[0].series.size(), 4U);  // measured, model, both ends of its interval
  EXPECT_DOUBLE_EQ(charts[1].series[0].values[0].y, 0.1024);         // GB/s
  EXPECT_DOUBLE_EQ(charts[1].series[2].values[0].y, 0.1024 * 1.75);  // GB/s
}

}  // namespace
}  // namespace inline_prof::report
