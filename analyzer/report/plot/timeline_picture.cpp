#include "report/plot/timeline_picture.hpp"

#include "join/timeline_layout.hpp"
#include "report/plot/chart.hpp"
#include "report/plot/ticks.hpp"
#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace inline_prof::report {
namespace {

// Pixels.
constexpr double kWidth = 1400;
constexpr double kMargin = 16;
constexpr double kAxisHeight = 40;
constexpr double kTitleHeight = 20;
constexpr double kLaneHeight = 28;
constexpr double kBarHeight = 16;
constexpr double kPredictedHeight = 5;
constexpr double kLegendHeight = 26;
constexpr double kLetterWidth = 6.2;  // of a label of size 10, about

constexpr Color kSlow{213, 94, 0};
constexpr Color kFast{0, 158, 115};
constexpr Color kExpected{86, 180, 233};
constexpr Color kAboveBound{178, 160, 210};
constexpr Color kUnknown{190, 196, 203};
constexpr Color kGround{240, 242, 244};

Color color_of(join::Verdict verdict) {
  switch (verdict) {
    case join::Verdict::kSlower:
      return kSlow;
    case join::Verdict::kFaster:
      return kFast;
    case join::Verdict::kAsPredicted:
      return kExpected;
    case join::Verdict::kAboveBound:
      return kAboveBound;
    default:
      return kUnknown;
  }
}

class TimelineDrawer {
 public:
  TimelineDrawer(const join::Analysis& analysis, const std::vector<join::TimelineTrack>& tracks)
      : analysis_(analysis) {
    span_.to = analysis.iteration_us.value_or(0.0);
    for (const join::TimelineTrack& track : tracks) {
      for (const join::TimelineBar& bar : track.bars) {
        span_.from = std::min(span_.from, bar.start_us);
        span_.to = std::max(span_.to, bar.start_us + bar.length_us);
      }
    }
    if (!(span_.to > span_.from)) span_ = {0.0, 1.0};
    picture_.width = kWidth;
  }

  void add(const join::TimelineTrack& track) {
    picture_.shapes.emplace_back(
        Box{{kMargin, y_}, kWidth - 2 * kMargin, kTitleHeight - 3, kGround});
    picture_.shapes.emplace_back(
        Label{.at = {kMargin + 6, y_ + 13}, .text = title_of(track), .size = 11, .color = kBlack});
    y_ += kTitleHeight;
    for (const join::TimelineBar& bar : track.bars)
      add(bar);
    y_ += static_cast<double>(track.lanes) * kLaneHeight + 4;
  }

  [[nodiscard]] Picture take() && {
    add_axis();
    add_legend();
    picture_.height = y_ + kLegendHeight;
    return std::move(picture_);
  }

 private:
  [[nodiscard]] double x(double time_us) const {
    return kMargin + (kWidth - 2 * kMargin) * place(Scale::kLinear, span_, time_us);
  }

  [[nodiscard]] std::string title_of(const join::TimelineTrack& track) const {
    const read::Profile& profile = analysis_.runs[track.run].profile;
    std::string title = profile.host_name.empty() ? profile.file : profile.host_name;
    if (profile.rank) title += fmt::format(", rank {}", *profile.rank);
    return printable(
        fmt::format("{}, device {}, stream {}", title, track.device_id, track.stream_index));
  }

  void add(const join::TimelineBar& bar) {
    const join::Row& row = analysis_.rows[bar.row];
    const double left = x(bar.start_us);
    const double top = y_ + static_cast<double>(bar.lane) * kLaneHeight;
    const double width = std::max(0.6, x(bar.start_us + bar.length_us) - left);
    picture_.shapes.emplace_back(
        Box{{left, top}, std::max(0.6, width - 0.6), kBarHeight, color_of(row.verdict)});
    if (row.predicted_us) {
      const double predicted = std::max(0.6, x(bar.start_us + *row.predicted_us) - left);
      picture_.shapes.emplace_back(
          Box{{left, top + kBarHeight + 1}, predicted, kPredictedHeight, kBlue});
    }
    const auto letters = static_cast<std::size_t>(std::max(0.0, (width - 6) / kLetterWidth));
    if (letters < 6) return;
    const std::string name = row.layer.empty()
                                 ? readable_name(row.event.str())
                                 : row.layer.str() + " " + readable_name(row.event.str());
    picture_.shapes.emplace_back(Label{.at = {left + 3, top + 12},
                                       .text = shortened(printable(name), letters),
                                       .size = 10,
                                       .color = kBlack});
  }

  void add_axis() {
    for (const Tick& tick : ticks(Scale::kLinear, span_, 12)) {
      const double at = x(tick.value);
      picture_.shapes.emplace_back(
          Polyline{{{at, kAxisHeight - 8}, {at, kAxisHeight - 3}}, kGrey, 1.0, {}});
      picture_.shapes.emplace_back(Label{.at = {at, kAxisHeight - 12},
                                         .text = tick.text + " us",
                                         .anchor = Anchor::kMiddle,
                                         .color = kGrey});
    }
    if (!analysis_.iteration_us) return;
    const double end = x(*analysis_.iteration_us);
    picture_.shapes.emplace_back(
        Polyline{{{end, kAxisHeight - 8}, {end, y_}}, kBlack, 1.0, {4.0, 3.0}});
  }

  void add_legend() {
    double left = kMargin;
    const auto entry = [&](Color color, const std::string& words) {
      picture_.shapes.emplace_back(Box{{left, y_ + 6}, 12, 12, color});
      picture_.shapes.emplace_back(
          Label{.at = {left + 17, y_ + 16}, .text = words, .color = kBlack});
      left += 36 + 6.8 * static_cast<double>(words.size());
    };
    entry(kSlow, "slower than predicted");
    entry(kFast, "faster");
    entry(kExpected, "as predicted");
    entry(kAboveBound, "above a bound");
    entry(kUnknown, "no verdict");
    entry(kBlue, "predicted (thin, below)");
  }

  const join::Analysis& analysis_;
  Picture picture_;
  Span span_{0.0, 0.0};
  double y_ = kAxisHeight;
};

}  // namespace

Picture timeline_picture(const join::Analysis& analysis, std::size_t most_tracks) {
  std::vector<join::TimelineTrack> tracks = join::timeline_layout(analysis);
  if (tracks.size() > most_tracks) tracks.resize(most_tracks);
  TimelineDrawer drawer(analysis, tracks);
  for (const join::TimelineTrack& track : tracks)
    drawer.add(track);
  return std::move(drawer).take();
}

}  // namespace inline_prof::report
